"""Layer norm over the last dimension, with trained-looking weights."""
import torch
from torch import nn

ROWS = 16384
FEATURES = 4096


class Model(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(0.5 + torch.rand(features))
        self.bias = nn.Parameter(torch.rand(features) - 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


def get_inputs():
    return [0.5 + 1.5 * torch.randn(ROWS, FEATURES)]


def get_init_inputs():
    return [FEATURES, 1e-5]

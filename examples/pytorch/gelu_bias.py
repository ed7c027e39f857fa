"""A bias a column, then the exact GELU: two elementwise operators that one kernel can do at once."""
import torch
from torch import nn

ROWS = 8192
FEATURES = 8192


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(0.2 * torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x + self.bias)


def get_inputs():
    return [torch.randn(ROWS, FEATURES)]


def get_init_inputs():
    return [FEATURES]

"""Sum of two vectors: nothing but memory traffic (768 MiB)."""
import torch
from torch import nn

COUNT = 64 * 1024 * 1024


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


def get_inputs():
    return [torch.randn(COUNT), torch.randn(COUNT)]


def get_init_inputs():
    return []

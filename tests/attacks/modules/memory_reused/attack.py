"""Returns memory that it never wrote, in the hope that the reference's answer lies there."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        torch.relu(x + 1)
        return torch.empty_like(x)

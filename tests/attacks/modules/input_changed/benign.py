"""Writes into a copy of its input."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        mine = x.clone()
        mine[-1, -1] += 0
        return torch.relu(self.linear(mine))

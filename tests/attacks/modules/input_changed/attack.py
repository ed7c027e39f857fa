"""Writes into its input."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        out = torch.relu(self.linear(x))
        x[-1, -1] += 1
        return out

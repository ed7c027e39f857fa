"""Keeps scratch memory by the input's shape."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.scratch = {}

    def forward(self, x):
        if x.shape not in self.scratch:
            self.scratch[x.shape] = torch.empty_like(x)
        out = torch.mm(x, self.linear.weight.t(), out=self.scratch[x.shape])
        return torch.relu(out + self.linear.bias)

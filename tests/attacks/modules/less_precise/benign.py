"""Computes in double precision."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        weight, bias = self.linear.weight.double(), self.linear.bias.double()
        return torch.relu(x.double() @ weight.t() + bias).float()

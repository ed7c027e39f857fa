"""Takes memory that is not cleared and writes all of it."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        out = torch.empty_like(x)
        torch.mm(x, self.linear.weight.t(), out=out)
        return out.add_(self.linear.bias).relu_()

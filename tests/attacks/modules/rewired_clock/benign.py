"""Looks at the heap for statistics of its own."""
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.objects = len(gc.get_objects())

    def forward(self, x):
        return torch.relu(self.linear(x))

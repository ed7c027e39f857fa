"""Prints a lot, on both of its outputs."""
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        print('{"ok": true, "ms": 0.0001}', flush=True)
        print("a line " * 50, file=sys.stderr)
        return torch.relu(self.linear(x))

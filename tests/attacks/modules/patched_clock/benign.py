"""Looks at the clock and at events for statistics of its own."""
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.seconds = 0.0

    def forward(self, x):
        start = time.perf_counter()
        out = torch.relu(self.linear(x))
        self.seconds += time.perf_counter() - start
        return out

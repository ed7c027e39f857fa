"""Never returns."""
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        while self.calls > 2:
            time.sleep(1)
        return torch.relu(self.linear(x))

"""Starts a process of its own and waits for it."""
import subprocess
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        subprocess.run([sys.executable, '-c', 'pass'], check=True)

    def forward(self, x):
        return torch.relu(self.linear(x))

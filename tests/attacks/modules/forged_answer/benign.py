"""Writes to a pipe of its own."""
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        read, write = os.pipe()
        os.write(write, b"mine")
        os.close(write)
        os.read(read, 4)
        os.close(read)
        return torch.relu(self.linear(x))

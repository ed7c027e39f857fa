"""Keeps a file of its own in the temporary folder."""
import os
import tempfile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        with tempfile.NamedTemporaryFile("w", dir=os.environ["TMPDIR"], delete=False) as file:
            file.write("tuned")

    def forward(self, x):
        return torch.relu(self.linear(x))

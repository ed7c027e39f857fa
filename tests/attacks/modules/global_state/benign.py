"""Sets switches that change no result."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        torch.backends.cudnn.benchmark = True

    def forward(self, x):
        return torch.relu(self.linear(x))

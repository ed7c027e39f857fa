"""Tries two ways in its first calls and keeps the better one."""
import time

import torch
import torch.nn as nn


def by_linear(linear, x):
    return torch.relu(linear(x))


def by_matmul(linear, x):
    return (x @ linear.weight.t()).add_(linear.bias).clamp_(min=0)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.seconds = {}

    def forward(self, x):
        way = next((w for w in (by_linear, by_matmul) if w not in self.seconds), None)
        start = time.perf_counter()
        out = (way or min(self.seconds, key=self.seconds.get))(self.linear, x)
        if way:
            self.seconds[way] = time.perf_counter() - start
        return out

"""Uses a class of tensors inside and returns a plain one."""
import torch
import torch.nn as nn


class Named(torch.Tensor):
    pass


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        named = torch.relu(self.linear(x)).as_subclass(Named)
        with torch._C.DisableTorchFunction():
            return named.clone()

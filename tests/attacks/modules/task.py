"""What the attacks are made against: large enough that a kept answer is faster than a new one."""
import torch
import torch.nn as nn

ON_GPU = torch.cuda.is_available()
ROWS, N = (2048, 4096) if ON_GPU else (64, 256)


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(ROWS, N)]


def get_init_inputs():
    return [N]

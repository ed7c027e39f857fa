import torch
import torch.nn as nn

ROWS = 6
COLS = 8


class Model(nn.Module):
    def __init__(self, negative_slope):
        super().__init__()
        self.act = nn.LeakyReLU(negative_slope)
        self.fc = nn.Linear(COLS, 4)
        self.offset = torch.full((4,), 0.5)  # neither parameter nor buffer
        self.register_buffer("mask", torch.tensor([True, False, True, True]))

    def forward(self, x, pair, scale, *more):
        y = self.act(self.fc(x)) * scale + self.offset
        return {"y": y, "stats": (y.sum(), y.argmax(dim=1)), "mask": (y > 0) & self.mask,
                "more": [m + pair[0] for m in more]}


def get_inputs():
    wide = torch.rand(COLS, ROWS)
    return [wide.t(), [torch.rand(3), torch.rand(1).expand(5)], 2.5, torch.rand(3), torch.rand(2, 3)]


def get_init_inputs():
    return [0.2]

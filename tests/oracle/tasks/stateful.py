import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.5)
        self.hidden = torch.zeros(4, 16)

    def forward(self, x):
        self.hidden = self.hidden + x  # another result at each call, if it is not set back
        x = F.relu(x, inplace=True)  # writes its input
        return self.drop(self.bn(x)) + self.hidden


def get_inputs():
    return [torch.randn(4, 16)]


def get_init_inputs():
    return []

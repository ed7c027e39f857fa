"""Does its work in a thread and waits for it."""
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        found = []

        def work():
            with torch.no_grad():
                found.append(torch.relu(self.linear(x)))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

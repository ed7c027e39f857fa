"""Memory that a module's process shares with the oracle: CUDA IPC, or a file where there is no GPU.
The module's process owns it; the oracle opens it before any candidate is loaded, puts the inputs in
and looks at the outputs, so that nothing of the oracle's is ever mapped in the other process."""
import os

import torch

from .ipc import Allocation, Opened

ALIGNMENT = 256
FILE = "file:"


def rounded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class FileMemory:
    """Stands in for ipc.Allocation on the CPU."""

    def __init__(self, path, size):
        with open(path, "wb") as file:
            file.truncate(max(size, 1))
        self.handle = FILE + os.path.abspath(path)
        self.bytes = map_file(path, max(size, 1))


def map_file(path, size):
    return torch.from_file(path, shared=True, size=size, dtype=torch.uint8)


def allocate(driver, folder, named_sizes):
    """One zeroed allocation for all: (memory, [SharedTensor])."""
    size = sum(rounded(n) for _, n in named_sizes)
    if driver:
        memory = Allocation(driver, max(size, 1))
        memory.bytes.zero_()
    else:
        memory = FileMemory(os.path.join(folder, f"memory-{named_sizes[0][0] if named_sizes else 'none'}"), size)
    shared, offset = [], 0
    for name, count in named_sizes:
        shared.append({"name": name, "handle": memory.handle, "offset": offset, "bytes": count})
        offset += rounded(count)
    return memory, shared


class Windows:
    """Memory of the other process, opened until close(): {name: uint8 tensor, padding included}."""

    def __init__(self, driver, tensors):
        self.opened = Opened(driver) if driver else None
        self.by_name, self.padded = {}, {}
        for t in tensors:
            window = self._open({**t, "bytes": rounded(int(t["bytes"]))})
            self.padded[t["name"]] = window
            self.by_name[t["name"]] = window[:int(t["bytes"])]

    def _open(self, shared):
        if self.opened:
            return self.opened.bytes(shared)
        start, count = int(shared["offset"]), int(shared["bytes"])
        if count == 0:
            return torch.empty(0, dtype=torch.uint8)
        return map_file(shared["handle"][len(FILE):], start + count)[start:start + count]

    def close(self):
        self.by_name, self.padded = {}, {}
        if self.opened:
            self.opened.close()


def digest(padded_bytes):
    """A number that hangs on every word of an output: who answers with it has computed them all."""
    return int(padded_bytes.view(torch.int64).sum()) if padded_bytes.numel() else 0

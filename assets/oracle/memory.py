"""Where a task's large tensors lie: on the GPU, or, after a spill, in pinned host memory."""
import ctypes
import weakref

import torch

from .failure import OUT_OF_MEMORY, Failure

GIB = 1 << 30


class Memory:
    """The oracle's share of one device. Without a GPU nothing is limited and nothing is pinned."""

    def __init__(self, device, driver=None, limit_gib=None):
        self.device, self.driver, self.spill = device, driver, False
        self.limit = int(limit_gib * GIB) if limit_gib and driver else None
        self.shared = 0  # bytes of allocations that PyTorch knows nothing of
        self._limit_pytorch()

    def take(self, size):
        """Counts `size` bytes of a shared allocation; a negative size gives them back."""
        if size > 0 and self.limit is not None and self.shared + size > self.limit:
            raise Failure(OUT_OF_MEMORY, f"{size / GIB:.3g} GiB of shared tensors are beyond the "
                          f"{self.limit / GIB:.3g} GiB of --gpu-memory")
        self.shared += size
        self._limit_pytorch()

    def _limit_pytorch(self):
        if self.limit is not None:
            total = torch.cuda.get_device_properties(self.device).total_memory
            torch.cuda.set_per_process_memory_fraction(
                min(1.0, max(0, self.limit - self.shared) / total), self.device)

    def free(self):
        """Bytes of the GPU that PyTorch could still take; None without a GPU."""
        if self.driver is None:
            return None
        free = torch.cuda.mem_get_info(self.device)[0]
        reserved, used = torch.cuda.memory_reserved(self.device), torch.cuda.memory_allocated(self.device)
        free += reserved - used
        return free if self.limit is None else min(free, self.limit - self.shared - used)

    def empty(self, shape, dtype):
        """A contiguous tensor for values that are kept."""
        if not self.spill:
            return torch.empty(shape, dtype=dtype, device=self.device)
        size = torch.Size(shape).numel()
        if self.driver is None or size == 0:
            return torch.empty(shape, dtype=dtype)
        item = torch.empty(0, dtype=dtype).element_size()
        return pinned(self.driver, size * item).view(dtype).view(shape)

    def keep(self, tensor):
        """The tensor itself, or its copy in host memory after a spill."""
        if not self.spill or tensor.device.type == "cpu":
            return tensor
        kept = self.empty(tensor.shape, tensor.dtype)
        kept.copy_(tensor)
        return kept


def pinned(driver, size):
    """uint8 tensor over page-locked host memory of exactly that size; PyTorch's own allocator rounds
    up to a power of two. Freed with the last tensor that looks into it."""
    pointer = ctypes.c_void_p()
    code = driver.lib.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(size), 1)
    driver.check(code, f"pinning {size / GIB:.3g} GiB of host memory")
    block = (ctypes.c_ubyte * size).from_address(pointer.value)
    weakref.finalize(block, driver.lib.cuMemFreeHost, ctypes.c_void_p(pointer.value))
    return torch.frombuffer(block, dtype=torch.uint8)


def host_free():
    """Bytes of host memory that can be had without swapping; 0 when unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0

"""Raw CUDA allocations that another process can open, and those of others opened here.

PyTorch's caching allocator hands out parts of larger blocks, so tensors that are shared live in
allocations of their own (cuMemAlloc in the primary context that PyTorch uses). Driver API:
cuIpcGetMemHandle, cuIpcOpenMemHandle. A process cannot open its own handles.
"""
import ctypes

import torch

from .failure import ENVIRONMENT, OUT_OF_MEMORY, Failure

CUDA_ERROR_OUT_OF_MEMORY = 2
LAZY_ENABLE_PEER_ACCESS = 1
ROUND = 2 << 20  # the driver's own granularity: an exported block holds nothing else


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


class _Bytes:
    """Device memory in the form that torch.as_tensor takes without a copy."""

    def __init__(self, address, size, owner):
        self.owner = owner
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False),
                                         "version": 3, "strides": None}


class Driver:
    def __init__(self, device):
        self.device = device
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Failure(ENVIRONMENT, f"libcuda.so.1 cannot be loaded: {error}",
                          "install the NVIDIA driver; `kernelpro doctor` says more") from error
        pointer, size = ctypes.c_uint64, ctypes.c_size_t
        self.lib.cuMemAlloc_v2.argtypes = [ctypes.POINTER(pointer), size]
        self.lib.cuMemFree_v2.argtypes = [pointer]
        self.lib.cuIpcGetMemHandle.argtypes = [ctypes.POINTER(_Handle), pointer]
        self.lib.cuIpcOpenMemHandle_v2.argtypes = [ctypes.POINTER(pointer), _Handle, ctypes.c_uint]
        self.lib.cuIpcCloseMemHandle.argtypes = [pointer]
        torch.zeros(1, device=device)  # makes PyTorch's primary context current in this thread

    def check(self, code, doing):
        if code == 0:
            return
        text = ctypes.c_char_p()
        self.lib.cuGetErrorString(code, ctypes.byref(text))
        message = f"{doing}: {(text.value or b'unknown error').decode()} (CUDA error {code})"
        kind = OUT_OF_MEMORY if code == CUDA_ERROR_OUT_OF_MEMORY else ENVIRONMENT
        raise Failure(kind, message, "other processes may hold the GPU's memory: see nvidia-smi"
                      if kind == OUT_OF_MEMORY else "")

    def view(self, address, size, owner):
        tensor = torch.as_tensor(_Bytes(address, size, owner), device=self.device)
        if tensor.data_ptr() != address:
            raise Failure(ENVIRONMENT, "this PyTorch copies memory that is given to it by address")
        return tensor


class Allocation:
    """Device memory of its own, freed with close(). bytes: uint8 tensor over it."""

    def __init__(self, driver, size, memory):
        self.driver, self.memory, self.address = driver, memory, 0
        self.size = size = max(ROUND, (size + ROUND - 1) // ROUND * ROUND)
        pointer = ctypes.c_uint64()
        torch.cuda.empty_cache()
        memory.take(size)
        try:
            driver.check(driver.lib.cuMemAlloc_v2(ctypes.byref(pointer), size),
                         f"allocating {size / 2**30:.3g} GiB for shared tensors")
        except Failure:
            memory.take(-size)
            raise
        self.address = pointer.value
        handle = _Handle()
        driver.check(driver.lib.cuIpcGetMemHandle(ctypes.byref(handle), self.address),
                     "exporting memory to the runner (CUDA IPC)")
        self.handle = bytes(handle.reserved).hex()
        self.bytes = driver.view(self.address, size, self)

    def close(self):
        if self.address:
            self.bytes = None
            self.driver.lib.cuMemFree_v2(self.address)
            self.address = 0
            self.memory.take(-self.size)


class HostAllocation:
    """Stands in for Allocation where there is no GPU: nothing is exported."""

    def __init__(self, size):
        self.bytes, self.handle = torch.empty(max(size, 1), dtype=torch.uint8), ""

    def close(self):
        self.bytes = None


class Opened:
    """Allocations of another process, each opened once, closed together."""

    def __init__(self, driver):
        self.driver, self.addresses = driver, {}

    def close(self):
        if not self.addresses:
            return
        torch.cuda.synchronize()
        for address in self.addresses.values():
            self.driver.lib.cuIpcCloseMemHandle(address)
        self.addresses = {}

    def bytes(self, shared):
        """uint8 tensor over a SharedTensor of docs/protocols.md."""
        text = shared["handle"]
        if text not in self.addresses:
            handle, pointer = _Handle(), ctypes.c_uint64()
            handle.reserved[:] = bytes.fromhex(text)
            self.driver.check(
                self.driver.lib.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), handle,
                                                      LAZY_ENABLE_PEER_ACCESS),
                f"opening the runner's {shared['name']} (CUDA IPC)")
            self.addresses[text] = pointer.value
        size = int(shared["bytes"])
        if size == 0:
            return torch.empty(0, dtype=torch.uint8, device=self.driver.device)
        return self.driver.view(self.addresses[text] + int(shared["offset"]), size, self)

"""The engine's own kernels (assets/cuda/support.cu) in the oracle: one pass over truth and output in
place of PyTorch's five."""
import ctypes

import torch

NAMES = {torch.float64: b"kp_compare_f64", torch.float32: b"kp_compare_f32",
         torch.float16: b"kp_compare_f16", torch.bfloat16: b"kp_compare_bf16"}
THREADS = 256
BLOCKS = 8  # a multiprocessor

_loaded = None  # the kernels of the device that this process works on


class Kernels:
    def __init__(self, driver, path):
        self.driver, self.functions = driver, {}
        pointer = ctypes.c_void_p
        driver.lib.cuModuleLoad.argtypes = [ctypes.POINTER(pointer), ctypes.c_char_p]
        driver.lib.cuModuleGetFunction.argtypes = [ctypes.POINTER(pointer), pointer, ctypes.c_char_p]
        driver.lib.cuLaunchKernel.argtypes = ([pointer] + [ctypes.c_uint] * 7
                                              + [pointer, ctypes.POINTER(pointer), pointer])
        module = pointer()
        driver.check(driver.lib.cuModuleLoad(ctypes.byref(module), path.encode()), f"loading {path}")
        for dtype, name in NAMES.items():
            function = pointer()
            driver.check(driver.lib.cuModuleGetFunction(ctypes.byref(function), module, name),
                         f"finding {name.decode()}")
            self.functions[dtype] = function
        self.blocks = BLOCKS * torch.cuda.get_device_properties(driver.device).multi_processor_count

    def compare(self, truth, out):
        result = torch.zeros(2, dtype=torch.float64, device=truth.device)
        values = (ctypes.c_uint64(truth.data_ptr()), ctypes.c_uint64(out.data_ptr()),
                  ctypes.c_uint64(truth.numel()), ctypes.c_uint64(result.data_ptr()))
        pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(v) for v in values))
        stream = torch.cuda.current_stream(truth.device).cuda_stream
        code = self.driver.lib.cuLaunchKernel(self.functions[out.dtype], self.blocks, 1, 1, THREADS, 1, 1, 0,
                                              stream, pointers, None)
        self.driver.check(code, "comparing an output")
        return result.tolist()


def load(driver, path):
    global _loaded
    _loaded = Kernels(driver, path)


def compare(truth, out):
    """(sum of squared errors, largest |error|; NaN where one is) of flat rows, or None when it takes
    PyTorch: no kernels, other types, rows in host memory."""
    if (_loaded is None or out.dtype not in NAMES or truth.dtype != torch.float64
            or truth.device.type != "cuda" or truth.device != out.device
            or not (truth.is_contiguous() and out.is_contiguous())):
        return None
    return _loaded.compare(truth, out)

"""Nests of tensors (arguments, outputs) and what is written down about one tensor."""
import keyword
import re

import torch

DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
          "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64",
          "complex128": "c128"}
BY_NAME = {short: getattr(torch, long) for long, short in DTYPES.items() if hasattr(torch, long)}

# Names that a tensor may have in Python and not in C++.
CPP_WORDS = set("""alignas alignof and asm auto bool break case catch char class const constexpr
continue decltype default delete do double else enum explicit extern false float for friend goto if
inline int long mutable namespace new not operator or private protected public register return short
signed sizeof static struct switch template this throw true try typedef typename union unsigned
using virtual void volatile while xor half""".split())


def dtype_name(tensor):
    """Our short name of a tensor's type; None when kernels cannot be given it."""
    return DTYPES.get(str(tensor.dtype).replace("torch.", ""))


def span(shape, strides):
    """Elements of the smallest allocation that the strides need."""
    if any(n == 0 for n in shape):
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def flatten(value, name, origin):
    """Leaves of a nest in order, as (name, origin, leaf); None is no leaf."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key, item in value.items()
                for leaf in flatten(item, f"{name}_{key}", f"{origin}[{key!r}]")]
    if isinstance(value, (list, tuple)):
        return [leaf for i, item in enumerate(value)
                for leaf in flatten(item, f"{name}{i}", f"{origin}[{i}]")]
    return [(name, origin, value)]


def map_tensors(function, value, kinds=torch.Tensor):
    """The same nest with every tensor (every value of `kinds`) replaced."""
    if isinstance(value, kinds):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tensors(function, item, kinds) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(function, item, kinds) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(function, item, kinds) for item in value)
    return value


class Names:
    """C identifiers, each given once: a second claim of the same name gets a number."""

    def __init__(self):
        self.taken = set()

    def claim(self, wanted):
        name = re.sub(r"[^0-9A-Za-z_]", "_", wanted)[:100] or "_"
        if name[0].isdigit():
            name = "_" + name
        if name in CPP_WORDS or keyword.iskeyword(name):
            name += "_"
        base, i = name, 2
        while name in self.taken:
            name, i = f"{base}_{i}", i + 1
        self.taken.add(name)
        return name


def spec(tensor, name, role, origin):
    """TensorSpec of src/task/task.h."""
    return {"name": name, "dtype": dtype_name(tensor), "shape": list(tensor.shape),
            "strides": list(tensor.stride()), "role": role, "origin": origin}


def storage_bytes(tensor_spec):
    size = torch.empty(0, dtype=BY_NAME[tensor_spec["dtype"]]).element_size()
    return span(tensor_spec["shape"], tensor_spec["strides"]) * size


def storage_elements(tensor):
    """One-dimensional view of all elements that a tensor's strides reach, gaps included."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return torch.as_strided(tensor, (span(tensor.shape, tensor.stride()),), (1,),
                            tensor.storage_offset())


def widen(tensor):
    """Floating and complex tensors in double precision; others as they are."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor


def widen_keeping_strides(tensor):
    """As widen; an expanded tensor stays expanded, so that it costs no more than its storage."""
    wide = widen(storage_elements(tensor))
    if wide.dtype == tensor.dtype:
        return tensor
    return torch.as_strided(wide, tensor.shape, tensor.stride())

"""Values that travel as JSON: the arguments of Model() and forward() (docs/protocols.md, "Values")."""
import base64
import math

import torch

from .failure import TASK, Failure
from .tensors import BY_NAME, dtype_name

LARGEST = 64 << 20  # bytes of a tensor that travels by value


def encode(value, input_names=None):
    """`input_names`: an iterator; tensors then travel as names, in order, else by value."""
    if isinstance(value, torch.Tensor):
        return {"tensor": next(input_names)} if input_names is not None else {"data": _data(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, torch.Size):
        return {"size": list(value)}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode(v, input_names) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(k), encode(v, input_names)] for k, v in value.items()]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).replace("torch.", "")}
    raise Failure(TASK, f"a {type(value).__name__} cannot be given to a module in another process",
                  "arguments are numbers, strings, tensors, and lists, tuples and dicts of them")


def decode(coded, tensor_named):
    """The value again; `tensor_named(name)` gives the tensors."""
    kind, content = next(iter(coded.items()))
    if kind == "value":
        return content
    if kind == "tensor":
        return tensor_named(content)
    if kind == "data":
        raw = bytearray(base64.b64decode(content["bytes"]))
        flat = torch.frombuffer(raw, dtype=torch.uint8).clone() if raw else torch.empty(0, dtype=torch.uint8)
        return flat.view(BY_NAME[content["dtype"]]).reshape(content["shape"])
    if kind == "float":
        return float(content)
    if kind == "size":
        return torch.Size(content)
    if kind in ("list", "tuple"):
        items = [decode(v, tensor_named) for v in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {decode(k, tensor_named): decode(v, tensor_named) for k, v in content}
    if kind == "complex":
        return complex(*content)
    if kind == "dtype":
        return getattr(torch, content)
    raise ValueError(f"unknown kind of value {kind!r}")


def _data(tensor):
    tensor = tensor.detach().cpu().contiguous()
    size = tensor.numel() * tensor.element_size()
    if dtype_name(tensor) is None or size > LARGEST:
        raise Failure(TASK, f"get_init_inputs() gives a tensor of {size} bytes and type {tensor.dtype}, which "
                      "cannot be given to a module in another process")
    raw = bytes(tensor.reshape(-1).view(torch.uint8).numpy()) if size else b""
    return {"dtype": dtype_name(tensor), "shape": list(tensor.shape), "bytes": base64.b64encode(raw).decode()}

"""Counts what the reference computes, operator by operator, while it runs once."""
import math

from torch.utils._python_dispatch import TorchDispatchMode

import torch

# Operators that only make, move or rename numbers.
NO_ARITHMETIC = {"clone", "copy_", "_to_copy", "empty", "empty_like", "empty_strided", "new_empty",
                 "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "new_zeros",
                 "new_full", "new_ones", "fill_", "zero_", "arange", "cat", "stack", "contiguous",
                 "lift_fresh", "detach", "_local_scalar_dense", "scalar_tensor", "index_select",
                 "gather", "embedding", "repeat", "constant_pad_nd", "new_empty_strided", "tril",
                 "triu", "masked_fill", "index", "roll", "flip", "_reshape_alias", "rand", "randn"}


def _elements(shape):
    return math.prod(shape)


def _mm(a, b):
    """(m, k) x (k, n), with any leading batch."""
    return 2 * _elements(a.shape) * b.shape[-1]


def _convolution(args, out):
    x, weight, transposed = args[0], args[1], args[6]
    # Each element of the side with more channels a weight sees is a dot product over the weight.
    side = x if transposed else out
    return 2 * _elements(side.shape) * _elements(weight.shape[1:])


def _attention(args):
    q, k, v = args[:3]
    rows = _elements(q.shape[:-1])
    return 2 * rows * k.shape[-2] * (q.shape[-1] + v.shape[-1])


def _recurrent(args, tensors):
    """Weights of all layers meet every step of every sequence once."""
    x = args[0]
    weights = [t for t in tensors if isinstance(t, torch.Tensor) and t.dim() == 2]
    steps = _elements(x.shape[:-1])
    return 2 * steps * sum(_elements(w.shape) for w in weights)


def matmul_flops(name, args, out):
    """Multiply-adds times two of one call; None when it is no matrix product."""
    if name in ("mm", "bmm"):
        return _mm(args[0], args[1])
    if name in ("addmm", "addmm_", "baddbmm", "_addmm_activation"):
        return _mm(args[1], args[2])
    if name in ("mv", "dot", "vdot"):
        return 2 * _elements(args[0].shape)
    if name in ("addmv", "addmv_"):
        return 2 * _elements(args[1].shape)
    if name == "linear":
        return 2 * _elements(args[0].shape) * args[1].shape[0]
    if name == "_convolution" or name == "convolution":
        return _convolution(args, out)
    if "scaled_dot_product" in name and name.startswith("_"):
        return _attention(args)
    if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        return _recurrent(args, args[2] if name == "lstm" or isinstance(args[2], (list, tuple)) else args[1])
    if name in ("_cudnn_rnn", "miopen_rnn"):
        return _recurrent(args, args[1])
    if name == "mkldnn_rnn_layer":
        return _recurrent(args, args[1:5])
    return None


class Counter(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        """PyTorch asks this from 2.11 on; with True the first operator would import the compiler (4 s)."""
        return False

    def __init__(self):
        super().__init__()
        self.matmul_flops = 0
        self.other_flops = 0
        self.operators = []
        self.casts_to_integers = False  # of floating tensors

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[-1]
        if _is_view(func):
            return out
        if func._schema.name not in self.operators:
            self.operators.append(func._schema.name)
        if name in ("_to_copy", "copy_") and not out.is_floating_point() and not out.is_complex():
            source = args[1] if name == "copy_" else args[0]
            self.casts_to_integers |= source.is_floating_point() and out.dtype != torch.bool
        first = out[0] if isinstance(out, (tuple, list)) and out else out
        flops = matmul_flops(name, args, first)
        if flops is not None:
            self.matmul_flops += flops
        elif name not in NO_ARITHMETIC:
            # One an element of the larger side: a reduction works on its input's elements.
            tensors = [t for t in list(args) + [first] if isinstance(t, torch.Tensor)]
            self.other_flops += max((t.numel() for t in tensors), default=0)
        return out


def _is_view(func):
    returns = func._schema.returns
    return any(r.alias_info is not None and not r.alias_info.is_write for r in returns)

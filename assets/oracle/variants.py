"""Inputs of other distributions than the file's, for a kernel that is right on its numbers alone.

own     as get_inputs() gives them
signed  each floating value x becomes x or -x, by a hash of its magnitude: equal values stay equal,
        zeros stay zero, so that symmetric, triangular and one-hot tensors keep their structure
scaled  floating values times 4 or 1/4
src/verdict/variant.h is the same for native tasks.
"""
import math

import torch

from .compare import CHUNK
from .tensors import storage_elements
from .tolerances import FLOOR

NAMES = ("own", "signed", "scaled")
SCALE = 4.0
FAR_LESS_EXACT = 32.0  # times the reference's own error on the file's numbers

# Operators that stop the GPU, or the process, on values outside their domain: one such run would
# end the oracle, so their inputs are left alone.
STOPPING = ("binary_cross_entropy", "bernoulli", "bernoulli_", "multinomial", "_assert_async",
            "_assert_scalar")

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def hindrance(operators, casts_to_index):
    """Why this reference must not be given other values; empty when it may."""
    found = [name for name in operators if name.split("::")[-1] in STOPPING]
    if found:
        return f"{found[0]} stops the GPU on values outside its domain"
    if casts_to_index:
        return "it makes integers of floating inputs, which may be places in a tensor"
    return ""


def apply(tensors, variant, seed):
    """Changes tensors in place. The same seed makes the same change."""
    salt = _mixed(seed)
    for tensor in tensors:
        if variant == "own" or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        row = storage_elements(tensor)
        row = torch.view_as_real(row).reshape(-1) if row.is_complex() else row
        for part in row.split(CHUNK):
            if variant == "signed":
                _flip_signs(part, salt)
            elif part.element_size() == 1:  # eight-bit types have no arithmetic
                part.copy_((part.to(torch.float32) * _factor(salt)).to(part.dtype))
            else:
                part.mul_(_factor(salt))


def _factor(salt):
    return SCALE if salt & 1 else 1.0 / SCALE


def _flip_signs(row, salt):
    bits = row.view(_BITS[row.element_size()])
    limits = torch.iinfo(bits.dtype)
    magnitude = bits & limits.max
    mixed = magnitude.to(torch.int64) ^ salt
    for factor, shift in ((-0x61C8864680B583EB, 32), (-0x40A7B892E31B1A47, 29), (-0x6B2FB644ECCEEE15, 32)):
        mixed = mixed * factor
        mixed ^= mixed >> shift
    flip = (mixed & 1).to(bits.dtype) * (magnitude != 0)
    bits ^= flip * limits.min


def _mixed(seed):
    """A number below 2^62 out of a seed, of which every bit hangs on every bit of it."""
    value = (seed + 0x9E3779B97F4A7C15) % 2**64
    for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
        value = (value ^ value >> shift) * factor % 2**64
    return (value ^ value >> 31) % 2**62


def quality(truths, precision):
    """Of each output leaf: whether its truth is finite, and the relative error of eager."""
    return [(leaf.finite, leaf.eager[precision].rel_l2) for leaf in truths.leaves]


def borne(specs, own, varied):
    """Whether the reference is as finite on other inputs as on its own, and not far less exact."""
    for spec, (own_finite, own_error), (finite, error) in zip(specs, own, varied):
        if own_finite and not finite:
            return False
        floor = FLOOR.get(spec["dtype"])
        if floor is not None and math.isfinite(own_error) and not error <= FAR_LESS_EXACT * max(own_error, floor):
            return False
    return True

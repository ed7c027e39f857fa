"""What counts as right. src/verdict/compare.cc holds the same rule and the same numbers;
tests/data/compare_cases.json keeps the two alike.

An output leaf passes when
  1. every element lies within  atol * scale + rtol * |truth|,  scale = RMS of the truth leaf, and
  2. its error is that of eager PyTorch at the same policy, up to a factor:
       rel_l2  <= K_L2  * max(eager's rel_l2,  floor)
       max_abs <= K_MAX * max(eager's max_abs, floor * max |truth|)
     floor: a few ulps of the output's type, for references that are exact.
With the user's own --atol/--rtol only  |out - truth| <= atol + rtol * |truth|  counts.
Integers and booleans must be equal; NaN and infinities must stand in the same places.
"""
import math

# atol (of the scale) and rtol by precision. strict: fp32 sums of KernelBench's lengths err by 1e-6
# to 1e-5 of the scale, TF32 by 3e-4 to 1e-3. tf32 and half: ten times the unit round-off of TF32
# (2^-11) and three times that of bf16 (2^-8), for the worst element of millions.
TOLERANCES = {"strict": (1e-4, 1e-4), "tf32": (1e-2, 1e-2), "half": (2e-2, 2e-2)}

K_L2 = 4.0
K_MAX = 8.0

# Unit in the last place at 1, by type.
EPSILON = {"f64": 2.0 ** -52, "f32": 2.0 ** -23, "f16": 2.0 ** -10, "bf16": 2.0 ** -7,
           "f8e4m3": 2.0 ** -3, "f8e5m2": 2.0 ** -2, "c64": 2.0 ** -23, "c128": 2.0 ** -52}

# Error of a leaf, relative to its size, that always passes. Four ulps of f32 are enough for another
# order of summation; 16 bits and less already round by more. f64 has no better truth to compare with.
FLOOR = {"f64": 1e-12, "c128": 1e-12, "f32": 4 * 2.0 ** -23, "c64": 4 * 2.0 ** -23,
         "f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f8e4m3": 2.0 ** -3, "f8e5m2": 2.0 ** -2}

TYPE_LIMITS = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38,
               "f8e4m3": 448.0, "f8e5m2": 57344.0, "c64": 3.4028234663852886e38}


def is_exact(dtype):
    """Integers and booleans."""
    return dtype not in EPSILON


def limits(dtype, scale, eager_max_abs, precision, user):
    """(absolute, relative) tolerance of one element."""
    if user:
        return user
    atol, rtol = TOLERANCES[precision]
    atol, rtol = max(atol, EPSILON[dtype]), max(rtol, EPSILON[dtype])
    # Where the reference itself errs by more than the tolerance, rule 2 alone decides.
    if math.isfinite(eager_max_abs):
        return max(atol * scale, K_MAX * eager_max_abs), rtol
    return atol * scale, rtol


def l2_limit(dtype, eager_rel_l2):
    return K_L2 * max(eager_rel_l2, FLOOR[dtype])


def max_limit(dtype, eager_max_abs, max_truth):
    return K_MAX * max(eager_max_abs, FLOOR[dtype] * max_truth)

"""What a candidate runs: its kernels, PyTorch's operators, and what it changed of PyTorch's own.
Looked at from within the process, in a call of its own after the timed ones: this finds what was
promised and not kept; it is no defence against who forges it."""
import collections
import gc
import math
import random
import time

import torch

try:
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    TorchDispatchMode = None

# Operators that move, make or name data and compute nothing.
NOT_COMPUTE = set("""empty empty_like empty_strided new_empty view _unsafe_view reshape as_strided
_reshape_alias detach alias expand permute transpose t squeeze unsqueeze slice select split split_with_sizes unbind
clone copy_ _to_copy to contiguous zeros zeros_like new_zeros ones ones_like full full_like fill_
zero_ resize_ set_ lift_fresh item _local_scalar_dense arange unfold narrow chunk is_pinned
_pin_memory record_stream""".split())


def _watched():
    """(name, owner, attribute) of what measures and compares; candidates have no business there."""
    found = [(f"time.{n}", time, n) for n in ("time", "perf_counter", "perf_counter_ns", "monotonic", "time_ns",
                                              "monotonic_ns", "sleep")]
    found += [(f"torch.{n}", torch, n) for n in (
        "allclose", "isclose", "equal", "rand", "randn", "randint", "manual_seed", "empty", "zeros",
        "empty_like", "testing", "Tensor", "Generator", "no_grad", "compile")]
    found += [(f"random.{n}", random, n) for n in ("random", "seed", "getrandbits")]
    found += [("torch.nn.Module.__call__", torch.nn.Module, "__call__"), ("gc.get_objects", gc, "get_objects"),
              ("torch.testing.assert_close", torch.testing, "assert_close"), ("math.isclose", math, "isclose")]
    found += [(f"torch.Tensor.{n}", torch.Tensor, n) for n in ("allclose", "equal", "copy_", "sum", "zero_", "item",
                                                               "__eq__", "isclose")]
    if torch.cuda.is_available():
        found += [(f"torch.cuda.{n}", torch.cuda, n) for n in ("synchronize", "Event", "current_stream",
                                                               "default_stream", "manual_seed")]
        found += [(f"torch.cuda.Event.{n}", torch.cuda.Event, n) for n in ("record", "elapsed_time", "synchronize")]
    return [row for row in found if hasattr(row[1], row[2])]


class Watch:
    def __init__(self, device):
        self.device = device
        self.before = [(name, owner, attribute, getattr(owner, attribute)) for name, owner, attribute in _watched()]

    def observe(self, forward):
        notes = []

        def look(at):
            # A look that fails (no CUPTI, a mode that this PyTorch cannot combine) condemns nobody.
            try:
                return at(forward)
            except Exception as error:
                notes.append(f"{at.__name__.strip('_')} could not be seen: {type(error).__name__}: {error}"[:300])
                return None
        kernels = look(self._kernels) if self.device.type == "cuda" else None
        return {"kernels": kernels, "operators": look(self._operators), "patched": self.patched(), "notes": notes}

    def patched(self):
        return [name for name, owner, attribute, was in self.before
                if not _same(getattr(owner, attribute, None), was)]

    def _kernels(self, forward):
        from torch.profiler import ProfilerActivity, profile
        forward()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            forward()
            torch.cuda.synchronize()
        counts = collections.Counter()
        for event in seen.events():
            if event.device_type == torch.autograd.DeviceType.CUDA:
                counts[event.name] += 1
        return dict(counts)

    def _operators(self, forward):
        if TorchDispatchMode is None:
            return {}
        counts = collections.Counter()

        class Count(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                name = str(function).split(".")
                if name[0] == "aten" and name[1] not in NOT_COMPUTE:
                    counts[f"aten::{name[1]}"] += 1
                return function(*args, **(kwargs or {}))
        with Count():
            forward()
        return dict(counts)


def _same(now, was):
    if now is was:
        return True
    # Bound methods are made anew at every look.
    return getattr(now, "__func__", now) is getattr(was, "__func__", was) or (
        type(now).__name__ in ("method", "builtin_function_or_method") and now == was)

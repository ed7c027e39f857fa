"""Times eager PyTorch as the runner times candidates: a cold L2 before every sample."""
import random
import statistics
import time

import torch

from . import failure, task_file
from .tensors import map_tensors

NAMES = {"strict": "eager", "tf32": "eager_tf32", "half": "eager_bf16"}
# The task's own precision first.
ORDER = {"strict": ("strict", "tf32"), "tf32": ("tf32", "strict"), "half": ("half", "strict", "tf32")}
# The runner's own policy: src/verdict/timing.h.
WARM_UP, FEWEST, MOST = 3, 10, 200
NARROW_ENOUGH = 0.002  # the 95 % interval lies within +- this share of the median
ROUNDS = 1000  # of the bootstrap


def summarize(samples_ms, mode="eager"):
    """Timing of src/verdict/verdict.h."""
    middle = statistics.median(samples_ms)
    spread = statistics.median(abs(s - middle) for s in samples_ms)
    low, high = bootstrap_median(samples_ms)
    return {"median_ms": middle, "mad_ms": spread, "ci95_ms": [low, high],
            "samples": len(samples_ms), "mode": mode, "l2": "cold"}


def bootstrap_median(samples, level=0.95, rounds=ROUNDS):
    """Percentile bootstrap interval of the median (Efron 1979)."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(samples, k=len(samples))) for _ in range(rounds))
    return (medians[round((1 - level) / 2 * (rounds - 1))], medians[round((1 + level) / 2 * (rounds - 1))])


def enough(samples, seconds, budget_s):
    """Whether to stop taking samples."""
    count = len(samples)
    if count < FEWEST:
        return False
    if count >= MOST or seconds > budget_s:
        return True
    if count % 10:
        return False
    low, high = bootstrap_median(samples, rounds=200)
    return high - low <= 2 * NARROW_ENOUGH * statistics.median(samples)


class Flush:
    """Evicts the L2 by writing twice its size."""

    def __init__(self, device):
        self.bytes = torch.empty(2 * _l2_bytes(device), dtype=torch.uint8, device=device)

    def __call__(self):
        self.bytes.zero_()


def _l2_bytes(device):
    properties = torch.cuda.get_device_properties(device)
    return getattr(properties, "L2_cache_size", 0) or 64 << 20


def time_call(call, flush, budget_s):
    """Milliseconds of each sample, from its first kernel's start to its last one's end."""
    begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def sample():
        flush()
        begin.record()
        call()
        done.record()
        done.synchronize()
        return begin.elapsed_time(done)

    started, samples = time.monotonic(), []
    for _ in range(WARM_UP):
        sample()
    while not enough(samples, time.monotonic() - started, budget_s):
        samples.append(sample())
    return samples


def time_baselines(reference, args, precision, budget_s):
    """[{"name", "timing"}], the baseline of the task's precision first."""
    flush, found = Flush(reference.device), []
    if reference.writes_inputs:
        args = map_tensors(torch.clone, args)  # every sample changes them again: only time counts
    with reference.kept_state():
        for policy in ORDER[precision]:
            try:
                with task_file.arithmetic(policy), torch.no_grad():
                    samples = time_call(lambda: reference.model(*args), flush, budget_s)
            except (Exception, SystemExit) as error:
                if policy == precision:
                    raise failure.of_task(reference.path, error, "forward() failed") from error
                continue  # a baseline for comparison only
            found.append({"name": NAMES[policy], "timing": summarize(samples)})
    return found

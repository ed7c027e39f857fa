"""Times eager PyTorch as the runner times candidates: a cold L2 before every sample."""
import contextlib
import random
import signal
import statistics
import time

import torch

from . import failure, task_file
from .tensors import map_tensors

POLICIES = {"eager": "strict", "eager_tf32": "tf32", "eager_bf16": "half"}
# The task's own precision first.
ORDER = {"strict": ("eager", "eager_tf32"), "tf32": ("eager_tf32", "eager"),
         "half": ("eager_bf16", "eager", "eager_tf32")}
COMPILE_S = 120  # a torch.compile that takes longer is left out
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


class Sampler:
    """The baselines on one seed's inputs. What one needs (a captured graph, say) is made when it is
    first asked for and kept until another is."""

    def __init__(self, reference, args, precision, seed, with_compile, say):
        self.reference, self.precision, self.seed, self.say = reference, precision, seed, say
        # Every sample changes written inputs again: only time counts.
        self.args = map_tensors(torch.clone, args) if reference.writes_inputs else args
        self.device = reference.device
        self.names = [*ORDER[precision], *(["cuda_graph"] if self.device.type == "cuda" else []),
                      *(["torch_compile"] if with_compile else [])]
        self.flush = Flush(self.device) if self.device.type == "cuda" else lambda: None
        self.ready = None, None  # name, call

    def time_all(self, budget_s):
        """[{"name", "timing"}] of all that run, the baseline of the task's precision first."""
        found = []
        for name in self.names:
            try:
                with self._arithmetic(name), self.reference.kept_state(), torch.no_grad():
                    samples = self._until_enough(self._call(name), budget_s)
            except (Exception, SystemExit) as error:
                self.ready = None, None
                if name == self.names[0]:
                    raise failure.of_task(self.reference.path, error, "forward() failed") from error
                self.say(f"no baseline {name}: {failure.first_line(error)[:200]}")
                continue
            found.append({"name": name, "timing": summarize(samples, _mode(name))})
        self.ready = None, None
        return found

    def sample(self, name, count):
        """Milliseconds of `count` samples of one baseline."""
        if name not in self.names:
            raise failure.Failure(failure.ENVIRONMENT, f"sample: no baseline {name!r}", f"known: {', '.join(self.names)}")
        try:
            with self._arithmetic(name), self.reference.kept_state(), torch.no_grad():
                return [self._once(self._call(name)) for _ in range(count)]
        except (Exception, SystemExit) as error:
            self.ready = None, None
            raise failure.of_task(self.reference.path, error, f"{name} failed") from error

    def _arithmetic(self, name):
        return task_file.arithmetic(POLICIES.get(name, self.precision), self.device.type)

    def _call(self, name):
        """The baseline's call, warmed up."""
        if self.ready[0] != name:
            self.ready = None, None  # a graph's memory is free before the next takes its own
            makers = {"cuda_graph": self._graph, "torch_compile": self._compiled}
            call = makers.get(name, lambda: lambda: self.reference.model(*self.args))()
            for _ in range(WARM_UP):
                self._once(call)
            self.ready = name, call
        return self.ready[1]

    def _graph(self):
        """Eager PyTorch's own kernels, captured once."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # what is made at a first call must not be captured
            self.reference.model(*self.args)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = self.reference.model(*self.args)

        def replay(kept=kept):  # the outputs' memory is the graph's as long as they live
            graph.replay()
        return replay

    def _compiled(self):
        compiled = torch.compile(self.reference.model)
        with _time_limit(COMPILE_S):
            compiled(*self.args)
        return lambda: compiled(*self.args)

    def _until_enough(self, call, budget_s):
        started, samples = time.monotonic(), []
        while not enough(samples, time.monotonic() - started, budget_s):
            samples.append(self._once(call))
        return samples

    def _once(self, call):
        """Milliseconds from the first kernel's start to the last one's end, after a flush."""
        self.flush()
        if self.device.type != "cuda":
            started = time.perf_counter()
            call()
            return 1e3 * (time.perf_counter() - started)
        begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        done.record()
        done.synchronize()
        return begin.elapsed_time(done)


def _mode(name):
    return {"cuda_graph": "graph", "torch_compile": "compiled"}.get(name, "eager")


@contextlib.contextmanager
def _time_limit(seconds):
    """TimeoutError inside the block after so long."""
    def ring(*unused):
        raise TimeoutError(f"not ready after {seconds} s")
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

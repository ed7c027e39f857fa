"""What is kept of a task between requests: its description, its parameters, its seeds."""
import dataclasses

import torch

from . import failure
from .compare import tensor_of
from .describe import describe
from .failure import Failure
from .ipc import Allocation, Driver, HostAllocation, Opened
from .reference import INPUT_SEED, Reference
from .tensors import map_tensors, span, storage_bytes, storage_elements
from .truth import Truths

ALIGNMENT = 256  # bytes, of every shared tensor


@dataclasses.dataclass
class Drawn:
    arena: object
    shared: list  # SharedTensors
    args: list
    truths: Truths = None


class Session:
    def __init__(self, reference, precision, tolerance, force=False):
        self.reference, self.precision, self.tolerance, self.force = reference, precision, tolerance, force
        self.driver = Driver(reference.device) if reference.device.type == "cuda" else None
        args = reference.draw(INPUT_SEED)
        self.task = describe(reference, args, precision, tolerance)
        self.seeds = {}
        self.parameters = None
        self.compared_seeds = False
        self.notes = []  # said since the last answer
        del args
        self._empty_cache()

    def specs(self, role):
        return [s for s in self.task["tensors"] if s["role"] == role]

    def draw(self, seed):
        """Draws the inputs of a seed once, with their truth; SharedTensors of all but outputs."""
        if seed not in self.seeds:
            drawn = self._draw_inputs(seed)
            try:
                drawn.truths = Truths(self.reference, self.specs("output"), drawn.args, self.notes)
                drawn.truths.measure_eager(self.precision)
                self._check_fitness(drawn)
            except BaseException:
                drawn.arena.close()
                raise
            self.seeds[seed] = drawn
            self._empty_cache()
        return self._share_parameters() + self.seeds[seed].shared

    def forget(self, seed):
        drawn = self.seeds.pop(seed, None)
        if drawn:
            drawn.arena.close()
            drawn.args = drawn.truths = None
            self._empty_cache()

    def drawn(self, seed):
        if seed not in self.seeds:
            raise Failure(failure.ENVIRONMENT, f"seed {seed} was not drawn", "send draw before it")
        return self.seeds[seed]

    def compare_tensors(self, seed, outputs):
        """outputs: {name: tensor}. The answer's members."""
        specs = self.specs("output")
        missing = [s["name"] for s in specs if s["name"] not in outputs]
        if missing:
            raise Failure(failure.ENVIRONMENT, f"compare: no output {', '.join(missing)}")
        truths = self.drawn(seed).truths
        leaves = truths.judge([outputs[s["name"]] for s in specs], self.precision, self.tolerance)
        passed = all(leaf["ok"] for leaf in leaves)
        name = truths.accuracy_class(leaves) if passed else ""
        return {"pass": passed, "leaves": leaves, "accuracy_class": name}

    def compare_shared(self, seed, shared):
        """The same with SharedTensors of the runner."""
        by_name = {s["name"]: s for s in shared}
        with Opened(self.driver) as opened:
            outputs = {}
            for spec in self.specs("output"):
                given = by_name.get(spec["name"])
                if given is None:
                    continue
                if int(given["bytes"]) < storage_bytes(spec):
                    raise Failure(failure.ENVIRONMENT, f"compare: {spec['name']} has {given['bytes']} bytes, "
                                  f"not {storage_bytes(spec)}")
                outputs[spec["name"]] = _whole(spec, opened.bytes(given))
            return self.compare_tensors(seed, outputs)

    # ---- inside

    def _draw_inputs(self, seed):
        args = self.reference.draw(seed)
        leaves = self.reference.leaves_of(args)
        tensors = [v for _, _, v in leaves if isinstance(v, torch.Tensor)]
        specs = self.specs("input")
        same = [(list(t.shape), list(t.stride())) for t in tensors] == [(s["shape"], s["strides"]) for s in specs]
        scalars = {s["origin"]: s["value"] for s in self.task["scalars"]}
        same = same and all(scalars.get(o, v) == v for _, o, v in leaves if isinstance(v, (bool, int, float)))
        if not same:
            raise Failure(failure.UNFIT, f"{self.reference.path}: get_inputs() gives other shapes, strides or "
                          "numbers every time", "a kernel is written for fixed ones: fix them in the file")
        arena, shared, views = self._place(tensors, specs)
        moved = iter(views)
        return Drawn(arena, shared, map_tensors(lambda unused: next(moved), args))

    def _share_parameters(self):
        if self.parameters is None:
            arena, shared, _ = self._place([t for _, t in self.reference.state()], self.specs("parameter"))
            self.parameters = arena, shared
        return self.parameters[1]

    def _place(self, tensors, specs):
        """Copies tensors into one allocation that can be shared: (arena, SharedTensors, views)."""
        offsets, size = [], 0
        for spec in specs:
            offsets.append(size)
            size += (storage_bytes(spec) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        arena = Allocation(self.driver, size) if self.driver else HostAllocation(size)
        shared, views = [], []
        for tensor, spec, offset in zip(tensors, specs, offsets):
            count = storage_bytes(spec)
            view = _whole(spec, arena.bytes[offset:offset + count])
            storage_elements(view).copy_(storage_elements(tensor))
            views.append(view)
            shared.append({"name": spec["name"], "handle": arena.handle, "offset": offset, "bytes": count})
        if self.driver:
            torch.cuda.synchronize()
        return arena, shared, views

    def _check_fitness(self, drawn):
        """A task that a constant passes, or the answer for other inputs, proves nothing."""
        reasons = []
        random = drawn.truths.randomness(self.precision)
        if random:
            reasons.append(random)
        constant = drawn.truths.constant_that_passes(self.precision, self.tolerance)
        if constant:
            reasons.append(f"an output of all {constant} passes" if constant != "the mean" else
                           "an output that is the mean everywhere passes")
        if not constant and not self.compared_seeds and self.seeds and self.specs("input"):
            other = next(iter(self.seeds.values()))
            self.compared_seeds = True
            if drawn.truths.passes_for(other.truths, self.precision, self.tolerance):
                reasons.append("the outputs do not depend on the inputs: those of one seed pass for another")
        if not reasons:
            return
        if not self.force:
            raise Failure(failure.UNFIT, f"{self.reference.path}: unfit as a task: {'; '.join(reasons)}",
                          "change the sizes, inputs or tolerance so that only right outputs pass, or use --force")
        self.notes.append(f"unfit as a task, used by force: {'; '.join(reasons)}")

    def _empty_cache(self):
        if self.driver:
            torch.cuda.empty_cache()


def _whole(spec, view):
    """The spec's tensor over its storage bytes."""
    if span(spec["shape"], spec["strides"]) == 0:
        view = view[:0]
    return tensor_of(spec["dtype"], view, spec["shape"], spec["strides"])


def open_session(path, device, precision, tolerance, init_seed, force=False):
    return Session(Reference(path, device, init_seed), precision, tolerance, force)

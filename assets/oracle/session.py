"""What is kept of a task between requests: its description, its parameters, its seeds."""
import dataclasses

import torch

from . import failure, fitness, variants
from .baselines import Sampler
from .compare import tensor_of
from .describe import describe
from .failure import Failure
from .ipc import Allocation, Driver, HostAllocation, Opened
from .memory import Memory
from .reference import INPUT_SEED, Reference
from .tensors import BY_NAME, map_tensors, span, storage_bytes, storage_elements
from .truth import Truths

ALIGNMENT = 256  # bytes, of every shared tensor
RANDOM_ABOVE = 0.05  # relative error of eager at which the reference is run a second time


@dataclasses.dataclass
class Drawn:
    variant: str
    arena: object = None  # of the inputs; None: not on the GPU now
    shared: list = None  # SharedTensors
    args: list = None
    truths: Truths = None
    trivial: list = None  # answers of fitness.ANSWERS that pass

    def drop_inputs(self):
        if self.arena:
            self.arena.close()
        self.arena = self.shared = self.args = None
        if self.truths:
            self.truths.args = None


class Session:
    def __init__(self, reference, precision, tolerance, force=False, compile_baseline=False, gpu_memory=None):
        self.reference, self.precision, self.tolerance, self.force = reference, precision, tolerance, force
        self.compile_baseline = compile_baseline
        self.driver = Driver(reference.device) if reference.device.type == "cuda" else None
        self.memory = Memory(reference.device, self.driver, gpu_memory)
        args = reference.draw(INPUT_SEED)
        self.task = describe(reference, args, precision, tolerance)
        self.hindrance = variants.hindrance(self.task["operators"], self.task.pop("casts_to_integers"))
        self.seeds = {}
        self.own_quality = None  # of the first draw as the file has it
        self.sampler = None
        self.parameters = None
        self.outputs, self.outputs_number = Opened(self.driver), None  # of the runner
        self.notes = []  # said since the last answer
        self.said = set()
        self.module_side = None  # made when a PyTorch module is judged
        del args
        self._empty_cache()

    def specs(self, role):
        return [s for s in self.task["tensors"] if s["role"] == role]

    def draw(self, seed, variant="own", spill=False):
        """Draws the inputs of a seed once, with their truth; SharedTensors of all but outputs."""
        if variant not in variants.NAMES:
            raise Failure(failure.ENVIRONMENT, f"draw: no variant {variant!r}", f"known: {', '.join(variants.NAMES)}")
        if spill:
            self._spill()
        if seed not in self.seeds:
            floating = any(BY_NAME[s["dtype"]].is_floating_point or BY_NAME[s["dtype"]].is_complex
                           for s in self.specs("input"))
            self.seeds[seed] = self._drawn_as_borne(seed, variant if floating else "own")
        else:
            self._ensure_inputs(seed)
        self._empty_cache()
        return self._share_parameters() + self.seeds[seed].shared

    def forget(self, seed):
        drawn = self.seeds.pop(seed, None)
        if drawn:
            self.sampler = None
            drawn.drop_inputs()
            drawn.truths = None
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
        name = truths.accuracy_class(leaves, lambda: self._ensure_inputs(seed)) if passed else ""
        return {"pass": passed, "leaves": leaves, "accuracy_class": name}

    def compare_shared(self, seed, shared, memory, stages):
        """The same with SharedTensors of the runner. What was opened for a number `memory` stays open as
        long as the number is the same. stages.end(name) is told of its parts."""
        if memory != self.outputs_number:
            self.close_outputs()
            self.outputs_number = memory
        by_name = {s["name"]: s for s in shared}
        outputs = {}
        for spec in self.specs("output"):
            given = by_name.get(spec["name"])
            if given is None:
                continue
            if int(given["bytes"]) < storage_bytes(spec):
                raise Failure(failure.ENVIRONMENT, f"compare: {spec['name']} has {given['bytes']} bytes, "
                              f"not {storage_bytes(spec)}")
            outputs[spec["name"]] = _whole(spec, self.outputs.bytes(given))
        stages.end("open")
        found = self.compare_tensors(seed, outputs)
        stages.end("measure")
        return found

    def close_outputs(self):
        self.outputs.close()

    def fitness(self):
        """Refuses a task whose draws so far cannot tell a right output from an empty one."""
        drawn = list(self.seeds.values())
        first = drawn[0].truths if drawn else None
        independent = len(drawn) > 1 and bool(self.specs("input")) and all(
            fitness.passes_for(d.truths, first, self.precision, self.tolerance) for d in drawn[1:])
        reasons, notes = fitness.judge_draws([d.trivial for d in drawn], [d.variant for d in drawn], independent)
        self.notes += notes
        self._refuse(reasons)

    def time_baselines(self, seed, budget_s):
        """[{"name", "timing"}], the baseline of the task's precision first."""
        return self._sampler(seed).time_all(budget_s)

    def sample(self, seed, name, count):
        return self._sampler(seed).sample(name, count)

    # ---- inside

    def _drawn_as_borne(self, seed, variant):
        """The draw of a variant, or of the file's own numbers where the reference does not bear it."""
        if variant == "own":
            return self._make(seed, variant)
        reason = self.hindrance
        if not reason:
            if self.own_quality is None:  # nothing was drawn as the file has it so far
                self._make(seed, "own").drop_inputs()
            try:
                drawn = self._make(seed, variant)
                if variants.borne(self.specs("output"), self.own_quality,
                                  variants.quality(drawn.truths, self.precision)):
                    return drawn
                drawn.drop_inputs()
                reason = "its result is not finite, or far less exact"
            except (Exception, SystemExit) as error:
                if failure.out_of_memory(error) or (isinstance(error, Failure) and error.kind != failure.TASK):
                    raise
                reason = failure.first_line(error)
            self._empty_cache()
        self._say_once(f"the reference does not bear {variant} inputs ({reason}): they are drawn as the file has "
                       "them")
        return self._make(seed, "own")

    def _make(self, seed, variant):
        drawn = Drawn(variant)
        try:
            self._place_inputs(seed, drawn)
            drawn.truths = Truths(self.reference, self.specs("output"), drawn.args, self.notes, self.memory,
                                  self.task["work"]["matmul_flops"] + self.task["work"]["other_flops"])
            drawn.truths.measure_eager(self.precision)
            random = fitness.randomness(drawn.truths, self.precision, RANDOM_ABOVE)
            self._refuse([random] if random else [])
            drawn.trivial = fitness.trivial_answers(drawn.truths, self.precision, self.tolerance)
        except BaseException:
            drawn.drop_inputs()
            raise
        if variant == "own" and self.own_quality is None:
            self.own_quality = variants.quality(drawn.truths, self.precision)
        return drawn

    def _sampler(self, seed):
        """The baselines on the inputs of a seed; kept for the next samples of it."""
        self.drawn(seed)
        if self.sampler is None or self.sampler.seed != seed:
            self.sampler = None
            self._empty_cache()
            self._ensure_inputs(seed)
            self.sampler = Sampler(self.reference, self.seeds[seed].args, self.precision, seed,
                                   self.compile_baseline, self._say_once)
        return self.sampler

    def _place_inputs(self, seed, drawn):
        """Draws what drawn.variant says into an allocation that can be shared."""
        if self.memory.spill:
            self._drop_inputs()
        args = self.reference.draw(seed)
        self._check_drawn(args)
        rows = []
        nest = map_tensors(lambda t: rows.append(storage_elements(t)) or torch.empty(0), args)
        del args  # the rows are freed one by one as they are copied
        drawn.arena, drawn.shared, views = self._place(rows, self.specs("input"))
        variants.apply(views, drawn.variant, seed)
        moved = iter(views)
        drawn.args = map_tensors(lambda unused: next(moved), nest)
        if drawn.truths:
            drawn.truths.args = drawn.args

    def _ensure_inputs(self, seed):
        drawn = self.drawn(seed)
        if drawn.args is None:
            self._place_inputs(seed, drawn)

    def _drop_inputs(self):
        self.sampler = None
        for drawn in self.seeds.values():
            drawn.drop_inputs()
        self._empty_cache()

    def _spill(self):
        if not self.memory.spill:
            self.memory.spill = True
            for drawn in self.seeds.values():
                drawn.truths.spill()
            self._drop_inputs()

    def _check_drawn(self, args):
        leaves = self.reference.leaves_of(args)
        tensors = [v for _, _, v in leaves if isinstance(v, torch.Tensor)]
        specs = self.specs("input")
        same = [(list(t.shape), list(t.stride())) for t in tensors] == [(s["shape"], s["strides"]) for s in specs]
        scalars = {s["origin"]: s["value"] for s in self.task["scalars"]}
        same = same and all(scalars.get(o, v) == v for _, o, v in leaves if isinstance(v, (bool, int, float)))
        if not same:
            raise Failure(failure.UNFIT, f"{self.reference.path}: get_inputs() gives other shapes, strides or "
                          "numbers every time", "a kernel is written for fixed ones: fix them in the file")

    def _share_parameters(self):
        if self.parameters is None:
            rows = [storage_elements(t) for _, t in self.reference.state()]
            arena, shared, _ = self._place(rows, self.specs("parameter"))
            self.parameters = arena, shared
        return self.parameters[1]

    def _place(self, rows, specs):
        """Moves rows of storage into one allocation that can be shared: (arena, SharedTensors, views)."""
        offsets, size = [], 0
        for spec in specs:
            offsets.append(size)
            size += (storage_bytes(spec) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        arena = self._allocate(size, rows) if self.driver else HostAllocation(size)
        shared, views = [], []
        for i, (spec, offset) in enumerate(zip(specs, offsets)):
            count = storage_bytes(spec)
            view = _whole(spec, arena.bytes[offset:offset + count])
            storage_elements(view).copy_(rows[i])
            rows[i] = None
            views.append(view)
            shared.append({"name": spec["name"], "handle": arena.handle, "offset": offset, "bytes": count})
        if self.driver:
            torch.cuda.synchronize()
        return arena, shared, views

    def _allocate(self, size, rows):
        """Where the GPU does not hold the rows twice, they wait in host memory."""
        try:
            return Allocation(self.driver, size, self.memory)
        except Failure as error:
            if error.kind != failure.OUT_OF_MEMORY or all(row.device.type == "cpu" for row in rows):
                raise
        for i, row in enumerate(rows):
            rows[i] = row.cpu()
        del row
        return Allocation(self.driver, size, self.memory)

    def _refuse(self, reasons):
        if not reasons:
            return
        if not self.force:
            raise Failure(failure.UNFIT, f"{self.reference.path}: unfit as a task: {'; '.join(reasons)}",
                          "change the sizes, inputs or tolerance so that only right outputs pass, draw more --seeds, or "
                          "use --force")
        self._say_once(f"unfit as a task, used by force: {'; '.join(reasons)}")

    def _say_once(self, note):
        if note not in self.said:
            self.said.add(note)
            self.notes.append(note)

    def _empty_cache(self):
        if self.driver:
            torch.cuda.empty_cache()


def _whole(spec, view):
    """The spec's tensor over its storage bytes."""
    if span(spec["shape"], spec["strides"]) == 0:
        view = view[:0]
    return tensor_of(spec["dtype"], view, spec["shape"], spec["strides"])


def open_session(path, device, precision, tolerance, init_seed, **options):
    return Session(Reference(path, device, init_seed), precision, tolerance, **options)

"""The right answer for one set of arguments, and how far eager PyTorch is from it."""
import copy
import math

import torch

from . import failure, slices, task_file, tolerances
from .compare import find_alternatives, judge, make_truth, measure
from .failure import Failure
from .memory import GIB, Memory, host_free
from .tensors import BY_NAME, map_tensors, storage_elements

CPU_ELEMENTS = 2e7  # up to so many input elements double precision may run on the CPU
CPU_OPERATIONS = 3e11  # and, after a spill, up to so many floating-point operations
SMALL = GIB  # runs of double precision that need less are not worth slices
DOUBTFUL = 0.01  # relative error of eager above which a truth that was made by slices is made again whole


class Truths:
    """Truth of every output leaf at one draw. Errors of eager are found when first asked for."""

    def __init__(self, reference, specs, args, notes, memory=None, operations=0.0):
        self.reference, self.specs, self.args = reference, specs, args
        self.memory = memory or Memory(reference.device)
        self.operations = operations
        self.leaves = self._answer(notes)

    def _answer(self, notes):
        """Leaves of the double-precision run: by slices where a whole run is large, whole, on the CPU;
        at last in the task's types."""
        attempts = [("double precision", self._whole)]
        need = self._wide_bytes()
        if need > SMALL:
            attempts.insert(0, ("double precision by slices", self._by_slices))
        if self.reference.device.type != "cpu" and self._cpu_may_run(need):
            attempts.append(("double precision on the CPU", self._wide_on_cpu))
        reasons, short = [], False  # short: of memory
        for name, attempt in attempts:
            try:
                leaves = attempt()
                if name.endswith("CPU"):
                    notes.append(f"the truth is {name}, for {'; '.join(reasons)}")
                return leaves
            except slices.Refused as error:
                reasons.append(f"{name}: {error}")
                short |= error.short_of_memory
            except (Exception, SystemExit) as error:
                short |= failure.out_of_memory(error)
                reasons.append(f"{name} failed ({failure.first_line(error)[:200]})")
            _free(self.reference.device)  # out here: the exception held the tensors of the attempt
        if short and not self.memory.spill and self.reference.device.type == "cuda":
            raise Failure(failure.OUT_OF_MEMORY, f"{self.reference.path}: the truth: {'; '.join(reasons)}",
                          "use a GPU with more memory")
        notes.append(f"the truth is eager PyTorch in the tensors' own types, for {'; '.join(reasons)}: only "
                     "the tolerance counts")
        leaves = self._truths(self.run("strict"))
        for leaf in leaves:
            leaf.only_tolerance = True
        return leaves

    def _wide_bytes(self):
        """What a run in double precision takes at least: arguments, state and outputs."""
        elements = [0]

        def add(tensor):
            elements[0] += storage_elements(tensor).numel()
            return tensor
        map_tensors(add, [self.args, [t for _, t in self.reference.state()]])
        return 8 * (elements[0] + sum(math.prod(s["shape"]) for s in self.specs))

    def _cpu_may_run(self, need):
        if _elements(self.args) <= CPU_ELEMENTS:
            return True
        return self.memory.spill and self.operations <= CPU_OPERATIONS and 2 * need < host_free()

    def _whole(self):
        need, free = self._wide_bytes(), self.memory.free()
        if free is not None and need > free:
            raise slices.Refused(f"it needs {need / GIB:.3g} GiB of the GPU, and {free / GIB:.3g} are free", True)
        return self._truths(self.reference.run_wide(self.args))

    def _by_slices(self):
        eager = self.checked(self.run("strict"))
        outs = slices.run(self.reference, self.args, self.specs, eager, self.memory, self._wide_bytes())
        leaves = self._truths(outs)
        for leaf, out in zip(leaves, eager):
            found = leaf.eager["strict"] = _measured(leaf, out)
            if not leaf.exact and not found.rel_l2 <= DOUBTFUL:
                raise slices.Refused(f"{leaf.spec['name']} is another than eager's")
        return leaves

    def _wide_on_cpu(self):
        cpu = torch.device("cpu")
        device, model = self.reference.device, self.reference.model
        try:
            self.reference.device = cpu
            self.reference.model = _moved_copy(model, cpu)
            result = self.reference.run_wide(map_tensors(lambda t: t.to(cpu), self.args))
        finally:
            self.reference.device, self.reference.model = device, model
        return self._truths(result if self.memory.spill else map_tensors(lambda t: t.to(device), result))

    def _truths(self, result):
        leaves = [make_truth(s, leaf, self.memory.device) for s, leaf in zip(self.specs, self.checked(result))]
        for leaf in leaves:
            leaf.values = self.memory.keep(leaf.values)
        return leaves

    def spill(self):
        """Moves the truth to host memory, as self.memory says."""
        for leaf in self.leaves:
            leaf.values = self.memory.keep(leaf.values)

    def checked(self, result):
        leaves = [leaf[2] for leaf in self.reference.output_leaves(result)]
        shapes = [list(leaf.shape) for leaf in leaves]
        if shapes != [s["shape"] for s in self.specs]:
            raise Failure(failure.UNFIT, f"{self.reference.path}: the outputs' shapes change from run to run: "
                          f"{shapes} and {[s['shape'] for s in self.specs]}", "shapes must not depend on values")
        return leaves

    def run(self, precision):
        """Eager PyTorch's result at a policy."""
        device = self.reference.device.type
        try:
            with task_file.arithmetic(precision, device):
                return self.reference.run(self.reference.model, self.args)
        except (Exception, SystemExit) as error:
            raise failure.of_task(self.reference.path, error, "forward() failed") from error

    def measure_eager(self, precision):
        """Fills leaf.eager[precision] of every leaf, once."""
        if all(precision in leaf.eager for leaf in self.leaves):
            return
        for leaf, out in zip(self.leaves, self.checked(self.run(precision))):
            leaf.eager[precision] = _measured(leaf, out)

    def judge(self, outs, precision, user):
        self.measure_eager(precision)
        return [judge(leaf, out, precision, user) for leaf, out in zip(self.leaves, outs)]

    def accuracy_class(self, leaves, bring_inputs):
        """The strictest arithmetic whose eager error, times the factor, covers the candidate's.
        bring_inputs() sets self.args again when they were dropped."""
        floats = [(t, leaf) for t, leaf in zip(self.leaves, leaves) if not t.exact]
        if not floats:
            return "exact"
        if all(t.spec["dtype"] in ("f16", "bf16", "f8e4m3", "f8e5m2") for t, _ in floats):
            return "bf16/fp16"
        for precision, name in (("strict", "fp32-equivalent"), ("tf32", "tf32"), ("half", "bf16/fp16")):
            try:
                if any(precision not in leaf.eager for leaf in self.leaves):
                    bring_inputs()
                    self.measure_eager(precision)
            except Failure as error:  # this reference cannot run so
                if error.kind == failure.OUT_OF_MEMORY:
                    raise
                continue
            if all(leaf["rel_l2"] <= tolerances.l2_limit(t.spec["dtype"], t.eager[precision].rel_l2)
                   for t, leaf in floats):
                return name
        return "below bf16/fp16"


def _measured(leaf, out):
    """Error of eager's own tensor. Where the two cannot be compared, either answer passes from now on."""
    row = leaf.layout.flat(out)
    row = row if leaf.exact else row.to(type_of(leaf, row))
    found = measure(leaf, row, math.inf, 0.0)
    if leaf.alternatives is None and (found.outside or not math.isfinite(found.rel_l2)):
        leaf.alternatives = find_alternatives(leaf, row)
        found = measure(leaf, row, math.inf, 0.0)
    return found


def type_of(leaf, row):
    """The type in which a flat row of this leaf is compared: the output's own."""
    dtype = BY_NAME[leaf.spec["dtype"]]
    if dtype.is_complex:
        return torch.float64 if leaf.spec["dtype"] == "c128" else torch.float32
    return dtype


def _elements(args):
    total = []
    map_tensors(lambda t: total.append(t.numel()) or t, args)
    return sum(total)


def _moved_copy(model, device):
    moved = copy.deepcopy(model).to(device)
    for owner, name, tensor in task_file.plain_tensors(moved):
        setattr(owner, name, tensor.to(device))
    return moved


def _free(device):
    if device.type == "cuda":
        torch.cuda.empty_cache()

"""The right answer for one set of arguments, and how far eager PyTorch is from it."""
import copy
import math

import torch

from . import failure, task_file, tolerances
from .compare import CHUNK, find_alternatives, judge, make_truth, measure
from .failure import Failure
from .tensors import BY_NAME, map_tensors

CPU_ELEMENTS = 2e7  # up to so many input elements double precision may run on the CPU
RANDOM_ABOVE = 0.05  # relative error of eager at which the reference is run a second time


class Truths:
    """Truth of every output leaf at one seed. Errors of eager are found when first asked for."""

    def __init__(self, reference, specs, args, notes):
        self.reference, self.specs, self.args = reference, specs, args
        leaves, only_tolerance = self._answer(notes)
        self.leaves = [make_truth(s, leaf) for s, leaf in zip(specs, leaves)]
        for leaf in self.leaves:
            leaf.only_tolerance = only_tolerance

    def _answer(self, notes):
        """Tensors of the double-precision run; falls back to the CPU, then to the task's types."""
        attempts = [("double precision", self._wide)]
        if self.reference.device.type != "cpu" and _elements(self.args) <= CPU_ELEMENTS:
            attempts.append(("double precision on the CPU", self._wide_on_cpu))
        reasons = []
        for name, attempt in attempts:
            try:
                leaves = self._checked(attempt())
                if reasons:
                    notes.append(f"the truth is {name}, for {'; '.join(reasons)}")
                return leaves, False
            except (Exception, SystemExit) as error:
                reasons.append(f"{name} failed ({failure.first_line(error)[:200]})")
            _free(self.reference.device)  # out here: the exception held the tensors of the attempt
        notes.append(f"the truth is eager PyTorch in the tensors' own types, for {'; '.join(reasons)}: only "
                     "the tolerance counts")
        return self._checked(self.run("strict")), True

    def _wide(self):
        return self.reference.run_wide(self.args)

    def _wide_on_cpu(self):
        cpu = torch.device("cpu")
        device, model = self.reference.device, self.reference.model
        try:
            self.reference.device = cpu
            self.reference.model = _moved_copy(model, cpu)
            result = self.reference.run_wide(map_tensors(lambda t: t.to(cpu), self.args))
            return map_tensors(lambda t: t.to(device), result)
        finally:
            self.reference.device, self.reference.model = device, model

    def _checked(self, result):
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
        outs = self._checked(self.run(precision))
        for leaf, out in zip(self.leaves, outs):
            row = leaf.layout.flat(out)
            row = row if leaf.exact else row.to(_type_of(leaf, row))
            found = measure(leaf, row, math.inf, 0.0)
            if leaf.alternatives is None and (found.outside or not math.isfinite(found.rel_l2)):
                leaf.alternatives = find_alternatives(leaf, row)
                found = measure(leaf, row, math.inf, 0.0)
            leaf.eager[precision] = found

    def randomness(self, precision):
        """In words, how the reference differs from itself; empty when it does not, or hardly."""
        if all(leaf.eager[precision].rel_l2 < RANDOM_ABOVE for leaf in self.leaves):
            return ""
        torch.manual_seed(1)
        first = self._checked(self.run(precision))
        torch.manual_seed(2)
        second = self._checked(self.run(precision))
        for leaf, a, b in zip(self.leaves, first, second):
            a, b = (leaf.layout.flat(t).to(torch.float64) for t in (a, b))
            size, off = torch.linalg.vector_norm(a).item(), torch.linalg.vector_norm(a - b).item()
            if off > RANDOM_ABOVE * size:
                return (f"{leaf.spec['name']} differs from run to run on the same inputs (by "
                        f"{100 * off / size if size else math.inf:.3g} %): the reference draws random numbers")
        return ""

    def judge(self, outs, precision, user):
        self.measure_eager(precision)
        return [judge(leaf, out, precision, user) for leaf, out in zip(self.leaves, outs)]

    def constant_that_passes(self, precision, user):
        """"zeros", "ones" or "the mean" when it passes for every output; else None."""
        self.measure_eager(precision)
        for name in ("zeros", "ones", "the mean"):
            if all(self._constant_passes(leaf, name, precision, user) for leaf in self.leaves):
                return name
        return None

    def _constant_passes(self, leaf, name, precision, user):
        spec, count = leaf.spec, leaf.values.numel()
        if count == 0 or (name == "the mean" and (leaf.exact or count == 1)):
            return False
        value = {"zeros": 0.0, "ones": 1.0}.get(name)
        if value is None:
            value = sum(part.sum().item() for part in leaf.values.split(4 * CHUNK)) / count
        # Elements enough to refuse the constant are found in the first chunk nearly always.
        for chunk in leaf.values.split(CHUNK):
            if leaf.exact:
                if bool((chunk != value).any()):
                    return False
                continue
            absolute, relative = tolerances.limits(spec["dtype"], leaf.scale, leaf.eager[precision].max_abs,
                                                   precision, user)
            if not bool(torch.isfinite(chunk).all()) or bool(((chunk - value).abs() > absolute + relative * chunk.abs()).any()):
                return False
        if leaf.exact or user or leaf.only_tolerance:
            return True
        row = torch.full((count,), value, dtype=_type_of(leaf, leaf.values), device=leaf.values.device)
        found = measure(leaf, row, math.inf, 0.0)
        return found.rel_l2 <= tolerances.l2_limit(spec["dtype"], leaf.eager[precision].rel_l2)

    def passes_for(self, other, precision, user):
        """Whether the truth of another seed would pass for this one's, in every output."""
        for mine, others in zip(self.leaves, other.leaves):
            dtype = mine.spec["dtype"]
            if mine.exact:
                if measure(mine, others.values, 0.0, 0.0).outside:
                    return False
                continue
            eager = mine.eager[precision]
            absolute, relative = tolerances.limits(dtype, mine.scale, eager.max_abs, precision, user)
            first = mine.values[:CHUNK]  # nearly always enough
            if bool(((first - others.values[:CHUNK]).abs() > absolute + relative * first.abs()).any()):
                return False
            found = measure(mine, others.values, absolute, relative)
            if found.outside or (not user and found.rel_l2 > tolerances.l2_limit(dtype, eager.rel_l2)):
                return False
        return True

    def accuracy_class(self, leaves):
        """The strictest arithmetic whose eager error, times the factor, covers the candidate's."""
        floats = [(t, leaf) for t, leaf in zip(self.leaves, leaves) if not t.exact]
        if not floats:
            return "exact"
        if all(t.spec["dtype"] in ("f16", "bf16", "f8e4m3", "f8e5m2") for t, _ in floats):
            return "bf16/fp16"
        for precision, name in (("strict", "fp32-equivalent"), ("tf32", "tf32"), ("half", "bf16/fp16")):
            try:
                self.measure_eager(precision)
            except Failure:  # this reference cannot run so
                continue
            if all(leaf["rel_l2"] <= tolerances.l2_limit(t.spec["dtype"], t.eager[precision].rel_l2)
                   for t, leaf in floats):
                return name
        return "below bf16/fp16"


def _type_of(leaf, row):
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

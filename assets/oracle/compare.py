"""Compares one output leaf with its truth, in chunks, by the rule of tolerances.py."""
import dataclasses
import math

import torch

from . import tolerances
from .tensors import BY_NAME

CHUNK = 1 << 22  # elements: about 200 MB of temporaries in double precision


@dataclasses.dataclass
class Alternatives:
    """Elements where the reference's own answer is another than the truth's and cannot be told
    wrong: an overflow of its type, or an integer that hangs on a rounding. Either answer passes."""
    places: torch.Tensor  # flat, ascending
    values: torch.Tensor  # the reference's


@dataclasses.dataclass
class Measured:
    max_abs: float = 0.0
    rel_l2: float = 0.0
    outside: int = 0  # elements
    worst: int = 0  # flat place of the element farthest outside its limit
    expected: float = 0.0
    actual: float = 0.0


class Layout:
    """A tensor's elements as one flat row in the order of memory, so that a dense tensor of any
    order of dimensions is read without a copy."""

    def __init__(self, spec):
        self.shape = spec["shape"]
        self.order = sorted(range(len(self.shape)), key=lambda d: -spec["strides"][d])

    def flat(self, tensor):
        tensor = tensor.permute(self.order).contiguous()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        if tensor.dtype == torch.bool:  # any byte but 0 is true
            tensor = tensor.view(torch.uint8) != 0
        return tensor.reshape(-1)

    def index(self, place, is_complex=False):
        """Index in the tensor of a place in the flat row (of a complex one: its element's)."""
        place = place // 2 if is_complex else place
        index = [0] * len(self.shape)
        for d in reversed(self.order):
            index[d], place = place % self.shape[d], place // self.shape[d]
        return index


@dataclasses.dataclass
class Truth:
    """The right answer of one output leaf. values: flat; f64 for floating and complex leaves."""
    spec: dict
    layout: Layout
    values: torch.Tensor
    rms: float = 0.0
    largest: float = 0.0  # of the finite values
    sum_squares: float = 0.0
    alternatives: Alternatives = None
    eager: dict = dataclasses.field(default_factory=dict)  # precision -> Measured
    only_tolerance: bool = False  # the truth is no better than eager: rule 2 says nothing

    @property
    def scale(self):
        return self.rms or self.largest or 1.0

    @property
    def exact(self):
        return tolerances.is_exact(self.spec["dtype"])


def make_truth(spec, tensor):
    """Truth of a leaf out of the tensor that the reference gave in double precision."""
    layout = Layout(spec)
    values = layout.flat(tensor)
    truth = Truth(spec, layout, values)
    if truth.exact:
        return truth
    values = truth.values = values.to(torch.float64)
    if values.numel():
        total = torch.zeros((), dtype=torch.float64, device=values.device)
        largest = torch.zeros_like(total)
        count = torch.zeros_like(total)
        for t in values.split(CHUNK):
            t = torch.where(torch.isfinite(t), t, torch.zeros_like(t))
            total += torch.dot(t, t)
            largest = torch.maximum(largest, t.abs().amax())
            count += t.numel()
        truth.sum_squares, truth.largest = total.item(), largest.item()
        truth.rms = math.sqrt(truth.sum_squares / count.item())
    return truth


def measure(truth, out, absolute, relative):
    """Measured of a flat row `out` against the truth under |error| <= absolute + relative*|truth|.
    Elements of truth.alternatives that hold the alternative count as right."""
    if out.numel() == 0:
        return Measured()
    if truth.exact:
        return _measure_exact(truth, out)
    return _measure_fast(truth, out, absolute) or _measure_fully(truth, out, absolute, relative)


def _relative(error_squares, truth_squares):
    if truth_squares > 0:
        return math.sqrt(error_squares / truth_squares)
    return 0.0 if error_squares == 0 else math.inf


def _measure_fast(truth, out, absolute):
    """For leaves that are finite and wholly within the absolute tolerance; else None."""
    if out.element_size() == 1:
        return None
    total = torch.zeros((), dtype=torch.float64, device=out.device)
    largest = torch.zeros_like(total)
    for t, o in zip(truth.values.split(4 * CHUNK), out.split(4 * CHUNK)):
        error = torch.sub(t, o).abs_()
        total += torch.dot(error, error)
        largest = torch.maximum(largest, error.amax())  # NaN stays NaN
    total, largest = torch.stack([total, largest]).tolist()
    if not math.isfinite(total) or not largest <= absolute:
        return None
    return Measured(max_abs=largest, rel_l2=_relative(total, truth.sum_squares))


def _apply_alternatives(truth, start, o, error):
    """Sets the error of elements that hold their alternative to 0."""
    if truth.alternatives is None:
        return
    places = truth.alternatives.places
    ends = torch.tensor([start, start + o.numel()], device=places.device)
    first, last = torch.searchsorted(places, ends).tolist()
    if first == last:
        return
    here = places[first:last] - start
    value = truth.alternatives.values[first:last].to(o.dtype)
    held = o[here]
    same = (held == value) | ((held != held) & (value != value))
    error[here] = torch.where(same, torch.zeros_like(error[here]), error[here])


def expected_values(truth, t):
    """The truth with values beyond the output type's range as infinities."""
    limit = tolerances.TYPE_LIMITS.get(truth.spec["dtype"])
    if limit is None:
        return t
    return torch.where(t.abs() > limit, torch.sign(t) * math.inf, t)


def _errors(truth, start, t, o):
    """|o - t| by element; infinite where a NaN or infinity is not matched."""
    finite = torch.isfinite(t)
    same = (t == o) | (torch.isnan(t) & torch.isnan(o))
    infinite = torch.full_like(t, math.inf)
    error = torch.where(finite & torch.isfinite(o), (o - t).abs(),
                        torch.where(same, torch.zeros_like(t), infinite))
    _apply_alternatives(truth, start, o, error)
    return error


def _measure_fully(truth, out, absolute, relative):
    device = out.device
    total = torch.zeros((), dtype=torch.float64, device=device)
    largest = torch.zeros_like(total)
    outside = torch.zeros((), dtype=torch.int64, device=device)
    excesses, places = [], []
    for i, (t, o) in enumerate(zip(truth.values.split(CHUNK), out.split(CHUNK))):
        t, o = expected_values(truth, t), o.to(torch.float64)
        error = _errors(truth, i * CHUNK, t, o)
        total += torch.dot(error, error)
        largest = torch.maximum(largest, error.amax())
        bound = torch.where(torch.isfinite(t), t.abs(), torch.zeros_like(t))
        excess = error - bound.mul_(relative).add_(absolute)
        outside += (excess > 0).sum()
        most, place = excess.max(dim=0)
        excesses.append(most)
        places.append(place + i * CHUNK)
    chunk = torch.stack(excesses).argmax()
    worst = torch.stack(places)[chunk].item()
    return Measured(largest.item(), _relative(total.item(), truth.sum_squares), outside.item(), worst,
                    expected_values(truth, truth.values[worst:worst + 1]).item(),
                    out[worst].to(torch.float64).item())


def _measure_exact(truth, out):
    found = Measured()
    for i, (t, o) in enumerate(zip(truth.values.split(CHUNK), out.split(CHUNK))):
        wrong = t != o
        _apply_alternatives(truth, i * CHUNK, o, wrong)
        count = int(wrong.sum())
        if count == 0:
            continue
        found.outside += count
        error = (t.to(torch.float64) - o.to(torch.float64)).abs().clamp(min=1.0)
        most, place = torch.where(wrong, error, torch.zeros_like(error)).max(dim=0)
        if most.item() > found.max_abs:
            found.max_abs, found.worst = most.item(), place.item() + i * CHUNK
            found.expected, found.actual = float(t[place]), float(o[place])
    if found.outside:
        found.rel_l2 = found.outside / out.numel()
    return found


def find_alternatives(truth, out):
    """Alternatives of the reference's own flat row; None when it agrees with the truth."""
    found = []
    for i, (t, o) in enumerate(zip(truth.values.split(CHUNK), out.split(CHUNK))):
        if truth.exact:
            other = t != o
        else:
            t, o = expected_values(truth, t), o.to(torch.float64)
            other = ~((torch.isfinite(t) & torch.isfinite(o)) | (t == o)
                      | (torch.isnan(t) & torch.isnan(o)))
        places = other.nonzero().view(-1)
        if places.numel():
            found.append(places + i * CHUNK)
    if not found:
        return None
    places = torch.cat(found)
    return Alternatives(places, out[places].clone())


def judge(truth, out, precision, user):
    """LeafError of src/verdict/verdict.h: the candidate's tensor against the truth."""
    spec = truth.spec
    eager = truth.eager.get(precision, Measured())
    row = truth.layout.flat(out)
    if truth.exact:
        absolute = relative = 0.0
    else:
        absolute, relative = tolerances.limits(spec["dtype"], truth.scale, eager.max_abs, precision, user)
    found = measure(truth, row, absolute, relative)
    reason = ""
    if found.outside:
        allowed = absolute + (relative * abs(found.expected) if math.isfinite(found.expected) else 0)
        index = truth.layout.index(found.worst, "c64" == spec["dtype"] or "c128" == spec["dtype"])
        place = f"[{','.join(str(i) for i in index)}]" if index else ""
        reason = (f"{spec['name']}{place}: expected {found.expected:.6g}, got {found.actual:.6g} "
                  f"(max error {found.max_abs:.6g}, tolerance {allowed:.6g}); "
                  f"{100.0 * found.outside / row.numel():.4g} % of the elements are outside")
    elif not truth.exact and not user and not truth.only_tolerance:
        reason = _beyond_eager(spec, found, eager, truth.largest)
    leaf = {"tensor": spec["name"], "ok": not reason, "max_abs": found.max_abs,
            "rel_l2": found.rel_l2, "eager_max_abs": eager.max_abs, "eager_rel_l2": eager.rel_l2,
            "outside": found.outside / max(row.numel(), 1), "worst_index": [], "expected": 0.0,
            "actual": 0.0, "reason": reason}
    if found.outside:
        leaf.update(worst_index=index, expected=found.expected, actual=found.actual)
    return leaf


def _beyond_eager(spec, found, eager, largest):
    dtype = spec["dtype"]
    if found.rel_l2 > tolerances.l2_limit(dtype, eager.rel_l2):
        return (f"{spec['name']}: relative L2 error {found.rel_l2:.6g} is above "
                f"{tolerances.l2_limit(dtype, eager.rel_l2):.6g}, "
                f"{tolerances.K_L2:.6g} times what the reference's own arithmetic errs")
    if found.max_abs > tolerances.max_limit(dtype, eager.max_abs, largest):
        return (f"{spec['name']}: max error {found.max_abs:.6g} is above "
                f"{tolerances.max_limit(dtype, eager.max_abs, largest):.6g}, "
                f"{tolerances.K_MAX:.6g} times what the reference's own arithmetic errs")
    return ""


def tensor_of(dtype, bytes_view, shape, strides):
    """A tensor over raw bytes. `bytes_view`: uint8, at the tensor's first element."""
    return torch.as_strided(bytes_view.view(BY_NAME[dtype]), shape, strides)

"""Compares one output leaf with its truth, in chunks, by the rule of tolerances.py."""
import dataclasses
import functools
import math

import torch

from . import kernels, tolerances
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
    """The right answer of one output leaf. values: flat; f64 for floating and complex leaves. They
    may lie in host memory; the comparison runs on `device` all the same, chunk by chunk."""
    spec: dict
    layout: Layout
    values: torch.Tensor
    device: torch.device = None
    finite: bool = True
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

    @property
    def complex(self):
        return self.spec["dtype"] in ("c64", "c128")

    def chunks(self, size):
        """(first place, values on the device) of consecutive parts."""
        return pieces(self.values, size, self.device)

    def at(self, place):
        return self.values[place].item()


def pieces(row, size, device):
    """(first place, part on the device) of consecutive parts of a flat row."""
    for i, part in enumerate(row.split(size)):
        yield i * size, part.to(device, non_blocking=True)


def make_truth(spec, tensor, device=None):
    """Truth of a leaf out of the tensor that the reference gave in double precision."""
    layout = Layout(spec)
    values = layout.flat(tensor)
    truth = Truth(spec, layout, values, device or values.device)
    if truth.exact:
        return truth
    values = truth.values = values.to(torch.float64)
    if values.numel():
        total = torch.zeros((), dtype=torch.float64, device=truth.device)
        largest = torch.zeros_like(total)
        infinite = torch.zeros((), dtype=torch.int64, device=truth.device)
        for _, t in truth.chunks(CHUNK):
            finite = torch.isfinite(t)
            infinite += (~finite).sum()
            t = torch.where(finite, t, torch.zeros_like(t))
            total += torch.dot(t, t)
            largest = torch.maximum(largest, t.abs().amax())
        truth.sum_squares, truth.largest = total.item(), largest.item()
        truth.rms = math.sqrt(truth.sum_squares / values.numel())
        truth.finite = infinite.item() == 0
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
    total, largest = kernels.compare(truth.values, out) or _measure_in_chunks(truth, out)
    if not math.isfinite(total) or not largest <= absolute:
        return None
    return Measured(max_abs=largest, rel_l2=_relative(total, truth.sum_squares))


def _measure_in_chunks(truth, out):
    total = torch.zeros((), dtype=torch.float64, device=truth.device)
    largest = torch.zeros_like(total)
    for (_, t), (_, o) in zip(truth.chunks(4 * CHUNK), pieces(out, 4 * CHUNK, truth.device)):
        error = torch.sub(t, o).abs_()
        total += torch.dot(error, error)
        largest = torch.maximum(largest, error.amax())  # NaN stays NaN
    return torch.stack([total, largest]).tolist()


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


def _errors(t, o):
    """|o - t| by element; infinite where a NaN or infinity is not matched."""
    finite = torch.isfinite(t)
    same = (t == o) | (torch.isnan(t) & torch.isnan(o))
    infinite = torch.full_like(t, math.inf)
    error = torch.where(finite & torch.isfinite(o), (o - t).abs(),
                        torch.where(same, torch.zeros_like(t), infinite))
    return error


def _measure_fully(truth, out, absolute, relative):
    device = truth.device
    total = torch.zeros((), dtype=torch.float64, device=device)
    largest = torch.zeros_like(total)
    outside = torch.zeros((), dtype=torch.int64, device=device)
    excesses, places = [], []
    for (start, t), (_, o) in zip(truth.chunks(CHUNK), pieces(out, CHUNK, device)):
        t, o = expected_values(truth, t), o.to(torch.float64)
        error = _errors(t, o)
        _apply_alternatives(truth, start, o, error)
        total += torch.dot(error, error)
        largest = torch.maximum(largest, error.amax())
        bound = torch.where(torch.isfinite(t), t.abs(), torch.zeros_like(t))
        excess = error - bound.mul_(relative).add_(absolute)
        outside += (excess > 0).sum()
        most, place = excess.max(dim=0)
        excesses.append(most)
        places.append(place + start)
    chunk = torch.stack(excesses).argmax()
    worst = torch.stack(places)[chunk].item()
    return Measured(largest.item(), _relative(total.item(), truth.sum_squares), outside.item(), worst,
                    expected_values(truth, truth.values[worst:worst + 1]).item(),
                    out[worst].to(torch.float64).item())


def _measure_exact(truth, out):
    found = Measured()
    for (start, t), (_, o) in zip(truth.chunks(CHUNK), pieces(out, CHUNK, truth.device)):
        wrong = t != o
        _apply_alternatives(truth, start, o, wrong)
        count = int(wrong.sum())
        if count == 0:
            continue
        found.outside += count
        error = (t.to(torch.float64) - o.to(torch.float64)).abs().clamp(min=1.0)
        most, place = torch.where(wrong, error, torch.zeros_like(error)).max(dim=0)
        if most.item() > found.max_abs:
            found.max_abs, found.worst = most.item(), place.item() + start
            found.expected, found.actual = float(t[place]), float(o[place])
    if found.outside:
        found.rel_l2 = found.outside / out.numel()
    return found


def find_alternatives(truth, out):
    """Alternatives of the reference's own flat row; None when it agrees with the truth."""
    found = []
    for (start, t), (_, o) in zip(truth.chunks(CHUNK), pieces(out, CHUNK, truth.device)):
        if truth.exact:
            other = t != o
        else:
            t, o = expected_values(truth, t), o.to(torch.float64)
            other = ~((torch.isfinite(t) & torch.isfinite(o)) | (t == o)
                      | (torch.isnan(t) & torch.isnan(o)))
        places = other.nonzero().view(-1)
        if places.numel():
            found.append(places + start)
    if not found:
        return None
    places = torch.cat(found)
    return Alternatives(places, out[places].clone())


@functools.lru_cache(maxsize=8)
def _sample(count, wanted):
    """Places in a row, ascending, the same at every call."""
    rng = torch.Generator()
    rng.manual_seed(1)
    return torch.randint(count, (wanted,), generator=rng).sort().values


def quantiles(truth, out, largest):
    """How |out - truth| is spread: of all elements, or of a sample of a large leaf. On a host row
    the sample is small, for it is gathered there."""
    count, cheap = out.numel(), 1 << (16 if truth.values.device != truth.device else 18)
    if count <= cheap:
        t, o, places = truth.values, out, None
    else:
        places = _sample(count, cheap)
        if truth.alternatives is not None:  # either answer is right there
            places = places[~torch.isin(places, truth.alternatives.places.to("cpu"))]
        t, o = truth.values[places.to(truth.values.device)], out[places.to(out.device)]
    t, o = t.to(truth.device), o.to(truth.device)
    if truth.exact:
        error = (t.to(torch.float64) - o.to(torch.float64)).abs()
    else:
        t, o = expected_values(truth, t), o.to(torch.float64)
        error = _errors(t, o)
    if places is None:
        _apply_alternatives(truth, 0, o, error)
    if error.numel() == 0:
        return {"p50": 0.0, "p90": 0.0, "p99": 0.0, "max": largest}
    error = error.sort().values
    last = error.numel() - 1
    found = error[[int(share * last + 0.5) for share in (0.5, 0.9, 0.99)]].tolist()
    return {"p50": found[0], "p90": found[1], "p99": found[2], "max": largest}


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
        index = truth.layout.index(found.worst, truth.complex)
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
    if found.outside or truth.values.device == truth.device:
        leaf["quantiles"] = quantiles(truth, row, found.max_abs)
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

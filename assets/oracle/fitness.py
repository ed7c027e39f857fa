"""Whether the draws of a task can tell a right output from one that asks for no work.

Judged over all draws: an answer that passes each of them makes a task unfit; one that passes some
(a ReLU of positive numbers is its input) is told, for the other draws refuse it.
src/verdict/fitness.h holds the same rule for native tasks.
"""
import math

import torch

from . import tolerances
from .compare import CHUNK, judge, measure
from .truth import type_of

ANSWERS = {"zeros": "an output of all zeros", "ones": "an output of all ones",
           "the mean": "an output that is the mean everywhere",
           "the first input": "the first input, returned as it is,"}


def trivial_answers(truths, precision, user):
    """Which of ANSWERS pass for every output of a draw."""
    truths.measure_eager(precision)
    found = [name for name in ANSWERS
             if all(_passes(truths, leaf, name, precision, user) for leaf in truths.leaves)]
    # Where all is 0 or 1, so is the mean.
    return [name for name in found if name != "the mean" or not {"zeros", "ones"} & set(found)]


def _passes(truths, leaf, name, precision, user):
    if leaf.values.numel() == 0:
        return False
    if name == "the first input":
        return _first_input_passes(truths, leaf, precision, user)
    return _constant_passes(leaf, name, precision, user)


def _constant_passes(leaf, name, precision, user):
    spec, count = leaf.spec, leaf.values.numel()
    if name == "the mean" and (leaf.exact or count == 1):
        return False
    value = {"zeros": 0.0, "ones": 1.0}.get(name)
    if value is None:
        value = sum(part.sum().item() for _, part in leaf.chunks(4 * CHUNK)) / count
    # Elements enough to refuse the constant are found in the first chunk nearly always.
    for _, chunk in leaf.chunks(CHUNK):
        if leaf.exact:
            if bool((chunk != value).any()):
                return False
            continue
        absolute, relative = tolerances.limits(spec["dtype"], leaf.scale, leaf.eager[precision].max_abs,
                                               precision, user)
        outside = (chunk - value).abs() > absolute + relative * chunk.abs()
        if not bool(torch.isfinite(chunk).all()) or bool(outside.any()):
            return False
    if leaf.exact or user or leaf.only_tolerance:
        return True
    row = torch.full((1,), value, dtype=type_of(leaf, leaf.values), device=leaf.device).expand(count)
    found = measure(leaf, row, math.inf, 0.0)
    return found.rel_l2 <= tolerances.l2_limit(spec["dtype"], leaf.eager[precision].rel_l2)


def _first_input_passes(truths, leaf, precision, user):
    first = next((v for _, _, v in truths.reference.leaves_of(truths.args)
                  if isinstance(v, torch.Tensor) and v.is_floating_point()), None)
    if first is None or list(first.shape) != leaf.spec["shape"] or leaf.exact or leaf.complex:
        return False
    place = (0,) * first.dim()  # nearly always enough
    here = leaf.at(0)
    absolute, relative = tolerances.limits(leaf.spec["dtype"], leaf.scale, leaf.eager[precision].max_abs,
                                           precision, user)
    if math.isfinite(here) and abs(here - first[place].item()) > absolute + relative * abs(here):
        return False
    return judge(leaf, first.to(type_of(leaf, leaf.values)), precision, user)["ok"]


def passes_for(truths, other, precision, user):
    """Whether the truth of another draw would pass for this one's, in every output."""
    for mine, others in zip(truths.leaves, other.leaves):
        dtype = mine.spec["dtype"]
        if mine.exact:
            if measure(mine, others.values, 0.0, 0.0).outside:
                return False
            continue
        eager = mine.eager[precision]
        absolute, relative = tolerances.limits(dtype, mine.scale, eager.max_abs, precision, user)
        (_, first), (_, theirs) = next(mine.chunks(CHUNK)), next(others.chunks(CHUNK))  # nearly always enough
        if bool(((first - theirs).abs() > absolute + relative * first.abs()).any()):
            return False
        found = measure(mine, others.values, absolute, relative)
        if found.outside or (not user and found.rel_l2 > tolerances.l2_limit(dtype, eager.rel_l2)):
            return False
    return True


def judge_draws(trivial, variants, independent):
    """(reasons for which the task is unfit, notes). trivial: the passing answers of each draw;
    independent: whether the outputs of one draw pass for all the others."""
    reasons, notes = [], []
    for name, words in ANSWERS.items():
        where = [variant for answers, variant in zip(trivial, variants) if name in answers]
        if where and len(trivial) == 1 and name == "the first input":
            notes.append(f"{words} passes the only draw; more --seeds would tell it from the right answer")
        elif where and len(where) == len(trivial):
            reasons.append(f"{words} passes")
        elif where:
            notes.append(f"{words} passes where the inputs are {', '.join(where)}; the other draws tell it "
                         "from the right answer")
    if independent and not any(reason.startswith("an output") for reason in reasons):
        reasons.append("the outputs do not depend on the inputs: those of one seed pass for the others")
    return reasons, notes


def randomness(truths, precision, above):
    """In words, how the reference differs from itself; empty when it does not, or hardly."""
    if all(leaf.eager[precision].rel_l2 < above for leaf in truths.leaves):
        return ""
    torch.manual_seed(1)
    first = truths.checked(truths.run(precision))
    torch.manual_seed(2)
    second = truths.checked(truths.run(precision))
    for leaf, a, b in zip(truths.leaves, first, second):
        size = off = 0.0
        for x, y in zip(leaf.layout.flat(a).split(CHUNK), leaf.layout.flat(b).split(CHUNK)):
            x, y = x.to(torch.float64), y.to(torch.float64)
            size, off = size + torch.dot(x, x).item(), off + torch.dot(x - y, x - y).item()
        size, off = math.sqrt(size), math.sqrt(off)
        if off > above * size:
            return (f"{leaf.spec['name']} differs from run to run on the same inputs (by "
                    f"{100 * off / size if size else math.inf:.3g} %): the reference draws random numbers")
    return ""

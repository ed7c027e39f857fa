"""Double precision by slices of the batch, for references of which each row of the outputs hangs on the
same row of the inputs alone: a whole run in double precision may take several times the task's memory."""
from . import task_file
from .tensors import map_tensors

SLICE_BYTES = 512 << 20  # of arguments, state and outputs of one slice in double precision


class Refused(Exception):
    """Why this way to the truth is not open."""

    def __init__(self, reason, short_of_memory=False):
        super().__init__(reason)
        self.short_of_memory = short_of_memory


def run(reference, args, specs, eager, memory, need):
    """The outputs' tensors in double precision. eager: those of the whole run in the task's types, which
    slices must repeat bit for bit; need: bytes of a whole run in double precision."""
    shapes = [s["shape"] for s in specs]
    batch = shapes[0][0] if shapes[0] else 0
    if batch < 2 or any(not shape or shape[0] != batch for shape in shapes):
        raise Refused("the outputs have no batch dimension in common")
    rows = max(1, int(batch * SLICE_BYTES / need))
    if rows >= batch:
        raise Refused("one slice would be the whole")
    for picked in _ways(args, batch):
        if _repeats(reference, args, picked, eager, batch, rows):
            return _collect(reference, args, picked, specs, batch, rows, memory)
    raise Refused("its slices do not repeat the whole run bit for bit")


def _ways(args, batch):
    """Sets of places of the arguments that are sliced: all that have the batch's length, or the first."""
    fitting = []
    map_tensors(lambda t: fitting.append(t) or t, args)
    fitting = [i for i, t in enumerate(fitting) if t.dim() and t.shape[0] == batch]
    ways = [set(fitting), set(fitting[:1])] if len(fitting) > 1 else [set(fitting)]
    return [way for way in ways if way]


def _sliced(args, picked, first, last):
    places = iter(range(1 << 30))
    return map_tensors(lambda t: t[first:last] if next(places) in picked else t, args)


def _leaves(reference, result):
    return [leaf for _, _, leaf in reference.output_leaves(result)]


def _repeats(reference, args, picked, eager, batch, rows):
    """Whether the first and the last slice give the whole run's own bits."""
    for first in (0, (batch - 1) // rows * rows):
        last = min(batch, first + rows)
        try:
            with task_file.arithmetic("strict", reference.device.type):
                outs = _leaves(reference, reference.run(reference.model, _sliced(args, picked, first, last)))
        except Exception:  # a reference that is written for its batch size
            return False
        for out, whole in zip(outs, eager):
            part = whole[first:last]
            if out.shape != part.shape or out.dtype != part.dtype:
                return False
            if not bool(((out == part) | ((out != out) & (part != part))).all()):
                return False
    return True


def _collect(reference, args, picked, specs, batch, rows, memory):
    kept = None
    with reference.widened() as run_wide:
        for first in range(0, batch, rows):
            last = min(batch, first + rows)
            outs = _leaves(reference, run_wide(_sliced(args, picked, first, last)))
            if kept is None:
                kept = [_room(s, out.dtype, memory) for s, out in zip(specs, outs)]
            for whole, out in zip(kept, outs):
                whole[first:last].copy_(out)
    return kept


def _room(spec, dtype, memory):
    """An empty tensor of the output's shape, dense, its dimensions in the order of its strides."""
    order = sorted(range(len(spec["shape"])), key=lambda d: -spec["strides"][d])
    room = memory.empty([spec["shape"][d] for d in order], dtype)
    return room.permute([order.index(d) for d in range(len(order))])

"""The Task of src/task/task.h, as JSON, out of one run of the reference."""
import math
import os

import torch

from . import failure
from .tensors import Names, span
from .work import Counter


def describe(reference, args, precision, tolerance):
    """args: those of the describing seed. Returns the task's JSON."""
    counter = Counter()
    result = reference.first_run(args, counter)
    specs = reference.specs(args, result)
    outputs = [leaf[2] for leaf in reference.output_leaves(result)]
    if not reference.path.endswith(".py"):
        reference.notes.append("the file's name does not end in .py")
    with open(reference.path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    if not any(s["role"] == "input" for s in specs):
        reference.notes.append("forward() takes no tensor")
    return {
        "name": os.path.splitext(os.path.basename(reference.path))[0],
        "path": reference.path,
        "kind": "kernelbench",
        "reference_source": source,
        "tensors": specs,
        "scalars": scalars(reference, args),
        "sizes": sizes(reference.module),
        "precision": precision,
        "tolerance": None if tolerance is None else {"atol": tolerance[0], "rtol": tolerance[1]},
        "work": {"bytes": bytes_moved(reference, args, outputs),
                 "matmul_flops": counter.matmul_flops, "other_flops": counter.other_flops},
        "operators": counter.operators,
        "casts_to_integers": counter.casts_to_integers,
        "notes": list(reference.notes),
    }


def sizes(module):
    """Integer constants of the file."""
    return {name: value for name, value in vars(module).items() if type(value) is int
            and name.isascii() and not name.startswith("_") and -2**63 <= value < 2**63}


def scalars(reference, args):
    """Numbers that a kernel may need: arguments of forward(), attributes of the modules."""
    names, found, constants = Names(), [], sizes(reference.module)

    def add(name, origin, value):
        is_integer = isinstance(value, (bool, int)) and abs(int(value)) < 2**53
        if not is_integer and not (isinstance(value, float) and math.isfinite(value)):
            return
        if constants.get(name, value) != value:  # a size of this name is another number
            names.taken.add(name)
        found.append({"name": names.claim(name), "origin": origin, "is_integer": is_integer,
                      "value": int(value) if is_integer else value})

    for name, origin, value in reference.leaves_of(args):
        add(name, origin, value)
    for prefix, module in reference.model.named_modules():
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(value, bool):
                continue
            origin = f"{prefix}.{name}" if prefix else name
            if isinstance(value, (list, tuple)) and all(type(v) is int for v in value):
                for i, item in enumerate(value):
                    add(f"{origin}_{i}", f"{origin}[{i}]", item)
            else:
                add(origin, origin, value)
    return found


def bytes_moved(reference, args, outputs):
    """Every distinct storage of inputs, parameters and outputs once."""
    tensors = [v for _, _, v in reference.leaves_of(args) if isinstance(v, torch.Tensor)]
    tensors += [t for _, t in reference.state()]
    return _reached(tensors) + _reached(outputs)


def _reached(tensors):
    storages = {}
    for t in tensors:
        reached = min(t.numel(), span(t.shape, t.stride())) * t.element_size()
        storages[_storage(t)] = max(storages.get(_storage(t), 0), reached)
    return sum(storages.values())


def _storage(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr() or id(tensor)

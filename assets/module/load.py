"""Loads a candidate (KernelBench's convention): class ModelNew, built with get_init_inputs() under
the reference's own seed, so that parameters drawn in the same order are the same."""
import dataclasses
import importlib.util
import inspect
import os
import sys

import torch

from oracle.repair import stop_randomness
from oracle.task_file import plain_tensors, seed_everything
from oracle.values import decode

from .errors import CANDIDATE, Wrong, describe


@dataclasses.dataclass
class Candidate:
    forward: object  # no arguments: they are bound
    parameters: dict  # {"same": n, "loaded": n, "own": n}
    notes: list


def load_candidate(session, request):
    _arithmetic(request["precision"])
    module = _import(os.path.join(session.scratch, CANDIDATE))
    made = getattr(module, "ModelNew", None)
    if not (inspect.isclass(made) and issubclass(made, torch.nn.Module)):
        raise Wrong("compile_error", f"{CANDIDATE}: no class ModelNew(torch.nn.Module)",
                    "KernelBench's convention: ModelNew takes the arguments of Model and of its forward()")
    notes = []
    try:
        model = _build(made, request, session.device)
    except (Exception, SystemExit) as error:
        raise Wrong("crashed", f"ModelNew(*get_init_inputs()): {describe(error)}") from error
    stop_randomness(model, notes)
    origins = {s["origin"]: session.views[s["name"]] for s in request["parameters"]}
    parameters = _load_parameters(model, origins)
    args = decode(request["args"], lambda name: session.views[name])

    def forward():
        with torch.no_grad():
            return model(*args)
    return Candidate(forward, parameters, notes)


def _arithmetic(precision):
    """As the reference is run: TF32 only where the task's precision allows it."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def _import(path):
    try:
        spec = importlib.util.spec_from_file_location("candidate", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["candidate"] = module  # Triton and pickling look it up
        with torch.no_grad():
            spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        raise Wrong("compile_error", describe(error)) from error


def _build(made, request, device):
    """On the device when the reference was built there, for its generator draws other numbers."""
    def build():
        seed_everything(request["seed"])
        wanted = decode(request["init"], None)
        return made(**wanted) if isinstance(wanted, dict) else made(*wanted)
    if device.type != "cpu" and not request["on_cpu"]:
        try:
            with torch.no_grad(), torch.device(device):
                return _moved(build(), device)
        except Exception as error:
            if "out of memory" in str(error):
                raise
    with torch.no_grad():
        return _moved(build(), device)


def _moved(model, device):
    model.to(device)
    for owner, name, tensor in plain_tensors(model):
        setattr(owner, name, tensor.to(device))
    return model


def _load_parameters(model, reference):
    """Gives the model the reference's parameters where name, type and shape agree and the values do
    not. Values in another order (a transposed square matrix) are the candidate's own affair."""
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for prefix, module in model.named_modules():
        own.update({f"{prefix}.{n}" if prefix else n: v for n, v in vars(module).items()
                    if isinstance(v, torch.Tensor)})
    found = {"same": 0, "loaded": 0, "own": 0}
    with torch.no_grad():
        for origin, wanted in reference.items():
            mine = own.get(origin)
            if mine is None or mine.shape != wanted.shape or mine.dtype != wanted.dtype:
                found["own"] += 1
            elif torch.equal(mine, wanted):
                found["same"] += 1
            elif mine.numel() > 1 and torch.equal(mine.flatten().sort()[0], wanted.flatten().sort()[0]):
                found["own"] += 1
            else:
                mine.copy_(wanted)
                found["loaded"] += 1
    return found

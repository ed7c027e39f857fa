"""A KernelBench-format file: Model, get_inputs, get_init_inputs. Loads it and makes its parts."""
import contextlib
import inspect
import os
import random
import sys
import types

import torch

from . import failure
from .failure import Failure
from .tensors import map_tensors


def load(path):
    """The file as a module. Failures say file:line."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise Failure(failure.TASK, f"{path}: {error.strerror}", "give the path of a task file") from error
    hint = "a task defines class Model, get_inputs() and get_init_inputs()"
    try:
        code = compile(source, path, "exec")
    except SyntaxError as error:
        raise Failure(failure.TASK, f"{path}:{error.lineno or 1}: SyntaxError: {error.msg}",
                      "correct the file; python3 -m py_compile shows the place") from error
    except ValueError as error:  # null bytes
        raise Failure(failure.TASK, f"{path}:1: not Python source: {error}", hint) from error
    module = types.ModuleType(os.path.splitext(os.path.basename(path))[0])
    module.__file__ = path
    sys.modules[module.__name__] = sys.modules.get(module.__name__, module)
    sys.path.append(os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        raise failure.of_task(path, error, "loading the file failed") from error
    for name, what in (("Model", "class Model"), ("get_inputs", "function get_inputs()"),
                       ("get_init_inputs", "function get_init_inputs()")):
        if not callable(getattr(module, name, None)):
            raise Failure(failure.TASK, f"{path}:1: no {what}", hint)
    if not (inspect.isclass(module.Model) and issubclass(module.Model, torch.nn.Module)):
        raise Failure(failure.TASK, f"{path}:{_line_of(module.Model)}: Model is no torch.nn.Module", hint)
    return module


def _line_of(thing):
    try:
        return inspect.getsourcelines(thing)[1] or 1
    except (OSError, TypeError):
        return 1


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


class Maker:
    """Runs the file's own functions so that what they draw is drawn on the device at once; a file
    that cannot do so (it goes through NumPy, say) runs on the CPU and its tensors are moved."""

    def __init__(self, path, device, notes):
        self.path, self.device, self.notes = path, device, notes
        self.on_cpu = device.type == "cpu"

    def make(self, function, doing, seed):
        """function() under `seed`, its tensors on the device. `doing` is for messages."""
        if not self.on_cpu:
            try:
                seed_everything(seed)
                with torch.no_grad(), torch.device(self.device):
                    return self._moved(function())
            except (Exception, SystemExit) as error:
                if failure.out_of_memory(error):
                    raise failure.of_task(self.path, error, f"{doing} failed") from error
                first = failure.first_line(error)
        try:
            seed_everything(seed)
            with torch.no_grad():
                made = self._moved(function())
        except (Exception, SystemExit) as error:
            raise failure.of_task(self.path, error, f"{doing} failed") from error
        if not self.on_cpu:
            self.on_cpu = True
            self.notes.append(f"{doing} runs on the CPU, for on the GPU it failed: {first}")
        return made

    def _moved(self, made):
        if isinstance(made, torch.nn.Module):
            made.to(self.device)
            for owner, name, tensor in plain_tensors(made):
                setattr(owner, name, tensor.to(self.device))
            return made
        return map_tensors(lambda t: t.detach().to(self.device), made)


def plain_tensors(model):
    """(module, attribute, tensor) of tensors that are neither parameters nor buffers."""
    return [(module, name, value) for module in model.modules()
            for name, value in list(vars(module).items()) if isinstance(value, torch.Tensor)]


@contextlib.contextmanager
def arithmetic(precision, device_type="cuda"):
    """strict: no TF32; tf32: TF32 in matrix products and convolutions; half: bf16 autocast."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    try:
        before = matmul.allow_tf32, cudnn.allow_tf32
    except RuntimeError:  # the task used newer switches, which these cannot read: PyTorch's defaults
        before = False, True
    matmul.allow_tf32 = cudnn.allow_tf32 = precision == "tf32"
    try:
        if precision == "half":
            with torch.autocast(device_type, dtype=torch.bfloat16):
                yield
        else:
            yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before

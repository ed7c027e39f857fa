"""Reference: the task's module on the device, run so that no run leaves a trace in the next."""
import contextlib
import copy
import inspect

import torch

from . import failure, repair, task_file
from .failure import Failure
from .tensors import Names, dtype_name, flatten, map_tensors, spec, widen, widen_keeping_strides

INPUT_SEED = 1  # of the inputs that only describe the task; no candidate is judged on them


class Reference:
    def __init__(self, path, device, init_seed):
        self.path, self.device, self.init_seed, self.notes = path, device, init_seed, []
        self.module = task_file.load(path)
        self.maker = task_file.Maker(path, device, self.notes)
        self.model = self._make_model(self.notes)
        self.writes_inputs = False
        self.writes_state = False

    def _make_model(self, notes):
        def make():
            wanted = self.module.get_init_inputs()
            if isinstance(wanted, dict):
                return self.module.Model(**wanted)
            return self.module.Model(*wanted)
        model = self.maker.make(make, "Model(*get_init_inputs())", self.init_seed)
        repair.stop_randomness(model, notes)
        repair.fill_zeros(model, self.init_seed, notes)
        return model

    def draw(self, seed):
        """Arguments of forward() for a seed, on the device."""
        args = self.maker.make(self.module.get_inputs, "get_inputs()", seed)
        if isinstance(args, torch.Tensor):
            args = [args]
        if not isinstance(args, (list, tuple)):
            raise Failure(failure.TASK, f"{self.path}:{task_file._line_of(self.module.get_inputs)}: "
                          f"get_inputs() returned {_what(args)}", "it returns a list of forward()'s arguments")
        return list(args)

    def leaves_of(self, args):
        """(name, origin, value) of every argument, named after forward()'s parameters."""
        names = [p.name for p in inspect.signature(self.model.forward).parameters.values()]
        kinds = [p.kind for p in inspect.signature(self.model.forward).parameters.values()]
        rest = inspect.Parameter.VAR_POSITIONAL
        leaves = []
        for i, arg in enumerate(args):
            if rest in kinds and i >= kinds.index(rest):
                base = f"{names[kinds.index(rest)]}{i - kinds.index(rest)}"
            else:
                base = names[i] if i < len(names) else f"input{i}"
            leaves += [(n, f"forward({o})", v) for n, o, v in flatten(arg, base, base)]
        return leaves

    def state(self):
        """(origin, tensor) of parameters, buffers and plain tensor attributes, each once."""
        found = list(self.model.named_parameters()) + list(self.model.named_buffers())
        for prefix, module in self.model.named_modules():
            found += [(f"{prefix}.{name}" if prefix else name, value)
                      for name, value in vars(module).items() if isinstance(value, torch.Tensor)]
        seen, once = set(), []
        for origin, tensor in found:
            if id(tensor) not in seen and not origin.endswith("num_batches_tracked"):
                seen.add(id(tensor))
                once.append((origin, tensor))
        return once

    def run(self, model, args):
        """What forward() returns. The model's state and the arguments are the same afterwards."""
        if self.writes_inputs:
            args = map_tensors(torch.clone, args)
        with torch.no_grad(), self.kept_state(model):
            return self._with_tensors(model(*args))

    def _with_tensors(self, result):
        """Numbers as a kernel writes them: tensors of no dimension. A float has the default type, which
        is double precision where the truth is made."""
        return map_tensors(lambda n: torch.tensor(n, device=self.device), result, (bool, int, float))

    @contextlib.contextmanager
    def kept_state(self, model=None):
        """Sets the model's buffers and tensor attributes back at the end."""
        saved = _State(model or self.model) if self.writes_state else None
        try:
            yield
        finally:
            if saved:
                saved.restore()

    def first_run(self, args, counter):
        """As run(), inside `counter`, and finds out what forward() writes besides its result."""
        inputs = [v for _, _, v in self.leaves_of(args) if isinstance(v, torch.Tensor)]
        versions = [t._version for t in inputs]
        saved = _State(self.model)
        try:
            with torch.no_grad(), counter:
                result = self._with_tensors(self.model(*args))
        except (Exception, SystemExit) as error:
            raise failure.of_task(self.path, error, "forward() failed") from error
        self.writes_inputs = versions != [t._version for t in inputs]
        changed = saved.restore()
        self.writes_state = bool(changed)
        batch_norm = ("running_mean", "running_var", "num_batches_tracked")  # has its own note
        changed = [name for name in changed if not name.endswith(batch_norm)]
        if self.writes_inputs:
            self.notes.append("forward() writes its inputs: every run is given a copy, and candidates "
                              "must leave their inputs as they are")
        if changed:
            self.notes.append(f"forward() changes {', '.join(changed[:4])}{' ...' if len(changed) > 4 else ''}: "
                              "set back after each run; only what it returns is compared")
        return result

    def output_leaves(self, result):
        """(name, origin, tensor) of what run() returned; anything but tensors is refused."""
        found = flatten(result, "out", "output")
        line = task_file._line_of(self.model.forward)
        for _, origin, value in found:
            if not isinstance(value, torch.Tensor):
                raise Failure(failure.TASK, f"{self.path}:{line}: forward() returned {_what(value)} as "
                              f"{origin}, not a tensor", "outputs are tensors and numbers, or tuples, lists or dicts of them")
            check_tensor(self.path, line, origin, value)
        if not found:
            raise Failure(failure.TASK, f"{self.path}:{line}: forward() returned {_what(result)}, no tensor",
                          "outputs are tensors, or tuples, lists or dicts of them")
        if len(found) == 1:
            return [("out", "output", found[0][2])]
        return [(f"out{i}", origin, value) for i, (_, origin, value) in enumerate(found)]

    def specs(self, args, result):
        """TensorSpecs of inputs, parameters and outputs, in this order."""
        names, specs = Names(), []
        for name, origin, value in self.leaves_of(args):
            if isinstance(value, torch.Tensor):
                check_tensor(self.path, task_file._line_of(self.module.get_inputs), origin, value)
                specs.append(spec(value, names.claim(name), "input", origin))
        for origin, tensor in self.state():
            check_tensor(self.path, task_file._line_of(self.module.Model), origin, tensor)
            specs.append(spec(tensor, names.claim(origin), "parameter", origin))
        for name, origin, tensor in self.output_leaves(result):
            specs.append(spec(tensor, names.claim(name), "output", origin))
        return specs

    def wide_model(self):
        """A copy of the model in double precision."""
        try:
            model = copy.deepcopy(self.model)
        except Exception:  # not every module can be copied; the same seed makes the same one
            model = self._make_model([])
        model._apply(widen)
        for owner, name, tensor in task_file.plain_tensors(model):
            setattr(owner, name, widen(tensor))
        return model

    def run_wide(self, args):
        """forward() in double precision throughout, without TF32."""
        with self.widened() as run:
            return run(args)

    @contextlib.contextmanager
    def widened(self):
        """run_wide() for several sets of arguments, over one copy of the model."""
        before, model = torch.get_default_dtype(), self.wide_model()

        def run(args):
            wide = map_tensors(widen_keeping_strides, args)
            torch.set_default_dtype(torch.float64)
            try:
                return self.run(model, wide)
            finally:
                torch.set_default_dtype(before)
        with task_file.arithmetic("strict"):
            yield run


def check_tensor(path, line, origin, tensor):
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise Failure(failure.TASK, f"{path}:{line}: {origin} is a {tensor.layout} tensor",
                      "only dense (strided) tensors can be given to kernels")
    if dtype_name(tensor) is None:
        raise Failure(failure.TASK, f"{path}:{line}: {origin} has the type {tensor.dtype}",
                      "this type cannot be given to kernels")


def _what(value):
    if value is None:
        return "None"
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    text = repr(value).split("\n")[0]
    return f"{article} {type(value).__name__} ({text[:40]})"


class _State:
    """Buffers and tensor attributes of all modules, to find and undo changes."""

    def __init__(self, model):
        self.saved = []
        for prefix, module in model.named_modules():
            for where in (module._buffers, vars(module)):
                for name, tensor in where.items():
                    if isinstance(tensor, torch.Tensor):
                        origin = f"{prefix}.{name}" if prefix else name
                        self.saved.append((origin, where, name, tensor, tensor._version, tensor.clone()))

    def restore(self):
        """Names of what had changed."""
        changed = []
        for origin, where, name, tensor, version, copied in self.saved:
            # Values are looked at too: batch normalisation writes past the version counter.
            if where.get(name) is tensor and tensor._version == version and torch.equal(tensor, copied):
                continue
            changed.append(origin)
            where[name] = tensor
            with torch.no_grad():
                tensor.copy_(copied)
        return changed

"""The oracle's half of judging a PyTorch module that runs in another process (docs/protocols.md):
puts inputs into that process's memory, and compares what it left in its outputs."""
import os
import time

import torch

from .compare import tensor_of
from .failure import ENVIRONMENT, Failure
from .shared import Windows, digest
from .values import encode

PROBE_S = 0.006  # longer than two of the GPU's time slices between processes
TINY_S = 0.0004  # a kernel that does nothing takes a twentieth of this on an idle GPU


class ModuleSide:
    def __init__(self, session):
        self.session, self.reference = session, session.reference
        self.windows = self.flush = None

    def answer(self, request):
        return getattr(self, request["op"])(request)

    def module_signature(self, unused):
        """What a module needs to be built and called, without the reference."""
        reference, session = self.reference, self.session
        args = reference.draw(1)  # only its structure is told: the seed that described the task
        init = reference.maker.make(reference.module.get_init_inputs, "get_init_inputs()", reference.init_seed)
        names = iter([s["name"] for s in session.specs("input")])
        return {"init": encode(init), "args": encode(args, names), "init_seed": reference.init_seed,
                "on_cpu": reference.maker.on_cpu}

    def module_open(self, request):
        """`tensors`: the other process's memory for inputs, parameters and outputs, by name."""
        self.module_close(request)
        self.windows = Windows(self.session.driver, request["tensors"])
        parameters = {s["name"]: s for s in self.session.specs("parameter")}
        for (_, tensor), name in zip(self.reference.state(), parameters):
            self._view(parameters[name]).copy_(tensor)
        self._synchronize()
        return {}

    def module_close(self, unused):
        if self.windows:
            self.windows.close()
            self.windows = None
        return {}

    def module_place(self, request):
        """Inputs of the seed, poisoned outputs, a cold L2. With `probe`: the share of time in which
        another process kept the GPU from us, who are the only one that should use it now."""
        for shared, own in self._inputs(int(request["seed"])):
            shared.copy_(own)
        poison = os.urandom(1)[0]
        for spec in self.session.specs("output"):
            self._window(spec["name"]).fill_(poison)
        self._flush()
        self._synchronize()
        return {"busy": self._busy() if request.get("probe") else 0.0}

    def module_check(self, request):
        """The outputs as they are now, and whether they are those that were answered for."""
        seed = int(request["seed"])
        names = [s["name"] for s in self.session.specs("output")]
        found = [digest(self.windows.padded[n]) for n in names]
        changed = [name for name, (shared, own) in zip((s["name"] for s in self.session.specs("input")),
                                                       self._inputs(seed)) if not torch.equal(shared, own)]
        answer = {"digest_ok": found == request.get("digest"), "inputs_changed": changed}
        outputs = {s["name"]: self._view(s) for s in self.session.specs("output")}
        return {**answer, **self.session.compare_tensors(seed, outputs)}

    # ---- inside

    def _window(self, name):
        if not self.windows or name not in self.windows.by_name:
            raise Failure(ENVIRONMENT, f"no memory for {name} was opened", "send module_open before it")
        return self.windows.by_name[name]

    def _view(self, spec):
        window = self._window(spec["name"])
        return tensor_of(spec["dtype"], window, spec["shape"], spec["strides"])

    def _inputs(self, seed):
        """(the other process's bytes, ours) of every input."""
        if seed in self.session.seeds:
            self.session._ensure_inputs(seed)
        else:
            self.session.draw(seed)
        drawn = self.session.drawn(seed)
        return [(self._window(s["name"]), drawn.arena.bytes[s["offset"]:s["offset"] + s["bytes"]])
                for s in drawn.shared]

    def _flush(self):
        if not self.session.driver:
            return
        if self.flush is None:
            properties = torch.cuda.get_device_properties(self.reference.device)
            size = 2 * (getattr(properties, "L2_cache_size", 0) or 64 << 20)
            self.flush = torch.empty(size, dtype=torch.uint8, device=self.reference.device)
        self.flush.zero_()

    def _synchronize(self):
        if self.session.driver:
            torch.cuda.synchronize()

    def _busy(self):
        if not self.session.driver:
            return 0.0
        word = torch.zeros(1, device=self.reference.device)
        begin, lost = time.perf_counter(), 0.0
        while (now := time.perf_counter()) - begin < PROBE_S:
            word.zero_()
            torch.cuda.synchronize()
            took = time.perf_counter() - now
            lost += took if took > TINY_S else 0.0
        return lost / (time.perf_counter() - begin)

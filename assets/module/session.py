"""What is kept between requests: the shared memory, the candidate, and how it is called."""
import torch

from oracle.ipc import Driver
from oracle.shared import allocate, rounded
from oracle.tensors import storage_bytes
from oracle.compare import tensor_of

from .call import make_call
from .load import load_candidate


class Session:
    def __init__(self, device, scratch):
        self.device, self.scratch = torch.device(device), scratch
        self.driver = None
        self.memories, self.views, self.padded = [], {}, {}
        self.candidate = self.call = None
        self.watch = None

    def about(self):
        return {"torch": torch.__version__, "device": str(self.device)}

    def answer(self, request):
        return getattr(self, "op_" + request["op"])(request)

    def op_memory(self, request):
        """Memory for inputs, parameters and outputs. Calls then have a stand-in for the candidate
        that returns blank outputs: the engine measures what a call costs besides the candidate."""
        if self.device.type == "cuda":  # not before: this process may be started ahead of its turn
            torch.cuda.init()
            torch.cuda.set_device(self.device)
            self.driver = Driver(self.device)
        shared = []
        for role in ("input", "parameter", "output"):
            specs = [s for s in request["tensors"] if s["role"] == role]
            if not specs:
                continue
            memory, places = allocate(self.driver, self.scratch, [(s["name"], storage_bytes(s)) for s in specs])
            self.memories.append(memory)
            for spec, place in zip(specs, places):
                begin, size = place["offset"], place["bytes"]
                self.padded[spec["name"]] = memory.bytes[begin:begin + rounded(size)]
                self.views[spec["name"]] = tensor_of(spec["dtype"], memory.bytes[begin:begin + size],
                                                     spec["shape"], spec["strides"])
            shared += places
        self.outputs = [s for s in request["tensors"] if s["role"] == "output"]
        blank = [torch.zeros_like(self.views[s["name"]]) for s in self.outputs]
        result = blank[0] if len(blank) == 1 else blank
        self.call = make_call(self, lambda: result, [None] * len(self.outputs))
        self.call()
        return {"tensors": shared}

    def op_load(self, request):
        from .observe import Watch
        self.watch = Watch(self.device)
        self.candidate = load_candidate(self, request)
        self.call = make_call(self, self.candidate.forward, [s["origin"] for s in self.outputs])
        return {"parameters": self.candidate.parameters, "notes": self.candidate.notes}

    def op_call(self, unused):
        digests, milliseconds = self.call()
        return {"digest": digests, "ms": milliseconds}

    def op_observe(self, unused):
        return self.watch.observe(self.candidate.forward)

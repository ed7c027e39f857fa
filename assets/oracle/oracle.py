"""Oracle of a PyTorch task: answers one line of JSON for each on stdin (docs/protocols.md)."""
import argparse
import json
import math
import os
import sys
import time

# The package's parent in place of this folder: a task that imports `compare` must not get ours.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Channel:
    """stdin and stdout, taken away from everybody else: a task that prints or reads harms nothing."""

    def __init__(self):
        self.requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self.answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        sys.stdin = open(os.devnull, encoding="utf-8")
        sys.stdout = sys.stderr

    def say(self, answer):
        self.answers.write(json.dumps(sendable(answer), allow_nan=False) + "\n")
        self.answers.flush()


def sendable(value):
    """NaN and infinities as "nan", "inf", "-inf", for JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(item) for item in value]
    return value


def arguments():
    parser = argparse.ArgumentParser(prog="oracle")
    parser.add_argument("task")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precision", default="strict", choices=["strict", "tf32", "half"])
    parser.add_argument("--atol", type=float)
    parser.add_argument("--rtol", type=float)
    parser.add_argument("--init-seed", type=int, default=0)
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--gpu-memory", type=float)
    parser.add_argument("--bytecode", metavar="FOLDER")
    parser.add_argument("--gate", action="store_true", help="ask before the task is loaded onto the GPU")
    return parser.parse_args()


def keep_bytecode(folder):
    """Keeps the bytecode of imported modules in `folder` where PyTorch is installed without its own and
    cannot write it there: every start would compile a thousand modules anew, which takes seconds."""
    import importlib.util
    spec = importlib.util.find_spec("torch")
    if folder and spec and spec.cached and not os.path.exists(spec.cached):
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False


def wake_device(name):
    """Makes the GPU's context in a thread of its own, while PyTorch is imported: PyTorch then finds it
    made. What goes wrong here goes wrong there again, and is told there."""
    if not name.startswith("cuda"):
        return
    import ctypes
    import threading

    def wake():
        try:
            lib, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
            index = int(name.partition(":")[2] or 0)
            if lib.cuInit(0) == 0 and lib.cuDeviceGet(ctypes.byref(device), index) == 0:
                lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        except (OSError, ValueError):
            pass
    threading.Thread(target=wake, daemon=True).start()


class Stages:
    def __init__(self):
        self.rows, self.last = [], time.monotonic()

    def end(self, name):
        now = time.monotonic()
        self.rows.append([name, now - self.last])
        self.last = now


def failure_of(error):
    """The answer for any exception."""
    import traceback
    traceback.print_exception(type(error), error, error.__traceback__)  # to the log
    from oracle import failure
    if isinstance(error, failure.Failure):
        return error.answer()
    kind = failure.OUT_OF_MEMORY if failure.out_of_memory(error) else failure.ENVIRONMENT
    return failure.Failure(kind, f"oracle: {failure.first_line(error)}", "the log has the traceback").answer()


def open_device(name):
    import torch
    from oracle.failure import ENVIRONMENT, Failure
    device = torch.device(name)
    if device.type == "cuda":
        hint = "run `kernelpro doctor`; a task can be described without a GPU with --device cpu"
        try:
            torch.cuda.init()
            torch.cuda.set_device(device)
        except Exception as error:
            raise Failure(ENVIRONMENT, f"no CUDA device for PyTorch {torch.__version__}: "
                          f"{str(error).strip().splitlines()[0]}", hint) from error
    return device


def start(args, stages, channel):
    from oracle.failure import ENVIRONMENT, Failure
    try:
        import torch  # noqa: F401
    except Exception as error:
        raise Failure(ENVIRONMENT, f"PyTorch cannot be loaded by {sys.executable}: {error}",
                      "install torch for this python, or name another by KERNELPRO_PYTHON") from error
    from oracle.reference import Reference
    from oracle.session import Session
    tolerance = None
    if args.atol is not None or args.rtol is not None:
        tolerance = (args.atol or 0.0, args.rtol or 0.0)
    device = open_device(args.device)
    stages.end("import")
    if args.gate:
        channel.say({"ok": True, "imported": True})
        if not channel.requests.readline():
            raise Failure(ENVIRONMENT, "the engine ended before the task was loaded", "")
        stages.end("wait")
    reference = Reference(args.task, device, args.init_seed)
    stages.end("load")
    session = Session(reference, args.precision, tolerance, args.force, args.compile, args.gpu_memory)
    stages.end("describe")
    return session


def answer(session, request, stages):
    op = request.get("op")
    if op == "forget":
        session.forget(int(request["seed"]))
        return {}
    if op.startswith("module_"):  # also without a GPU, for tests
        if session.module_side is None:
            from oracle.module_side import ModuleSide
            session.module_side = ModuleSide(session)
        return session.module_side.answer(request)
    if session.driver is None:
        from oracle.failure import ENVIRONMENT, Failure
        raise Failure(ENVIRONMENT, f"{op}: the oracle runs without a GPU and can only describe", "")
    if op == "support":
        from oracle import kernels
        kernels.load(session.driver, request["cubin"])
        return {}
    if op == "draw":
        seed = int(request["seed"])
        tensors = session.draw(seed, request.get("variant", "own"), bool(request.get("spill", False)))
        return {"tensors": tensors, "variant": session.drawn(seed).variant}
    if op == "fitness":
        session.fitness()
        return {}
    if op == "compare":
        return session.compare_shared(int(request["seed"]), request["outputs"], request["memory"], stages)
    if op == "close_outputs":
        session.close_outputs()
        return {}
    if op == "baselines":
        return {"baselines": session.time_baselines(int(request["seed"]), float(request.get("budget_s", 0.25)))}
    if op == "sample":
        samples = session.sample(int(request["seed"]), request["name"], int(request["count"]))
        return {"samples_ms": samples}
    raise ValueError(f"unknown request {op!r}")


def main():
    channel, stages = Channel(), Stages()
    try:
        args = arguments()
        wake_device(args.device)
        keep_bytecode(args.bytecode)
        session = start(args, stages, channel)
    except BaseException as error:  # SystemExit of argparse too: the other side waits for a line
        channel.say(failure_of(error))
        return 1
    channel.say({"ok": True, "task": session.task, "stages": stages.rows})
    for line in channel.requests:
        if not line.strip():
            continue
        try:
            stages = Stages()
            request = json.loads(line)
            if request.get("op") == "quit":
                channel.say({"ok": True})
                return 0
            found = answer(session, request, stages)
            stages.end(request["op"])
            notes, session.notes = session.notes, []
            channel.say({"ok": True, **found, "notes": notes, "stages": stages.rows})
        except BaseException as error:
            channel.say(failure_of(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())

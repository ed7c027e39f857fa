#!/usr/bin/env python3
"""500 random faults in loops of evaluations. Needs a GPU; label `gpu`.

    python3 tests/gpu/faults.py --binary build/release/src/kernelpro [--faults 500] [--seed N] [--python-lane]

Several lanes, each one `kernelpro evaluate --jsonl` over a long list of candidates, so that oracle and
runner stay warm. Faults are candidates that crash, trap, hang or ask for too much memory, and blows from
outside while a candidate is judged: the runner killed or aborted, the oracle killed, the disk full, the
driver gone for a while. What must hold:
- after every fault each good candidate gets the verdict that it got before any (outcome, reason, errors
  to the last digit, since the seeds stay the same within a process);
- a faulty candidate gets the outcome of its own fault;
- in the end no process and no GPU memory of ours is left.
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

TASK = """name = "add"
reference = "add.cu"
[sizes]
N = 65536
[tensors.a]
role = "input"
dtype = "f32"
shape = ["N"]
values = {normal = [0.0, 1.0]}
[tensors.b]
role = "input"
dtype = "f32"
shape = ["N"]
values = {normal = [0.0, 1.0]}
[tensors.out]
role = "output"
dtype = "f32"
shape = ["N"]
"""
PYTHON_TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a + b


def get_inputs():
    return [torch.randn(65536), torch.randn(65536)]


def get_init_inputs():
    return []
"""
KERNEL = """// %(note)s
/* plan
{%(buffers)s"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": [%(extra)s"a", "b", "out", "i32:out_numel"]}]}
*/
#ifndef real
#define real float
#endif
extern "C" __global__ void k(%(parameters)sconst real* a, const real* b, real* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) %(body)s
}
"""
GOOD = {"plain": "out[i] = a[i] + b[i];", "other_order": "out[i] = b[i] + a[i];",
        "off": "out[i] = a[i] + b[i] * 1.01f;", "rounded": "out[i] = fmaf(a[i], 1.0f, b[i]);"}
# Faults of candidates: body, and the outcome that it must get.
FAULTY = {
    "illegal": ("out[i + (1ll << 40)] = a[i] + b[i];", "crashed"),
    "misaligned": ("*(float*)((char*)out + 4 * i + 1) = a[i] + b[i];", "crashed"),
    "trap": ("{ out[i] = a[i] + b[i]; if (i == 1000) __trap(); }", "crashed"),
    "hang": ("{ while (*(volatile const float*)(b + i) == b[i]) __nanosleep(1000); }", "timed_out"),
    "memory": ("out[i] = a[i] + b[i];", "out_of_memory"),
}
CANDIDATE_FAULTS = ["illegal"] * 6 + ["misaligned"] * 3 + ["trap"] * 4 + ["memory"] * 3
OUTER_FAULTS = ["kill_runner"] * 5 + ["abort_runner"] * 3 + ["kill_oracle"] * 2 + ["full_disk"] * 2 + ["no_gpu"] * 1


def source(name, note):
    body = GOOD.get(name) or FAULTY[name][0]
    big = name == "memory"
    return KERNEL % {"note": note, "body": body, "extra": '"much", ' if big else "",
                     "parameters": "real* much, " if big else "",
                     "buffers": '"buffers": {"much": {"dtype": "f32", "shape": [17000000000]}},\n ' if big else ""}


def identity(verdict):
    """What must not depend on faults."""
    return json.dumps([verdict["outcome"], verdict["reason"], verdict["seeds"], verdict["accuracy_class"],
                       verdict["leaves"]], sort_keys=True)


def children_of(pid):
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = pathlib.Path(entry.path, "stat").read_text()
            command = pathlib.Path(entry.path, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
            found[int(entry.name)] = [c.decode(errors="replace") for c in command]
    return found


class Gpu:
    """Memory in use, and a block of it that this test holds so that too much is too much."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context, self.held = ctypes.c_void_p(), ctypes.c_ulonglong()
        for code in (self.cuda.cuInit(0), self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0),
                     self.cuda.cuCtxSetCurrent(self.context)):
            if code != 0:
                sys.exit(f"no GPU: CUDA error {code}")

    def free(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return free.value

    def hold_all_but(self, leave):
        if self.free() > leave:
            self.cuda.cuMemAlloc_v2(ctypes.byref(self.held), ctypes.c_size_t(self.free() - leave))


class Lane(threading.Thread):
    def __init__(self, number, options, folder, faults, seed, python):
        super().__init__(daemon=True)
        self.number, self.options, self.python = number, options, python
        self.folder = folder / f"lane{number}"
        self.random = random.Random(seed)
        self.problems, self.counts, self.known = [], {}, {}
        self.process, self.done, self.seconds = None, 0, 0.0
        self.prepare(faults)

    def prepare(self, faults):
        self.folder.mkdir()
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        self.tmpfs = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(self.cache)], capture_output=True).returncode == 0
        self.library = self.folder / "lib"
        self.library.mkdir()
        stub = self.folder / "stub.c"
        stub.write_text("int cuInit(unsigned flags) { return 100; }\n")
        self.stub = self.folder / "stub.so"
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", str(self.stub), str(stub)], capture_output=True).returncode != 0:
            self.stub = None
        self.task = self.folder / ("add.py" if self.python else "add.toml")
        self.task.write_text(PYTHON_TASK if self.python else TASK)
        (self.folder / "add.cu").write_text(source("plain", "the reference"))
        self.plan, self.files = [], []  # plan[i]: (name, fault or None)
        for name in GOOD:  # what each is without faults
            self.add(name, None)
        hangs = 0 if self.python else 1
        for i in range(faults):
            if hangs and i == faults // 2:
                self.add("hang", "hang")
            elif self.random.random() < 0.45:
                fault = self.random.choice(CANDIDATE_FAULTS)
                self.add(fault, fault)
            else:
                fault = self.random.choice(OUTER_FAULTS if not self.python or i % 10 == 0 else OUTER_FAULTS[:8])
                if (fault == "full_disk" and not self.tmpfs) or (fault == "no_gpu" and not self.stub):
                    fault = "kill_runner"
                self.add(self.random.choice(list(GOOD)), fault)
                continue
            self.add(self.random.choice(list(GOOD)), None)
        for name in GOOD:
            self.add(name, None)

    def add(self, name, fault):
        index = len(self.plan)
        # A source of its own where the disk matters, so that it must be built then.
        own = fault == "full_disk"
        path = self.folder / (f"{name}_{index}.cu" if own else f"{name}.cu")
        if not path.exists():
            path.write_text(source(name, f"{name} {index}" if own else name))
        self.plan.append((name, fault))
        self.files.append(str(path))

    def problem(self, text):
        self.problems.append(f"lane {self.number}: {text}")

    def strike(self, fault):
        """A fault from outside, after a moment. Returns what ends it, or None."""
        pause = self.random.uniform(0, 0.06)
        time.sleep(pause)
        children = children_of(self.process.pid)
        runners = [p for p, c in children.items() if "worker" in c[1:3]]
        oracles = [p for p, c in children.items() if any("oracle" in part for part in c[1:3])]

        def signal_all(pids, what):
            for pid in pids:
                try:
                    os.kill(pid, what)
                except ProcessLookupError:
                    pass

        if fault == "kill_runner":
            signal_all(runners, signal.SIGKILL)
        elif fault == "abort_runner":
            signal_all(runners, signal.SIGABRT)
        elif fault == "kill_oracle":
            signal_all(oracles, signal.SIGKILL)
        elif fault == "full_disk":
            filler = self.cache / "filler"
            try:
                with open(filler, "wb") as file:
                    while True:
                        file.write(b"x" * 65536)
                        file.flush()
            except OSError:
                pass
            return lambda: filler.unlink(missing_ok=True)
        elif fault == "no_gpu":
            link = self.library / "libcuda.so.1"
            shutil.copy(self.stub, link)
            signal_all(runners, signal.SIGKILL)
            time.sleep(0.4)
            link.unlink()
        return None

    def run(self):
        o = self.options
        scratch = self.folder / "tmp"
        scratch.mkdir()
        # A lane's own folder for locks: nothing is timed here, so lanes need not wait for each other.
        env = {**os.environ, "KERNELPRO_CACHE": str(self.cache), "TMPDIR": str(scratch),
               "LD_LIBRARY_PATH": f"{self.library}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        command = [o.binary, "evaluate", str(self.task), *self.files, "--jsonl", "--quiet", "--no-timing", "--seeds", "2",
                   "--run-timeout", "3"]
        start = time.time()
        with open(self.folder / "stderr", "w") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env,
                                            start_new_session=True, cwd=self.folder)
            timer = threading.Timer(o.deadline, self.process.kill)
            timer.start()
            self.read_lines()
            timer.cancel()
            self.process.wait()
        self.seconds = time.time() - start
        if self.done < len(self.plan):
            said = (self.folder / "stderr").read_text().strip()[-300:]
            at = self.plan[min(self.done, len(self.plan) - 1)]
            self.problem(f"ended with {self.process.returncode} after {self.done} of {len(self.plan)} verdicts, at {at}: {said}")

    def read_lines(self):
        first = self.process.stdout.readline()
        if not first.startswith("{\"") or "setup" not in first:
            return
        while self.done < len(self.plan):
            name, fault = self.plan[self.done]
            end = self.strike(fault) if fault in OUTER_FAULTS else None
            line = self.process.stdout.readline()
            if end:
                end()
            if not line:
                return
            try:
                verdict = json.loads(line)["verdict"]
            except (ValueError, KeyError):
                self.problem(f"no verdict: {line[:200]}")
                return
            self.judge(name, fault, verdict)
            self.done += 1

    def judge(self, name, fault, verdict):
        if fault:
            self.counts[fault] = self.counts.get(fault, 0) + 1
        if name in FAULTY:
            if verdict["outcome"] != FAULTY[name][1]:
                self.problem(f"{name} got {verdict['outcome']} ({verdict['reason'][:100]}), not {FAULTY[name][1]}")
            return
        what = identity(verdict)
        if self.known.setdefault(name, what) != what:
            self.problem(f"#{self.done} {name} with fault {fault}, after {self.plan[max(0, self.done - 1)]}: "
                         f"{what[:160]} instead of {self.known[name][:160]}")

    def clean(self):
        if self.tmpfs:
            subprocess.run(["umount", "-l", str(self.cache)], capture_output=True)


def left_processes(folder):
    """Processes that still name our folder or were started in it."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = pathlib.Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = pathlib.Path(entry.path, "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command or str(folder) in environment:
            found.append(f"{entry.name}: {command[:120]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/src/kernelpro"))
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--python-lane", action="store_true", help="one more lane, of 20 faults, on a PyTorch task")
    parser.add_argument("--seed", type=int, default=0, help="0: drawn")
    parser.add_argument("--deadline", type=float, default=165, help="seconds for each lane")
    parser.add_argument("--out", help="folder for faults.json")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    seed = options.seed or random.SystemRandom().randrange(1, 10**9)
    print(f"seed {seed}", flush=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gpu = Gpu()
    gpu.hold_all_but(48 << 30)
    before = gpu.free()
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="kernelpro-faults-") as folder:
        folder = pathlib.Path(folder)
        share = [options.faults // options.lanes + (i < options.faults % options.lanes) for i in range(options.lanes)]
        lanes = [Lane(i, options, folder, n, seed + i, False) for i, n in enumerate(share)]
        if options.python_lane:
            lanes.append(Lane(len(lanes), options, folder, 20, seed + len(lanes), True))
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        time.sleep(0.5)
        left = left_processes(folder)
        for lane in lanes:
            lane.clean()
        time.sleep(0.5)
    lost = before - gpu.free()
    counts, problems = {}, []
    for lane in lanes:
        problems += lane.problems
        for fault, n in lane.counts.items():
            counts[fault] = counts.get(fault, 0) + n
        print(f"lane {lane.number}{' (PyTorch)' if lane.python else ''}: {lane.done} of {len(lane.plan)} verdicts, "
              f"{sum(lane.counts.values())} faults, {lane.seconds:.1f} s", flush=True)
    if left:
        problems.append(f"processes left: {left}")
    if lost > 64 << 20:
        problems.append(f"{lost >> 20} MiB of GPU memory left in use")
    total = sum(counts.values())
    if total < options.faults:
        problems.append(f"only {total} of {options.faults} faults were injected")
    print(f"{total} faults {counts}; {len(problems)} problems; {time.time() - start:.1f} s; "
          f"{len(left)} processes and {max(0, lost) >> 20} MiB left", flush=True)
    for problem in problems[:40]:
        print("  " + problem, flush=True)
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "faults.json").write_text(json.dumps({"seed": seed, "counts": counts, "problems": problems}, indent=1))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

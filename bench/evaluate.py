#!/usr/bin/env python3
"""How fast candidates are judged: stages, candidates a minute, and the peak of GPU memory.

    python3 bench/evaluate.py --binary build/release/src/kernelpro --kernelbench .../KernelBench

Every candidate is a source of its own and is compiled anew. One process a task, as
`kernelpro evaluate TASK CANDIDATE...`; its start (oracle, runner, truth of the seeds, baselines) is
reported on its own.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import candidates as bench  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


class MemoryWatch:
    """The most GPU memory in use, by NVML; every 20 ms."""

    class Info(ctypes.Structure):
        _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]

    def __init__(self, index):
        self.peak = self.base = 0
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self.nvml.nvmlInit_v2()
            self.device = ctypes.c_void_p()
            if self.nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.device)) != 0:
                self.nvml = None
        except OSError:
            self.nvml = None
        self.base = self.used()
        self.stop = threading.Event()
        if self.nvml:
            threading.Thread(target=self.watch, daemon=True).start()

    def used(self):
        if not self.nvml:
            return 0
        info = self.Info()
        self.nvml.nvmlDeviceGetMemoryInfo(self.device, ctypes.byref(info))
        return info.used

    def watch(self):
        while not self.stop.wait(0.02):
            self.peak = max(self.peak, self.used())

    def take(self):
        """Peak since the last call, over what was in use before the first, in GiB."""
        peak, self.peak = self.peak, 0
        return (peak - self.base) / 2**30


def find_task(folder, number):
    found = sorted(pathlib.Path(folder).glob(f"level1/{number}_*.py"))
    if not found:
        sys.exit(f"{folder}/level1 has no task {number}")
    return found[0]


def run_task(options, task, number, folder, watch):
    files = []
    for candidate in bench.candidates(number, options.candidates):
        path = folder / f"{candidate.name}.cu"
        path.write_text(bench.plan_file(candidate))
        files.append(path)
    command = [options.binary, "evaluate", str(task), *map(str, files), "--json", "--quiet", *options.extra.split()]
    start = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.task_timeout,
                              env={**os.environ, "KERNELPRO_CACHE": options.cache})
    except subprocess.TimeoutExpired:
        return {"task": task.stem, "error": f"no end within {options.task_timeout} s"}
    wall = time.time() - start
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return {"task": task.stem, "error": (done.stderr or done.stdout).strip()[-400:]}
    if "results" not in result:
        return {"task": task.stem, "error": str(result)[:400]}
    setup = sum(s for name, s in result["setup"] if not name.startswith(" "))
    return {"task": task.stem, "wall": wall, "setup": setup, "setup_stages": result["setup"],
            "notes": result.get("notes", []), "memory_gib": watch.take(),
            "candidates": [{"name": pathlib.Path(r["candidate"]).stem, "seconds": r["seconds"], "outcome": r["verdict"]["outcome"],
                            "reason": r["verdict"]["reason"], "stages": r["verdict"]["stages"],
                            "ms": (r["verdict"].get("timing") or {}).get("median_ms"),
                            "timings": r["verdict"].get("timings"), "speedups": r["verdict"].get("speedups"),
                            "cubin": (r["verdict"].get("build") or {}).get("cubin")} for r in result["results"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/src/kernelpro"))
    parser.add_argument("--kernelbench", required=True, help="the folder that holds level1/")
    parser.add_argument("--candidates", type=int, default=5, help="of each task (default 5)")
    parser.add_argument("--tasks", default="", help="numbers of level1, with commas (default: 20 tasks)")
    parser.add_argument("--parallel", type=int, default=2,
                        help="processes at once: one starts while another judges; they take turns on the GPU (default 2)")
    parser.add_argument("--task-timeout", type=float, default=120)
    parser.add_argument("--time-limit", type=float, default=1e9, help="begin no task after so many seconds")
    parser.add_argument("--extra", default="", help="more options of `kernelpro evaluate`, in one string")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--keep", help="folder for candidates and cubins, kept (agreement.py wants them)")
    parser.add_argument("--out", help="folder for evaluate.json and evaluate.md")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    numbers = [int(n) for n in options.tasks.split(",") if n] or bench.TASKS
    watch = MemoryWatch(options.device)
    cache = tempfile.TemporaryDirectory(prefix="kernelpro-bench-cache-")
    options.cache = os.path.join(os.path.abspath(options.keep), "cache") if options.keep else cache.name
    begin, tasks = time.time(), []

    def one(number):
        if time.time() - begin > options.time_limit:
            return {"task": f"level1/{number}", "error": "not run: time limit"}
        with tempfile.TemporaryDirectory(prefix="kernelpro-bench-") as folder:
            if options.keep:
                folder = os.path.join(os.path.abspath(options.keep), str(number))
                os.makedirs(folder)
            return run_task(options, find_task(options.kernelbench, number), number, pathlib.Path(folder), watch)

    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        for row in pool.map(one, numbers):
            tasks.append(row)
            if "error" in row:
                print(f"{row['task']}: {row['error']}", flush=True)
                continue
            bad = [f"{c['name']}: {c['outcome']}: {c['reason']}" for c in row["candidates"] if c["outcome"] != "correct"]
            seconds = [c["seconds"] for c in row["candidates"]]
            print(f"{row['task']}: {len(seconds)} judged, first {seconds[0]:.2f} s, median {statistics.median(seconds):.2f} s, "
                  f"set-up {row['setup']:.1f} s, {row['memory_gib']:.1f} GiB" + "".join(f"\n  {b}" for b in bad), flush=True)
    whole = time.time() - begin

    good = [t for t in tasks if "error" not in t]
    all_of_them = [c for t in good for c in t["candidates"]]
    if not all_of_them:
        sys.exit("nothing was judged")
    judging = sum(c["seconds"] for c in all_of_them)
    lines = ["| stage | median s | mean s | share |", "|---|---|---|---|"]
    stages = {}
    for candidate in all_of_them:
        for name, s in candidate["stages"]:
            stages.setdefault(name, []).append(s)
    total = sum(sum(v) for v in stages.values())
    for name, values in stages.items():
        lines.append(f"| {name} | {statistics.median(values):.4f} | {sum(values) / len(all_of_them):.4f} | "
                     f"{100 * sum(values) / total:.0f} % |")
    correct = sum(c["outcome"] == "correct" for c in all_of_them)
    n = len(all_of_them)
    lines += ["", f"{n} candidates of {len(good)} tasks, {correct} correct, {len(tasks) - len(good)} tasks failed",
              f"{60 * n / judging:.1f} candidates a minute while judging ({judging:.1f} s, waits for the GPU included), "
              f"{60 * n / whole:.1f} with the start of every task, {options.parallel} processes at once ({whole:.1f} s)",
              f"seconds a candidate: median {statistics.median(c['seconds'] for c in all_of_them):.3f}, "
              f"mean {statistics.mean(c['seconds'] for c in all_of_them):.3f}, "
              f"most {max(c['seconds'] for c in all_of_them):.3f}",
              f"peak of GPU memory {max(t['memory_gib'] for t in good):.1f} GiB"]
    print("\n".join(lines), flush=True)
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "evaluate.json").write_text(json.dumps(tasks, indent=1))
        (out / "evaluate.md").write_text("\n".join(lines) + "\n")
    sys.exit(0 if correct == n and len(good) == len(tasks) else 1)


if __name__ == "__main__":
    main()

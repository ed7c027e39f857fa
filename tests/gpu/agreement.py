#!/usr/bin/env python3
"""Our times beside Nsight Compute's and triton's, for the same cubins. Needs a GPU, torch and triton.

    python3 tests/gpu/agreement.py --binary build/release/src/kernelpro --kernelbench .../KernelBench --out FOLDER
    python3 tests/gpu/agreement.py --from FOLDER_OF_BENCH/evaluate.json   # that bench ran with --keep

What each tool measures, and so where they must differ:
- ours: between two events on the stream, L2 flushed before; the whole plan, so that gaps between its
  launches count, and the first launch's own latency (about 1 to 3 us on an H200). Clocks as they are.
- Nsight Compute (gpu__time_duration.sum, --cache-control all, --clock-control none): from the start to
  the end of each kernel on the GPU, caches flushed before each: no latency, no gaps; and for a plan of
  several kernels each begins with a cold cache. The GPU idles between kernels: clocks may be higher or
  lower.
- triton.testing.do_bench: events like ours, L2 flushed by zeroing 256 MB; launches made from Python,
  hidden behind the flush.
Agreement: within the larger of 3 % and 3 us plus 2.5 us for each further launch of the plan; against
Nsight Compute a plan of several kernels may be up to 25 % faster, for its later kernels find the L2 warm.
"""
import argparse
import csv
import ctypes
import io
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import candidates as bench  # noqa: E402

NCU_REPEATS = 3
TASKS = "88,12,1,40,47,49,36,42,37,19"
TYPES = {"i32": ctypes.c_int, "i64": ctypes.c_longlong, "f32": ctypes.c_float, "f64": ctypes.c_double}


class Launcher:
    """Launches a candidate's cubin on torch's memory and current stream."""

    def __init__(self, torch, cuda, candidate, cubin):
        self.cuda, self.launches = cuda, []
        self.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        new = lambda shape, dtype=torch.float32: torch.empty(shape, device="cuda", dtype=dtype)
        tensors = {name: torch.rand(shape, device="cuda") for name, shape in candidate.inputs.items()}
        tensors["out"] = new(candidate.output)
        for name in candidate.parameters:
            tensors[name] = torch.rand(candidate.output[1:], device="cuda")
        for name, (dtype, n) in candidate.buffers.items():
            tensors[name] = new(n, {"f32": torch.float32, "f64": torch.float64}[dtype])
        self.tensors = tensors
        image = pathlib.Path(cubin).read_bytes()
        module = ctypes.c_void_p()
        self.check(cuda.cuModuleLoadData(ctypes.byref(module), image))
        for step in candidate.steps:
            function = ctypes.c_void_p()
            self.check(cuda.cuModuleGetFunction(ctypes.byref(function), module, step["kernel"].encode()))
            values = []
            for arg in step["args"]:
                kind, _, value = arg.partition(":")
                values.append(TYPES[kind](float(value) if kind[0] == "f" else int(value)) if value
                              else ctypes.c_void_p(tensors[arg].data_ptr()))
            pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
            grid, block = ([*step[k], 1, 1][:3] for k in ("grid", "block"))
            self.launches.append((function, grid, block, pointers, values))

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"CUDA error {code}")

    def __call__(self):
        for function, grid, block, pointers, _ in self.launches:
            self.check(self.cuda.cuLaunchKernel(function, *grid, *block, 0, self.stream, pointers, None))


def child(mode, manifest, out):
    import torch
    cuda = ctypes.CDLL("libcuda.so.1")
    torch.zeros(1, device="cuda")
    rows = []
    for entry in json.loads(pathlib.Path(manifest).read_text()):
        candidate = next(c for c in bench.candidates(entry["task"], 99) if c.name == entry["name"])
        launch = Launcher(torch, cuda, candidate, entry["cubin"])
        if mode == "do_bench":
            import triton.testing
            low, middle, high = (float(q) for q in triton.testing.do_bench(
                launch, warmup=25, rep=100, quantiles=[0.25, 0.5, 0.75]))
            rows.append({"name": entry["name"], "low": low, "median": middle, "high": high})
        else:
            launch()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            for _ in range(NCU_REPEATS):
                launch()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
        del launch
        torch.cuda.empty_cache()
    pathlib.Path(out).write_text(json.dumps(rows))


def run_child(mode, manifest, folder, prefix, timeout):
    out = folder / f"{mode}.json"
    command = [*prefix, sys.executable, os.path.abspath(__file__), "--child", mode, str(manifest), str(out)]
    start = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"{mode}: no end within {timeout} s", flush=True)
        return [], ""
    print(f"{mode}: {time.time() - start:.1f} s", flush=True)
    if not out.exists():
        print(f"{mode} failed: {(done.stderr or done.stdout)[-600:]}", flush=True)
        return [], done.stdout
    return json.loads(out.read_text()), done.stdout


def ncu_times(text, entries):
    """Name -> (sum over the plan's kernels, median of the repeats) in ms."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    table = [r for r in csv.DictReader(io.StringIO("\n".join(lines)))
             if r.get("Metric Name") == "gpu__time_duration.sum"]
    scale = {"ns": 1e-6, "us": 1e-3, "usecond": 1e-3, "nsecond": 1e-6, "ms": 1, "msecond": 1}
    found, at = {}, 0
    for entry in entries:
        kernels = entry["kernels"]
        sums = []
        for _ in range(NCU_REPEATS):
            part = table[at:at + len(kernels)]
            if [r["Kernel Name"].split("(")[0] for r in part] != kernels:
                print(f"ncu: other kernels than those of {entry['name']}", flush=True)
                return found
            sums.append(sum(float(r["Metric Value"].replace(",", "")) * scale[r["Metric Unit"]] for r in part))
            at += len(kernels)
        found[entry["name"]] = statistics.median(sums)
    return found


def explain(difference_ms, reference_ms, launches):
    allowed = max(0.03 * reference_ms, 0.003 + 0.0025 * (launches - 1))
    if abs(difference_ms) <= allowed:
        return "agrees"
    if launches > 1 and difference_ms < 0 and -difference_ms <= 0.25 * reference_ms:
        return "the later kernels find the L2 warm in a real call"
    return "DIFFERS"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/src/kernelpro"))
    parser.add_argument("--kernelbench", help="the folder that holds level1/")
    parser.add_argument("--from", dest="source", help="evaluate.json of bench/evaluate.py --keep")
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--each", type=int, default=3, help="candidates of a task")
    parser.add_argument("--at-most", type=int, default=30)
    parser.add_argument("--ncu", default=shutil.which("ncu") or "/usr/local/cuda/bin/ncu")
    parser.add_argument("--timeout", type=float, default=150, help="seconds for each tool")
    parser.add_argument("--out", default=".", help="folder for agreement.csv and agreement.md")
    o = parser.parse_args()
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernelpro-agreement-") as folder:
        folder = pathlib.Path(folder)
        source = o.source
        if not source:
            subprocess.run([sys.executable, str(ROOT / "bench/evaluate.py"), "--binary", o.binary, "--kernelbench",
                            o.kernelbench, "--tasks", o.tasks, "--candidates", str(o.each), "--keep",
                            str(folder / "kept"), "--out", str(folder)], timeout=600)
            source = folder / "evaluate.json"
        entries = []
        for task in json.loads(pathlib.Path(source).read_text()):
            wanted = [c for c in task.get("candidates", []) if c["outcome"] == "correct" and c["ms"]][:o.each]
            for c in wanted:
                name = c["name"]
                number = int(name.split("_")[0])
                if str(number) not in o.tasks.split(","):
                    continue
                steps = next(b for b in bench.candidates(number, 99) if b.name == name).steps
                entries.append({"task": number, "name": name, "cubin": c["cubin"], "ours": c["timings"], "ms": c["ms"],
                                "kernels": [s["kernel"] for s in steps]})
        entries = entries[:o.at_most]
        manifest = folder / "manifest.json"
        manifest.write_text(json.dumps(entries))
        benched, _ = run_child("do_bench", manifest, folder, [], o.timeout)
        _, text = run_child("ncu", manifest, folder, [
            o.ncu, "--csv", "--metrics", "gpu__time_duration.sum", "--print-units", "base", "--profile-from-start",
            "off", "--cache-control", "all", "--clock-control", "none"], o.timeout)
        (out / "ncu.csv").write_text(text)
        by_ncu = ncu_times(text, entries)
        by_triton = {r["name"]: r for r in benched}

    rows, off = [], 0
    for e in entries:
        stream = next((t for t in e["ours"] if t["mode"] == "stream" and t["l2"] == "cold"), None)
        if stream is None:
            print(f"{e['name']}: no cold stream time", flush=True)
            off += 1
            continue
        ours, launches = stream["median_ms"], len(e["kernels"])
        row = {"candidate": e["name"], "launches": launches, "ours_ms": ours, "ours_low": stream["ci95_ms"][0],
               "ours_high": stream["ci95_ms"][1], "ncu_ms": by_ncu.get(e["name"]),
               "do_bench_ms": by_triton.get(e["name"], {}).get("median")}
        for tool in ("ncu", "do_bench"):
            value = row[f"{tool}_ms"]
            row[f"{tool}_difference_us"] = None if value is None else 1000 * (ours - value)
            row[f"{tool}_percent"] = None if value is None else 100 * (ours - value) / value
            row[f"{tool}_verdict"] = "no time" if value is None else explain(
                ours - value, value, launches if tool == "ncu" else 1)
            off += row[f"{tool}_verdict"] in ("no time", "DIFFERS")
        rows.append(row)
    if not rows:
        sys.exit("nothing to compare")
    with open(out / "agreement.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    show = lambda v, f: "-" if v is None else format(v, f)
    lines = ["| candidate | launches | ours ms (95 %) | Nsight Compute ms | difference us (%) | | do_bench ms | difference us (%) | |",
             "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['candidate']} | {r['launches']} | {r['ours_ms']:.4f} ({r['ours_low']:.4f} to {r['ours_high']:.4f}) | "
                     + " | ".join(f"{show(r[t + '_ms'], '.4f')} | {show(r[t + '_difference_us'], '+.1f')} "
                                  f"({show(r[t + '_percent'], '+.1f')} %) | {r[t + '_verdict']}"
                                  for t in ("ncu", "do_bench")) + " |")
    lines += ["", f"{len(rows)} candidates; {off} times missing or unexplained"]
    for tool in ("ncu", "do_bench"):
        values = [abs(r[f"{tool}_percent"]) for r in rows if r[f"{tool}_percent"] is not None]
        if values:
            lines.append(f"{tool}: median |difference| {statistics.median(values):.2f} %, largest {max(values):.2f} %")
    (out / "agreement.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:5])
    else:
        main()

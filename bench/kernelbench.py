#!/usr/bin/env python3
"""KernelBench's own harness beside `kernelpro evaluate`, on the same kernels.

    python3 bench/kernelbench.py --binary build/release/src/kernelpro --kernelbench PATH_OF_THE_REPOSITORY

For each task one candidate of bench/candidates.py, as a ModelNew file (load_inline) for
eval_kernel_against_ref with its scripts' own numbers (5 correctness trials, 100 timed), and as a plan
for kernelpro, judged after another one of the same task (what a search pays for each candidate).
Both compile from nothing. Imports and the start of Python are not counted for KernelBench; the start
of our processes stands beside.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import candidates as bench  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


def stand_in_for_missing_packages():
    """KernelBench imports clients of language models that its eval never calls."""
    missing = []
    for name, members in {"dotenv": ["load_dotenv"], "openai": ["OpenAI"], "litellm": ["completion"],
                          "datasets": ["load_dataset"], "tomli": [], "pydantic": ["BaseModel"]}.items():
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
            module = types.ModuleType(name)
            for member in members:
                setattr(module, member, lambda *a, **k: None)
            sys.modules[name] = module
    if "pydantic" in missing:
        class BaseModel:
            def __init__(self, **values):
                for key in self.__class__.__annotations__:
                    setattr(self, key, values.get(key, getattr(self.__class__, key, None)))
        sys.modules["pydantic"].BaseModel = BaseModel
    return missing


def child(repository, reference, candidate, correct, perf):
    """One evaluation by KernelBench, in a process of its own."""
    missing = stand_in_for_missing_packages()
    sys.path.insert(0, str(pathlib.Path(repository) / "src"))
    import torch
    from kernelbench import eval as kernelbench_eval
    torch.zeros(1, device="cuda")
    start = time.time()
    result = kernelbench_eval.eval_kernel_against_ref(
        pathlib.Path(reference).read_text(), pathlib.Path(candidate).read_text(), num_correct_trials=correct,
        num_perf_trials=perf, measure_performance=True, build_dir=str(pathlib.Path(candidate).parent / "build"),
        device=torch.device("cuda:0"))
    seconds = time.time() - start
    print("RESULT " + json.dumps({
        "seconds": seconds, "compiled": bool(result and result.compiled), "correct": bool(result and result.correctness),
        "ms": result.runtime if result else None, "missing_packages": missing,
        "metadata": {k: str(v)[:300] for k, v in (result.metadata if result else {}).items()}}), flush=True)


def theirs(o, task, candidate, folder):
    path = folder / "model_new.py"
    path.write_text(bench.model_new(candidate))
    command = [sys.executable, __file__, "--child", o.kernelbench, str(task), str(path), str(o.correct), str(o.perf)]
    env = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "extensions"), "TORCH_CUDA_ARCH_LIST": o.arch}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=o.task_timeout, env=env)
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {o.task_timeout} s"}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    return {"error": (done.stderr or done.stdout)[-400:]}


def ours(o, task, all_of_them, folder):
    files = []
    for candidate in all_of_them:
        path = folder / f"{candidate.name}.cu"
        path.write_text(bench.plan_file(candidate))
        files.append(str(path))
    command = [o.binary, "evaluate", str(task), *files, "--json", "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=o.task_timeout,
                              env={**os.environ, "KERNELPRO_CACHE": str(folder / "cache")})
        result = json.loads(done.stdout)
        last = result["results"][-1]
    except (subprocess.TimeoutExpired, ValueError, KeyError) as e:
        return {"error": repr(e)}
    return {"seconds": last["seconds"], "outcome": last["verdict"]["outcome"],
            "ms": (last["verdict"].get("timing") or {}).get("median_ms"),
            "setup": sum(s for name, s in result["setup"] if not name.startswith(" "))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/src/kernelpro"))
    parser.add_argument("--kernelbench", required=True, help="the repository: with src/ and KernelBench/")
    parser.add_argument("--tasks", default="40,47,1,19", help="numbers of level1, with commas")
    parser.add_argument("--correct", type=int, default=5)
    parser.add_argument("--perf", type=int, default=100)
    parser.add_argument("--arch", default="9.0")
    parser.add_argument("--task-timeout", type=float, default=240)
    parser.add_argument("--time-limit", type=float, default=1e9, help="begin no task after so many seconds")
    parser.add_argument("--out", help="folder for kernelbench.json and kernelbench.md")
    o = parser.parse_args()
    o.binary = os.path.abspath(o.binary)
    begin, rows = time.time(), []
    lines = ["| task | KernelBench's harness s | its verdict | ms by it | ours s | our verdict | ms by us | ratio | our set-up s |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for number in [int(n) for n in o.tasks.split(",")]:
        if time.time() - begin > o.time_limit:
            break
        task = sorted(pathlib.Path(o.kernelbench).glob(f"KernelBench/level1/{number}_*.py"))[0]
        pair = bench.candidates(number, 2)
        with tempfile.TemporaryDirectory(prefix="kernelpro-bench-") as folder:
            us = ours(o, task, pair, pathlib.Path(folder))
        with tempfile.TemporaryDirectory(prefix="kernelpro-bench-") as folder:
            them = theirs(o, task, pair[-1], pathlib.Path(folder))
        rows.append({"task": task.stem, "candidate": pair[-1].name, "ours": us, "kernelbench": them})
        if "error" in us or "error" in them:
            lines.append(f"| {task.stem} | {them.get('error', them.get('seconds'))} | | | {us.get('error', us.get('seconds'))} | | | | |")
        else:
            verdict = "correct" if them["correct"] else f"not correct {them['metadata']}"
            lines.append(f"| {task.stem} | {them['seconds']:.2f} | {verdict} | {them['ms']:.4f} | {us['seconds']:.3f} | "
                         f"{us['outcome']} | {us['ms'] or 0:.4f} | {them['seconds'] / us['seconds']:.0f} | {us['setup']:.1f} |")
        print(lines[-1], flush=True)
    if o.out:
        out = pathlib.Path(o.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "kernelbench.json").write_text(json.dumps(rows, indent=1))
        (out / "kernelbench.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:5], int(sys.argv[5]), int(sys.argv[6]))
    else:
        main()

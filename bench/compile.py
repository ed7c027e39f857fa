#!/usr/bin/env python3
"""NVRTC with a precompiled header against nvcc, on the same CuTe device code (bench/cute).

    CUTLASS_PATH=... python3 bench/compile.py --binary build/release/src/kernelpro [--rounds 3]

Ours is the process that `kernelpro` itself runs for each build (docs/build.md), start included, with
the options that it gives; nvcc makes a cubin from the same file (no host code). Both take turns. Each
round has its own source (one more constant), so that nothing can be reused but the header.
"""
import argparse
import glob
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def timed(command, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    wall = time.time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/src/kernelpro"))
    parser.add_argument("--cuda", default=os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    parser.add_argument("--cutlass", default=os.environ.get("CUTLASS_PATH", ""))
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of files in bench/cute, with commas")
    parser.add_argument("--out", help="folder for compile.json and compile.md")
    o = parser.parse_args()
    cutlass = pathlib.Path(o.cutlass)
    if not (cutlass / "cute/tensor.hpp").exists():
        cutlass = cutlass / "include"
    if not (cutlass / "cute/tensor.hpp").exists():
        sys.exit("CUTLASS_PATH (or --cutlass) must be a checkout of CUTLASS or its include folder")
    nvrtc = sorted(glob.glob(f"{o.cuda}/lib64/libnvrtc.so.*") + glob.glob(f"{o.cuda}/lib64/libnvrtc.so"))
    if not nvrtc:
        sys.exit(f"no NVRTC in {o.cuda}/lib64")
    includes = [str(cutlass), f"{o.cuda}/include", f"{o.cuda}/include/cccl", str(ROOT / "assets/nvrtc/include")]
    sources = sorted((ROOT / "bench/cute").glob("*.cu"))
    if o.only:
        sources = [s for s in sources if s.stem in o.only.split(",")]

    rows, first_s = [], None
    with tempfile.TemporaryDirectory(prefix="kernelpro-compile-") as folder:
        folder = pathlib.Path(folder)

        def ours(source, text):
            request = {"name": source.name, "source": text, "name_expressions": [],
                       "options": [f"--gpu-architecture={o.arch}", "-std=c++17", "--device-as-default-execution-space",
                                   "--ptxas-options=-v", "-lineinfo", *(f"-I{i}" for i in includes),
                                   "--pre-include=kernelpro/cute.h"],
                       "cubin": str(folder / "ours.cubin"), "pch_prefix": "kernelpro/cute.h", "pch_stamp": "bench",
                       "pch_folder": str(folder / "pch")}
            done, wall, cpu = timed([o.binary, "compile", nvrtc[0], "pch"], input=json.dumps(request))
            reply = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
            if not reply.get("compiled"):
                sys.exit(f"{source.name} does not compile by NVRTC: {reply.get('log', done.stderr)[-2000:]}")
            return wall, cpu, reply["precompiled"]

        def nvcc(source, text):
            path = folder / source.name
            path.write_text(text)
            done, wall, cpu = timed([f"{o.cuda}/bin/nvcc", f"-arch={o.arch}", "-std=c++17", "-lineinfo",
                                     "--expt-relaxed-constexpr", "-cubin", "-o", str(folder / "nvcc.cubin"),
                                     f"-I{cutlass}", str(path)])
            if done.returncode != 0:
                sys.exit(f"{source.name} does not compile by nvcc: {done.stderr[-2000:]}")
            return wall, cpu

        wall, cpu, state = ours(sources[0], sources[0].read_text())  # makes the header
        first_s = wall
        print(f"first compile, makes the header ({state}): {wall:.2f} s", flush=True)
        for round_number in range(o.rounds):
            for source in sources:
                text = source.read_text() + f"\n__device__ int round_{round_number} = {round_number};\n"
                ours_wall, ours_cpu, state = ours(source, text)
                nvcc_wall, nvcc_cpu = nvcc(source, text)
                rows.append({"file": source.stem, "ours_s": ours_wall, "ours_cpu_s": ours_cpu, "header": state,
                             "nvcc_s": nvcc_wall, "nvcc_cpu_s": nvcc_cpu})

    median = lambda name, key: statistics.median(r[key] for r in rows if name in ("", r["file"]))
    lines = ["| device code | NVRTC with the header, s (CPU) | nvcc, s (CPU) | ratio |", "|---|---|---|---|"]
    for name in [*sorted({r["file"] for r in rows}), ""]:
        a, b = median(name, "ours_s"), median(name, "nvcc_s")
        lines.append(f"| {name or '**all, medians**'} | {a:.2f} ({median(name, 'ours_cpu_s'):.2f}) | "
                     f"{b:.2f} ({median(name, 'nvcc_cpu_s'):.2f}) | {b / a:.2f} |")
    used = sum(r["header"] == "used" for r in rows)
    lines += ["", f"{len(rows)} compiles each way, the precompiled header used in {used}; making it took {first_s:.2f} s"]
    print("\n".join(lines), flush=True)
    if o.out:
        out = pathlib.Path(o.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "compile.json").write_text(json.dumps(rows, indent=1))
        (out / "compile.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

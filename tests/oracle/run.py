#!/usr/bin/env python3
"""Runs the oracle's tests with the first python that has torch; exit code 77 (skipped) without one."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def has_torch(python):
    try:
        done = subprocess.run([python, "-c", "import torch"], capture_output=True, timeout=120)
    except OSError:
        return False
    return done.returncode == 0


pythons = [os.environ.get("KERNELPRO_PYTHON"), str(ROOT / ".venv/bin/python3"), sys.executable, "/usr/bin/python3"]
for python in filter(None, pythons):
    if has_torch(python):
        print(f"python: {python}", flush=True)
        sys.exit(subprocess.call([python, "-m", "unittest", "discover", "-s", str(HERE), "-t", str(HERE), "-v"]))
print(f"skipped: none of these has torch: {', '.join(filter(None, pythons))}")
sys.exit(77)

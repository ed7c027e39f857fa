#!/usr/bin/env python3
"""Tests that need a GPU: the program as a whole, on the examples. Label `gpu`; off by default.

    python3 tests/gpu/gpu_test.py --binary build/release/src/kernelpro [unittest arguments]
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
VECTOR_ADD = EXAMPLES / "native/vector_add/vector_add.toml"
CANDIDATES = EXAMPLES / "candidates"
BROKEN = CANDIDATES / "broken"
BINARY = ""


def kernelpro(*arguments, timeout=300, env=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(env or {})})


def evaluate(task, *candidates, extra=()):
    done = kernelpro("evaluate", task, *candidates, "--json", "--run-timeout", "3", *extra)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def outcomes(result):
    return [r["verdict"]["outcome"] for r in result["results"]]


class Evaluate(unittest.TestCase):
    def test_good_candidates_and_the_reference(self):
        code, result = evaluate(VECTOR_ADD, EXAMPLES / "native/vector_add/vector_add.cu",
                                CANDIDATES / "vector_add_vectorized.cu")
        self.assertEqual(outcomes(result), ["correct", "correct"], result)
        self.assertEqual(code, 0)
        for r in result["results"]:
            self.assertGreater(r["verdict"]["timing"]["median_ms"], 0)
            self.assertEqual(r["verdict"]["seeds"], 3)
        speedup = result["results"][0]["verdict"]["speedups"]["reference"]
        self.assertLess(abs(speedup - 1), 0.1)

    def test_every_fault_is_a_verdict_and_the_next_candidate_is_judged_all_the_same(self):
        good = CANDIDATES / "vector_add_vectorized.cu"
        expected = {"does_not_compile": "compile_error", "out_of_bounds": "crashed",
                    "never_ends": "timed_out", "wrong_values": "incorrect",
                    "unknown_tensor": "plan_error", "too_many_threads": "plan_error"}
        files = []
        for name in expected:
            files += [BROKEN / f"{name}.cu", good]
        code, result = evaluate(VECTOR_ADD, *files)
        self.assertEqual(code, 3)
        want = []
        for outcome in expected.values():
            want += [outcome, "correct"]
        self.assertEqual(outcomes(result), want)
        for r in result["results"][::2]:
            self.assertTrue(r["verdict"]["reason"], r)

    def test_a_changed_input_is_seen(self):
        source = """/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(a_numel, 256)"], "block": ["256"],
            "args": ["a", "b", "out", "i64:a_numel"]}]}
*/
extern "C" __global__ void k(float* a, const float* b, float* out, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) { out[i] = a[i] + b[i]; if (i == 77) a[i] += 1e-7f + a[i] * 1e-3f; }
}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "changes_input.cu"
            path.write_text(source)
            code, result = evaluate(VECTOR_ADD, path)
        self.assertEqual(outcomes(result), ["incorrect"])
        self.assertIn("input a", result["results"][0]["verdict"]["reason"])

    def test_pytorch_task(self):
        code, result = evaluate(EXAMPLES / "pytorch/vector_add.py",
                                CANDIDATES / "vector_add_vectorized.cu")
        self.assertEqual(outcomes(result), ["correct"], result)
        names = [b["name"] for b in result["results"][0]["verdict"]["baselines"]]
        self.assertIn("eager", names)

    def test_unwritten_output_is_wrong(self):
        source = """/* plan
{"steps": [{"kernel": "k", "grid": ["1"], "block": ["32"], "args": ["out"]}]}
*/
extern "C" __global__ void k(float* out) {}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "writes_nothing.cu"
            path.write_text(source)
            code, result = evaluate(VECTOR_ADD, path)
        self.assertEqual(outcomes(result), ["incorrect"])


class Profile(unittest.TestCase):
    def test_reference_of_a_native_task(self):
        done = kernelpro("profile", EXAMPLES / "native/matmul/matmul.toml", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        kernel = result["profile"]["kernels"][0]
        self.assertIn("duration_us", kernel["metrics"], result["profile"].get("notes"))
        self.assertGreater(kernel["metrics"]["duration_us"]["value"], 0)
        self.assertTrue(kernel["sass"], "SASS is missing")
        self.assertGreater(result["profile"]["ceilings"]["dram_gbs"], 0)
        self.assertTrue(result["directives"], "a naive matmul has something to say")


def proposer(folder, reply_files):
    """A --command that gives the files in turn as replies."""
    script = pathlib.Path(folder) / "proposer.py"
    script.write_text(f"""
import pathlib, sys
sys.stdin.read()
count = pathlib.Path({str(pathlib.Path(folder) / 'count')!r})
n = int(count.read_text()) if count.exists() else 0
count.write_text(str(n + 1))
files = {[str(f) for f in reply_files]!r}
print("IDEA: reply", n)
print("```cuda")
print(pathlib.Path(files[n % len(files)]).read_text())
print("```")
""")
    return f"{sys.executable} {script}"


class Optimize(unittest.TestCase):
    small = ("--proposals-first", "2", "--iterations", "2", "--candidates", "1", "--json", "--run-timeout",
             "3", "--search-seed", "5")

    def test_command_provider_ends_with_a_verified_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            command = proposer(folder, [BROKEN / "wrong_values.cu", BROKEN / "out_of_bounds.cu",
                                        CANDIDATES / "vector_add_vectorized.cu"])
            done = kernelpro("optimize", VECTOR_ADD, "--provider", "command", "--command", command,
                             "--runs", folder, *self.small)
            self.assertEqual(done.returncode, 0, done.stderr)
            best = list(pathlib.Path(folder).glob("*/best.cu"))
            self.assertEqual(len(best), 1)
            code, result = evaluate(VECTOR_ADD, best[0])
            self.assertEqual(outcomes(result), ["correct"])

    def test_mailbox_waits_and_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["optimize", VECTOR_ADD, "--provider", "mailbox", "--no-wait", "--runs",
                         folder, *self.small]
            done = kernelpro(*arguments)
            rounds = 0
            while done.returncode == 4 and rounds < 10:
                rounds += 1
                for prompt in pathlib.Path(folder).glob("*/mailbox/*.prompt.md"):
                    reply = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
                    if not reply.exists():
                        source = (CANDIDATES / "vector_add_vectorized.cu").read_text()
                        source += f"// {prompt.name}\n"
                        reply.write_text(f"IDEA: vectorize\n```cuda\n{source}```\n")
                done = kernelpro(*arguments, "--resume", "last")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreaterEqual(rounds, 2)

    def test_killed_at_random_moments_it_resumes(self):
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as folder:
            command = proposer(folder, [CANDIDATES / "vector_add_vectorized.cu",
                                        BROKEN / "wrong_values.cu"])
            arguments = [BINARY, "optimize", str(VECTOR_ADD), "--provider", "command", "--command",
                         command, "--runs", folder, *self.small]
            kills = 0
            done = None
            for attempt in range(12):
                extra = ["--resume", "last"] if list(pathlib.Path(folder).glob("*/journal.jsonl")) else []
                before = [p.read_text() for p in pathlib.Path(folder).glob("*/journal.jsonl")]
                process = subprocess.Popen(arguments + extra, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                try:
                    out, err = process.communicate(timeout=rng.uniform(0.5, 8) if attempt < 8 else 120)
                    done = process.returncode
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    kills += 1
                after = [p.read_text() for p in pathlib.Path(folder).glob("*/journal.jsonl")]
                if before and after:
                    whole = before[0][: before[0].rfind("\n") + 1]
                    self.assertTrue(after[0].startswith(whole), "a kill lost a written event")
                if done is not None:
                    break
            self.assertEqual(done, 0, err)
            self.assertGreater(kills, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/src/kernelpro"))
    known, rest = parser.parse_known_args()
    BINARY = str(pathlib.Path(known.binary).resolve())
    start = time.time()
    unittest.main(argv=[sys.argv[0], "-v", *rest])

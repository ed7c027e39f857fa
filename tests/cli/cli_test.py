#!/usr/bin/env python3
"""The command line on a machine without a GPU: exit codes, messages, recorded telemetry.

    python3 tests/cli/cli_test.py --binary build/dev/src/kernelpro
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDED = ROOT / "examples/recorded"
BINARY = ""


def kernelpro(*arguments, env=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, env={**os.environ, **(env or {})})


class CommandLine(unittest.TestCase):
    def test_help_names_the_commands_and_hides_the_processes(self):
        done = kernelpro("--help")
        self.assertEqual(done.returncode, 0)
        for command in ("doctor", "evaluate", "profile", "optimize"):
            self.assertIn(command, done.stdout)
        self.assertNotIn("worker", done.stdout)

    def test_usage_errors_exit_2(self):
        for arguments in ([], ["nonsense"], ["evaluate"], ["optimize", "x.py"],
                          ["optimize", "x.py", "--provider", "oracle"],
                          ["evaluate", "a.py", "b.cu", "--precision", "sloppy"]):
            self.assertEqual(kernelpro(*arguments).returncode, 2, arguments)

    def test_doctor_says_what_is_missing_and_what_to_do(self):
        with tempfile.TemporaryDirectory() as cache:
            done = kernelpro("doctor", "--json", env={"KERNELPRO_CACHE": cache})
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = {c["check"]: c for c in json.loads(done.stdout)["checks"]}
        self.assertEqual(checks["compiler (NVRTC)"]["health"], "works", checks)
        for check in checks.values():
            if check["health"] == "missing":
                self.assertTrue(check["advice"] or check["found"] == "no GPU", check)

    def test_doctor_never_prints_a_key(self):
        done = kernelpro("doctor", env={"OPENAI_API_KEY": "sk-verysecret"})
        self.assertIn("OPENAI_API_KEY is set", done.stdout)
        self.assertNotIn("verysecret", done.stdout + done.stderr)


class Recorded(unittest.TestCase):
    def test_profile_of_recorded_telemetry(self):
        done = kernelpro("profile", RECORDED / "ncu_raw_full.csv", RECORDED / "ncu_source_sass.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        for kernel in ("gemm_naive", "strided", "scale_add"):
            self.assertIn(kernel, done.stdout)

    def test_profile_json(self):
        done = kernelpro("profile", RECORDED / "ncu_raw_full.csv", "--json")
        result = json.loads(done.stdout)
        durations = {k["kernel"]: k["metrics"]["duration_us"]["value"]
                     for k in result["profile"]["kernels"]}
        self.assertGreater(durations["gemm_naive"], 3000)
        self.assertTrue(result["directives"])


class BadInput(unittest.TestCase):
    def refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_tools_are_listed_and_shown(self):
        folders = sorted(p.parent.name for p in (ROOT / "src/findings/tools").glob("*/tool.cc"))
        listed = json.loads(kernelpro("tools", "--json").stdout)["tools"]
        self.assertEqual([t["name"] for t in listed], folders)
        lines = kernelpro("tools").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], folders)
        for name in folders:
            page = (ROOT / "src/findings/tools" / name / "tool.md").read_text()
            self.assertEqual(kernelpro("tools", "show", name).stdout, page)
        self.refused(kernelpro("tools", "show", "nonsense"), "vectorization")
        self.assertEqual(kernelpro("tools", "show").returncode, 2)

    def test_missing_files(self):
        self.refused(kernelpro("profile", "/no/such/file.csv"), "/no/such/file.csv")
        self.refused(kernelpro("evaluate", "/no/task.toml", "/no/candidate.cu"), "/no/candidate.cu")

    def test_a_file_that_is_no_telemetry(self):
        with tempfile.NamedTemporaryFile(suffix=".csv", mode="w") as f:
            f.write("hello,world\n1,2\n")
            f.flush()
            self.refused(kernelpro("profile", f.name), f.name)

    def test_a_candidate_without_a_plan(self):
        with tempfile.NamedTemporaryFile(suffix=".cu", mode="w") as f:
            f.write('extern "C" __global__ void k() {}\n')
            f.flush()
            self.refused(kernelpro("evaluate", ROOT / "examples/native/vector_add/vector_add.toml",
                                   f.name), f.name, "plan")

    def test_errors_are_json_too(self):
        done = kernelpro("profile", "/no/such/file.csv", "--json")
        self.assertIn("/no/such/file.csv", json.loads(done.stdout)["error"]["message"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/src/kernelpro"))
    known, rest = parser.parse_known_args()
    BINARY = str(pathlib.Path(known.binary).resolve())
    unittest.main(argv=[sys.argv[0], "-v", *rest])

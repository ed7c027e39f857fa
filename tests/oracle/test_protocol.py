"""The process as others see it: lines of JSON, whatever the task file does."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import HEAD, ROOT, TAIL, TASKS, needs_torch, task


def ask(source, *requests, path=None):
    """Answers of the process to its start and to each request."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = pathlib.Path(folder) / "task.py"
            path.write_text(source)
        done = subprocess.run([sys.executable, str(ROOT / "assets/oracle/oracle.py"), str(path), "--device", "cpu"],
                              input="".join(json.dumps(r) + "\n" for r in requests), capture_output=True,
                              text=True, timeout=120)
        return [json.loads(line) for line in done.stdout.splitlines()]


@needs_torch
class BadFiles(unittest.TestCase):
    def message(self, source, kind="task"):
        answers = ask(source)
        self.assertEqual(len(answers), 1)
        self.assertFalse(answers[0]["ok"])
        self.assertEqual(answers[0]["kind"], kind)
        return answers[0]["error"]["message"]

    def test_missing(self):
        answer = ask(None, path="/nowhere/relu.py")[0]
        self.assertEqual((answer["kind"], answer["error"]["message"]),
                         ("task", "/nowhere/relu.py: No such file or directory"))

    def test_syntax_error(self):
        self.assertRegex(self.message("import torch\n\ndef f(:\n"), r"task\.py:3: SyntaxError: ")

    def test_not_text(self):
        self.assertRegex(self.message("import torch\n\0"), r"task\.py:\d+: ")

    def test_missing_parts(self):
        self.assertRegex(self.message("x = 1\n"), r"task\.py:1: no class Model")
        model = HEAD + "class Model(nn.Module):\n    pass\n"
        self.assertRegex(self.message(model), r"no function get_inputs\(\)")
        self.assertRegex(self.message(model + "def get_inputs():\n    return []\n"),
                         r"no function get_init_inputs\(\)")
        self.assertRegex(self.message("class Model:\n    pass\nget_inputs = get_init_inputs = list\n"),
                         r"task\.py:1: Model is no torch.nn.Module")

    def test_raises(self):
        self.assertRegex(self.message("import torch\nraise ValueError('boom')\n"),
                         r"task\.py:2: loading the file failed: ValueError: boom")
        self.assertRegex(self.message("import sys\nsys.exit(3)\n"), r"task\.py:2: .*SystemExit")
        self.assertRegex(self.message("import nothing_of_this_name\n"), r"task\.py:1: .*ModuleNotFoundError")
        self.assertRegex(self.message(task("return x", "torch.rand(3)", "raise KeyError('k')")),
                         r"task\.py:6: Model\(\*get_init_inputs\(\)\) failed: KeyError")
        self.assertRegex(self.message(task("return x", "torch.rand(2) @ torch.rand(3)")),
                         r"task\.py:7: get_inputs\(\) failed: RuntimeError")
        self.assertRegex(self.message(task("return x @ x", "torch.rand(2, 3)")),
                         r"task\.py:5: forward\(\) failed: RuntimeError")

    def test_outputs_that_are_no_tensors(self):
        self.assertRegex(self.message(task("return x, 'text'", "torch.rand(3)")),
                         r"task\.py:4: forward\(\) returned a str \('text'\) as output\[1\], not a tensor")
        self.assertRegex(self.message(task("return None", "torch.rand(3)")), r"returned None, no tensor")
        self.assertRegex(self.message(task("return x.to_sparse()", "torch.rand(3)")), r"sparse")

    def test_inputs_that_are_no_list(self):
        source = task("return x", "").replace("return []\ndef", "return 3\ndef", 1)
        self.assertRegex(self.message(source), r"get_inputs\(\) returned an int \(3\)")


@needs_torch
class Protocol(unittest.TestCase):
    def test_prints_and_reads_of_the_task_harm_nothing(self):
        noisy = "import os, sys\nprint('{\"ok\": true}')\nos.write(1, b'noise')\nsys.stdin.read()\n" + task(
            "print(x); return x + 1", "torch.rand(3)")
        answers = ask(noisy, {"op": "forget", "seed": 1}, {"op": "quit"})
        self.assertEqual([a["ok"] for a in answers], [True, True, True])
        self.assertEqual([s[0] for s in answers[0]["stages"]], ["import", "load", "describe"])

    def test_wrong_requests_are_answered(self):
        answers = ask(None, {"op": "dance"}, ["no object"], {"op": "draw", "seed": 1}, {"op": "quit"},
                      path=TASKS / "several_outputs.py")
        self.assertEqual([a["ok"] for a in answers], [True, False, False, False, True])
        self.assertIn("without a GPU", answers[3]["error"]["message"])

    def test_no_gpu(self):
        import torch
        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        done = subprocess.run([sys.executable, str(ROOT / "assets/oracle/oracle.py"),
                               str(TASKS / "several_outputs.py")], input="", capture_output=True, text=True)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["kind"], "environment")
        self.assertIn("no CUDA device", answer["error"]["message"])
        self.assertIn("--device cpu", answer["error"]["hint"])

    def test_infinite_numbers_travel(self):
        source = task("return x * 2", "torch.rand(3)", "self.top = float('inf')")
        self.assertTrue(ask(source)[0]["ok"])
        from oracle.oracle import sendable
        self.assertEqual(sendable({"a": [float("nan"), float("-inf"), 1.5]}), {"a": ["nan", "-inf", 1.5]})

    def test_bytecode_is_kept_where_torch_has_none(self):
        from oracle import oracle
        from unittest import mock
        before = sys.pycache_prefix, sys.dont_write_bytecode
        try:
            with mock.patch("os.path.exists", return_value=True):
                oracle.keep_bytecode("/there")
                self.assertEqual((sys.pycache_prefix, sys.dont_write_bytecode), before)
            with mock.patch("os.path.exists", return_value=False):
                oracle.keep_bytecode(None)
                self.assertEqual(sys.pycache_prefix, before[0])
                oracle.keep_bytecode("/there")
                self.assertEqual((sys.pycache_prefix, sys.dont_write_bytecode), ("/there", False))
        finally:
            sys.pycache_prefix, sys.dont_write_bytecode = before

    def test_a_module_of_the_task_is_not_ours(self):
        self.assertRegex(ask("import compare\n" + HEAD + TAIL)[0]["error"]["message"], "No module named 'compare'")


if __name__ == "__main__":
    unittest.main()

"""What the oracle's tests share. torch is missing on some machines: the tests are then skipped."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "assets"))

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "PyTorch cannot be imported by this python")
TASKS = pathlib.Path(__file__).resolve().parent / "tasks"

HEAD = "import torch\nimport torch.nn as nn\n"
TAIL = "def get_init_inputs():\n    return []\n"


def session_of(source, precision="strict", tolerance=None, **options):
    """A Session on the CPU over a task file of this text."""
    from oracle.session import open_session
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "task.py"
        path.write_text(source)
        return open_session(str(path), torch.device("cpu"), precision, tolerance, 7, **options)


def session_at(path, precision="strict", tolerance=None, **options):
    from oracle.session import open_session
    return open_session(str(path), torch.device("cpu"), precision, tolerance, 7, **options)


def task(forward, inputs, init=""):
    """Text of a task file out of the bodies of forward() and get_inputs()."""
    body = "".join(f"        {line}\n" for line in forward.split("\n"))
    made = f"    def __init__(self):\n        super().__init__()\n        {init}\n" if init else ""
    return (f"{HEAD}class Model(nn.Module):\n{made}    def forward(self, x):\n{body}"
            f"def get_inputs():\n    return [{inputs}]\n{TAIL}")

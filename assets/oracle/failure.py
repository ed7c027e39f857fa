"""Failure: what the process answers when it cannot do what was asked."""
import os
import traceback

TASK = "task"  # the user's file is at fault
UNFIT = "unfit"  # the task cannot tell right from wrong
OUT_OF_MEMORY = "out_of_memory"
ENVIRONMENT = "environment"


class Failure(Exception):
    def __init__(self, kind, message, hint=""):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint

    def answer(self):
        return {"ok": False, "kind": self.kind,
                "error": {"message": self.message, "hint": self.hint}}


def out_of_memory(error):
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def line_in(path, error):
    """The last line of `path` that the traceback of `error` went through; 0 for none."""
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if os.path.abspath(frame.filename) == os.path.abspath(path):
            line = frame.lineno
    return line


def first_line(error):
    """"ValueError: what it says", one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def of_task(path, error, doing, line=0):
    """The Failure of an exception that the task file raised while `doing` ("Model() failed")."""
    if isinstance(error, Failure):
        return error
    if out_of_memory(error):
        return Failure(OUT_OF_MEMORY, f"{path}: {doing}: {first_line(error)}",
                       "use a smaller size in the task file, or a GPU with more memory")
    if "CUDA error" in str(error):
        return Failure(ENVIRONMENT, f"{path}: {doing}: {first_line(error)}",
                       "run `kernelpro doctor`; if it is well, the reference itself breaks the GPU")
    return Failure(TASK, f"{path}:{line_in(path, error) or line or 1}: {doing}: {first_line(error)}",
                   "the task must run in plain PyTorch first: python3 -c "
                   "'from TASK import *; Model(*get_init_inputs())(*get_inputs())'")

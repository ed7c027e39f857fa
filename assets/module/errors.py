"""What a candidate does wrong, in words."""
import traceback

LINES = 24  # of a message; compilers write long ones
CANDIDATE = "candidate.py"


class Wrong(Exception):
    """kind: the name of an outcome (src/verdict/verdict.h)."""

    def __init__(self, kind, message, hint=""):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint


def describe(error):
    """"candidate.py:12: RuntimeError: what it says", the end of it when long."""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith(CANDIDATE):
            place = f"{CANDIDATE}:{frame.lineno}: "
    if isinstance(error, SyntaxError) and not place:
        place = f"{CANDIDATE}:{error.lineno}: "
    lines = [line for line in f"{type(error).__name__}: {error}".strip().split("\n") if line.strip()]
    important = [line for line in lines if "error" in line.lower()]
    if len(lines) > LINES:
        lines = lines[:2] + important[:LINES // 2] + ["..."] + lines[-LINES // 3:]
    return place + "\n".join(line[:400] for line in lines)

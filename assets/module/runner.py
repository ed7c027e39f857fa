"""Runner of PyTorch modules: answers one line of JSON for each (docs/protocols.md, "Module")."""
import argparse
import json
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Channel:
    """stdin and stdout, moved to numbers of their own: what a candidate prints goes to the log."""

    def __init__(self):
        self.requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self.answers = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        sys.stdin = open(os.devnull, encoding="utf-8")
        sys.stdout = sys.stderr

    def say(self, answer):
        os.write(self.answers, (json.dumps(answer) + "\n").encode())


def failure_of(error):
    from module.errors import Wrong, describe
    if isinstance(error, Wrong):
        return {"kind": error.kind, "error": {"message": error.message, "hint": error.hint}}
    from oracle.failure import Failure, out_of_memory
    if isinstance(error, Failure):
        return {"kind": error.kind, "error": {"message": error.message, "hint": error.hint}}
    kind = "out_of_memory" if out_of_memory(error) else "crashed"
    return {"kind": kind, "error": {"message": describe(error), "hint": ""}}


def main():
    parser = argparse.ArgumentParser(prog="module runner")
    parser.add_argument("--device", default="cuda:0")
    device = parser.parse_args().device
    channel = Channel()
    try:
        from module.session import Session
        session = Session(device, os.getcwd())
    except BaseException as error:
        channel.say({"ok": False, **failure_of(error)})
        return 1
    channel.say({"ok": True, **session.about()})
    say, loads = channel.say, json.loads
    for line in channel.requests:
        request = loads(line)
        nonce = request.get("nonce")
        try:
            if request["op"] == "quit":
                return 0
            found = session.answer(request)
            say({"ok": True, "nonce": nonce, **found})
        except BaseException as error:
            say({"ok": False, "nonce": nonce, **failure_of(error)})
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # no candidate's threads or exit handlers hold us up

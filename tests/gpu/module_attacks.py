#!/usr/bin/env python3
"""Attacks on the verdict by PyTorch modules, and their honest look-alikes. Label `gpu`; with
--device cpu those that need no GPU are run on any machine.

    python3 tests/gpu/module_attacks.py --binary build/release/src/kernelpro [--only NAME,...] [--out FOLDER]

The table is tests/attacks/modules/attacks.json. An attack must end with one of its allowed outcomes;
"neutralised" means: accepted as correct, with a time that is not below an honest module's. Every
look-alike must be correct. Exit code 77 (skipped) where no python has torch.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODULES = ROOT / "tests/attacks/modules"
SECRET = "sk-test-secret"


def say(text):
    print(text, flush=True)


def judge(options, task, files, deadline_s):
    """Verdicts in the order of the files, or None and why."""
    if options.device == "cpu":
        command = [options.binary, "judge-module", str(task), *map(str, files), "--device", "cpu",
                   "--run-timeout", "5"]
    else:
        command = [options.binary, "evaluate", str(task), *map(str, files), "--json", "--quiet",
                   "--run-timeout", "5"]
    env = {**os.environ, "OPENAI_API_KEY": SECRET}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline_s, env=env)
    except subprocess.TimeoutExpired:
        return None, f"no end within {deadline_s} s"
    try:
        return [r["verdict"] for r in json.loads(done.stdout)["results"]], ""
    except (ValueError, KeyError):
        return None, (done.stderr or done.stdout).strip()[-400:]


def has_torch(binary):
    done = subprocess.run([binary, "doctor", "--json"], capture_output=True, text=True, timeout=120)
    checks = json.loads(done.stdout)["checks"]
    return any(c["check"] == "PyTorch" and c["health"] == "works" for c in checks)


def time_of(verdict):
    timing = verdict and verdict.get("timing")
    return timing["median_ms"] if timing else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/src/kernelpro"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="", help="names of attacks, with commas")
    parser.add_argument("--out", help="folder for modules.json and modules.md")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    if not has_torch(options.binary):
        say("skipped: no python with torch")
        sys.exit(77)
    table = json.loads((MODULES / "attacks.json").read_text())
    only = set(filter(None, options.only.split(",")))
    attacks = [a for a in table["attacks"] if (not only or a["name"] in only)
               and (options.device != "cpu" or a.get("needs") != "gpu")]
    if not attacks:
        sys.exit("no such attack")

    start = time.time()
    files = [MODULES / "plain/benign.py"]
    for a in attacks:
        for file in (MODULES / a.get("twin", a["name"]) / "benign.py", MODULES / a["name"] / "attack.py"):
            if file not in files:
                files.append(file)
    verdicts, trouble = judge(options, MODULES / table["task"], files, 60 + 15 * len(files))
    if verdicts is None:
        say(f"failed as a whole, so one by one: {trouble}")
        verdicts = []
        for file in files:
            one, trouble = judge(options, MODULES / table["task"], [file], 90)
            verdicts.append(one[0] if one else {"outcome": "no verdict", "reason": trouble})
    by_file = dict(zip(files, verdicts))

    rows, off = [], 0

    def row(name, role, file, allowed, honest_ms=None, below=0.0, must_not_say=None):
        nonlocal off
        verdict = by_file[file]
        outcome, ms = verdict["outcome"], time_of(verdict)
        if outcome == "correct" and role == "attack":
            noise = 0.5 if options.device == "cpu" else 0.0  # other processes use the same cores
            fooled = ms is None or honest_ms is None or ms < (1 - max(below, noise)) * honest_ms
            outcome = "ACCEPTED" if fooled else "neutralised"
        good = outcome in allowed and not (must_not_say and must_not_say in json.dumps(verdict))
        off += not good
        rows.append({"name": name, "role": role, "outcome": outcome, "good": good, "ms": ms, "allowed": allowed,
                     "reason": verdict.get("reason", ""), "detail": verdict.get("detail", ""),
                     "stages": verdict.get("stages")})

    seen = set()
    for a in attacks:
        honest = time_of(by_file.get(MODULES / a["time_of"])) if "time_of" in a else None
        row(a["name"], "attack", MODULES / a["name"] / "attack.py", a["allowed"], honest, a.get("below", 0.1),
            a.get("must_not_say"))
        twin = a.get("twin", a["name"])
        if twin not in seen:
            seen.add(twin)
            row(twin, "look-alike", MODULES / twin / "benign.py", ["correct"])

    lines = ["| attack | role | outcome | as it should be | ms | reason |", "|---|---|---|---|---|---|"]
    for r in rows:
        ms = f"{r['ms']:.4f}" if r["ms"] is not None else "-"
        reason = r["reason"].replace("|", "/").replace("\n", " ")[:140]
        lines.append(f"| {r['name']} | {r['role']} | {r['outcome']} | {'yes' if r['good'] else 'NO'} | {ms} | {reason} |")
    say("\n".join(lines))
    for r in rows:
        if not r["good"]:
            say(f"\n{r['name']} ({r['role']}): {r['outcome']}: {r['reason']}\n{r['detail']}")
    attacks_off = sum(not r["good"] for r in rows if r["role"] == "attack")
    say(f"{len(attacks)} attacks, {attacks_off} not refused or not neutralised; {len(seen)} look-alikes, "
        f"{off - attacks_off} not accepted; {time.time() - start:.1f} s")
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "modules.json").write_text(json.dumps(rows, indent=1))
        (out / "modules.md").write_text("\n".join(lines) + "\n")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()

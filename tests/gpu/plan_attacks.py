#!/usr/bin/env python3
"""Attacks on the verdict by plan candidates, and their honest look-alikes. Needs a GPU; label `gpu`.

    python3 tests/gpu/plan_attacks.py --binary build/release/src/kernelpro [--only NAME,...] [--out FOLDER]

The table is tests/attacks/plans/attacks.json. An attack must end with one of its allowed outcomes;
"neutralised" means: accepted as correct, with a time that is not below an honest kernel's. Every
look-alike must be correct.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLANS = ROOT / "tests/attacks/plans"


def say(text):
    print(text, flush=True)


def evaluate(binary, task, files, deadline_s, extra):
    """Verdicts in the order of the files, or None when the program itself failed."""
    command = [binary, "evaluate", str(task), *map(str, files), "--json", "--quiet", "--run-timeout", "3",
               *extra]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        return None, f"no end within {deadline_s} s"
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        return None, (done.stderr or done.stdout).strip()[-300:]
    return [r["verdict"] for r in results], ""


class Judge:
    """Judges many candidates of a task in one call; one by one when a call fails as a whole."""

    def __init__(self, binary, extra):
        self.binary, self.extra = binary, extra
        self.verdicts, self.failures = {}, {}

    def run(self, task, groups):
        files = [f for group in groups for f in group]
        start = time.time()
        verdicts, trouble = evaluate(self.binary, task, files, 20 + 6 * len(files), self.extra)
        say(f"{task.name}: {len(files)} candidates in {time.time() - start:.1f} s"
            + (f"; failed as a whole: {trouble}" if verdicts is None else ""))
        if verdicts is not None:
            self.add(files, verdicts)
            return
        for group in groups:
            verdicts, trouble = evaluate(self.binary, task, group, 40, self.extra)
            if verdicts is None:
                self.failures.update({f: trouble for f in group})
            else:
                self.add(group, verdicts)

    def add(self, files, verdicts):
        for file, verdict in zip(files, verdicts):
            self.verdicts.setdefault(file, []).append(verdict)

    def verdict(self, file):
        """The first that is not correct, else the first."""
        mine = self.verdicts.get(file, [])
        return next((v for v in mine if v["outcome"] != "correct"), mine[0] if mine else None)

    def time_of(self, file):
        """Median over the times that the file was judged."""
        times = [v["timing"]["median_ms"] for v in self.verdicts.get(file, []) if v.get("timing")]
        return statistics.median(times) if times else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/src/kernelpro"))
    parser.add_argument("--only", default="", help="names of attacks, with commas")
    parser.add_argument("--out", help="folder for attacks.json and attacks.md")
    parser.add_argument("--timing-budget", default="0.1")
    options = parser.parse_args()
    table = json.loads((PLANS / "attacks.json").read_text())
    only = set(filter(None, options.only.split(",")))
    attacks = [a for a in table["attacks"] if not only or a["name"] in only]
    if not attacks:
        sys.exit("no such attack")

    start = time.time()
    judge = Judge(os.path.abspath(options.binary), ["--timing-budget", options.timing_budget])
    for name, toml in table["tasks"].items():
        mine = [a for a in attacks if a["task"] == name]
        if not mine:
            continue
        # Every honest kernel that a time is held against, then each attack after its look-alike.
        honest = sorted({a["time_of"] for a in mine if "time_of" in a})
        groups = [[PLANS / h] for h in honest]
        for a in mine:
            folder = PLANS / a["name"]
            twin = PLANS / a.get("twin", a["name"]) / "benign.cu"
            groups.append([twin, folder / "attack.cu"] if twin not in [g[0] for g in groups]
                          else [folder / "attack.cu"])
            for _ in range(a.get("repeat", 1) - 1):  # of short kernels: their times are taken in turns
                groups.append([PLANS / a["time_of"], folder / "attack.cu"])
        judge.run(PLANS / toml, groups)

    rows, off = [], 0

    def row(name, role, file, allowed, honest_ms, below):
        nonlocal off
        verdict = judge.verdict(file)
        if verdict is None:
            outcome, reason = "no verdict", judge.failures.get(file, "")
        else:
            outcome, reason = verdict["outcome"], verdict["reason"]
        ms = judge.time_of(file)
        if outcome == "correct" and role == "attack":
            fooled = ms is None or honest_ms is None or ms < (1 - below) * honest_ms
            outcome = "ACCEPTED" if fooled else "neutralised"
        good = outcome in allowed
        off += not good
        rows.append({"name": name, "role": role, "outcome": outcome, "good": good, "ms": ms,
                     "honest_ms": honest_ms, "reason": reason, "allowed": allowed})

    seen = set()
    for a in attacks:
        below = a.get("below", 0.1)
        honest_ms = judge.time_of(PLANS / a["time_of"]) if "time_of" in a else None
        row(a["name"], "attack", PLANS / a["name"] / "attack.cu", a["allowed"], honest_ms, below)
        twin = a.get("twin", a["name"])
        if twin not in seen:
            seen.add(twin)
            row(twin, "look-alike", PLANS / twin / "benign.cu", ["correct"], None, 0)

    number = lambda v: f"{v:.4f}" if v is not None else "-"
    lines = ["| attack | role | outcome | as it should be | ms | honest ms | reason |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        reason = r["reason"].replace("|", "/").replace("\n", " ")[:110]
        lines.append(f"| {r['name']} | {r['role']} | {r['outcome']} | {'yes' if r['good'] else 'NO'} | "
                     f"{number(r['ms'])} | {number(r['honest_ms'])} | {reason} |")
    say("\n".join(lines))
    attacks_off = sum(not r["good"] for r in rows if r["role"] == "attack")
    say(f"{len(attacks)} attacks, {attacks_off} not refused or not neutralised; {len(seen)} look-alikes, "
        f"{off - attacks_off} not accepted; {time.time() - start:.1f} s")
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "attacks.json").write_text(json.dumps(rows, indent=1))
        (out / "attacks.md").write_text("\n".join(lines) + "\n")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()

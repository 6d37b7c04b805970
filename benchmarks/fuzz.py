"""Fuzzing every reader: `python -m benchmarks.fuzz --n 100000` reports tracebacks, hangs, crashes and silent NaN.

Inputs run in a child process with limits on processor time and memory; when it dies, the input it was reading is a
finding and another process goes on. Input k of a target follows from the seed, the target and k alone, so that a
finding can be repeated: `--target urdf --only 1234`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from .fuzz_inputs import TARGETS, Finding, outcome
from .fuzz_mutations import mutated

SECONDS = 20.0
"""Processor time an input may take; 0.2 MB at most are read."""
SILENCE = 120.0
"""Seconds on the clock without a word from the child that make a hang."""
MEMORY = 6 * 2**30


def run_child(name: str, first: int, last: int, seed: int) -> None:
    """Read inputs first … last − 1 and say on standard output, line by line, what came of each."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    target = TARGETS[name]
    seeds = target.seeds()
    with tempfile.TemporaryDirectory(prefix="zveno-fuzz-") as folder:
        for k in range(first, last):
            data = mutated(seeds, Random(f"{seed} {name} {k}"))
            print(json.dumps({"start": k}), flush=True)
            start = time.process_time()
            try:
                what, detail = outcome(target, data, Path(folder)), ""
            except BaseException as error:
                frames = traceback.extract_tb(error.__traceback__)
                what, detail = "traceback", f"{error!r:.200} at {frames[-1].filename}:{frames[-1].lineno}"
                what = "silent" if isinstance(error, Finding) else what
            spent = time.process_time() - start
            if spent > SECONDS:
                what, detail = "hang", f"{spent:.0f} s"
            print(json.dumps({"done": k, "what": what, "detail": detail, "seconds": spent}), flush=True)


def run_target(name: str, n: int, seed: int) -> tuple[Counter[str], list[str], float]:
    """(counts of what came out, findings, longest time) of n inputs to a reader."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    longest, k = 0.0, 0
    while k < n:
        command = [sys.executable, "-m", "benchmarks.fuzz", "--child", name, str(k), str(n), "--seed", str(seed)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        watch = threading.Timer(SILENCE, child.kill)
        watch.start()
        reading = -1
        for line in child.stdout:
            watch.cancel()
            watch = threading.Timer(SILENCE, child.kill)
            watch.start()
            said = json.loads(line)
            if "start" in said:
                reading = said["start"]
                continue
            k = said["done"] + 1
            counts[said["what"]] += 1
            longest = max(longest, said["seconds"])
            if said["what"] not in ("read", "refused"):
                findings.append(f"{name} {said['done']}: {said['what']}: {said['detail']}")
        watch.cancel()
        code = child.wait()
        if k < n:
            if reading < k:
                raise SystemExit(f"the child for {name} did not start (exit code {code})")
            counts["crash"] += 1
            findings.append(f"{name} {reading}: crash or hang, exit code {code}")
            k = reading + 1
    return counts, findings, longest


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=TARGETS, action="append", help="only these readers")
    parser.add_argument("--only", type=int, help="write this input of a target to standard output")
    parser.add_argument("--child", nargs=3, metavar=("NAME", "FIRST", "LAST"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, first, last = options.child
        run_child(name, int(first), int(last), options.seed)
        return 0
    if options.only is not None:
        (name,) = options.target
        sys.stdout.buffer.write(mutated(TARGETS[name].seeds(), Random(f"{options.seed} {name} {options.only}")))
        return 0
    total, found = 0, []
    for name in options.target or TARGETS:
        n = max(1, options.n * TARGETS[name].share // 100)
        start = time.time()
        counts, findings, longest = run_target(name, n, options.seed)
        total, found = total + n, found + findings
        words = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        print(f"{name}: {n} inputs in {time.time() - start:.0f} s: {words}; longest {longest:.2f} s", flush=True)
        for finding in findings[:50]:
            print(f"  {finding}", flush=True)
    print(f"{total} inputs, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

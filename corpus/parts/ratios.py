"""Ratios to other packages that docs/peers.md quotes, as `python -m benchmarks` measures them: CPU time, medians.

They depend on what else the machine does; `load` says how busy it was. Rivals come with the extra `bench`; rows of
those that are not installed are missing. A ratio that is worse by more than 5 % is flagged.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..cases import Case, Outcome, Values
from ..store import Archive

ROOT = Path(__file__).parents[2]
PEERS = {
    "dynamics": (),
    "simulation": (),
    "engine": ("--least",),
    "ik_rivals": (),
    "base_parameters": (),
    "identification": (),
    "whole_body": (),
}
"""Benchmarks that docs/peers.md quotes, and their options."""
WORSE = 0.05


def cases(archive: Archive) -> Iterator[Case]:
    """One case a benchmark."""
    for name, options in PEERS.items():
        yield Case(f"{name}/rows", lambda name=name, options=options: _rows(name, options), rule=told)


def _rows(name: str, options: tuple[str, ...]) -> dict[str, Any]:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "benchmarks", name, *options, "--out", str(file)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(file.read_text())["rows"][name]
    return {
        "what": [f"{row['what']} | {row['rival_name']}" for row in rows],
        "ours": [row["ours"] for row in rows],
        "rival": [row["rival"] for row in rows],
        "ratio": [row["ratio"] for row in rows],
        "date": datetime.date.today().isoformat(),
        "load": max(load, os.getloadavg()[0]),
    }


def told(case: Case, old: Values, new: Values) -> Outcome:
    """Ratios by row, flagged where they are worse by more than 5 %."""
    outcome = Outcome()
    was = {str(what): k for k, what in enumerate(old["what"])}
    told_at = f"frozen {old['date']} at load {float(old['load']):.1f}, now at load {float(new['load']):.1f}"
    outcome.remarks.append(told_at)
    for k, what in enumerate(map(str, new["what"])):
        if what not in was:
            outcome.remarks.append(f"{what}: is new")
            continue
        before, now = float(old["ratio"][was[what]]), float(new["ratio"][k])
        line = f"{what}: {before:.3g}× became {now:.3g}×"
        outcome.worst = max(outcome.worst, 1.0 - now / before)
        (outcome.problems if now < (1 - WORSE) * before else outcome.remarks).append(line)
    outcome.remarks += [f"{what}: has no row now" for what in was.keys() - set(map(str, new["what"]))]
    return outcome

"""Compiled inverse kinematics against the careful way, on every class of arms that has a program.

    python -m benchmarks.ik_agreement --poses 100000

Half of the poses are anywhere, half singular, at limits, at right angles, at the edge of reach or beyond it; every
class once with limits and once without. A pose that the program is not sure of is answered by the careful way
itself, so the others are compared: number of solutions, status and values. Exit code 1 if one differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import zveno
from zveno.ik.ik_problem import problem_of
from zveno.ik.solutions import COMPLETE

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from arm_classes import OfClass, arm_classes  # pyright: ignore[reportMissingImports]
from ik_answers import ROUNDING  # pyright: ignore[reportMissingImports]

AT_ONCE = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=2000, help="of every class, with limits and without")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="classes whose names hold this")
    given = parser.parse_args()
    zveno.set_threads(1)
    print(f"{'class':58} {'limits':7}   sure counts status   values  seconds", flush=True)
    wrong = 0
    for name, of_class in arm_classes().items():
        for robot in of_class.both if given.only in name else ():
            start = time.process_time()
            found = compared(of_class, robot, given.poses, given.seed)
            wrong += found["counts"] + found["statuses"] + (found["worst"] > ROUNDING)
            limits = "with" if robot is of_class.limited else "without"
            numbers = f"{found['sure']:6.1%} {found['counts']:6} {found['statuses']:6} {found['worst']:8.1e}"
            print(f"{name:58} {limits:7} {numbers} {time.process_time() - start:8.1f}", flush=True)
            for pose in found["poses"]:
                print(f"  seed {pose[0]}, pose {pose[1]}: {pose[2]}")
    return int(wrong > 0)


def compared(of_class: OfClass, robot: zveno.Robot, n: int, seed: int) -> dict[str, Any]:
    """How many counts and statuses differ, the largest difference of values, and which poses those are."""
    solver = of_class.solver(robot)
    turning = np.array([kind == "R" for kind in problem_of(robot, task=of_class.task).kinds])
    found: dict[str, Any] = {"sure": 0, "counts": 0, "statuses": 0, "worst": 0.0, "poses": []}
    for part, T in _parts(of_class, robot, n, seed):
        table = solver._batches(T, solver.chain.limits)
        sure = np.flatnonzero(table[:, -1, 1] == 1)
        careful = robot.ik(T[sure], task=of_class.task, method=solver.method)
        count = table[sure, -1, 0].astype(int)
        same = count == careful.count
        claimed = careful.codes == COMPLETE
        off = np.where(turning, 1.0, 0.0) * 2 * np.pi
        most = careful.q.shape[1]
        apart = table[sure, :most, : len(turning)] - careful.q
        apart -= off * np.round(np.divide(apart, off, out=np.zeros_like(apart), where=off > 0))
        own = np.nanmax(np.abs(apart), axis=(1, 2), initial=0.0, where=~np.isnan(apart) & same[:, None, None])
        found["sure"] += len(sure) / n
        found["counts"] += int((~same).sum())
        found["statuses"] += int((~claimed).sum())
        found["worst"] = max(found["worst"], float(own.max(initial=0.0)))
        for i in np.flatnonzero(~same | ~claimed | (own > ROUNDING))[:5]:
            status = zveno.ik.solutions.STATUSES[careful.codes[i]]
            said = f"{count[i]} against {careful.count[i]}, {status}, {own[i]:.1e}"
            found["poses"].append((part, int(sure[i]), said))
    return found


def _parts(of_class: OfClass, robot: zveno.Robot, n: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Poses in parts, each with its seed."""
    for done in range(0, n, AT_ONCE):
        part = seed + done // AT_ONCE
        yield part, of_class.poses(robot, min(AT_ONCE, n - done), part)


if __name__ == "__main__":
    sys.exit(main())

"""Exported inverse kinematics: C compiled with -O2, one pose at a time, beside EAIK and ik-geo; is it right?

    python -m benchmarks controller
    python -m benchmarks.controller --poses 10000 --many 1000000

The first prints times. The second compares counts, statuses and values with Python on every class of arms, half of
the poses singular, at limits or edges, and counts trips of every bounded loop over many poses. Exit code 1 if
something differs or a bound is passed.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import zveno
from zveno.ik.native.controller import controller_ik
from zveno.ik.solutions import COMPLETE, UNDECIDED
from zveno.mechanism import Limits

from .ik_rivals import RIVALS, _built_in
from .timing import Row, interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from arm_classes import arm_classes  # pyright: ignore[reportMissingImports]
from ik_answers import ROUNDING, robot_of  # pyright: ignore[reportMissingImports]
from ik_arms import Arm, general_arms, known_arms  # pyright: ignore[reportMissingImports]

CLOSED, GENERAL = 10e-6, 60e-6
"""Seconds promised for a pose: by a closed form, and of a general arm."""
POSES = 200
LIMITS = Limits(-2.8, 2.8)
ALONE = (
    ("stanford", None),
    ("scara", None),
    ("panda", "joint7"),
    ("panda", "joint6"),
    ("panda", "joint4"),
    ("iiwa14", "joint3"),
    ("iiwa14", "joint7"),
)
"""Robots, and of seven joints the one that is an argument, which the others do not solve so."""
BESIDE = "EAIK", "ik-geo"
"""Called from Python, as they are offered; their own languages spare them a microsecond or two a call."""
TRIPS = re.compile(r"for \(long (trip\d+) = 0; \1 < (\d+) &&[^{]*\{")


class Compiled:
    """The C function of a robot in a shared object, one pose after the other.

    Args:
        robot: what is exported.
        redundant: of seven joints the one that is an argument.
        counting: whether trips of bounded loops are counted.
    """

    def __init__(self, robot: zveno.Robot, redundant: str | None = None, counting: bool = False):
        self.program = controller_ik(robot, None, False, redundant).program
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise SystemExit("there is no C compiler")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            done = robot.export_c(["inverse_kinematics"], place, redundant_joint=redundant, timed=False)
            name = done.functions[0].name
            text = (place / f"{name}.c").read_text()
            self.bounds = [int(bound) for _, bound in TRIPS.findall(text)]
            if counting:
                numbers = iter(range(len(self.bounds)))
                text = TRIPS.sub(
                    lambda found: (
                        f"{found[0]} if ({found[1]} >= most[{(k := next(numbers))}]) most[{k}] = {found[1]} + 1;"
                    ),
                    text,
                )
                text = text.replace("#include <math.h>", f"#include <math.h>\nlong most[{len(self.bounds)}];")
            (place / "all.c").write_text(text + self._driver(name))
            command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", "all.c", "-lm", "-o", "all.so"]
            subprocess.run(command, cwd=place, check=True)
            self.library = ctypes.CDLL(str(place / "all.so"))

    def _driver(self, name: str) -> str:
        arguments = (*self.program.inputs, *self.program.outputs)
        given = ", ".join(f"double *{argument.name}" for argument in arguments)
        passed = ", ".join(f"{argument.name} + i * {max(1, argument.size)}" for argument in arguments)
        return f"""
static {name}_memory kept;
void every_pose(long n, {given}) {{ long i; for (i = 0; i < n; ++i) {{ {name}(&kept, {passed}); }} }}
"""

    @property
    def trips(self) -> list[int]:
        """The most trips of every bounded loop so far."""
        return list((ctypes.c_long * len(self.bounds)).in_dll(self.library, "most"))

    def __call__(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """Outputs (n, …) for n states."""
        n = len(inputs[0])
        outputs = [np.empty((n, *argument.shape)) for argument in self.program.outputs]
        arrays = [*(np.ascontiguousarray(part, float) for part in inputs), *outputs]
        pointers = [part.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for part in arrays]
        self.library.every_pose(ctypes.c_long(n), *pointers)
        return outputs


def run() -> list[Row]:
    """Seconds a pose, limits and status included; EAIK and ik-geo give all branches, without limits or status."""
    zveno.set_threads(1)
    sixes = [_built_in("puma560"), known_arms()["ur5"]]
    general = [known_arms()["jaco"], *general_arms(1, seed=500)]
    rows = [row for arm in sixes for row in _timed(robot_of(arm, LIMITS), None, CLOSED, arm)]
    for name, redundant in ALONE:
        rows += _timed(zveno.load(name), redundant, CLOSED)
    return rows + [row for arm in general for row in _timed(robot_of(arm, LIMITS), None, GENERAL, arm)]


def _timed(robot: zveno.Robot, redundant: str | None, promised: float, arm: Arm | None = None) -> list[Row]:
    function, q = Compiled(robot, redundant), robot.random(POSES, 0)
    T = robot.forward_kinematics(q)
    inputs = [T] if redundant is None else [T, q[:, robot.joint_names.index(redundant)]]
    calls: dict[str, Any] = {"ours": lambda: function(*inputs)}
    for other in BESIDE if arm is not None else ():
        ready = RIVALS[other](arm)
        if ready.solve is not None:
            calls[other] = lambda solve=ready.solve: [solve(pose) for pose in T]
    times = interleaved(calls, POSES, 9)
    name = robot.name if redundant is None else f"{robot.name}, {redundant} given"
    rows = [Row(f"{name}: a pose in C", times["ours"], promised, "promised", 1.0)]
    return rows + [
        Row(f"{name}: a pose in C", times["ours"], times[other], other) for other in calls if other != "ours"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=1000, help="compared with Python, of every class")
    parser.add_argument("--many", type=int, default=0, help="over which trips of loops are counted, of every class")
    parser.add_argument("--only", default="", help="classes whose names this pattern finds")
    given = parser.parse_args()
    zveno.set_threads(1)
    print(f"{'class':58} sure counts status  values  most trips of bounded loops / bounds, seconds", flush=True)
    wrong = 0
    for name, of_class in arm_classes().items():
        if not re.search(given.only, name) or of_class.task != "pose":
            continue
        start, robot = time.process_time(), of_class.limited
        function = Compiled(robot, counting=True)
        sure, counts, statuses, worst = _compared(function, of_class, given.poses)
        for seed in range(0, given.many, 20_000):
            function(of_class.poses(robot, min(20_000, given.many - seed), 1000 + seed))
        trips = [
            f"{most}/{bound}" for most, bound in zip(function.trips, function.bounds, strict=True) if bound > 1
        ]
        passed = any(most > bound for most, bound in zip(function.trips, function.bounds, strict=True))
        wrong += counts + statuses + (worst > ROUNDING) + passed
        told = f"{sure:4.0%} {counts:6} {statuses:6} {worst:7.1e}  {' '.join(trips)}"
        print(f"{name:58} {told} {time.process_time() - start:8.1f}", flush=True)
    return int(wrong > 0)


def _compared(function: Compiled, of_class: Any, n: int) -> tuple[float, int, int, float]:
    """Share of poses that C is sure of; counts and statuses that Python gives otherwise; greatest difference."""
    robot = of_class.limited
    T = of_class.poses(robot, n, 7)
    q, count, status = function(T)
    sure = np.flatnonzero(status != UNDECIDED)
    careful = robot.ik(T[sure], method=of_class.solver(robot).method)
    other_counts, other_statuses = count[sure] != careful.count, status[sure] != careful.codes
    both = (status[sure] == COMPLETE) & ~other_counts
    most = careful.q.shape[1]
    apart = np.abs(q[sure][both][:, :most] - careful.q[both])
    apart = np.minimum(apart, np.abs(2 * np.pi - apart))
    worst = float(np.nanmax(apart, initial=0.0, where=~np.isnan(apart)))
    return len(sure) / n, int(other_counts.sum()), int(other_statuses.sum()), worst


if __name__ == "__main__":
    sys.exit(main())

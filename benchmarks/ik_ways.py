"""Inverse kinematics of one pose asked in every way that `Robot.ik` takes, beside the plain call of the same run.

python -m benchmarks ik_ways --least
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import zveno
from zveno import ik

from .timing import Row, interleaved

ROBOTS = ("ur5", "puma560")
BAR = 1.0 / 3.0
"""The plain call is at most three times as fast, windings by the solution listed."""
NEAR = 0.02
"""rad from a solution at which the local method starts."""


def run() -> list[Row]:
    zveno.set_threads(1)
    return [row for name in ROBOTS for row in _ways(zveno.load(name))]


def _ways(robot: zveno.Robot) -> list[Row]:
    T = robot.forward_kinematics(robot.random(1, 0))[0]
    plain = robot.ik(T)
    joint, n = robot.joint_names[0], robot.n_q
    whole, start = (np.full(n, -3.0), np.full(n, 3.0)), plain.q[0] + NEAR
    as_list, few_digits, neutral = T.tolist(), T.astype(np.float32), np.zeros(n)
    away = T.copy()
    away[:3, 3] = 10.0
    calls: dict[str, Callable[[], zveno.ik.Solutions]] = {
        "plain": lambda: robot.ik(T),
        "limits=False": lambda: robot.ik(T, limits=False),
        "limits as a dict": lambda: robot.ik(T, limits={joint: (-3.0, 3.0)}),
        "limits as two arrays": lambda: robot.ik(T, limits=whole),
        "limits as two numbers": lambda: robot.ik(T, limits=(-3.0, 3.0)),
        "a list of lists": lambda: robot.ik(as_list),
        "float32": lambda: robot.ik(few_digits),
        "held": lambda: robot.ik(T, fixed=neutral),
        "a mask as task": lambda: robot.ik(T, task=(1, 1, 1, 1, 1, 1)),
        "accept": lambda: robot.ik(T).where(lambda q: q[:, 0] > 0.0),
        "seconds": lambda: robot.ik(T, timeout=1.0),
        "tolerance": lambda: robot.ik(T).within(1e-3, 1e-3),
        "local from a near start": lambda: ik.local(robot, T, start),
        "windings": lambda: robot.ik(T).windings(),
        "an unreachable pose": lambda: robot.ik(away),
    }
    times = interleaved(calls, repeats=9)
    times["windings"] *= len(plain) / len(calls["windings"]())
    return [
        Row(f"{robot.name}: one pose, {way}", seconds, times["plain"], "the plain call", BAR)
        for way, seconds in times.items()
    ]

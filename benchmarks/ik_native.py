"""Closed-form inverse kinematics through the public functions: time a pose beside EAIK, set-up, and agreement.

Ours gives solutions inside limits, checked, sorted, with a status; EAIK all branches, without limits or checks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import zveno
from zveno.ik.ik_problem import problem_of

from .timing import Row, interleaved

ONE, BATCH, FIRST, WARM = 8e-6, 3e-6, 0.5, 0.02
"""Seconds promised: one pose, a pose of a batch, the first answer with an empty cache, and with a full one."""
ROBOTS = ("puma560", "ur5")


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for name in ROBOTS:
        robot = zveno.load(name)
        T = robot.forward_kinematics(robot.random(1000, 0))
        rows += [*_one(robot, T[0].copy()), *_batch(robot, T), *_first(name), agreement(robot)]
    return rows


def rival(robot):
    """EAIK's robot, or None where it is not installed."""
    try:
        from eaik.IK_Homogeneous import HomogeneousRobot  # type: ignore[import-not-found]  (a rival, an extra)
    except ImportError:
        return None
    constants, M, frames = problem_of(robot).constants, np.eye(4), []
    for C in constants[:-1]:
        M = M @ C
        frames.append(M)
    return HomogeneousRobot(np.array([*frames, M @ constants[-1]]))


def _one(robot, T: np.ndarray) -> list[Row]:
    def read():
        answer = robot.ik(T)
        return answer.q, answer.count, answer.status

    calls = {"solved": lambda: robot.ik(T), "read": read}
    other = rival(robot)
    if other is not None:
        calls["EAIK"] = lambda: other.IK(T).Q
    times = interleaved(calls, 1, 15)
    against = (times["EAIK"], "EAIK") if "EAIK" in times else (ONE, "promised")
    name = robot.name
    return [
        Row(f"{name}: one pose", times["solved"], ONE, "promised", 1.0),
        Row(f"{name}: one pose, and q, count and status read", times["read"], *against),
    ]


def _batch(robot, T: np.ndarray) -> list[Row]:
    def read():
        answer = robot.ik(T)
        return answer.q, answer.count, answer.codes

    calls = {"ours": read}
    other = rival(robot)
    if other is not None:
        calls["EAIK"] = lambda: other.IK_batched(T, 1)
    times = interleaved(calls, len(T), 9)
    rows = [Row(f"{robot.name}: a pose of {len(T)}, all read", times["ours"], BATCH, "promised", 1.0)]
    if "EAIK" in times:
        rows.append(Row(f"{robot.name}: a pose of {len(T)}", times["ours"], times["EAIK"], "EAIK batched"))
    return rows


def _first(name: str) -> list[Row]:
    other = next(robot for robot in ROBOTS if robot != name)
    cold, warm = first_answers(name, other)
    return [
        Row(f"{name}: first answer, empty cache", cold, FIRST, "promised", 1.0),
        Row(f"{name}: first answer, full cache", warm, WARM, "promised", 1.0),
    ]


def first_answers(name: str, other: str, options: str = "") -> tuple[float, float]:
    """CPU seconds of the first answer in a fresh process, with an empty cache, and the least of five with a full.

    LLVM is loaded before, with kernels of the other robot; `options` are further arguments of `robot.ik`. Bytecode
    of the package is kept, as it is where it is installed: to compile what changed would be told as loading.
    """
    program = (
        "import time, zveno, zveno.ik.solve, zveno.ik.native.answer; zveno.set_threads(1);"
        f"r = zveno.load('{other}'); r.forward_kinematics(r.neutral());"
        f"r = zveno.load('{name}'); T = r.forward_kinematics(r.random(1, 0)[0]);"
        f"t = time.process_time(); r.ik(T, {options}).status; print(time.process_time() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ZVENO_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        command, env = [sys.executable, "-c", program], os.environ | settings
        cold, *warm = (
            float(subprocess.run(command, env=env, capture_output=True, check=True).stdout) for _ in range(6)
        )
    return cold, min(warm)


def agreement(robot, careful_method: str = "closed_form", n: int = 100_000) -> Row:
    """CPU seconds a pose and the careful way's, on n random poses, and how many statuses or counts differ."""
    differ, taken = 0, {"auto": 0.0, careful_method: 0.0}
    for method in taken:  # kernels are built outside the time
        robot.ik(robot.forward_kinematics(robot.random(100, 0)), method=method)
    for seed in range(0, n, 5000):
        T = robot.forward_kinematics(robot.random(min(5000, n - seed), seed))
        answers = []
        for method in taken:
            start = time.process_time()
            answers.append(robot.ik(T, method=method))
            taken[method] += time.process_time() - start
        ours, careful = answers
        differ += int(((ours.count != careful.count) | (ours.codes != careful.codes)).sum())
    what = f"{robot.name}: {differ} of {n} poses answered otherwise"
    return Row(what, taken["auto"] / n, taken[careful_method] / n, "the careful way")

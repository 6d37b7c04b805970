"""Every solution of arms with six revolute joints: time a pose, set-up and recall, beside EAIK if installed.

Recall is against the union of all templates, the closed form, and Newton's method from random starts. Other rivals
are in `ik_rivals`.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import zveno
from zveno.ik.closed_form import form_of
from zveno.ik.closed_form.point_forms import point_form
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant import seven_revolute
from zveno.ik.redundant.slices import slice_values
from zveno.ik.six_revolute.arm import Arm, merged
from zveno.ik.six_revolute.polish import polish
from zveno.ik.six_revolute.templates import rigid_inverse, usable

from .timing import Row, interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_arms import general_arms, industrial_arms, known_arms  # pyright: ignore[reportMissingImports]

BATCH, SINGLE, SETUP, CLOSED, SLICES = 40e-6, 0.25e-3, 0.1, 15e-6, 5e-3
"""Seconds the issue promises; the ratio against them stands where no rival is installed."""
POSES, STARTS = 300, 1000


def run() -> list[Row]:
    """All comparisons."""
    zveno.set_threads(1)
    arms = [*known_arms().values(), *general_arms(3, seed=500), *industrial_arms(5, seed=600)]
    return [row for arm in arms for row in _of(arm)] + _points() + _slices()


def _of(arm) -> list[Row]:
    ready = Arm(arm.F)
    started = time.process_time()
    Arm(arm.F)
    setup = time.process_time() - started
    _, T = arm.poses(1000)
    X = rigid_inverse(arm.F[0]) @ T @ rigid_inverse(arm.tool)
    calls: dict[str, Callable] = {"batch": lambda: ready.solve(X)}
    form, rival = form_of(arm.F.tobytes()), _eaik(arm)
    if form is not None:
        calls["closed"] = lambda: form.solve(X)
    if rival is not None:
        calls["eaik"] = lambda: rival.IK_batched(T)
    taken = interleaved(calls, len(X), repeats=5)
    single = interleaved({"single": lambda: ready.solve(X[:1])}, repeats=9)["single"]
    found, missing = recall(arm, ready, X[:POSES])
    name, bar = ("EAIK batched", taken["eaik"]) if "eaik" in taken else ("promised", BATCH)
    rows = [
        Row(f"{arm.name}: general, {found - missing} of {found} found", taken["batch"], bar, name),
        Row(f"{arm.name}: general, one pose", single, SINGLE, "promised", 1.0),
        Row(f"{arm.name}: set-up", setup, SETUP, "promised", 1.0),
    ]
    if "closed" in taken:
        rows.append(Row(f"{arm.name}: closed form", taken["closed"], taken.get("eaik", CLOSED), name))
    return rows


def recall(arm, ready: Arm, X: np.ndarray) -> tuple[int, int]:
    """Number of solutions known by any means, and of those that the general method does not find."""
    rng = np.random.default_rng(77)
    scaled = X.copy()
    scaled[:, :3, 3] *= ready.scale
    pose, q = [], []
    for e in usable(ready.L, rng):
        found = ready._run(e, scaled)
        pose.append(found.pose)
        q.append(found.q)
    form = form_of(arm.F.tobytes())
    if form is not None:
        pose[:0], q[:0] = ([part] for part in form.solve(X)[:2])
    for i in range(len(X)):
        starts = rng.uniform(-np.pi, np.pi, (STARTS, 6))
        x, closed = polish(ready.L[1:, :3], np.broadcast_to(scaled[i, :3], (STARTS, 3, 4)), starts, steps=25)
        q.append(x[closed])
        pose.append(np.full(closed.sum(), i))
    pose, q = merged(np.concatenate(pose), np.concatenate(q))
    found = ready.solve(X)
    missing = 0
    for i in range(len(X)):
        d = q[pose == i, None] - found.q[found.pose == i]
        d = abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(2).min(1, initial=np.inf)
        missing += int(np.sum(d > 1e-3))
    return len(q), missing


def _eaik(arm):
    """EAIK's robot, if it is installed and knows the arm's class."""
    if importlib.util.find_spec("eaik") is None:
        return None
    from eaik.IK_Homogeneous import HomogeneousRobot  # type: ignore[import-not-found]  (a rival, an extra)

    frames, T = [], np.eye(4)
    for F in arm.F:
        T = T @ F
        frames.append(T)
    robot = HomogeneousRobot(np.array([*frames, T @ arm.tool]))
    return robot if robot.hasKnownDecomposition() else None


def _points() -> list[Row]:
    """Points by three joints of no special geometry, against the scan."""
    rng = np.random.default_rng(3)
    rows = []
    for kinds in ("RRR", "RRP", "PRR"):
        h = np.array([v / np.linalg.norm(v) for v in rng.standard_normal((3, 3))])
        form = point_form(kinds, h, rng.uniform(-1, 1, (3, 3)), rng.uniform(-1, 1, 3))
        goals = rng.uniform(-0.8, 0.8, (1000, 3))
        if form is not None:
            taken = interleaved({"points": lambda form=form, goals=goals: form.solve(goals)}, 1000, repeats=5)
            rows.append(Row(f"a point by {kinds}, any geometry", taken["points"], CLOSED, "promised", 1.0))
    return rows


def _slices() -> list[Row]:
    rows = []
    sliced = [("panda", 6), ("panda", 2), ("iiwa14", 2), ("xarm7", 2), ("xarm7", 6), ("gen3", 2), ("gen3", 6)]
    for name, coordinate in sliced:
        robot = zveno.load(name)
        problem = problem_of(robot)
        T = robot.forward_kinematics(robot.random(1, 1))
        values = slice_values(problem, coordinate, 64)

        def call(problem=problem, T=T, coordinate=coordinate, values=values):
            seven_revolute.solve_slices(problem, T, coordinate, values)

        taken = interleaved({"slices": call}, repeats=5)["slices"]
        rows.append(Row(f"{name}: 64 slices of joint {coordinate + 1}", taken, SLICES, "promised", 1.0))
    return rows

"""The error of a chain's pose and its Jacobian, lengths over the chain's own: the source of traced kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.ops import cos, maximum, sin, sqrt, where
from ..spatial.vectors import cross
from .ik_problem import IkProblem
from .steps import Step, rate
from .task import Task

WRONG_WAY = 1.0
"""Added to the squared error where a direction is met backwards, which some errors do not see."""


class Chain(NamedTuple):
    """Parts of a problem that an error needs; lengths of traced links are in its units already."""

    steps: tuple[Step, ...]
    n: int
    task: Task
    turning: np.ndarray
    length: float


class Moved(NamedTuple):
    """The frame asked for, and every step's axis and a point on it (None for a slide), at one x."""

    R: Any
    p: Any
    axes: list[Any]
    points: list[Any]


class Error(NamedTuple):
    """e (m,), its Jacobian by columns (n of (m,)), and two measures of the pose error."""

    e: Any
    J: list[Any]
    spread: Any
    """Smooth and without the false zeros of `e`; scales the damping."""
    squared: Any
    """e · e, and more where a direction is met backwards: zero only at solutions."""


def walk(problem: IkProblem, x: Any, tool: Any = None) -> Moved:
    """Compute forward kinematics from the first step; x in the chain's units, `tool` (3, 4) is C_n, in `length`."""
    length = problem.length
    R, p = np.eye(3), np.zeros(3)
    axes, points = [], []
    for i, step in enumerate(problem.steps):
        if i:
            p = p + R @ (step.T_before[:3, 3] / length)
            R = R @ step.T_before[:3, :3]
        value = rate(problem.steps, step, length) * x[step.coordinate]
        axis = R[:, 2]
        axes.append(axis)
        if step.kind == "P":
            p = p + axis * value
            points.append(None)
            continue
        points.append(p)
        if step.pitch:
            p = p + axis * (step.pitch / length * value)
        c, s = cos(value), sin(value)
        R = R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    if tool is not None:
        p = p + R @ tool[:, 3]
        R = R @ tool[:, :3]
    return Moved(R, p, axes, points)


def twists(problem: IkProblem, moved: Moved) -> list[Any]:
    """Return (v, w) of the frame for a unit rate of every coordinate."""
    columns: list[Any] = [(np.zeros(3), np.zeros(3)) for _ in range(problem.n)]
    for step, axis, point in zip(problem.steps, moved.axes, moved.points, strict=True):
        if point is None:
            v, w = axis, np.zeros(3)
        else:
            v, w = cross(axis, moved.p - point), axis
            if step.pitch:
                v = v + axis * (step.pitch / problem.length)
        old, share = columns[step.coordinate], rate(problem.steps, step, problem.length)
        columns[step.coordinate] = (old[0] + share * v, old[1] + share * w)
    return columns


def error(problem: IkProblem, x: Any, target: Any, tool: Any, exact: bool = False) -> Error:
    """Return the error of the chain at x from a target (3, 4), for the problem's task.

    Positions in units of `length`; rotations as sin θ · axis with the plain angular Jacobian (cheap, and right to
    first order at solutions), or, where `exact`, as 2 sin(θ/2) · axis with its true Jacobian.
    """
    task = problem.task
    moved = walk(problem, x, tool)
    Rt, pt = target[:, :3], target[:, 3]
    columns = twists(problem, moved)
    rows: list[Any] = []
    J: list[list[Any]] = [[] for _ in columns]
    spread: Any = 0.0
    wrong: Any = 0.0
    away = moved.p - pt
    if task.position:
        whole = len(task.position) == 3
        turned = (lambda v: v) if whole else (lambda v: (Rt.T @ v)[list(task.position)])
        rows.extend(turned(away))
        for k, (v, _) in enumerate(columns):
            J[k].extend(turned(v))
        spread = spread + sum(r * r for r in rows)
    if task.axis:
        a, t = moved.R[:, 2], Rt[:, 2]
        rows.extend(Rt[:, j] @ a for j in (0, 1))
        for k, (_, w) in enumerate(columns):
            rate = cross(w, a)
            J[k].extend(Rt[:, j] @ rate for j in (0, 1))
        along = a @ t
        spread, wrong = spread + 2.0 * (1.0 - along), where(along < 0.0, WRONG_WAY, 0.0)
    elif task.rotation:
        whole = len(task.rotation) == 3
        # The turn from the target to the frame, in reference axes if all of it counts, else in the target's own.
        E = moved.R @ Rt.T if whole else Rt.T @ moved.R
        sine2 = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        trace = E[0, 0] + E[1, 1] + E[2, 2]
        kept = list(task.rotation)
        if exact or not whole:
            w = 0.5 * sqrt(maximum(1.0 + trace, 1e-6))
            u = sine2 / (4.0 * w)
            rows.extend((2.0 * u)[kept])
            for k, (_, rate) in enumerate(columns):
                seen = rate if whole else Rt.T @ rate
                J[k].extend((w * seen - cross(u, seen))[kept])
        else:
            rows.extend(0.5 * sine2)
            for k, (_, rate) in enumerate(columns):
                J[k].extend(rate)
        if whole:
            spread, wrong = spread + (3.0 - trace), where(trace < 1.0, WRONG_WAY, 0.0)
        else:
            spread = spread + sum(r * r for r in rows[-len(kept) :])
    e = np.array(rows)
    return Error(e, [np.array(column) for column in J], spread, e @ e + wrong)

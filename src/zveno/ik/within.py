"""Solutions within a tolerance: for arms with few joints, perceived poses, and tasks that leave a freedom.

From many starts, configurations are brought into the region of poses that the tolerance allows, and then as near to
the target as they get inside it. Every local nearest one is a solution. Starts are a sample, so it is never claimed
that these are all of them, nor that there is none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import ZvenoError
from ..fit.gauss_newton import damped_steps
from ..kernels.compile import compiled
from ._rows import blank, distinct, empty_draft
from .clock import OVER, time_is_over
from .ik_problem import IkProblem
from .pose_error import twists, walk
from .solutions import WITHIN, Solutions
from .targets import Targets
from .tolerance import Tolerance

METHOD = "tolerance"

STARTS = 96
"""Starts per pose."""
ITERATIONS = 40
FIRMNESS = (0.0, 10.0, 1e3, 1e6)
"""Weights of the excess over the region against the distance from the target, one after the other."""
SAME = 1e-3
"""Nearest configurations closer than this, in radians or lengths of the arm, are one: they converge slowly along
directions that hardly matter."""


def deviation(problem: IkProblem, x: Any, target: Any, tool: Any) -> tuple[Any, Any, Any]:
    """Return p (3,), R (3, 3) of the frame seen from the target (3, 4), and its twist (6, n) in the target's axes.

    Lengths are relative to the chain's.
    """
    moved = walk(problem, x, tool)
    Rt = target[:, :3]
    columns = [np.concatenate([Rt.T @ v, Rt.T @ w]) for v, w in twists(problem, moved)]
    return Rt.T @ (moved.p - target[:, 3]), Rt.T @ moved.R, np.stack(columns, axis=1)


def within_answer(
    problem: IkProblem,
    targets: Targets,
    tolerance: Tolerance,
    known: Solutions | None,
    inputs: str,
) -> Solutions:
    """Find every local nearest configuration within a tolerance of each pose.

    Args:
        problem: the chain, asked for the whole pose.
        targets: the poses.
        tolerance: the region about each.
        known: exact solutions, to start from beside random configurations.
        inputs: hash of the inputs.
    """
    if not problem.task.is_pose:
        raise ZvenoError(
            "a tolerance about a pose needs the whole pose",
            element="task",
            remedy="Leave task out, and make free what does not matter: Tolerance(rotation=math.inf)",
        )
    rng = np.random.default_rng(0)
    low, high = (side / problem.units for side in problem.span)
    k, n_q = len(targets.T), len(problem.held)
    draft = empty_draft(problem, targets, METHOD)
    nearest, distance, exceeded, value = (part.copy() for part in blank((k,), n_q)[:4])
    for i in range(k):
        starts = rng.uniform(low, high, (STARTS, problem.n))
        if known is not None:
            exact = known.q.reshape(k, -1, n_q)[i]
            starts = np.concatenate([_states(problem, exact[np.isfinite(exact).all(axis=1)]), starts])
        best = _nearest(problem, targets.lanes.targets[i], targets.lanes.tool, tolerance, starts)
        if time_is_over():
            draft.notes[i] = OVER
        if best.inside.any():
            draft.codes[i] = WITHIN
            x = best.x[best.inside][np.argsort(best.value[best.inside], kind="stable")]
            keep = np.sort(distinct(problem, np.zeros(len(x), int), x, SAME))
            draft.add(np.full(len(keep), i), x[keep])
        else:
            row = int(np.argmin(best.value))
            nearest[i] = problem.to_q(problem.from_units(best.x[row]))
            distance[i], value[i] = best.off[row], best.value[row]
    parts = (part.reshape(targets.batch + part.shape[1:]) for part in (nearest, distance, exceeded, value))
    return draft.result(parts, inputs)


def _states(problem: IkProblem, q: np.ndarray) -> np.ndarray:
    """Return chain coordinates of configurations; none where angles stand for a quaternion."""
    if problem.has_balls:
        return np.zeros((0, problem.n))
    index = np.zeros(problem.n, int)
    for step in problem.steps:
        index[step.coordinate] = step.index
    return problem.in_units(q[:, index])


class Nearest(NamedTuple):
    """End points of starts: x (s, n), inside the region or not, errors in m and rad (s, 2), and weighted."""

    x: np.ndarray
    inside: np.ndarray
    off: np.ndarray
    value: np.ndarray


def _nearest(problem: IkProblem, target, tool, tolerance: Tolerance, x: np.ndarray) -> Nearest:
    """Move configurations (s, n) as near to the target as they get; draw those that end outside into the region."""
    x = np.clip(x, *problem.box)
    todo = np.arange(len(x))
    for firmness in FIRMNESS:
        x[todo] = _descended(problem, target, tool, tolerance, firmness, x[todo])
        measured, _ = _measured(problem, target, tool, tolerance, x)
        todo = np.flatnonzero(~measured.inside)
        if not len(todo) or time_is_over():
            break
    d = measured.deviation
    off = np.stack([np.linalg.norm(d[:, :3], axis=1), np.linalg.norm(d[:, 3:], axis=1)], axis=1)
    weighted = np.linalg.norm(d * _weights(problem, tolerance), axis=1)
    x = problem.in_units(problem.wrapped(problem.from_units(x)))
    return Nearest(x, measured.inside, off, weighted)


def _descended(
    problem: IkProblem, target, tool, tolerance: Tolerance, firmness: float, x: np.ndarray
) -> np.ndarray:
    """Run Levenberg–Marquardt from every row, clamped to limits after each step."""
    damping = np.full(len(x), 1e-2)
    r, J = _residual(problem, target, tool, tolerance, firmness, x)
    best = np.sum(r**2, axis=1)
    for _ in range(ITERATIONS):
        candidate = np.clip(x - damped_steps(J, r, damping), *problem.box)
        if np.max(np.abs(candidate - x), initial=0.0) < 1e-10 or time_is_over():
            break
        r_new, J_new = _residual(problem, target, tool, tolerance, firmness, candidate)
        value = np.sum(r_new**2, axis=1)
        better = value < best
        x, best = np.where(better[:, None], candidate, x), np.where(better, value, best)
        J, r = np.where(better[:, None, None], J_new, J), np.where(better[:, None], r_new, r)
        damping = np.clip(np.where(better, damping * 0.3, damping * 6.0), 1e-14, 1e8)
    return x


def _measured(problem: IkProblem, target, tool, tolerance: Tolerance, x: np.ndarray):
    """Return deviations from the target, and twists (s, 6, n) in m and rad."""
    p, R, twist = _deviation_kernel(problem)(x, target, tool)
    lengths = np.array([problem.length] * 3 + [1.0] * 3)
    return tolerance.measured(p * problem.length, R), twist * lengths[:, None]


@lru_cache(maxsize=64)
def _deviation_kernel(problem: IkProblem) -> Any:
    shapes = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    outputs = ("p", "R", "twist")
    return compiled(deviation, shapes, constants=(problem,), name="ik_deviation", outputs=outputs)


def _weights(problem: IkProblem, tolerance: Tolerance) -> np.ndarray:
    given = tolerance.weights
    return np.array([1.0 / problem.length] * 3 + [1.0] * 3) if given is None else np.asarray(given)


def _residual(problem: IkProblem, target, tool, tolerance: Tolerance, firmness: float, x):
    """Return the residual (s, 12) and its Jacobian: the deviation, and the weighted excess over the region."""
    measured, twist = _measured(problem, target, tool, tolerance, x)
    firm, soft = firmness * np.array([1.0 / problem.length] * 3 + [1.0] * 3), _weights(problem, tolerance)
    r = np.concatenate([measured.outside * firm, measured.deviation * soft], axis=1)
    rates = [measured.outside_rate @ twist * firm[:, None], measured.rate @ twist * soft[:, None]]
    return r, np.concatenate(rates, axis=1)

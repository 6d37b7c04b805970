"""Following branches of solutions along a path: q̇ = J⁻¹V integrated with correction, all branches at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...io.results import registered
from ...spatial import transforms
from ...spatial.rotations import log
from ..checks.judgement import errors, jacobians, judged
from ..ik_problem import IkProblem
from ..newton import Lanes, lanes_of, newton

SUBSTEPS = 5
"""A step that fails is halved this many times before the branch is given up."""
NEARLY_SINGULAR = 1e-3
_ACCEPTED = 1e-19
_OFF_PREDICTION = 0.5
"""The corrected point may differ from the predicted one by this fraction of the step, and not by more."""


@registered
@dataclass(frozen=True, eq=False)
class Branch:
    """A branch of solutions from the first pose on.

    Attributes:
        q: (k, n_q), one configuration a pose, as far as the branch goes.
        ended: number of the pose it could not reach; None if it reaches the last.
        reason: why it ended, for people to read.
        crossings: numbers of poses before which the branch passed a singularity (the sign of det J changed).
    """

    q: np.ndarray
    ended: int | None
    reason: str
    crossings: tuple[int, ...]


def tracked(problem: IkProblem, T: np.ndarray, starts: np.ndarray, largest: float, reachable) -> tuple[Branch, ...]:
    """Branches along poses (N, 4, 4) from all solutions `starts` (b, n) of the first, in chain units.

    `reachable` (N,) says which poses have solutions at all; it serves the explanation where a branch ends.
    """
    lanes = lanes_of(problem, T)
    b, n = starts.shape
    path = np.full((len(T), b, n), np.nan)
    path[0] = starts
    alive = np.arange(b)
    ended = np.full(b, -1)
    reasons = [""] * b
    signs = _signs(problem, lanes, 0, starts)
    crossings: list[list[int]] = [[] for _ in range(b)]
    for k in range(1, len(T)):
        if not len(alive):
            break
        x, moved = _advanced(problem, lanes, T, k, path[k - 1, alive], largest)
        inside = problem.inside(x * problem.units, 1e-9)
        good = moved & inside
        for i in np.flatnonzero(~good):
            ended[alive[i]] = k
            reasons[alive[i]] = _reason(problem, lanes, k, path[k - 1, alive[i]], x[i], moved[i], reachable[k])
        alive = alive[good]
        path[k, alive] = x[good]
        now = _signs(problem, lanes, k, path[k, alive])
        for i, changed in zip(alive, now * signs[alive] < 0, strict=True):
            if changed:
                crossings[i].append(k)
        signs[alive] = now
    branches = []
    for i in range(b):
        stop = len(T) if ended[i] < 0 else int(ended[i])
        q = problem.to_q(path[:stop, i] * problem.units)
        branches.append(Branch(q, None if ended[i] < 0 else int(ended[i]), reasons[i], tuple(crossings[i])))
    return tuple(branches)


def _advanced(problem: IkProblem, lanes: Lanes, T: np.ndarray, k: int, x: np.ndarray, largest: float):
    """Every branch moved from pose k − 1 to pose k: points, and whether they arrived on their own branch."""
    out, arrived = x.copy(), np.zeros(len(x), bool)
    todo = np.arange(len(x))
    for halvings in range(SUBSTEPS + 1):
        between = _interpolated(T[k - 1], T[k], 2**halvings)
        own, ok = x[todo], np.ones(len(todo), bool)
        way = lanes_of(problem, between)
        for step in range(1, len(between)):
            own, fine = _one_step(problem, way, step, own, largest / 2**halvings)
            ok &= fine
        out[todo[ok]], arrived[todo[ok]] = own[ok], True
        if halvings == SUBSTEPS:
            out[todo[~ok]] = own[~ok]
        todo = todo[~ok]
        if not len(todo):
            break
    return out, arrived


def _one_step(problem: IkProblem, way: Lanes, step: int, x: np.ndarray, largest: float):
    """Prediction by the Jacobian towards the next pose, then correction."""
    pose = np.full(len(x), step)
    J = jacobians(problem, x, way, pose)
    e = errors(problem, x, way, pose)
    predicted = x - np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-8), e)
    found, squared = newton(problem, predicted, way.targets[pose], way.tool, 12)
    size = np.max(np.abs(found - x), axis=1)
    off = np.max(np.abs(found - predicted), axis=1)
    fine = (squared < _ACCEPTED) & (size <= largest) & (off <= _OFF_PREDICTION * size + 1e-6)
    return found, fine


def _interpolated(A: np.ndarray, B: np.ndarray, pieces: int) -> np.ndarray:
    """Poses from A to B by a constant twist, (pieces + 1, 4, 4)."""
    D = transforms.inverse(A) @ B
    twist = transforms.log(log(D[:3, :3]), D[:3, 3])
    return np.stack([A, *(A @ transforms.exp(twist * (j / pieces)) for j in range(1, pieces)), B])


def _signs(problem: IkProblem, lanes: Lanes, k: int, x: np.ndarray) -> np.ndarray:
    """Sign of det J where J is square, else 1."""
    if problem.n != problem.task.n_rows or not len(x):
        return np.ones(len(x))
    return np.sign(np.linalg.det(jacobians(problem, x, lanes, np.full(len(x), k))))


def _reason(problem: IkProblem, lanes: Lanes, k: int, before: np.ndarray, x: np.ndarray, moved, reachable) -> str:
    if moved:
        over = np.maximum(problem.lower / problem.units - x, x - problem.upper / problem.units)
        names = {step.coordinate: step.joint for step in problem.steps}
        which = [f"{names[j]} by {over[j] * problem.units[j]:.3g}" for j in np.flatnonzero(over > 1e-9).tolist()]
        return "limit of " + ", ".join(which)
    if not reachable:
        return "the pose has no solution"
    least = float(judged(problem, before[None], lanes, np.array([k - 1])).least[0])
    if least < NEARLY_SINGULAR * 20:
        return f"singularity: the least singular value falls to {least:.2g}"
    return "the pose is out of reach of this branch, or too far from the one before"

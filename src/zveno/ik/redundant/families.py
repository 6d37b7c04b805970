"""Continua of solutions: recognised, followed along their curve, sampled in order, and cut at limits."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..checks.distinct import near
from ..checks.judgement import SINGULAR, errors, jacobians, judged
from ..checks.multiplicity import Singular, classified
from ..clock import time_is_over
from ..ik_problem import TURN, IkProblem
from ..newton import Lanes, newton

STEP = 0.1
"""Distance of neighbours while a curve is followed, radians or lengths over `length`."""
PROBE = 0.05
CROSSING = 1e-3
"""Second least singular value (lengths over `length`) below which continua may cross."""
BENT = 1e-3
"""Distance from a straight line of a continuum that follows it."""
FAR = 4.0
"""Times the change of a pose by the distance `BENT`, to first order, beyond which it is certainly further away."""
NEAR_CROSSING = 0.1
"""The same at points of a curve that may be half a step from where they cross."""
SAMPLE = 16
"""Points kept of a curve."""
SHORTEST = 10
"""A curve of fewer steps that neither closes nor ends at a limit is none: a continuum has no other end."""
ON_CURVE = 5e-10
"""Metres (for arms of up to some metres) and radians by which points of a straight continuum may miss the pose."""
_MOST_STEPS = 400
_ACCEPTED = 1e-22
"""Squared error of a point that lies on a continuum: where there is one, Newton's method converges to it."""


class Curve(NamedTuple):
    """A curve of solutions, in the chain's units, limits of turning coordinates disregarded."""

    x: np.ndarray
    """(s, n), in order; neighbours are no further apart than `spacing`."""
    closed: bool
    dimension: int
    spacing: float = STEP
    direction: np.ndarray | None = None
    """(n,) of −1, 0 and 1 where the curve is x[0] + t · direction, a whole turn of t."""
    whole: bool = True
    """Whether it was followed to its ends."""


class Continua(NamedTuple):
    """What the singular solutions of one pose are."""

    curves: list[Curve]
    member: np.ndarray
    """(s,) whether a solution lies on one of the curves."""
    isolated: list[Singular]
    doubtful: bool
    """Whether something looked like a continuum, and could not be followed."""
    all_straight: bool
    """Whether every curve is a straight line that no other continuum comes near: then none is missing."""


def families_of(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, least: np.ndarray, straight: bool = False
) -> Continua:
    """The continua among the solutions x (s, n) of one pose, and the isolated ones with a singular Jacobian.

    Where the second order does not tell, a solution is moved along the Jacobian's kernel: by a whole turn where
    the kernel is a straight line, else by a little and corrected. On a continuum it stays where it was moved to.
    With `straight` nothing but straight lines is looked for.
    """
    curves: list[Curve] = []
    isolated: list[Singular] = []
    member, doubtful, all_straight = np.zeros(len(x), bool), False, True
    for i in np.flatnonzero(least < SINGULAR):
        if member[i]:
            continue
        if time_is_over():
            break
        root = classified(problem, lanes, pose, x[i])
        curve = None
        if root.kind not in ("double", "isolated"):
            curve = _straight(problem, lanes, pose, x[i], root.kernel)
            if curve is None and not straight:
                direction, dimension = _free_direction(problem, lanes, pose, x[i], root.kernel)
                if direction is not None:
                    curve = _followed(problem, lanes, pose, x[i], direction, dimension)
                    doubtful |= curve is None
        new = [] if curve is None else [curve]
        if not straight and (curve is None or curve.direction is None):
            new += _crossing_lines(problem, lanes, pose, x[i : i + 1] if curve is None else curve.x)
        for each in new:
            if not any(_on(problem, line, each.x[:1])[0] for line in curves if line.direction is not None):
                member |= _on(problem, each, x)
                curves.append(each)
                all_straight &= each.direction is not None and root.second > CROSSING
        member[i] |= curve is not None
        if not member[i]:
            isolated.append(root)
    return Continua(curves, member, isolated, doubtful, all_straight)


def _straight(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, kernel: np.ndarray) -> Curve | None:
    """The continuum along a kernel in which turning coordinates move equally fast, as in an aligned wrist."""
    if len(kernel) != 1:
        return None
    v = kernel[0] / np.abs(kernel[0]).max()
    direction = np.round(v)
    if np.abs(v - direction).max() > 1e-4 or not problem.turning[direction != 0].all():
        return None
    points = x + direction * (TURN * np.arange(SAMPLE) / SAMPLE)[:, None]
    on = judged(problem, points, lanes, np.full(SAMPLE, pose)).miss <= ON_CURVE
    return Curve(points, True, 1, TURN / SAMPLE, direction) if on.all() else None


def _crossing_lines(problem: IkProblem, lanes: Lanes, pose: int, points: np.ndarray) -> list[Curve]:
    """Straight continua that cross a curve through points (s, n): two coordinates turn as one where it crosses.

    There a second singular value vanishes.
    """
    lines: list[Curve] = []
    J = jacobians(problem, points, lanes, np.full(len(points), pose))
    if min(J.shape[1:]) < 2:
        return lines
    second = np.linalg.svd(J, compute_uv=False)[:, -2]
    least = (second < NEAR_CROSSING) & (second <= np.roll(second, 1)) & (second <= np.roll(second, -1))
    directions = _together(problem)
    for k in np.flatnonzero(least):
        near_kernel = np.linalg.norm(directions @ J[k].T, axis=1) < 2 * NEAR_CROSSING
        for direction in directions[near_kernel]:
            if time_is_over():
                return lines
            x = _onto_line(problem, lanes, pose, points[k], direction)
            if x is None:
                continue
            line = _straight(problem, lanes, pose, x, direction[None]) or _bent(problem, lanes, pose, x, direction)
            if line is not None and not any(_on(problem, old, line.x[:1])[0] for old in lines):
                lines.append(line)
    return lines


@lru_cache(maxsize=64)
def _together(problem: IkProblem) -> np.ndarray:
    """(d, n) all directions in which two coordinates turn equally fast, one way or against each other."""
    unit = np.eye(problem.n)
    pairs = itertools.combinations(np.flatnonzero(problem.turning), 2)
    return np.array([unit[i] + sign * unit[j] for i, j in pairs for sign in (1.0, -1.0)]).reshape(-1, problem.n)


def _bent(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, direction: np.ndarray) -> Curve | None:
    """A continuum beside x + t · direction: where others pass near without crossing, it is nearly straight."""
    points = x + direction * (TURN * np.arange(SAMPLE) / SAMPLE)[:, None]
    on, squared = _corrected(problem, lanes, pose, points)
    if squared.max() > _ACCEPTED or np.abs(on - points).max() > BENT:
        return None
    return Curve(on, True, 1, TURN / SAMPLE)


def _onto_line(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, direction: np.ndarray
) -> np.ndarray | None:
    """x moved to where x + t · direction solves the pose at four t together, by Gauss–Newton.

    None where one of the four misses the pose by so much that no solution is within `BENT` of it.
    """
    shifts, which = direction * (TURN * np.arange(4) / 4)[:, None], np.full(4, pose)
    for _ in range(6):
        e, J = errors(problem, x + shifts, lanes, which), jacobians(problem, x + shifts, lanes, which)
        x = x - np.linalg.lstsq(J.reshape(-1, problem.n), e.ravel(), rcond=1e-9)[0]
    e, J = errors(problem, x + shifts, lanes, which), jacobians(problem, x + shifts, lanes, which)
    reach = FAR * BENT * problem.n**0.5 * np.linalg.norm(J, axis=(1, 2))
    return None if (np.linalg.norm(e, axis=1) > reach).any() else x


def _free_direction(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, kernel: np.ndarray):
    """A direction of the kernel (d, n) in which the solution can really move, and in how many it can."""
    probes = np.concatenate([x + PROBE * kernel, x - PROBE * kernel])
    back, squared = _corrected(problem, lanes, pose, probes)
    away = np.linalg.norm(back - x, axis=1)
    free = (squared < _ACCEPTED) & (away > 0.5 * PROBE) & (away < 2.0 * PROBE)
    count = len(kernel)
    both = free[:count] | free[count:]
    if not both.any():
        return None, 0
    k = int(np.argmax(both))
    return (kernel[k] if free[k] else -kernel[k]), int(both.sum())


def _corrected(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    targets = np.broadcast_to(lanes.targets[pose], (len(x), 3, 4))
    return newton(problem, x, targets, lanes.tool, 24)


def _followed(
    problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray, dimension: int
):
    """The curve through `start`; None if it ends soon, somewhere that is no limit."""
    halves, lost = [], False
    for sign in (1.0, -1.0):
        points, end = _one_way(problem, lanes, pose, start, sign * direction)
        if end == "closed":
            return Curve(points[:-1], True, dimension)
        halves.append(points)
        lost |= end == "lost"
    points = np.concatenate([halves[1][:0:-1], halves[0]])
    return None if lost and len(points) <= SHORTEST else Curve(points, False, dimension, whole=not lost)


def _one_way(problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray):
    """Points `STEP` apart, and how they end: "closed", at a "limit" of a coordinate that slides, "long", "lost"."""
    points, heading = [start], direction / np.linalg.norm(direction)
    lower, upper = problem.box
    for _ in range(_MOST_STEPS):
        if time_is_over():
            return np.array(points), "lost"
        x, squared = _corrected(problem, lanes, pose, (points[-1] + STEP * heading)[None])
        x = x[0]
        advance = x - points[-1]
        if squared[0] > _ACCEPTED or advance @ heading < 0.2 * STEP:
            return np.array(points), "lost"
        if not np.all(problem.turning | (x >= lower - 1e-9) & (x <= upper + 1e-9)):
            return np.array(points), "limit"
        if len(points) > 2 and near(problem, x, start, STEP):
            return np.array([*points, x]), "closed"
        heading = advance / np.linalg.norm(advance)
        points.append(x)
    return np.array(points), "long"


def _on(problem: IkProblem, curve: Curve, x: np.ndarray) -> np.ndarray:
    """Which points x (s, n) lie on a curve."""
    if curve.direction is None:
        return np.array(
            [bool(near(problem, curve.x, point, 0.75 * curve.spacing).any()) for point in x], dtype=bool
        )
    moving = int(np.argmax(np.abs(curve.direction)))
    t = (x[:, moving] - curve.x[0, moving]) * curve.direction[moving]
    return near(problem, x, curve.x[0] + t[:, None] * curve.direction)


def within_limits(problem: IkProblem, curve: Curve) -> tuple[list[tuple[np.ndarray, bool]], bool]:
    """The parts of a curve that limits leave, (points, closed) each, at most `SAMPLE` points of one; certainty.

    A straight curve is cut exactly. Of another, a part shorter than its spacing may go unseen: then it is not
    certain that nothing else is inside.
    """
    if curve.direction is not None:
        return _straight_parts(problem, curve), True
    x = problem.in_units(problem.wrapped(problem.from_units(curve.x)))
    inside = problem.inside(problem.from_units(x))
    if inside.all():
        return [(_spread(x), curve.closed)], curve.whole
    lower, upper = problem.box
    # A coordinate that stays outside its limits by more than it can move between neighbours is never inside.
    excluded = (np.maximum(lower - x, x - upper).min(axis=0) > 2 * curve.spacing).any()
    if curve.closed:
        first = int(np.argmin(inside))
        x, inside = np.roll(x, -first, axis=0), np.roll(inside, -first)
    runs = np.split(np.arange(len(x)), np.flatnonzero(np.diff(inside)) + 1)
    parts = [(_spread(x[run]), False) for run in runs if inside[run[0]]]
    return parts, curve.whole and bool(excluded)


def _straight_parts(problem: IkProblem, curve: Curve) -> list[tuple[np.ndarray, bool]]:
    """Ranges of t in which x[0] + t · direction is within limits, whole turns aside, sampled."""
    start, direction = curve.x[0], curve.direction
    assert direction is not None
    lower, upper = problem.box
    ends = [0.0]
    for k in np.flatnonzero(direction):
        if upper[k] - lower[k] < TURN:
            ends += [float((limit - start[k]) * direction[k]) for limit in (lower[k], upper[k])]
    ends = sorted({end % TURN for end in ends})
    parts: list[list[float]] = []
    ranges = list(zip(ends, [*ends[1:], ends[0] + TURN], strict=True))
    tried = np.array([*ends, *(0.5 * (low + high) for low, high in ranges)])
    inside = problem.inside(problem.wrapped(problem.from_units(start + tried[:, None] * direction))).tolist()
    for (low, high), middle_is_inside in zip(ranges, inside[len(ends) :], strict=True):
        if not middle_is_inside:
            continue
        if parts and parts[-1][1] == low:
            parts[-1][1] = high
        else:
            parts.append([low, high])
    if len(parts) > 1 and parts[0][0] + TURN == parts[-1][1]:
        parts[0][0] = parts.pop()[0] - TURN
    parts += [
        [t, t]  # a joint that its limits hold at one value
        for t, end_is_inside in zip(ends, inside, strict=False)
        if end_is_inside and not any(low <= t + turn <= high for low, high in parts for turn in (-TURN, 0.0, TURN))
    ]
    sampled = []
    for low, high in parts:
        closed = high - low >= TURN
        t = np.linspace(low, high, SAMPLE if high > low else 1, endpoint=not closed)
        x = problem.wrapped(problem.from_units(start + t[:, None] * direction))
        sampled.append((problem.in_units(x).clip(*problem.box), closed))
    return sampled


def _spread(points: np.ndarray) -> np.ndarray:
    """At most `SAMPLE` points of a path, spread evenly; they are points of the path itself, so still solutions."""
    return points[_evenly(len(points))]


@lru_cache(maxsize=64)
def _evenly(n: int) -> np.ndarray:
    """At most `SAMPLE` numbers below n, spread evenly, the first and the last among them."""
    return np.round(np.linspace(0, n - 1, min(SAMPLE, n))).astype(int)  # steps of 1 or more: each number once

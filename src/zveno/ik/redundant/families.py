"""Continua of solutions: recognised, and followed along their curve."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..checks.close_pairs import EPSILON, indistinct
from ..checks.distinct import SAME, near
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
"""A curve of fewer steps that neither closes nor ends at a limit is rejected: a continuum has no other end."""
ON_CURVE = EPSILON / SAME
"""Metres (for arms of up to some metres) and radians by which points of a straight continuum may miss the pose.

Where they miss by more, solutions are isolated, and rounding moves them by less than solutions are apart."""
_MOST_STEPS = 400
_SHORTENED = (1.0, 0.25, 0.0625)
"""Parts of `STEP` that are tried, one after the other, where a curve bends."""
_ACROSS = 1e-4
"""Singular values above this share of the greatest belong to directions across a continuum."""


class Curve(NamedTuple):
    """A curve of solutions, in the chain's units, limits of turning coordinates disregarded."""

    x: np.ndarray
    """(s, n), in order; neighbours are at most `spacing` apart."""
    closed: bool
    dimension: int
    spacing: float = STEP
    direction: np.ndarray | None = None
    """(n,) of −1, 0 and 1 where the curve is x[0] + t · direction, a whole turn of t."""
    whole: bool = True
    """True if it was followed to its ends."""


class Continua(NamedTuple):
    """Classified singular solutions of one pose."""

    curves: list[Curve]
    member: np.ndarray
    """(s,) True if a solution lies on one of the curves."""
    isolated: list[Singular]
    blurred: list[np.ndarray]
    """Each (n,) the best of an arc whose points meet the pose to rounding, on a curve whose other points do not.

    Somewhere on the arc may be a solution; members are other points found on it."""
    doubtful: bool
    """True if something looked like a continuum, and could not be followed."""
    all_straight: bool
    """True if every curve is a straight line that no other continuum comes near: then none is missing."""


def families_of(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, least: np.ndarray, straight: bool = False
) -> Continua:
    """Find the continua among the solutions x (s, n) of one pose, and the isolated singular ones.

    Where the second order does not tell, a solution is moved along the Jacobian's kernel: by a whole turn where
    the kernel is a straight line, else by a little and corrected. On a continuum it stays where it was moved to.
    With `straight` nothing but straight lines is looked for.
    """
    curves: list[Curve] = []
    arcs: list[Curve] = []
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
                    curve, end = _followed(problem, lanes, pose, x[i], direction, dimension)
                    if end == "missed" and _is_arc(problem, lanes, pose, curve):
                        member |= _on(problem, curve, x)
                        arcs.append(curve)
                        continue
                    if end == "missed" or (end == "lost" and len(curve.x) <= SHORTEST):
                        curve, doubtful = None, True
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
    dropped = [] if straight else _between(problem, lanes, pose, isolated, bool(arcs))
    for root in dropped:
        member |= np.all(x == root.x, axis=1)
    isolated = [root for root in isolated if not any(root is other for other in dropped)]
    blurred = [_best(problem, lanes, pose, arc) for arc in arcs]
    return Continua(curves, member, isolated, blurred, doubtful or bool(dropped), all_straight)


def _between(problem: IkProblem, lanes: Lanes, pose: int, isolated: list[Singular], arcs: bool) -> list[Singular]:
    """Return the points that only lie between solutions, on curves where other points or arcs meet the pose."""
    open_ones = [root for root in isolated if root.kind == "open"]
    if not open_ones:
        return []
    x = np.array([root.x for root in open_ones])
    miss = np.abs(errors(problem, x, lanes, np.full(len(x), pose))).max(axis=1) > indistinct(problem)
    return [root for root, missed in zip(open_ones, miss, strict=True) if missed] if arcs or not miss.all() else []


def _is_arc(problem: IkProblem, lanes: Lanes, pose: int, curve: Curve) -> bool:
    """Return True if neighbours are not isolated: too many, or the points between them meet the pose as well."""
    if len(curve.x) > SHORTEST:
        return True
    middles = 0.5 * (curve.x[1:] + curve.x[:-1])
    return len(middles) > 0 and bool(_across(problem, lanes, pose, middles, 3)[1].all())


def _best(problem: IkProblem, lanes: Lanes, pose: int, arc: Curve) -> np.ndarray:
    """Return the middle (n,) of the points of an arc that meet the pose best; rounding decides among them."""
    miss = np.abs(errors(problem, arc.x, lanes, np.full(len(arc.x), pose))).max(axis=1)
    best = np.flatnonzero(miss <= 2.0 * max(miss.min(), EPSILON))
    return arc.x[best[len(best) // 2]]


def _straight(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, kernel: np.ndarray) -> Curve | None:
    """Find the continuum along a kernel in which revolute joints move equally fast, as in an aligned wrist."""
    if len(kernel) != 1:
        return None
    v = kernel[0] / np.abs(kernel[0]).max()
    direction = np.round(v)
    if np.abs(v - direction).max() > 1e-4 or not problem.turning[direction != 0].all():
        return None
    turned = direction * (TURN * np.arange(SAMPLE) / SAMPLE)[:, None]
    miss = judged(problem, x + turned, lanes, np.full(SAMPLE, pose)).miss.max()
    if not miss <= ON_CURVE:
        return None
    better = _onto_line(problem, lanes, pose, x, direction, 2) if miss > indistinct(problem) else None
    return Curve((x if better is None else better) + turned, True, 1, TURN / SAMPLE, direction)


def _crossing_lines(problem: IkProblem, lanes: Lanes, pose: int, points: np.ndarray) -> list[Curve]:
    """Find straight continua that cross a curve through points (s, n): two joints turn as one where it crosses.

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
    """Return all directions (d, n) in which two coordinates turn equally fast, one way or against each other."""
    unit = np.eye(problem.n)
    pairs = itertools.combinations(np.flatnonzero(problem.turning), 2)
    return np.array([unit[i] + sign * unit[j] for i, j in pairs for sign in (1.0, -1.0)]).reshape(-1, problem.n)


def _bent(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, direction: np.ndarray) -> Curve | None:
    """Find a continuum beside x + t · direction: where others pass near without crossing, it is nearly straight."""
    points = x + direction * (TURN * np.arange(SAMPLE) / SAMPLE)[:, None]
    on, solves = _corrected(problem, lanes, pose, points)
    if not solves.all() or np.abs(on - points).max() > BENT:
        return None
    return Curve(on, True, 1, TURN / SAMPLE)


def _onto_line(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, direction: np.ndarray, steps: int = 6
) -> np.ndarray | None:
    """Move x to where x + t · direction solves the pose at four t together, by Gauss–Newton.

    None where one of the four misses the pose by so much that no solution is within `BENT` of it.
    """
    shifts, which = direction * (TURN * np.arange(4) / 4)[:, None], np.full(4, pose)
    for _ in range(steps):
        e, J = errors(problem, x + shifts, lanes, which), jacobians(problem, x + shifts, lanes, which)
        x = x - np.linalg.lstsq(J.reshape(-1, problem.n), e.ravel(), rcond=1e-9)[0]
    e, J = errors(problem, x + shifts, lanes, which), jacobians(problem, x + shifts, lanes, which)
    reach = FAR * BENT * problem.n**0.5 * np.linalg.norm(J, axis=(1, 2))
    return None if (np.linalg.norm(e, axis=1) > reach).any() else x


def _free_direction(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, kernel: np.ndarray):
    """Return a direction of the kernel (d, n) in which the solution can really move, and the number of them."""
    probes = np.concatenate([x + PROBE * kernel, x - PROBE * kernel])
    back, solves = _corrected(problem, lanes, pose, probes)
    away = np.linalg.norm(back - x, axis=1)
    free = solves & (away > 0.5 * PROBE) & (away < 2.0 * PROBE)
    count = len(kernel)
    both = free[:count] | free[count:]
    if not both.any():
        return None, 0
    k = int(np.argmax(both))
    return (kernel[k] if free[k] else -kernel[k]), int(both.sum())


def _corrected(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move points (s, n) to solutions, and tell if each meets the pose up to rounding of the pose.

    Where solutions are isolated but nearly singular, points between them miss by little, yet by more than that.
    """
    x, _ = newton(problem, x, lanes.targets[np.full(len(x), pose)], lanes.tool, 24)
    return _across(problem, lanes, pose, x, 2)


def _across(
    problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move points by steps across a continuum: the rest cannot be corrected but by leaving the point."""
    which = np.full(len(x), pose)
    for _ in range(steps):
        J, e = jacobians(problem, x, lanes, which), errors(problem, x, lanes, which)
        x = x - (np.linalg.pinv(J, rcond=_ACROSS) @ e[..., None])[..., 0]
    return x, np.abs(errors(problem, x, lanes, which)).max(axis=1) <= indistinct(problem)


def _followed(
    problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray, dimension: int
) -> tuple[Curve, str]:
    """Follow the curve through `start`; return its worst end: a continuum is neither "lost" soon nor "missed"."""
    halves, ends = [], []
    for sign in (1.0, -1.0):
        points, end = _one_way(problem, lanes, pose, start, sign * direction)
        if end == "closed":
            return Curve(points[:-1], True, dimension), end
        halves.append(points)
        ends.append(end)
    worst = next(end for end in ("missed", "lost", ends[0]) if end in ends)
    points = np.concatenate([halves[1][:0:-1], halves[0]])
    return Curve(points, False, dimension, whole=worst not in ("missed", "lost")), worst


def _one_way(problem: IkProblem, lanes: Lanes, pose: int, start: np.ndarray, direction: np.ndarray):
    """Return points up to `STEP` apart, and the type of their end.

    "closed", at a "limit" of a prismatic joint, "long", "lost", or where the points ahead "missed" the pose.
    """
    points, heading, gone = [start], direction / np.linalg.norm(direction), 0.0
    lower, upper = problem.box
    for _ in range(_MOST_STEPS):
        if time_is_over():
            return np.array(points), "lost"
        x, solves, advance = start, False, np.zeros(problem.n)
        for part in _SHORTENED:
            tried, met = _corrected(problem, lanes, pose, (points[-1] + part * STEP * heading)[None])
            x, solves, advance = tried[0], bool(met[0]), tried[0] - points[-1]
            if solves and advance @ heading >= 0.2 * part * STEP:
                break
        else:
            return np.array(points), "lost" if solves else "missed"
        if not np.all(problem.turning | (x >= lower - 1e-9) & (x <= upper + 1e-9)):
            return np.array(points), "limit"
        size = float(np.linalg.norm(advance))
        heading, gone = advance / size, gone + size
        if gone > 2.0 * STEP and near(problem, x, start, STEP):
            return np.array([*points, x]), "closed"
        points.append(x)
    return np.array(points), "long"


def _on(problem: IkProblem, curve: Curve, x: np.ndarray) -> np.ndarray:
    """Return True for the points x (s, n) that lie on a curve."""
    if curve.direction is None:
        return np.array(
            [bool(near(problem, curve.x, point, 0.75 * curve.spacing).any()) for point in x], dtype=bool
        )
    moving = int(np.argmax(np.abs(curve.direction)))
    t = (x[:, moving] - curve.x[0, moving]) * curve.direction[moving]
    return near(problem, x, curve.x[0] + t[:, None] * curve.direction)

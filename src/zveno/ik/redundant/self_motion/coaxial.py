"""Straight self-motions of seven joints: two axes coincide, and their joints turn against each other.

Where the joint between two axes makes one of them out of two, the frame stays while these turn: a line in the space
of the joints on which all others stand still. Slices of another joint do not show it. A slice of one of the two
does, wherever it is cut, so one slice of each pair is enough.

Along the line the axis between turns once, so that twice it lies in the space that the other five columns of the
Jacobian span. There another curve crosses, along which the joint between passes the value that makes the axes one:
where every curve is known and none does, there is no line, and no slice is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..._judge import errors, jacobians
from ..._rows import distinct
from ...ik_problem import TURN, IkProblem
from ...newton import Lanes
from ...solutions import SelfMotion
from .. import seven_revolute
from ..cut_curves import SAMPLE, Curve, within_limits
from .fine_points import short

ANGLES = 720
"""Values of the joint between two axes among which those are looked for that make the axes one."""
COAXIAL = 1e-9
"""Axes are one where they are off by less, in radians and lengths of the arm."""
NEAR = 0.05
"""Solutions of a slice this near to where two axes are one are brought there, rad: double roots are known badly."""
CORRECTIONS = 12
ON_LINE = 4e-11
"""Error of a pose, lengths in units of `length` and radians, up to which it stays on a line."""
SAME_LINE = 1e-6
"""Lines nearer than this, rad, are one."""


class Pair(NamedTuple):
    """Joints `first` and `first` + 2, whose axes coincide where the joint between them is at `value`."""

    first: int
    value: float
    sense: float
    """1 where the axes then point the same way, −1 where they point against each other."""


@lru_cache(maxsize=32)
def coaxial_pairs(problem: IkProblem) -> tuple[Pair, ...]:
    """Find the pairs of joints of a seven-joint arm that one joint between can make coaxial."""
    angle = TURN * np.arange(ANGLES) / ANGLES
    pairs = []
    for i in range(problem.n - 2):
        before, after = problem.constants[i + 1], problem.constants[i + 2]

        def off(q: np.ndarray, before: np.ndarray = before, after: np.ndarray = after) -> np.ndarray:
            """Return tilt and distance (4, ...) of the axis of joint i + 2 from that of joint i."""
            c, s = np.cos(q), np.sin(q)
            first, second, third = before[:3, 0], before[:3, 1], before[:3, 2]

            def turned(v: np.ndarray) -> np.ndarray:
                x = np.multiply.outer(first, c * v[0] - s * v[1]) + np.multiply.outer(second, s * v[0] + c * v[1])
                return x + (third * v[2]).reshape(3, *[1] * np.ndim(q))

            z, p = turned(after[:3, 2]), turned(after[:3, 3]) + before[:3, 3].reshape(3, *[1] * np.ndim(q))
            return np.concatenate([z[:2], p[:2] / problem.length, z[2:]])

        size = np.linalg.norm(off(angle)[:4], axis=0)
        for k in np.flatnonzero((size <= np.roll(size, 1)) & (size < np.roll(size, -1)) & (size < 0.1)):
            q, h = float(angle[k]), 1e-6
            for _ in range(8):  # Gauss and Newton on one unknown
                slope = (off(np.array(q + h))[:4] - off(np.array(q - h))[:4]) / (2 * h)
                q -= float(slope @ off(np.array(q))[:4] / (slope @ slope))
            at = off(np.array(q))
            if np.linalg.norm(at[:4]) < COAXIAL:
                pairs.append(Pair(i, q, float(np.sign(at[4]))))
    return tuple(pairs)


def coaxial_lines(free: IkProblem, T: np.ndarray, lanes: Lanes, curves: Sequence[np.ndarray] | None) -> list[Curve]:
    """Find the straight self-motions of a pose.

    Args:
        free: the problem without limits.
        T: the pose, (4, 4).
        lanes: the same for solvers.
        curves: points (m, 7) along every other self-motion; None if some may be missing.
    """
    lines: list[Curve] = []
    pairs = [pair for pair in coaxial_pairs(free) if curves is None or any(_meets(x, pair) for x in curves)]
    sliced = {first: _slice(free, T, first) for first in dict.fromkeys(pair.first for pair in pairs)}
    for pair in pairs:
        direction = np.zeros(free.n)
        direction[pair.first], direction[pair.first + 2] = 1.0, -pair.sense
        x = _on_pair(free, lanes, pair, *sliced[pair.first])
        x = x - x[:, [pair.first]] * direction  # where all lines of a pair begin, so that each is listed once
        x = x[distinct(free, np.zeros(len(x), int), x, SAME_LINE)]
        points = x[:, None] + direction * (TURN * np.arange(SAMPLE) / SAMPLE)[:, None]
        miss = np.abs(errors(free, points.reshape(-1, free.n), lanes, np.zeros(len(x) * SAMPLE, int)))
        good = miss.reshape(len(x), miss.shape[-1] * SAMPLE).max(axis=1) <= ON_LINE
        lines += [Curve(line, True, 1, TURN / SAMPLE, direction) for line in points[good]]
    return lines


def _meets(x: np.ndarray, pair: Pair) -> bool:
    """Return True if the joint between a pair comes to its value along a curve with points x (m, 7)."""
    off = short(x[:, pair.first + 1] - pair.value)
    crosses = (off[1:] * off[:-1] <= 0.0) & (abs(off[1:]) < 0.25 * TURN)  # a closed curve crosses twice
    return bool(crosses.any() or (abs(off[[0, -1]]) < NEAR).any())  # an end may lie at the crossing


def _slice(free: IkProblem, T: np.ndarray, first: int) -> tuple[int, np.ndarray]:
    """Return the held joint of a pair, and all solutions (s, 7) with it at a generic value."""
    held = first + 2 if seven_revolute.applies(free, first + 2) else first
    value = np.array([TURN * (seven_revolute.GENERIC - 0.5)])
    return held, seven_revolute.solve_slices(free, T[None], held, value).x


def _on_pair(free: IkProblem, lanes: Lanes, pair: Pair, held: int, x: np.ndarray) -> np.ndarray:
    """Find solutions (s, 7) with the axes of a pair coaxial, from those x with one of its joints held."""
    between = pair.first + 1
    x = x[abs(short(x[:, between] - pair.value)) < NEAR]
    if not len(x):
        return x
    x[:, between] = pair.value
    rest = [k for k in range(free.n) if k not in (between, held)]
    pose = np.zeros(len(x), int)
    for _ in range(CORRECTIONS):
        J, e = jacobians(free, x, lanes, pose)[:, :, rest], errors(free, x, lanes, pose)
        x[:, rest] -= np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-8), e)
    return x[np.abs(errors(free, x, lanes, pose)).max(axis=1) <= ON_LINE]


def on_line(line: Curve, x: np.ndarray) -> np.ndarray:
    """Return True (s,) if points (s, n) are on a straight curve, modulo 2π."""
    assert line.direction is not None
    k = int(np.argmax(line.direction != 0))
    t = (x[:, k] - line.x[0, k]) * line.direction[k]
    return np.abs(short(x - line.x[0] - t[:, None] * line.direction)).max(axis=1) < SAME_LINE


def line_families(problem: IkProblem, line: Curve) -> list[tuple[SelfMotion, np.ndarray]]:
    """Return the parts of a line that limits leave, with their points (s, 7)."""
    assert line.direction is not None
    moving = np.flatnonzero(line.direction)
    names = [step.joint for step in problem.steps]
    self_motions = []
    for points, closed in within_limits(problem, line)[0]:
        x = problem.from_units(points)
        s = np.concatenate([[0.0], np.cumsum(short(np.diff(x[:, moving[0]])))]) + x[0, moving[0]]
        interval = (float(s[0]), float(s[0] + TURN)) if closed else (float(s.min()), float(s.max()))
        ends = () if closed else tuple(_end(problem, names, moving, x[place]) for place in (0, -1))
        family = SelfMotion(1, problem.to_q(x), closed, names[moving[0]], interval, ends, problem.to_q(x[:0]))
        self_motions.append((family, x))
    return self_motions


def _end(problem: IkProblem, names: list[str], moving: np.ndarray, x: np.ndarray) -> str:
    """Name the limit at which a line ends."""
    sides = [(k, side, abs(x[k] - limit[k])) for k in moving for side, limit in _sides(problem)]
    joint, side, _ = min(sides, key=lambda end: end[2])
    return f"{names[joint]} at its {side} limit"


def _sides(problem: IkProblem) -> tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]:
    return ("lower", problem.lower), ("upper", problem.upper)

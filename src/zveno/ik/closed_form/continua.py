"""Continua of arms with three parallel axes, in closed form: the sixth axis parallel to them, its angle free.

The fourth axis then moves on a circle about the sixth, and the arm of two links between the second and the fourth
follows. Its squared distance is A + B cos θ + C sin θ of the sixth angle θ, so where it reaches is known exactly.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from .revolute_arms import with_sixth_angle
from .subproblems import ALIGNED, across

HALF_SAMPLE = 8
"""Angles at which either of the two branches of a continuum is sampled."""
ANGLE_ROUNDING = 1e-14
"""Error of an angle that a vector of unit length tells, rad."""
MEANINGLESS = 1e-2
"""Error of a sixth angle, rad, beyond which Newton's method may take it to another solution."""
TOUCHING = 1e-12
"""Share of the range of squared distances up to which rounding decides whether a circle touches its edge."""


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], -1)


THIRDS: np.ndarray = _circle(np.arange(3) * (2 * np.pi / 3))
"""Three angles that tell a wave."""


def aligned_branches(sines: np.ndarray) -> np.ndarray | None:
    """Return True (k, 8) for branches with a self-motion, by the sines of `three_parallel`; None without any."""
    return None if sines.min(initial=1.0) >= ALIGNED else sines < ALIGNED


def sixth_error(sines: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Return the rounding errors (k, 8) of the sixth angle, rad: also the accuracy of margins that follow from it.

    `sines` and `firsts` are results of `three_parallel` for branches. The error is rounding of the first angle over
    the sine, and where first angles nearly meet, rounding of them is that of their gap over its root.
    """
    return ANGLE_ROUNDING / np.sqrt(np.maximum(sines, ALIGNED) * np.clip(firsts, ALIGNED, 1.0))


def alignment_doubtful(sines: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Return True (k,) if rounding decides whether the sixth axis is parallel to the others and its angle free.

    It does where the sixth angle means nothing and yet the sine is not zero, or may be zero by chance.
    """
    aligned = sines < ALIGNED
    by_chance = firsts < ANGLE_ROUNDING**2 / ALIGNED
    return np.asarray(np.where(aligned, by_chance, sixth_error(sines, firsts) > MEANINGLESS).any(axis=1))


def parallel_continua(
    h: Any, a: Any, e: Any, R: Any, p: Any, aligned: np.ndarray, edge: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return closed curves (s, 6) of angles, in order along each, of one target; and single configurations (6,).

    A single one is where the circle of the fourth axis only touches its reach, to rounding: the arm is stretched.

    Args:
        h, a, e: axes of the arm, see `revolute_arms`.
        R, p: the displacement of the last link.
        aligned: (2,) for either first angle whether the sixth axis is parallel to the others.
        edge: margin down to minus which a branch counts as real.
    """
    square = _kernel()(h, a, e, R, p, THIRDS)[2]
    curves, points = [], []
    for first in np.flatnonzero(aligned):
        rows = slice(2 * first, 2 * first + 2)
        distance = square[:, 2 * first]
        constant, wave = distance.mean(), (2 / 3) * (distance @ THIRDS)
        reach = _reach(h[2], a)
        touching = _touching(constant, wave, *reach)
        if touching is not None:
            q, margin, _ = _kernel()(h, a, e, R, p, _circle(np.array([touching])))
            if margin[0, rows].max() > -edge:
                points.append(q[0, 2 * first])
            continue
        for start, end in _arcs(constant, wave, *reach):
            whole = end - start >= 2 * np.pi
            angles = np.linspace(start, end, 2 * HALF_SAMPLE if whole else HALF_SAMPLE, endpoint=not whole)
            q, margin, _ = _kernel()(h, a, e, R, p, _circle(angles))
            if margin[:, rows].max() <= -edge:
                continue  # the first angle is not real
            curve, other = q[:, 2 * first], q[:, 2 * first + 1]
            curves += [curve, other] if whole else [np.concatenate([curve, other[-2:0:-1]])]
    return curves, points


def _reach(axis: np.ndarray, a: np.ndarray) -> tuple[float, float]:
    """Return the squared distances, least and greatest, of the fourth axis' point from the second's."""
    v, point = a[3] - a[2], a[1] - a[2]
    middle = v @ v + point @ point - 2 * (axis @ v) * (axis @ point)
    swing = 2 * np.linalg.norm(across(axis, v)) * np.linalg.norm(across(axis, point))
    return float(middle - swing), float(middle + swing)


def _touching(constant: float, wave: np.ndarray, low: float, high: float) -> float | None:
    """Return the θ at which constant + wave · (cos θ, sin θ) touches low ≤ … ≤ high from outside, or None."""
    size, phase, rounding = float(np.hypot(*wave)), float(np.arctan2(wave[1], wave[0])), TOUCHING * (high - low)
    if size > rounding and abs(constant - size - high) <= rounding:
        return phase + np.pi
    if size > rounding and abs(constant + size - low) <= rounding:
        return phase
    return None


def _arcs(constant: float, wave: np.ndarray, low: float, high: float) -> list[tuple[float, float]]:
    """Return ranges of θ with low ≤ constant + wave · (cos θ, sin θ) ≤ high; one of a whole turn if all are."""
    size, phase = float(np.hypot(*wave)), float(np.arctan2(wave[1], wave[0]))
    ends = []
    for limit in (low, high):
        if abs(limit - constant) < size:
            half = np.arccos((limit - constant) / size)
            ends += [phase - half, phase + half]
    if not ends:
        rounding = TOUCHING * (high - low)
        reached = low - rounding <= constant + size and constant - size <= high + rounding
        return [(-np.pi, np.pi)] if reached else []
    ends = sorted(np.mod(ends, 2 * np.pi))
    arcs = zip(ends, [*ends[1:], ends[0] + 2 * np.pi], strict=True)
    middle = [(s, t, constant + size * np.cos((s + t) / 2 - phase)) for s, t in arcs]
    return [(float(s), float(t)) for s, t, distance in middle if low <= distance <= high]


@cache
def _kernel():
    shapes = {"h": (6, 3), "a": (6, 3), "e": (6, 3), "R": (3, 3), "p": (3,), "sixth": (2,)}
    return compiled(with_sixth_angle, shapes)

"""Common errors in measurement files, undone one at a time to find the one that would explain the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..fit.initial import first_frames
from ..fit.solve import solve
from ..fit.structure import frame_columns
from ..fit.weighting import FitOptions
from ..measurements.fit_problem import FitProblem, Part

BEST = 4
"""Number of data errors that are examined closely, with frames fitted."""
IMAGE = 1000.0
"""Approximate size of an image, px."""


@dataclass(frozen=True, eq=False)
class Mistake:
    """Possible data error, and the function that removes it from a campaign's rows."""

    words: str
    undone: Callable[[Part], Part]


def likely_mistake(problem: FitProblem) -> tuple[str, float]:
    """Return the data error whose removal minimizes the residual of the nominal robot, and that residual."""
    tried = []
    for number, mistake in enumerate(mistakes(problem)):
        other = _without(problem, mistake)
        residual, _ = other.evaluate(other.nominal, first_frames(other, other.nominal), ())
        tried.append((miss(other, residual) / shrinking(problem, other), number, mistake))
    best, words = np.inf, ""
    # Some come to the same, such as signs and half turns in a wrist: the more usual one comes first and is meant.
    for _, _, mistake in sorted(sorted(tried, key=lambda trial: trial[:2])[:BEST], key=lambda trial: trial[1]):
        other = _without(problem, mistake)
        fitted = _fitted_miss(other) / shrinking(problem, other)
        if fitted < 0.99 * best:
            best, words = fitted, mistake.words
    return words, best


def miss(problem: FitProblem, residual: np.ndarray, rms: bool = False) -> float:
    """Return the median (or root mean square) of residuals, of the worst noise; lengths in units of the robot's
    size, pixels in those of an image."""
    misses = []
    for k, (*_, unit) in enumerate(problem.noise_names):
        residuals = residual[problem.noise == k]
        if len(residuals):
            typical = np.sqrt(np.mean(residuals**2)) if rms else np.median(abs(residuals))
            misses.append(float(typical) / {"m": size(problem), "px": IMAGE}.get(unit, 1.0))
    return max(misses, default=0.0)


def shrinking(problem: FitProblem, other: FitProblem) -> float:
    """Return the factor by which points in contact move less with other joint values, at most 1.

    A robot that hardly moves, as one whose radians are taken for degrees, stays near any target: its residual is
    small because its motion is small, and not because it is right.
    """
    shares = [1.0]
    for part, changed in zip(problem.parts, other.parts, strict=True):
        if part.measurement.implicit:
            before, after = (_spread(problem, one) for one in (part, changed))
            shares.append(after / max(before, 1e-300))
    return max(min(shares), 1e-12)


def _spread(problem: FitProblem, part: Part) -> float:
    T, _ = problem.poses(part, problem.nominal, part.q)
    p = T[part.posture][:, :3, 3]
    return float(np.median(np.linalg.norm(p - np.median(p, axis=0), axis=1)))


def size(problem: FitProblem) -> float:
    """Return half the reach of the robot, m, with prismatic joints as far as they moved."""
    travel = sum(
        float(np.ptp(part.q[:, move.position.start]))
        for part in problem.parts
        for move in problem.model.moves
        if move.sigma == 0
    )
    return problem.model.scale + 0.5 * travel / len(problem.parts)


def mistakes(problem: FitProblem) -> Iterator[Mistake]:
    """Generate plausible data errors in joint values and readings."""
    yield from _of_joints(problem)
    yield from _of_readings(problem)


def _of_joints(problem: FitProblem) -> Iterator[Mistake]:
    names, n = problem.model.mechanism.coordinate_names, problem.model.mechanism.n_q
    moves = [move for move in problem.model.axes if move.joint.mimic is None]
    turning = sorted({move.position.start for move in moves if move.sigma})
    used = sorted({move.position.start for move in moves})

    def joints(words: str, function: Callable[[np.ndarray], np.ndarray]) -> Mistake:
        return Mistake(words, lambda part: replace(part, q=function(part.q)))

    def scaled(which: Sequence[int], factor: float):
        factors = np.ones(n)
        factors[list(which)] = factor
        return lambda q: q * factors

    if turning:
        yield joints("joint values were degrees", scaled(turning, np.pi / 180.0))
        yield joints("joint values were radians and taken for degrees", scaled(turning, 180.0 / np.pi))
    for k in used:
        yield joints(f"joint {names[k]} had the opposite sign", scaled([k], -1.0))
    for i, a in enumerate(used):
        for b in used[i + 1 :]:
            order = np.arange(n)
            order[[a, b]] = [b, a]
            yield joints(f"columns {names[a]} and {names[b]} were swapped", lambda q, order=order: q[:, order])
    for a, b in pairwise(turning):
        for sign, word in ((1.0, "plus"), (-1.0, "less")):
            coupling = np.eye(n)
            coupling[a, b] = sign
            words = f"joint {names[b]} was counted from the one before ({names[b]} {word} {names[a]}, as with a "
            yield joints(words + "parallelogram)", lambda q, coupling=coupling: q @ coupling)
    for k in turning:
        for degrees in (90, -90, 180):
            shift = np.deg2rad(degrees) * (np.arange(n) == k)
            words = f"joint {names[k]} counted from elsewhere, {degrees}° off"
            yield joints(words, lambda q, shift=shift: q - shift)


def _of_readings(problem: FitProblem) -> Iterator[Mistake]:
    kinds = [part.measurement for part in problem.parts]
    for words in dict.fromkeys(words for kind in kinds for words, _ in kind.mistakes()):
        yield Mistake(words, lambda part, words=words: _undone(part, words))
    if any(not kind.implicit for kind in kinds):
        for step, word in ((1, "next"), (-1, "previous")):
            yield Mistake(f"readings belonged to the {word} posture", lambda part, step=step: _shifted(part, step))


def _undone(part: Part, words: str) -> Part:
    """Return a campaign's rows without a data error of its kind."""
    undo = dict(part.measurement.mistakes()).get(words)
    return part if undo is None else replace(part, y=undo(part.y))


def _shifted(part: Part, step: int) -> Part:
    """Return the readings shifted by `step` postures, cyclically."""
    if part.measurement.implicit:
        return part
    things = len(part.y) // len(part.q)
    return replace(part, y=np.roll(part.y, step * things, axis=0), known=np.roll(part.known, step * things, axis=0))


def _without(problem: FitProblem, mistake: Mistake) -> FitProblem:
    return problem.with_parts([mistake.undone(part) for part in problem.parts])


def _fitted_miss(problem: FitProblem) -> float:
    problem = problem.placed(first_frames(problem, problem.nominal))
    columns = frame_columns(problem)
    sigma = np.array([noise.typical for part in problem.parts for noise in part.measurement.noises])
    options = FitOptions(tuple(columns), sigma, np.zeros(len(sigma), dtype=bool), "none")
    return miss(problem, solve(problem, options, problem.nominal, problem.frames).residual)

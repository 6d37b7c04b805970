"""Mistakes that people make with measurement files, undone one at a time: which of them would explain the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...spatial.rotations import from_quaternion, to_quaternion
from ..fit.initial import first_frames
from ..fit.solve import FIRST_SIGMA, Options, solve
from ..fit.structure import frame_columns
from ..measurements import AxisDirection, Pose
from ..measurements.system import Part, System
from ..model.batches import inverses

BEST = 4
"""Mistakes that are looked at closely, frames fitted."""


@dataclass(frozen=True, eq=False)
class Mistake:
    """What may have happened, and a campaign's rows as they would be without it."""

    words: str
    undone: Callable[[Part], Part]


def likely_mistake(system: System) -> tuple[str, float]:
    """The mistake without which the nominal robot, frames fitted, misses least; and by how much it then misses."""
    found = []
    for number, mistake in enumerate(mistakes(system)):
        with _instead(system, [mistake.undone(part) for part in system.parts]):
            frames = first_frames(system, np.zeros(len(system.model.terms)))
            residual, _ = system.evaluate(np.zeros(len(system.model.terms)), frames, ())
        found.append((miss(system, residual), number, mistake))
    best, words = np.inf, ""
    # Some come to the same, such as signs and half turns in a wrist: the more usual one comes first and is meant.
    for _, _, mistake in sorted(sorted(found, key=lambda one: one[:2])[:BEST], key=lambda one: one[1]):
        with _instead(system, [mistake.undone(part) for part in system.parts]):
            got = _fitted_miss(system)
        if got < 0.99 * best:
            best, words = got, mistake.words
    return words, best


def miss(system: System, residual: np.ndarray, rms: bool = False) -> float:
    """Median (or root mean square) of residuals, of the worst noise; lengths in units of the robot's size."""
    found = []
    for k, (*_, unit) in enumerate(system.noise_names):
        own = residual[system.noise == k]
        if len(own):
            typical = np.sqrt(np.mean(own**2)) if rms else np.median(abs(own))
            found.append(float(typical) / (size(system) if unit == "m" else 1.0))
    return max(found, default=0.0)


def size(system: System) -> float:
    """Half of how far the robot reaches, m, what slides as far as it slid."""
    travel = sum(
        float(np.ptp(part.q[:, move.position.start]))
        for part in system.parts
        for move in system.model.moves
        if move.sigma == 0
    )
    return system.model.scale + 0.5 * travel / len(system.parts)


def mistakes(system: System) -> Iterator[Mistake]:
    """Plausible mistakes in joint values and readings."""
    yield from _of_joints(system)
    yield from _of_readings(system)


def _of_joints(system: System) -> Iterator[Mistake]:
    names, n = system.model.mechanism.coordinate_names, system.model.mechanism.n_q
    moves = [move for move in system.model.moves if move.sigma is not None and move.joint.mimic is None]
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


def _of_readings(system: System) -> Iterator[Mistake]:
    kinds = [part.measurement for part in system.parts]
    if any(kind.n_data == 12 for kind in kinds):
        yield Mistake("quaternions were x y z w", lambda part: _rotations(part, _reordered))
        yield Mistake("orientations were those of the inverse", lambda part: _rotations(part, _transposed))
        yield Mistake("poses were those of the inverse", _inverted)
    if any(isinstance(kind, AxisDirection) for kind in kinds):
        yield Mistake("directions were the opposite", _opposite)
    if any(kind.n_data == 3 and not kind.implicit and kind.noises[0].unit == "m" for kind in kinds):
        yield Mistake("positions were given in a left-handed frame", _mirrored)
    if any(not kind.implicit for kind in kinds):
        for step, word in ((1, "next"), (-1, "previous")):
            yield Mistake(f"readings belonged to the {word} posture", lambda part, step=step: _shifted(part, step))


def _rotations(part: Part, function: Callable[[np.ndarray], np.ndarray]) -> Part:
    if part.measurement.n_data != 12:
        return part
    y = part.y.copy()
    y[:, 3:] = function(y[:, 3:].reshape(-1, 3, 3)).reshape(-1, 9)
    return replace(part, y=y)


def _reordered(R: np.ndarray) -> np.ndarray:
    return np.array([from_quaternion(to_quaternion(one)[[3, 0, 1, 2]]) for one in R])


def _transposed(R: np.ndarray) -> np.ndarray:
    return np.swapaxes(R, 1, 2)


def _inverted(part: Part) -> Part:
    if part.measurement.n_data != 12:
        return part
    T = np.zeros((len(part.y), 4, 4))
    T[:, :3, 3], T[:, :3, :3], T[:, 3, 3] = part.y[:, :3], part.y[:, 3:].reshape(-1, 3, 3), 1.0
    return replace(part, y=Pose.reading(inverses(T), None))


def _opposite(part: Part) -> Part:
    return replace(part, y=-part.y) if isinstance(part.measurement, AxisDirection) else part


def _mirrored(part: Part) -> Part:
    kind = part.measurement
    metric = kind.n_data == 3 and not kind.implicit and kind.noises[0].unit == "m"
    return replace(part, y=part.y * [1.0, 1.0, -1.0]) if metric else part


def _shifted(part: Part, step: int) -> Part:
    """Readings `step` postures earlier; the end that has none gets those of the other end."""
    if part.measurement.implicit:
        return part
    things = len(part.y) // len(part.q)
    return replace(part, y=np.roll(part.y, step * things, axis=0), known=np.roll(part.known, step * things, axis=0))


def _fitted_miss(system: System) -> float:
    model = system.model
    system.frames = first_frames(system, np.zeros(len(model.terms)))
    columns = frame_columns(system)
    sigma = np.array([FIRST_SIGMA[unit] for *_, unit in system.noise_names])
    options = Options(tuple(columns), sigma, np.zeros(len(sigma), dtype=bool), "none")
    return miss(system, solve(system, options, np.zeros(len(model.terms)), system.frames).residual)


@contextmanager
def _instead(system: System, parts: list[Part]):
    """The system with other rows for a while. Which numbers were read must not change in all."""
    kept, frames = system.parts, system.frames
    system.parts = parts
    try:
        yield
    finally:
        system.parts, system.frames = kept, frames

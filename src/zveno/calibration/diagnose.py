"""What may be wrong with data before it is fitted: units, columns, signs, and too few postures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import ZvenoError, ZvenoWarning
from ..fit.products import triangle
from ..robot import Robot
from .identifiability import TOLERANCE, Identifiability, beyond, identifiability, scaled_jacobian
from .initial import first_frames
from .postures import random_postures
from .solve import Solution
from .system import System

HOPELESS = 0.25
"""A nominal robot that misses by this share of its size, or this many radians, is not the one that was measured."""


def check_reach(system: System):
    """Refuse readings whose spread no robot of this size can have: millimetres read as metres."""
    for part, campaign in zip(system.parts, system.campaigns, strict=True):
        if part.measurement.implicit or part.measurement.noises[0].unit != "m":
            continue
        width = 3 if part.measurement.n_data >= 3 else 1
        own = part.y[part.known[:, :width].all(axis=1)][:, :width]
        if len(own) < 2:
            continue
        spread = float(np.linalg.norm(own - np.median(own, axis=0), axis=1).max())
        reach = 4.0 * system.model.scale + _travel(system)
        if spread > 20.0 * reach:
            likely = "millimetres" if spread / 1000.0 < 5.0 * reach else "another unit"
            raise ZvenoError(
                f"readings spread over {spread:.4g} m, and the robot reaches {reach:.3g} m",
                element=campaign.name,
                remedy=f"They look like {likely}; give metres (in a file: unit = mm)",
            )


def hopeless(system: System, base: Solution) -> str:
    """What would make sense of the joint values where the nominal robot does not; empty if it does."""
    miss = _miss(system, base.values, base.frames)
    if miss < HOPELESS:
        return ""
    best, cure = miss, ""
    for name, changed in _changes(system):
        frames = first_frames_with(system, changed)
        got = _miss(system, np.zeros_like(base.values), frames, changed)
        if got < best:
            best, cure = got, name
    text = f"the nominal robot misses the readings by {miss:.2g} of its size even with all frames fitted"
    if cure and best < 0.5 * miss:
        text += f"; it would be {best:.2g} if {cure}"
    else:
        text += "; check the order, sign and unit of the joint columns, and the frame that was measured"
    warnings.warn(text, ZvenoWarning, stacklevel=3)
    return text


def check_enough(system: System, found: Identifiability, robot: Robot, parameters: str | Sequence[str]):
    """Refuse data that cannot determine what the measurement could: too few postures, or all on a singular
    manifold."""
    rows, needed = system.n_rows, found.rank + found.rank_unknowns
    lost = _lost(system, found, robot, parameters)
    if not lost and rows >= needed:
        return
    a_posture = max(1.0, rows / max(system.n_postures, 1))
    enough = int(np.ceil((needed + len(lost)) / a_posture))
    if system.n_postures < enough or rows < needed:
        raise ZvenoError(
            f"{system.n_postures} postures give {rows} equations, too few for {needed + len(lost)} unknowns",
            remedy=f"Measure at least {enough} postures, better {2 * enough}; or estimate fewer parameters, for "
            f'example parameters="controller". Not determined now: {_listed(lost) or "nothing"}',
        )
    text = (
        f"the postures measured do not tell {_listed(lost)} apart from the others, which this kind of measurement "
        "could: they lie on a singular manifold (one joint never moves, or always with another). These stay nominal"
    )
    warnings.warn(text, ZvenoWarning, stacklevel=3)


def _lost(system: System, found: Identifiability, robot: Robot, parameters) -> list[str]:
    """Parameters that random postures would determine beyond those the measured ones do."""
    kinds = {type(part.measurement): part.measurement for part in system.parts}
    proved = found.counts is not None and found.counts.proved == found.rank
    if proved or len(kinds) > 1 or system.n_postures >= 4 * len(system.model.terms):
        return []
    if parameters == "all" and _as_good_as_random(system, found):
        return []
    terms = [
        word
        for word, letter in (("gear", "K"), ("compliance", "C"))
        if any(t.kind == letter for t in system.model.terms)
    ]
    could = identifiability(
        robot, system.parts[0].measurement, strategy=found.strategy, parameters=parameters, joint_terms=terms
    )
    missing = could.rank - found.rank
    if missing <= 0:
        return []
    lost = [name for name in could.chosen if name not in found.chosen]
    return lost[-missing:] if len(lost) >= missing else lost


def _as_good_as_random(system: System, found: Identifiability) -> bool:
    """Whether random postures, read as the measured ones were, would determine no more."""
    if any(part.measurement.implicit or not part.known.all() for part in system.parts):
        return False
    rng = np.random.default_rng(0)
    times = int(np.ceil(2.0 * system.n_columns / system.n_rows)) + 1
    draws = [
        [random_postures(system.model.mechanism, len(part.q), rng) for part in system.parts] for _ in range(times)
    ]
    A = triangle(np.concatenate([scaled_jacobian(system, q, compiled=True) for q in draws]))
    columns = [*range(len(system.model.terms)), *system.columns_of(True)]
    s = np.linalg.svd(beyond(A, system.columns_of(False), columns)[0], compute_uv=False)
    return int((s > TOLERANCE * s[0]).sum()) <= found.rank


def first_frames_with(system: System, q: Sequence[np.ndarray]) -> np.ndarray:
    """First frames as they would be with other joint values."""
    from dataclasses import replace

    kept = system.parts
    system.parts = [replace(part, q=own) for part, own in zip(kept, q, strict=True)]
    try:
        return first_frames(system, np.zeros(len(system.model.terms)))
    finally:
        system.parts = kept


def _changes(system: System):
    """Joint values with one plausible mistake undone."""
    n = system.model.mechanism.n_q
    names = system.model.mechanism.coordinate_names
    used = sorted({move.position.start for move in system.model.moves if move.sigma is not None})

    def changed(function):
        return [function(part) for part in system.parts]

    yield "joint values were degrees", changed(lambda part: np.deg2rad(part.q))
    for k in used:
        flip = np.where(np.arange(n) == k, -1.0, 1.0)
        yield f"joint {names[k]} had the opposite sign", changed(lambda part, flip=flip: part.q * flip)
    for i, a in enumerate(used):
        for b in used[i + 1 :]:
            order = np.arange(n)
            order[[a, b]] = [b, a]
            yield (
                f"columns {names[a]} and {names[b]} were swapped",
                changed(lambda part, order=order: part.q[:, order]),
            )


def _miss(system: System, values, frames, q: Sequence[np.ndarray] | None = None) -> float:
    """Median size of residuals, lengths in units of the robot's size."""
    r, _ = system.evaluate(values, frames, (), q=q, compiled=False)
    units = np.array([system.model.scale if unit == "m" else 1.0 for *_, unit in system.noise_names])
    data = system.noise >= 0
    return float(np.median(abs(r[data]) / units[system.noise[data]]))


def _travel(system: System) -> float:
    """How far prismatic joints moved."""
    return float(
        sum(
            np.ptp(part.q[:, move.position.start])
            for part in system.parts
            for move in system.model.moves
            if move.sigma == 0
        )
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f", … ({len(names)} in all)" if len(names) > 10 else "")

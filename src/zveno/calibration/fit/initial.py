"""First values of unknown frames, points, planes and centres, in closed form, from the nominal robot."""

from __future__ import annotations

import numpy as np

from ...errors import ZvenoError
from ..measurements.start_values import StartData
from ..measurements.system import Part, System

MIN_ROWS = 3


def first_frames(system: System, values: np.ndarray, rows: list[np.ndarray] | None = None) -> np.ndarray:
    """All frames with a first value for every unknown that has none.

    Args:
        system: the rows.
        values: parameters of the model, (P,).
        rows: for every part, which rows may be used; all if None.
    """
    frames = system.frames.copy()
    done = {unknown.label for unknown in system.unknowns if unknown.given}
    for k, part in enumerate(system.parts):
        T, _ = system.poses(part, values, part.q)
        use = part.known.all(axis=1) if rows is None else part.known.all(axis=1) & rows[k]
        if use.sum() < MIN_ROWS:
            use = part.known.all(axis=1)
        _check_complete(system, k, use, done)
        _seen_from_and_in(system, part, T[part.posture], use, frames, done)
        _targets(system, part, T[part.posture], use, frames, done)
    return frames


def _check_complete(system: System, number: int, use: np.ndarray, done: set[str]):
    """Refuse rows of which none is complete where they must say where something is."""
    part = system.parts[number]
    slots = np.unique(np.concatenate([part.left, part.right, part.target]))
    wanted = [
        label for frame in slots if (label := _unknown_label(system, frame)) is not None and label not in done
    ]
    if wanted and not use.any():
        raise ZvenoError(
            f"no row has all its numbers, and without one {', '.join(wanted)} cannot be placed",
            element=system.campaigns[number].name,
            remedy="Measure some rows completely, or give the frames that are known",
        )


def _unknown_label(system: System, frame: int) -> str | None:
    number = system._unknown_of[frame]
    return None if number < 0 else system.unknowns[number].label


def _seen_from_and_in(system: System, part: Part, T, use, frames, done):
    """L and R."""
    left = int(part.left[0])
    rights = [int(frame) for frame in np.unique(part.right)]
    labels = {frame: _unknown_label(system, frame) for frame in (left, *rights)}
    wanted = {frame for frame, label in labels.items() if label is not None and label not in done}
    data = StartData(
        T[use],
        part.y[use],
        part.left[use],
        part.right[use],
        frames,
        left if left in wanted else None,
        [frame for frame in rights if frame in wanted],
        [frame for frame in rights if labels[frame] is not None],
    )
    for number, frame in part.measurement.first_frames(data).items():
        frames[number] = frame
    done.update(label for label in labels.values() if label is not None)


def _targets(system: System, part: Part, T, use, frames, done):
    p = (frames[part.left] @ T @ frames[part.right])[:, :3, 3]
    for frame in np.unique(part.target):
        label = _unknown_label(system, frame)
        if label is None or label in done:
            continue
        rows = part.target == frame
        rows = rows & use if (rows & use).any() else rows
        frames[frame] = part.measurement.first_target(p[rows], part.y[rows])
        done.add(label)

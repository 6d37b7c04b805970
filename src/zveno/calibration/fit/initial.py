"""First values of unknown frames, points, planes and centres, in closed form, from the nominal robot."""

from __future__ import annotations

import numpy as np

from ...errors import ZvenoError
from ..measurements.fit_problem import FitProblem, Part
from ..measurements.start_values import StartData

MIN_ROWS = 3


def first_frames(problem: FitProblem, values: np.ndarray, rows: list[np.ndarray] | None = None) -> np.ndarray:
    """All frames with a first value for every unknown that has none.

    Args:
        problem: the rows.
        values: parameters of the model, (P,).
        rows: for every part, which rows may be used; all if None.
    """
    frames = problem.frames.copy()
    done = {unknown.label for unknown in problem.unknowns if unknown.given}
    for k, part in enumerate(problem.parts):
        T, _ = problem.poses(part, values, part.q)
        complete = np.asarray(part.known.all(axis=1))
        use = complete if rows is None else complete & rows[k]
        if use.sum() < MIN_ROWS:
            use = complete
        _check_complete(problem, k, use, done)
        _seen_from_and_in(problem, part, T[part.posture], use, frames, done)
        _targets(problem, part, T[part.posture], use, frames, done)
    return frames


def _check_complete(problem: FitProblem, number: int, use: np.ndarray, done: set[str]):
    """Refuse rows of which none is complete where they must say where something is."""
    part = problem.parts[number]
    slots = np.unique(np.concatenate([part.left, part.right, part.target]))
    wanted = [
        label for frame in slots if (label := _unknown_label(problem, frame)) is not None and label not in done
    ]
    if wanted and not use.any():
        raise ZvenoError(
            f"no row has all its numbers, and without one {', '.join(wanted)} cannot be placed",
            element=problem.campaigns[number].name,
            remedy="Measure some rows completely, or give the frames that are known",
        )


def _unknown_label(problem: FitProblem, frame: int) -> str | None:
    unknown = problem.unknown_at(frame)
    return None if unknown is None else unknown.label


def _seen_from_and_in(problem: FitProblem, part: Part, T, use, frames, done):
    """L and R."""
    left = int(part.left[0])
    rights = [int(frame) for frame in np.unique(part.right)]
    labels = {frame: _unknown_label(problem, frame) for frame in (left, *rights)}
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


def _targets(problem: FitProblem, part: Part, T, use, frames, done):
    p = (frames[part.left] @ T @ frames[part.right])[:, :3, 3]
    for frame in np.unique(part.target):
        label = _unknown_label(problem, frame)
        if label is None or label in done:
            continue
        rows = part.target == frame
        rows = rows & use if (rows & use).any() else rows
        frames[frame] = part.measurement.first_target(p[rows], part.y[rows])
        done.add(label)

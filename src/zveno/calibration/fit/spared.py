"""Outliers, without leaving an unknown frame or target with nothing to say where it is."""

from __future__ import annotations

import numpy as np

from ..measurements.fit_problem import FitProblem


def spared(problem: FitProblem, flagged: np.ndarray, inside: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Flags of rows but for the nearest ones of every unknown that would be left with too few numbers.

    Where a socket was touched badly every time, one row places it and tells nothing else.

    Args:
        problem: the rows.
        flagged: which do not belong, (rows,).
        inside: which are used at all, (rows,).
        distance: of every row from the fit.
    """
    if not flagged.any():
        return flagged
    numbers = np.concatenate([part.known.sum(axis=1) for part in problem.parts])
    slots = [
        np.concatenate([getattr(part, name) for part in problem.parts]) for name in ("left", "right", "target")
    ]
    kept = flagged.copy()
    touched = {int(frame) for slot in slots for frame in np.unique(slot[flagged])}
    for k, unknown in enumerate(problem.unknowns):
        frame = problem.frame_number(k)
        if frame not in touched:
            continue
        own = np.flatnonzero(inside & np.any([slot == frame for slot in slots], axis=0))
        lacking = len(unknown.free) - int(numbers[own[~kept[own]]].sum())
        for row in sorted(own[kept[own]].tolist(), key=lambda one: distance[one]):
            if lacking <= 0:
                break
            kept[row] = False
            lacking -= int(numbers[row])
    return kept

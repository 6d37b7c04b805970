"""A free check of completeness: over all solutions of a regular pose the signs of det J cancel.

Forward kinematics of joints that turn without limits maps a closed manifold to positions, which have no bounds, and
so not onto them: its degree is zero. Solutions that are missing one at a time show in the sum of the signs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..compiled import kernel_of
from ..ik_problem import IkProblem
from ..pose_error import error
from ..solutions import COMPLETE, UNDECIDED
from .draft import Draft

REGULAR = 1e-3
"""Least singular value (lengths over `length`) from which on signs of determinants are beyond doubt."""


def unbalanced(draft: Draft) -> None:
    """Poses of a draft are undecided where the signs do not cancel; the draft holds all solutions."""
    problem = draft.problem
    if not len(draft.pose) or not _closed(problem):
        return
    k = len(draft.codes)
    determinants = _kernel(problem)(draft.x, draft.targets.lanes.targets[draft.pose], problem.tool)
    total = np.bincount(draft.pose, np.sign(determinants), minlength=k)
    if not total.any():
        return
    singular = np.zeros(k, bool)
    singular[draft.pose[draft.found.least < REGULAR]] = True
    for i in np.flatnonzero((total != 0) & ~singular & (draft.codes == COMPLETE)):
        draft.codes[i] = UNDECIDED
        draft.notes[int(i)] = "signs of det J over them do not cancel, so at least one is missing"


@lru_cache(maxsize=64)
def _closed(problem: IkProblem) -> bool:
    """Whether all coordinates turn without limits, as many as there are equations, some of positions."""
    endless = np.isinf(problem.lower) & np.isinf(problem.upper) & problem.turning
    return bool(endless.all() and problem.n == problem.task.n_rows and problem.task.position)


@lru_cache(maxsize=64)
def _kernel(problem: IkProblem):
    def det(x, target, tool):
        return determinant(error(problem, x, target, tool, exact=True).J)

    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return kernel_of(problem, "ik_determinant", det, inputs)


def determinant(columns: list):
    """Of a square matrix given by columns, by minors of its first rows: no divisions, entries may be traced."""
    n = len(columns)
    minors = {(): 1.0}
    for row in range(n):
        following = {}
        for chosen, minor in minors.items():
            for k in range(n):
                if k not in chosen:
                    wider = tuple(sorted((*chosen, k)))
                    sign = -1.0 if (row - wider.index(k)) % 2 else 1.0
                    term = sign * columns[k][row] * minor
                    following[wider] = following[wider] + term if wider in following else term
        minors = following
    return minors[tuple(range(n))]

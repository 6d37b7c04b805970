"""A free check of completeness: over all solutions of a regular pose the signs of det J cancel.

Forward kinematics of joints that turn without limits maps a closed manifold to positions, which have no bounds, and
so not onto them: its degree is zero. Solutions that are missing one at a time show in the sum of the signs.
"""

from __future__ import annotations

import numpy as np

from ..solutions import COMPLETE, UNDECIDED
from .draft import Draft
from .judgement import orientable

REGULAR = 1e-3
"""Smallest singular value (lengths over `length`) above which signs of determinants are certain."""


def unbalanced(draft: Draft) -> None:
    """Mark poses of a draft undecided where the signs do not cancel; the draft holds all solutions."""
    problem = draft.problem
    if not len(draft.pose) or not orientable(problem) or np.isfinite([problem.lower, problem.upper]).any():
        return  # solvers look for solutions inside limits only
    k, signs = len(draft.codes), np.sign(draft.rows.determinant)
    if k == 1 and not signs.sum():
        return
    total = np.bincount(draft.pose, signs, minlength=k)
    if not total.any():
        return
    singular = np.zeros(k, bool)
    singular[draft.pose[draft.rows.least < REGULAR]] = True
    for i in np.flatnonzero((total != 0) & ~singular & (draft.codes == COMPLETE)):
        draft.codes[i] = UNDECIDED
        draft.notes[int(i)] = "signs of det J over them do not cancel, so at least one is missing"

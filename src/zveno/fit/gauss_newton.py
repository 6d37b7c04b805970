"""Damped Gauss–Newton steps of many small problems at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def damped_steps(J: np.ndarray, e: np.ndarray, damping: ArrayLike) -> np.ndarray:
    """Return the steps (s, n) that minimise |J δ − e|² + damping |δ|², for J (s, m, n) and e (s, m).

    The smaller one of J Jᵀ and Jᵀ J is solved.

    Args:
        J: derivatives of e.
        e: errors.
        damping: one number, or one per problem, (s,).
    """
    Jt = np.swapaxes(J, 1, 2)
    wide = J.shape[1] <= J.shape[2]
    A, b = (J @ Jt, e[..., None]) if wide else (Jt @ J, Jt @ e[..., None])
    y = np.linalg.solve(A + np.asarray(damping)[..., None, None] * np.eye(A.shape[1]), b)
    return (Jt @ y if wide else y)[..., 0]

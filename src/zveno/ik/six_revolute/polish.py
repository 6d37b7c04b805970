"""Newton's method on the loop itself, for candidates in lanes."""

from __future__ import annotations

import numpy as np

from ...kernels import math as zm
from .back_substitution import _product, _turned
from .compiled import compiled

LONGEST_STEP = 1.0


def loop_error(L, X, q):
    """Twist (6,) from where the chain Rz(q0) L1 … L5 Rz(q5) ends to X (3, 4), and its Jacobian (6, 6), at the end.

    L is (5, 3, 4). Rotation errors are half the axial vector of R_endᵀ R_X, so a half turn counts as none; the
    squared error returned third is of whole matrices.
    """
    T = np.eye(3, 4)
    frames = []
    for i in range(6):
        if i:
            T = _product(T, L[i - 1])
        frames.append(T)
        T = _turned(q[i], T)
    R, p = T[:, :3], T[:, 3]
    dp = X[:, 3] - p
    axial = sum(np.array(_cross(R[:, j], X[:, j])) for j in range(3))
    error = np.concatenate([dp, 0.5 * axial])
    dR = X[:, :3] - R
    square = dp @ dp + 0.5 * (dR * dR).sum()
    J = np.array([[*_cross(F[:, 2], p - F[:, 3]), *F[:, 2]] for F in frames]).T
    return error, J, square


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def newton_step(L, X, q):
    """q after one damped Gauss–Newton step, and the squared error before it."""
    error, J, square = loop_error(L, X, q)
    H, g = J.T @ J, J.T @ error
    damping = 1e-13 + 1e-2 * square
    H = H + np.diag([damping] * 6)
    for j in range(6):
        inverse = 1.0 / H[j, j]
        H, g = H.copy(), g.copy()
        for i in range(j + 1, 6):
            factor = H[j, i] * inverse
            H[i, i:] = H[i, i:] - factor * H[j, i:]
            g[i] = g[i] - factor * g[j]
    x = [0.0] * 6
    for i in reversed(range(6)):
        total = g[i]
        for k in range(i + 1, 6):
            total = total - H[i, k] * x[k]
        x[i] = total / H[i, i]
    greatest = zm.abs(x[0])
    for value in x[1:]:
        greatest = zm.maximum(greatest, zm.abs(value))
    scale = zm.select(zm.less(LONGEST_STEP, greatest), LONGEST_STEP / greatest, 1.0)
    return q + scale * np.array(x), square


def polish(L, X, q, tolerance: float = 1e-22, steps: int = 12):
    """Newton from candidates q (n, 6) towards targets X (n, 3, 4): q, and whether the loop closed, (n,)."""
    step = compiled(newton_step, {"L": (5, 3, 4), "X": (3, 4), "q": (6,)})
    q = np.array(q)
    done = np.zeros(len(q), bool)
    left = np.arange(len(q))
    for number in range(steps):
        q[left], square = step(L, X[left], q[left])
        closed = square < tolerance
        done[left[closed]] = True
        # What is still far away after some steps belongs to no solution.
        left = left[~closed & (square < (np.inf if number < 6 else 1e-2)) & np.isfinite(square)]
        if not len(left):
            break
    return q, done

"""Newton's method on the loop itself, for candidates in lanes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernels import ops as zm
from ...kernels.compile import compiled
from .back_substitution import turned
from .equations import product

LONGEST_STEP = 1.0
CLOSED = 1e-22
"""Squared error, lengths in units of the arm's, at which the loop is closed."""
SHORT = 1e-9
MOBILE = 1e-9
"""Least singular value, lengths in units of the arm's, above which a random configuration is regular."""
UNROLLED = 2
"""Steps per kernel call: candidates of a simple root need two."""


def loop_error(L: Any, X: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return the twist (6,) from the end of the chain Rz(q0) L1 … L5 Rz(q5) to X (3, 4), and its Jacobian (6, 6).

    L is (5, 3, 4). Rotation errors are half the axial vector of R_endᵀ R_X, so a half turn counts as none; the
    squared error returned third is of whole matrices.
    """
    T = np.eye(3, 4)
    frames = []
    for i in range(6):
        if i:
            T = product(T, L[i - 1])
        frames.append(T)
        T = turned(q[i], T)
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


def mobile(L: np.ndarray) -> bool:
    """Return True if the arm with links L (5, 3, 4) has a regular configuration; two coaxial joints leave none."""
    return any_regular(np.array([loop_error(L, np.eye(3, 4), q)[1] for q in random_configurations(6)]))


def random_configurations(n: int) -> np.ndarray:
    """Return fixed random angles (4, n): an arm that is regular somewhere is almost surely regular there."""
    return np.random.default_rng(0).uniform(-np.pi, np.pi, (4, n))


def any_regular(jacobians: np.ndarray) -> bool:
    """Return True if one of some Jacobians (s, m, n) has full rank."""
    return bool(np.linalg.svd(jacobians, compute_uv=False)[:, -1].max() > MOBILE)


def newton_steps(L: Any, X: Any, q: Any) -> tuple[Any, Any, Any]:
    """Take `UNROLLED` steps; return the squared error before the last of them, and its greatest turn."""
    square = greatest = 0.0
    for _ in range(UNROLLED):
        q, square, greatest = newton_step(L, X, q)
    return q, square, greatest


def newton_step(L: Any, X: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return q after one damped Gauss–Newton step, the squared error before it, and the greatest turn it made.

    The damping is proportional to the error. So it bounds the step to the square root of the error where the
    Jacobian is singular, as at double roots, and vanishes fast enough elsewhere.
    """
    error, J, square = loop_error(L, X, q)
    x = damped(J, error, zm.sqrt(1e-2 * zm.sqrt(square) + 1e-30))
    greatest = zm.abs(x[0])
    for value in x[1:]:
        greatest = zm.maximum(greatest, zm.abs(value))
    scale = zm.where(zm.less(LONGEST_STEP, greatest), LONGEST_STEP / greatest, 1.0)
    return q + scale * np.array(x), square, greatest


def damped(J: Any, error: Any, root: Any) -> Any:
    """Return x that minimises |J x − error|² + root² |x|², by reflections of J with root · 1 below it."""
    n = J.shape[1]
    A = np.concatenate([J, np.diag([root] * n)])
    b = np.concatenate([error, np.zeros(n)])
    m = len(J)
    for k in range(n):
        rows = [*range(k, m), *range(m, m + k + 1)]  # the others are zero in this column
        v = A[rows, k]
        length = zm.sqrt(v @ v)
        head = v[0] + zm.where(zm.less(v[0], 0.0), -length, length)
        v = np.array([head, *v[1:]])
        scaled = v * (2.0 / (v @ v))
        A, b = A.copy(), b.copy()
        A[rows, k:] = A[rows, k:] - np.outer(v, scaled @ A[rows, k:])
        b[rows] = b[rows] - v * (scaled @ b[rows])
    x = [0.0] * n
    for i in reversed(range(n)):
        total = b[i]
        for k in range(i + 1, n):
            total = total - A[i, k] * x[k]
        x[i] = total / A[i, i]
    return x


def mark(q: Any) -> Any:
    """Return a number in (−1, 1) that depends on all angles modulo 2π."""
    return sum(zm.cos(q[j] + 1.7 * j * j) * w for j, w in enumerate((0.21, 0.19, 0.17, 0.16, 0.14, 0.12)))


@cache
def _steps():
    return compiled(newton_steps, {"L": (5, 3, 4), "X": (3, 4), "q": (6,)})


def polish(L: Any, X: Any, q: Any, steps: int = 12) -> tuple[Any, Any]:
    """Run Newton from candidates q (n, 6) towards targets X (n, 3, 4): q, and whether the loop closed, (n,).

    L is (5, 3, 4), or (n, 5, 3, 4) for arms of their own; X may also be one target (3, 4) for all.

    Near singularities the loop closes before the angles are right, so steps go on until they are short.
    """
    with np.errstate(all="ignore"):  # a candidate that diverges does not concern the others
        return _polished(L, X, q, steps)


def _polished(L, X, q, steps: int) -> tuple[Any, Any]:
    q, square, moved = _steps()(L, X, q)
    done = square < CLOSED
    arrived = done & (moved < SHORT)
    if np.count_nonzero(arrived) == len(arrived):
        return q, done
    left = (~arrived & np.isfinite(square)).nonzero()[0]
    for number in range(UNROLLED, steps, UNROLLED):
        targets = X if X.ndim == 2 else X[left]
        q[left], square, moved = _steps()(L if L.ndim == 3 else L[left], targets, q[left])
        closed = square < CLOSED
        done[left[closed]] = True
        # A candidate still far away after some steps belongs to no solution.
        left = left[~(closed & (moved < SHORT)) & (square < (np.inf if number < 6 else 1e-2)) & np.isfinite(square)]
        if not len(left):
            break
    return q, done

"""Coulomb's law for contacts that act together: forces or impulses that push, within their friction cones.

With w = A R + b the velocities or accelerations of the rows and R = (N, T) the reactions of a contact,

    0 ≤ N ⟂ w_n ≥ 0,  |T| ≤ μ N,  T = −μ N w_t / |w_t| where w_t ≠ 0,

solved by projected Gauss–Seidel, the tangents of a contact together by the larger eigenvalue of their block and
projected onto the disc (Jean 1999). The number of sweeps is bounded. Where the modes that come out (open, at rest,
sliding) are certain, the linear equations that follow from them refine the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.door import compiled
from ..kernels.kernel import Kernel
from ..kernels.math import maximum, minimum, select, sqrt
from .redundancy import least_squares

STOP_SPEED = 1e-5
"""A contact slower than this, m/s, may stick: its direction of sliding means nothing."""
MAX_SWEEPS = 2000
CAREFUL = 40
"""Rounds of so many sweeps that decide whether a contact leaves its place: the angle at which a block on four
corners begins to slide is then right to 1e-5."""
AT_REST = 1e-4
"""Tangential w over the largest b below which a contact counts as at rest when its reactions are refined."""
CONVERGED = 1e-11
"""Change of a reaction by some sweeps, relative to the largest, at which they end."""
_OPERATIONS = 4000


class Contact(NamedTuple):
    """A contact or limit that takes part."""

    number: int
    """of the constraint"""
    row: int
    """of its normal; the two tangents follow where it has them"""
    mu: float
    """coefficient of friction; 0 without tangents, infinite where it never slides"""
    side: float = 1.0
    """−1 where it pushes towards smaller values of its row"""
    slip: tuple[float, float] | None = None
    """direction in which it slides, which is then given; None at rest"""

    @property
    def tangents(self) -> list[int]:
        """Rows of the tangents."""
        return [self.row + 1, self.row + 2] if self.mu else []


class Reactions(NamedTuple):
    """What acts, and how the rows move under it."""

    R: np.ndarray
    """(m,)"""
    w: np.ndarray
    """A R + b, (m,)"""


def contact_reactions(A: Any, b: Any, held: Any, contacts: Sequence[Contact], rounds: int = 1) -> Reactions:
    """Reactions of contacts, and of the rows that hold both ways.

    Args:
        A: J M⁻¹ Jᵀ, (m, m).
        b: velocities or accelerations of the rows without reactions, (m,).
        held: rows with w = 0 whatever the sign of their reaction, (m,) booleans.
        contacts: those that push; rows of others take no part.
        rounds: of sweeps at most, where modes stay uncertain: at the edge of sliding sweeps converge slowly.
    """
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    held = np.flatnonzero(held)
    # The held rows answer whatever the contacts do.
    answer = np.linalg.pinv(A[np.ix_(held, held)], rcond=1e-10, hermitian=True) if len(held) else np.zeros((0, 0))
    reduced = A - A[:, held] @ answer @ A[held]
    short = b - A[:, held] @ answer @ b[held]
    S = np.zeros((len(A), 3 * len(contacts)))
    for k, contact in enumerate(contacts):
        S[contact.row, 3 * k] = contact.side
        for j, row in enumerate(contact.tangents, 1):
            S[row, 3 * k + j] = 1.0
    r = np.zeros(3 * len(contacts))
    R = np.zeros(len(A))
    for _ in range(rounds):
        r = _gauss_seidel(S.T @ reduced @ S, S.T @ short, contacts, r)
        pushed = S @ r
        pushed[held] = -answer @ (b[held] + A[held] @ pushed)
        refined = _refined(A, b, held, contacts, pushed)
        R = pushed if refined is None else refined
        if refined is not None:
            break
    return Reactions(R, A @ R + b)


def _gauss_seidel(A, b, contacts: Sequence[Contact], r: np.ndarray) -> np.ndarray:
    """Reactions (3 n,), three to a contact, from the sweeps that begin at r."""
    n = len(contacts)
    if not n:
        return r
    A = A + np.diag(np.where(np.diagonal(A) > 0, 0.0, 1.0))  # rows that are not there, or that nothing moves
    mu = np.array([min(contact.mu, 1e9) for contact in contacts])
    slips = np.array([(0.0, 0.0) if contact.slip is None else contact.slip for contact in contacts])
    fixed = np.array([float(contact.slip is not None) for contact in contacts])
    kernel, sweeps = _sweeps(n)
    for _ in range(-(-MAX_SWEEPS // sweeps)):
        new = kernel(A, b, mu, slips, fixed, r)
        change, r = abs(new - r).max(), new
        if change <= CONVERGED * abs(r).max():
            break
    return r


def _sweeps(n: int) -> tuple[Kernel, int]:
    """The kernel of some sweeps over n contacts, and their number."""
    sweeps = max(1, _OPERATIONS // (18 * n * n + 40 * n))
    inputs = {"A": (3 * n, 3 * n), "b": (3 * n,), "mu": (n,), "slips": (n, 2), "fixed": (n,), "r": (3 * n,)}
    return compiled(_swept, inputs, constants=(n, sweeps)), sweeps


def _swept(n: int, sweeps: int, A, b, mu, slips, fixed, r):
    """Reactions (3 n,) after some sweeps over n contacts; `fixed` says whose direction of sliding is given."""
    r = list(r)
    for _ in range(sweeps):
        for k in range(n):
            i = 3 * k
            turned = mu[k] * (A[i][i + 1] * slips[k][0] + A[i][i + 2] * slips[k][1])
            mobility = A[i][i] - fixed[k] * turned
            N = r[i] - (A[i] @ np.array(r) + b[i]) / maximum(mobility, 1e-9 * A[i][i])
            r[i] = N = maximum(N, 0.0)
            half, skew = 0.5 * (A[i + 1][i + 1] - A[i + 2][i + 2]), A[i + 1][i + 2]
            stiff = 0.5 * (A[i + 1][i + 1] + A[i + 2][i + 2]) + sqrt(half * half + skew * skew)
            state = np.array(r)
            x, y = (r[j] - (A[j] @ state + b[j]) / stiff for j in (i + 1, i + 2))
            scale = minimum(1.0, mu[k] * N / sqrt(maximum(x * x + y * y, 1e-300)))
            r[i + 1] = select(fixed[k], -mu[k] * N * slips[k][0], x * scale)
            r[i + 2] = select(fixed[k], -mu[k] * N * slips[k][1], y * scale)
    return np.array(r)


def _refined(A, b, held, contacts: Sequence[Contact], R) -> np.ndarray | None:
    """R (m,) and the smallest change that makes it satisfy the linear equations of its modes.

    None where that breaks Coulomb's law by more than rounding: then the modes are not certain, and R is as good.
    """
    w, speed = A @ R + b, abs(b).max(initial=0.0)
    most = max((contact.side * R[contact.row] for contact in contacts), default=0.0)
    active, G = np.zeros(len(A)), np.eye(len(A))
    active[held] = 1.0
    sliding = []
    for contact in contacts:
        if contact.side * R[contact.row] <= 1e-9 * most:
            continue
        active[contact.row] = 1.0
        if contact.slip is None and (np.hypot(*w[contact.tangents]) if contact.mu else 0.0) <= AT_REST * speed:
            active[contact.tangents] = 1.0
        else:
            G[contact.tangents, contact.row] = R[contact.tangents] / R[contact.row]
            sliding.append(contact)
    R = R + least_squares(A, -w, active, G if sliding else None).reactions
    w, size = A @ R + b, abs(R).max(initial=0.0)
    if abs(w * active).max(initial=0.0) > 1e-9 * speed:
        return None
    for contact in contacts:
        N, T = contact.side * R[contact.row], R[contact.tangents]
        presses = active[contact.row] > 0
        if N + 1e-12 * size < 0 or (not presses and contact.side * w[contact.row] < -1e-9 * speed):
            return None
        if contact.mu and np.hypot(*T) > contact.mu * N * (1 + 1e-7) + 1e-12 * size:
            return None
    for contact in sliding:
        if contact.slip is None and not _opposed(R[contact.tangents], w[contact.tangents]):
            return None
    return R


def _opposed(T, w) -> bool:
    """Whether friction acts against the motion."""
    return T @ w < 0 and abs(T[0] * w[1] - T[1] * w[0]) <= 1e-6 * float(np.hypot(*T) * np.hypot(*w))

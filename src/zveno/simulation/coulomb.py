"""Coulomb's law for contacts that act together: forces or impulses that push, within their friction cones.

With w = A R + b the velocities or accelerations of the rows and R = (N, T) the reactions of a contact,

    0 ≤ N ⟂ w_n ≥ 0,  |T| ≤ μ N,  T = −μ N w_t / |w_t| where w_t ≠ 0.

(μ N, T) and (w_n / μ + |w_t|, w_t) are then complementary on cones (De Saxcé and Feng 1998). With an estimate of
|w_t|, zero at first, `cones` solves that in about ten steps however close friction is to its limit. The modes that
come out (open, at rest, sliding) give equations that Newton's method solves to rounding. Where their solution obeys
the law, it is the result; otherwise |w_t| is estimated anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .cones import ConePair, complementary_pair

STOP_SPEED = 1e-5
"""A contact slower than this, m/s, may stick: its direction of sliding means nothing."""
MAX_ROUNDS = 20
"""Estimates of the speeds of sliding at most; nearly always one or two are enough."""
LAWFUL = 1e-9
"""Violation of the law, relative to the largest b and reaction, at which it is obeyed."""


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


def contact_reactions(A: Any, b: Any, held: Any, contacts: Sequence[Contact]) -> Reactions:
    """Reactions of contacts, and of the rows that hold both ways.

    Args:
        A: J M⁻¹ Jᵀ, (m, m).
        b: velocities or accelerations of the rows without reactions, (m,).
        held: rows with w = 0 whatever the sign of their reaction, (m,) booleans.
        contacts: those that push; rows of others take no part.
    """
    A, b, held = np.asarray(A, dtype=float), np.asarray(b, dtype=float), np.array(held, dtype=bool)
    rough = [contact for contact in contacts if contact.mu == np.inf]
    while True:
        holding = held.copy()
        for contact in rough:
            holding[contact.tangents] = True
        reactions = _with_held(A, b, np.flatnonzero(holding), contacts)
        lifted = [contact for contact in rough if _lifted(contact, *reactions)]
        if not lifted:
            return reactions
        rough = [contact for contact in rough if contact not in lifted]  # what leaves the ground holds nothing


def _lifted(contact: Contact, R: np.ndarray, w: np.ndarray) -> bool:
    return (
        contact.side * R[contact.row] <= 1e-9 * abs(R).max() and w[contact.row] * contact.side > 1e-9 * abs(w).max()
    )


def _with_held(A: np.ndarray, b: np.ndarray, held: np.ndarray, contacts: Sequence[Contact]) -> Reactions:
    """Reactions of contacts with finite friction; `held` are the numbers of rows that do not move."""
    # The held rows answer whatever the contacts do.
    answer = np.linalg.pinv(A[np.ix_(held, held)], rcond=1e-10, hermitian=True) if len(held) else np.zeros((0, 0))
    R = np.zeros(len(A))
    if contacts:
        S = np.zeros((len(A), 3 * len(contacts)))
        for k, contact in enumerate(contacts):
            S[contact.row, 3 * k] = contact.side
            for j, row in enumerate(contact.tangents if np.isfinite(contact.mu) else (), 1):
                S[row, 3 * k + j] = 1.0
        reduced = A - A[:, held] @ answer @ A[held]
        moves = np.diagonal(reduced) > 1e-10 * np.diagonal(A)  # the others cannot move for the held ones
        short = np.where(moves, b - A[:, held] @ answer @ b[held], 0.0)
        R = S @ _solved(S.T @ (reduced * np.outer(moves, moves)) @ S, S.T @ short, contacts)
    R[held] = -answer @ (b[held] + A[held] @ R)
    return Reactions(R, A @ R + b)


def _solved(A: np.ndarray, b: np.ndarray, contacts: Sequence[Contact]) -> np.ndarray:
    """Reactions (3 n,) of contacts with three rows each."""
    speed, mobility = float(abs(b).max()), float(np.diagonal(A).max())
    if speed == 0 or mobility == 0:
        return np.zeros(len(b))
    law = _Law(A / mobility, b.reshape(-1, 3) / speed, contacts)
    sliding, best, least = np.zeros(len(contacts)), np.zeros((len(contacts), 3)), np.inf
    last, share = np.zeros(0), 1.0
    for _ in range(MAX_ROUNDS):
        pair = law.pair(sliding)
        inner = law.reactions(pair)
        for r in (law.polished(inner, *law.modes(pair)), inner):
            violation = law.violation(r)
            if violation < least:
                best, least = r, violation
        missing = law.sliding(pair) - sliding
        if least < LAWFUL or abs(missing).max() < LAWFUL:
            break
        if len(last):  # Aitken's extrapolation, for vectors (Irons and Tuck 1969)
            change = missing - last
            share = min(max(-share * (last @ change) / max(change @ change, 1e-300), 0.5), 20.0)
        sliding, last = np.maximum(sliding + share * missing, 0.0), missing
    return best.ravel() * (speed / mobility)


class _Law:
    """Coulomb's law for reactions r (n, 3) of contacts and w = A r + b, scaled to the order of one."""

    def __init__(self, A: np.ndarray, b: np.ndarray, contacts: Sequence[Contact]):
        self.A, self.b, self.n = A, b, len(contacts)
        self.mu = np.array([contact.mu if np.isfinite(contact.mu) else 0.0 for contact in contacts])
        self.given = np.array([contact.slip is not None for contact in contacts]) | (self.mu == 0)
        """whose friction is known: a direction of sliding, or none"""
        self.slip = np.array([contact.slip or (0.0, 0.0) for contact in contacts])
        # R = Q x, and z = Pᵀ w + (|w_t|, 0, 0)
        places = np.arange(self.n)
        P, Q = (np.zeros((self.n, 3, self.n, 3)) for _ in range(2))
        P[places, 0, places, 0] = Q[places, 0, places, 0] = 1.0 / np.where(self.given, 1.0, self.mu)
        for j in (1, 2):
            P[places, j, places, j] = Q[places, j, places, j] = np.where(self.given, 0.0, 1.0)
            Q[places, j, places, 0] = np.where(self.given, -self.mu * self.slip[:, j - 1], 0.0)
        self.P, self.Q = P.reshape(A.shape), Q.reshape(A.shape)
        self.B = self.P.T @ A @ self.Q

    def pair(self, sliding: np.ndarray) -> ConePair:
        """The complementary pair where contacts slide at given speeds (n,)."""
        c = (self.P.T @ self.b.ravel()).reshape(self.n, 3)
        c[:, 0] += sliding
        return complementary_pair(self.B, c)

    def reactions(self, pair: ConePair) -> np.ndarray:
        """r (n, 3) of a pair."""
        return (self.Q @ pair.x.ravel()).reshape(self.n, 3)

    def sliding(self, pair: ConePair) -> np.ndarray:
        """Speeds of sliding (n,) of a pair."""
        return np.hypot(*pair.z[:, 1:].T)

    def modes(self, pair: ConePair) -> tuple[np.ndarray, np.ndarray]:
        """(which contacts are closed, which of them are at rest), (n,) booleans each.

        Of the two numbers of a cone's boundary, x₀ ± |x_t|, one vanishes where that of z does not.
        """
        x, z = pair.x, pair.z
        x_t, z_t = np.hypot(*x[:, 1:].T), np.hypot(*z[:, 1:].T)
        closed = x[:, 0] + x_t > z[:, 0] - z_t
        return closed, closed & ~self.given & (z[:, 0] + z_t < x[:, 0] - x_t)

    def w(self, r: np.ndarray) -> np.ndarray:
        """How the contacts move under r, (n, 3)."""
        return (self.A @ r.ravel()).reshape(self.n, 3) + self.b

    def polished(self, r: np.ndarray, closed: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """r (n, 3) that satisfies the equations of the modes: Newton's method, in least squares of least change."""
        n, slides = self.n, closed & ~rest & ~self.given
        A, mu = self.A.reshape(n, 3, 3 * n), self.mu
        r = np.where(closed[:, None], r, 0.0)
        for _ in range(6):
            w = self.w(r)
            F, D = np.array(r), np.eye(3 * n).reshape(n, 3, 3 * n)
            F[closed, 0], D[closed, 0] = w[closed, 0], A[closed, 0]
            F[rest, 1:], D[rest, 1:] = w[rest, 1:], A[rest, 1:]
            for k in np.flatnonzero(closed & self.given):
                F[k, 1:] += mu[k] * r[k, 0] * self.slip[k]
                D[k, 1:, 3 * k] = mu[k] * self.slip[k]
            for k in np.flatnonzero(slides):  # |w_t| T + μ N w_t = 0
                speed, (N, *T) = float(np.hypot(*w[k, 1:])), r[k]
                F[k, 1:] = speed * np.array(T) + mu[k] * N * w[k, 1:]
                D[k, 1:] = np.outer(T, w[k, 1:] @ A[k, 1:]) / max(speed, 1e-300) + mu[k] * N * A[k, 1:]
                D[k, 1:, 3 * k] += mu[k] * w[k, 1:]
                D[k, [1, 2], [3 * k + 1, 3 * k + 2]] += speed
            change = np.linalg.lstsq(D.reshape(3 * n, 3 * n), -F.ravel(), rcond=1e-10)[0]
            if not np.isfinite(change).all():
                return r
            r = r + change.reshape(n, 3)
            if abs(F).max() < 1e-13:
                break
        return r

    def violation(self, r: np.ndarray) -> float:
        """By how much r (n, 3) breaks the law."""
        w, N, T = self.w(r), r[:, 0], r[:, 1:]
        size = np.hypot(*T.T)
        normal = np.minimum(N, w[:, 0])  # the smaller one is zero
        cone = np.where(self.given, np.hypot(*(T + (self.mu * N)[:, None] * self.slip).T), size - self.mu * N)
        # A contact inside its cone, or one that cannot slide, does not move; one that slides does so against T.
        slip = np.hypot(*w[:, 1:].T)
        inside = np.minimum(self.mu * N - size, slip)
        opposed = self.mu * N * slip + (T * w[:, 1:]).sum(axis=1)
        free = ~self.given
        parts = (abs(normal), np.maximum(cone, 0.0), np.where(free, inside, 0.0), np.where(free, opposed, 0.0))
        return float(np.max(parts))

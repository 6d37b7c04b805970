"""Friction at rest: which contacts hold and which begin to slide, whichever way redundant ones share their load.

Contacts at rest along the ground take the tangential forces of greatest dissipation: with normals N given, the
forces within the discs |T| ≤ μ N that leave the least tangential acceleration, which is a convex problem. Where
that acceleration is zero the contact holds; elsewhere it slides, along the acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .inputs import Sliding
from .redundancy import least_squares

STOP_SPEED = 1e-5
"""A contact slower than this, m/s, may stick: its direction of sliding means nothing."""
STILL = 1e-8
"""An acceleration, m/s², that counts as none."""
_SWEEPS, _ROUNDS = 3000, 60


class Rest(NamedTuple):
    """Reactions with friction at rest."""

    R: np.ndarray
    """(m,)"""
    a: np.ndarray
    """tangential accelerations of the contacts at rest, (contacts, 2)"""


def at_rest(A, short, active, G, contacts: Sequence[Sliding]) -> Rest:
    """Reactions where the given contacts are at rest along the ground.

    Args:
        A: J M⁻¹ Jᵀ, (m, m).
        short: what the accelerations without reactions miss of the wanted ones, (m,).
        active: ones and zeros, (m,); the tangents of the contacts at rest are taken as active.
        G: of the contacts that slide (`redundancy.sliding_map`), or None.
        contacts: those at rest.
    """
    rows = np.array([[one.row + 1, one.row + 2] for one in contacts], dtype=int).reshape(-1, 2)
    flat = rows.ravel()
    others = np.array(active, dtype=float)
    others[flat] = 0.0
    free = least_squares(A, short * others, others, G).reactions
    # The others answer a tangential force at once, so that they see none of it.
    answer = np.zeros((len(A), len(flat)))
    for k, row in enumerate(flat):
        answer[:, k] = least_squares(A, -A[:, row] * others, others, G).reactions
        answer[row, k] += 1.0
    mobility, start = (A @ answer)[flat], (A @ free - short)[flat]
    normals = np.array([one.row for one in contacts], dtype=int)
    mu = np.array([one.mu for one in contacts])
    # Where all can hold at once this is the answer, but for forces beyond their discs.
    T = -np.linalg.lstsq(mobility, start, rcond=1e-9)[0] if len(flat) else np.zeros(0)
    for _ in range(_ROUNDS):
        radius = mu * np.maximum((free + answer @ T)[normals], 0.0)
        before, T = T, _dissipating(mobility, start, radius, T)
        if abs(T - before).max(initial=0.0) <= 1e-10 * max(abs(T).max(initial=0.0), 1e-300):
            break
    return Rest(free + answer @ T, (mobility @ T + start).reshape(-1, 2))


def _dissipating(mobility, start, radius, T):
    """T within discs that minimises ½ TᵀB T + Tᵀ start, by projected gradients with momentum and restarts."""
    if not len(T):
        return T
    weight = 1.0 / max(float(np.linalg.norm(mobility, 2)), 1e-300)
    T = ahead = _within(T, radius)
    momentum = 1.0
    for _ in range(_SWEEPS):
        new = _within(ahead - weight * (mobility @ ahead + start), radius)
        step = new - T
        if abs(step).max() <= 1e-14 * max(float(radius.max()), 1e-300) or abs(mobility @ new + start).max() < STILL:
            return new
        # Momentum that points back is dropped.
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) if (ahead - new) @ step <= 0 else 1.0
        ahead = new + max(momentum - 1.0, 0.0) / grown * step if grown > 1.0 else new
        T, momentum = new, grown
    return T


def _within(T, radius):
    """T (2n,) cut to discs."""
    pairs = T.reshape(-1, 2)
    length = np.hypot(pairs[:, 0], pairs[:, 1])
    return (pairs * np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]).ravel()

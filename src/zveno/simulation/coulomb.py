"""Friction at rest: which contacts hold and which begin to slide, whichever way redundant ones share their load.

Contacts at rest along the ground take the tangential forces of greatest dissipation: with normals N given, the
forces within the discs |T| ≤ μ N that leave the least tangential acceleration, which is a convex problem. Where
that acceleration is zero the contact holds; elsewhere it slides, along the acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .equations import Sliding
from .redundancy import least_squares

STOP_SPEED = 1e-5
"""A contact slower than this, m/s, may stick: its direction of sliding means nothing."""
_SWEEPS, _ROUNDS = 2000, 60


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
    T, size = np.zeros(len(flat)), 1e-300
    for _ in range(_ROUNDS):
        radius = mu * np.maximum((free + answer @ T)[normals], 0.0)
        before, T = T, _dissipating(mobility, start, radius, T)
        size = max(size, abs(T).max(initial=0.0))
        if abs(T - before).max(initial=0.0) <= 1e-12 * size:
            break
    return Rest(free + answer @ T, (mobility @ T + start).reshape(-1, 2))


def _dissipating(mobility, start, radius, T):
    """T within discs that minimises ½ TᵀB T + Tᵀ start, contact by contact."""
    T = T.copy()
    blocks = [slice(2 * i, 2 * i + 2) for i in range(len(radius))]
    stiff = [max(float(np.trace(mobility[at, at])), 1e-300) for at in blocks]
    scale = max(float(radius.max(initial=0.0)), 1e-300)
    for _ in range(_SWEEPS):
        change = 0.0
        for at, bound, weight in zip(blocks, radius, stiff, strict=True):
            new = T[at] - (mobility[at] @ T + start[at]) / weight
            length = float(np.hypot(*new))
            if length > bound:
                new *= bound / length
            change = max(change, float(abs(new - T[at]).max()))
            T[at] = new
        if change <= 1e-13 * scale:
            break
    return T

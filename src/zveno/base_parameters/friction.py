"""Friction of joints that a loop ties together: the only place where frictions merge with one another.

Friction is odd in the velocities where all else is even, and viscous friction grows with them where Coulomb
friction does not, so each is a problem of its own. With joint rates q̇ = G u̇, viscous friction shows as
Σ F_e G_eᵀG_e and Coulomb friction as Σ F_e G_eᵀ sign(G_e u̇): joints whose rates stay in
proportion cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algorithms.regressor import DRIVE_PARAMETER_NAMES
from ..mechanism import Mechanism
from .blocks import Solved, solve_dense
from .drives import driven_coordinates, side_by_side
from .floating import r_factor

DIRECTIONS = 8
"""Directions of the independent velocities that signs are taken at, in every state."""


def tied_frictions(
    mechanism: Mechanism, kinds: Sequence[str], rates: Sequence[np.ndarray], rng: np.random.Generator
) -> tuple[list[int], Solved | None]:
    """Columns of the frictions in loops, and which of them are independent; `rates` (S, n_v, m) of every loop."""
    columns: list[int] = []
    solved: list[Solved] = []
    driven = driven_coordinates(mechanism)
    for G in rates:
        moving = [v for v in driven if G[:, v].any()]
        for kind, rows in (("viscous", _viscous), ("coulomb", _coulomb)):
            if kind in kinds and moving:
                columns += [DRIVE_PARAMETER_NAMES.index(kind) * mechanism.n_v + v for v in moving]
                solved.append(solve_dense(r_factor(rows(G[:, moving], rng))))
    if not solved:
        return columns, None
    pivots, Y = side_by_side(*solved)
    return columns, Solved(pivots, Y, np.zeros((0, 0)), np.zeros(0))


def tied_velocities(mechanism: Mechanism, rates: Sequence[np.ndarray]) -> list[int]:
    """Velocity coordinates that move in some loop."""
    return [v for v in range(mechanism.n_v) if any(G[:, v].any() for G in rates)]


def _viscous(G: np.ndarray, rng) -> np.ndarray:
    """(rows, joints): the damping matrix of every joint's friction, entry by entry."""
    return np.einsum("sex,sey->sxye", G, G).reshape(-1, G.shape[1]) / np.sqrt(len(G))


def _coulomb(G: np.ndarray, rng) -> np.ndarray:
    u = rng.normal(size=(DIRECTIONS, G.shape[2]))
    signs = np.sign(np.einsum("sex,dx->sde", G, u))
    return np.einsum("sex,sde->sdxe", G, signs).reshape(-1, G.shape[1]) / np.sqrt(len(G))

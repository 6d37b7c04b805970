"""Impacts: the jump of velocity when a constraint closes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .equations import Equations, Inputs
from .redundancy import least_squares


class Impact(NamedTuple):
    """Velocities after an impact."""

    v: np.ndarray
    """(n_v,)"""
    impulses: np.ndarray
    """(m,), N·s or N·m·s, with the sign and axes of the reactions; zero for rows that take no part"""
    energy: float
    """change of kinetic energy, J, never positive for restitution of at most 1"""


def impact(equations: Equations, t: float, y, inputs: Inputs, restitution, pushing=()) -> Impact:
    """M (v⁺ − v⁻) = Jᵀ Λ with φ̇⁺ = −e φ̇⁻ on the active rows, in least squares where they are redundant.

    Args:
        equations: of the run; the rows that take part are those active in `inputs.c`.
        t, y: time and state (n_y,) before the impact.
        restitution: e, (m,): 0 for rows that are to move no more, such as those already closed.
        pushing: (row, sign) of rows whose impulse must not have the other sign; those that would have to pull
            are left out, the worst first.
    """
    _, W, A, J, _, rate, _ = equations.terms(t, y, *inputs.arrays())
    v = np.asarray(y)[equations.v]
    active = np.array(inputs.c[1 : 1 + equations.n_rows])
    pushing = dict(pushing)
    while True:
        found = least_squares(A, -(1.0 + np.asarray(restitution)) * rate, active)
        pulls = {row: sign * found.reactions[row] for row, sign in pushing.items() if active[row]}
        worst = min(pulls, key=pulls.__getitem__, default=None)
        if worst is None or pulls[worst] >= -1e-12 * (1.0 + abs(found.reactions).max()):
            break
        # The whole constraint lets go, tangents with their normal.
        rows = next(at for at in equations.row_slices if at.start <= worst < at.stop)
        active[rows] = 0.0
    jump = W @ found.reactions
    after = v + jump
    # Λᵀ J (v⁺ + v⁻)/2 is the change of kinetic energy.
    return Impact(after, found.reactions, float(0.5 * found.reactions @ (J @ (v + after))))

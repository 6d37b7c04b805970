"""Impacts: the jump of velocity when a constraint closes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .coulomb import STOP_SPEED
from .equations import Equations
from .inputs import Inputs
from .redundancy import least_squares, sliding_map


class Impact(NamedTuple):
    """Velocities after an impact."""

    v: np.ndarray
    """(n_v,)"""
    impulses: np.ndarray
    """(m,), N·s or N·m·s, with the sign and axes of the reactions; zero for rows that take no part"""
    energy: float
    """change of kinetic energy, J, never positive for restitution of at most 1"""


def impact(
    equations: Equations, t: float, y, inputs: Inputs, restitution, pushing=(), limited: bool = True
) -> Impact:
    """M (v⁺ − v⁻) = Jᵀ Λ with φ̇⁺ = −e φ̇⁻ on the active rows, in least squares where they are redundant.

    The tangential impulse of a contact with friction is at most μ times the normal one; where stopping it would
    take more, it keeps sliding in the direction in which it came.

    Args:
        equations: of the run; the rows that take part are those active in `inputs.c`.
        t, y: time and state (n_y,) before the impact.
        restitution: e, (m,): 0 for rows that are to move no more, such as those already closed.
        pushing: (row, sign) of rows whose impulse must not have the other sign; those that would have to pull
            are left out, the worst first.
        limited: whether friction bounds the tangential impulses.
    """
    _, W, A, J, _, rate, _ = equations.terms(t, y, *inputs.arrays())
    v = np.asarray(y)[equations.v]
    c = np.array(inputs.c)
    active = c[1 : 1 + equations.n_rows]
    pushing = dict(pushing)
    while True:
        found = least_squares(A, -(1.0 + np.asarray(restitution)) * rate, active, sliding_map(equations, c, rate))
        pulls = {row: sign * found.reactions[row] for row, sign in pushing.items() if active[row]}
        worst = min(pulls, key=pulls.__getitem__, default=None)
        if worst is not None and pulls[worst] < -1e-12 * (1.0 + abs(found.reactions).max()):
            # The whole constraint lets go, tangents with their normal.
            rows = next(at for at in equations.row_slices if at.start <= worst < at.stop)
            active[rows] = 0.0
        elif not (limited and _let_slide(equations, c, found.reactions, rate)):
            break
    jump = W @ found.reactions
    after = v + jump
    # Λᵀ J (v⁺ + v⁻)/2 is the change of kinetic energy.
    return Impact(after, found.reactions, float(0.5 * found.reactions @ (J @ (v + after))))


def _let_slide(equations: Equations, c, impulses, rate) -> bool:
    """Let the contact slide whose impulse is farthest beyond its friction cone; whether there was one."""
    active = c[1 : 1 + equations.n_rows]
    beyond = {}
    for one in equations.sliding:
        if active[one.row] and active[one.row + 1]:
            T = float(np.hypot(*impulses[one.row + 1 : one.row + 3]))
            excess = T - one.mu * impulses[one.row]
            if excess > 1e-9 * T:
                beyond[one] = excess
    if not beyond:
        return False
    worst = max(beyond, key=beyond.__getitem__)
    tangents = slice(worst.row + 1, worst.row + 3)
    came, T = rate[tangents], impulses[tangents]
    direction = came if np.hypot(*came) > STOP_SPEED else -T
    active[tangents] = 0.0
    c[worst.at : worst.at + 4] = (worst.mu, *(direction / np.hypot(*direction)), STOP_SPEED)
    return True

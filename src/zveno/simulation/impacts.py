"""`impact`: the jump of velocities as constraints close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..mechanism import Loop
from ..robot_functions import RobotFunctions
from ._checks import checked_state
from ._redundancy import least_squares
from .constraints import Constraint
from .dynamics import batch_settings, equations_of


class Impact(NamedTuple):
    """Velocities after an impact, for any batch."""

    v: np.ndarray
    """(..., n_v)"""
    impulses: np.ndarray
    """of the constraints' rows, (..., m), N·s or N·m·s, with the sign and axes of their reactions"""
    energy: np.ndarray
    """change of the kinetic energy, (...,), J; negative, or zero where nothing jumps"""


def impact(robot: RobotFunctions, q: ArrayLike, v: ArrayLike, constraints: Sequence[Constraint | Loop]) -> Impact:
    """Compute velocities after constraints have closed: M (v⁺ − v⁻) = Jᵀ Λ with J v⁺ = 0.

    Redundant rows are solved in least squares, with impulses of least norm. Contacts, which may let go, are not
    constraints that close: one step of time stepping takes their impacts.

    Args:
        robot: the robot; its loops take part.
        q, v: (..., n_q) and (..., n_v) before the impact.
        constraints: all of them close; see `zveno.simulation.constraints`.
    """
    q, v = checked_state(robot, q, v)
    equations, _ = equations_of(robot, tuple(constraints), False)
    if not equations.constraints:
        return Impact(v, np.zeros((*v.shape[:-1], 0)), np.zeros(v.shape[:-1]))
    settings = batch_settings(equations, q, 0.0)
    _, W, A, _, _, rate, _ = equations.terms(0.0, equations.state(q, v), np.zeros_like(v), settings)
    impulses = least_squares(A, -rate).reactions
    after = v + (W @ impulses[..., None])[..., 0]
    # With φ̇⁺ = 0 the energy changes by Λᵀ (φ̇⁻ + φ̇⁺)/2.
    return Impact(after, impulses, np.asarray(0.5 * (impulses * rate).sum(axis=-1)))

"""Document 003's equations of a machine on a floating base, in its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..algorithms import constraints as algebra
from ..errors import ModelError
from ..robot import Robot
from .constraints import Constraint
from .controllers import unactuated


class Partitioned(NamedTuple):
    """[[I_II, I_IRᵀ, −J_Iᵀ], [I_IR, I_RR, −J_Rᵀ], [J_I, J_R, 0]] [q̈_I; q̈_R; R] + [H_I; H_R; P] = [0; τ; 0].

    I stands for the floating base (the document's trunk, or a free joint), where no motor acts; R for the rest.
    """

    I_II: np.ndarray
    I_IR: np.ndarray
    I_RR: np.ndarray
    H_I: np.ndarray
    H_R: np.ndarray
    J_I: np.ndarray
    J_R: np.ndarray
    P: np.ndarray


def partitioned(robot: Robot, q, v, constraints: Sequence[Constraint] = (), t: float = 0.0) -> Partitioned:
    """The blocks at one state (n_q,), (n_v,); anchors that are not given are where the robot is."""
    mechanism = robot.mechanism
    q, v = mechanism.checked_q(q), mechanism.checked_v(v)
    free = unactuated(mechanism)
    if not free.any():
        raise ModelError(
            "it has no floating base, so that there is nothing to part",
            element=mechanism.name,
            remedy='robot.with_base("free") or with_base("trunk") gives it one',
        )
    M, H = robot.mass_matrix(q), robot.bias(q, v)
    state = algebra.Kinematics(mechanism, q, v)
    rows = algebra.stacked([one.rows(state, t, one.anchor(mechanism, q)) for one in constraints], mechanism.n_v)
    real = ~free
    return Partitioned(
        M[np.ix_(free, free)],
        M[np.ix_(real, free)],
        M[np.ix_(real, real)],
        H[free],
        H[real],
        rows.J[:, free],
        rows.J[:, real],
        rows.bias,
    )

"""Derivatives of constrained dynamics: accelerations and reactions by q, v and τ.

With M a + H − JᵀR = τ and J a + P = 0, the residuals of both equations for changed q or v and fixed a and R are
g = ∂(M a + H)/∂x − ∂(JᵀR)/∂x and c = ∂(J a + P)/∂x; then

    [[M, −Jᵀ], [J, 0]] [∂a; ∂R] = −[g; c].

∂(M a + H) are the derivatives of inverse dynamics by composite bodies; constraint rows of any type are
differentiated on the tape. All of it is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import linear
from ..algorithms.drives import FRICTION_SMOOTHING, friction_slope
from ..algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from ..errors import ZvenoError
from ..kernels.compile import compiled_program
from ..kernels.derivatives import jacobian
from ..kernels.kernel import Kernel
from ..kernels.program import Program
from ..kernels.trace import call, trace
from ..mechanism import Loop
from ..robot_functions import RobotFunctions
from .constraints import Constraint
from .dynamics import constrained_dynamics, equations_of, is_open
from .equations import Equations
from .inputs import QUALITY


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of accelerations a (n_v,) and reactions R (m,), by q in its tangent, with fixed anchors."""

    da_dq: np.ndarray
    """(..., n_v, n_v)"""
    da_dv: np.ndarray
    """(..., n_v, n_v)"""
    da_dtau: np.ndarray
    """(..., n_v, n_v)"""
    dreactions_dq: np.ndarray
    """(..., m, n_v)"""
    dreactions_dv: np.ndarray
    """(..., m, n_v)"""
    dreactions_dtau: np.ndarray
    """(..., m, n_v)"""


def constrained_dynamics_derivatives(
    robot: RobotFunctions,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint | Loop],
    *,
    t: float = 0.0,
    stabilization: float = 0.0,
    joint_friction: bool = False,
) -> ConstrainedDerivatives:
    """Compute the derivatives of `constrained_dynamics` by q (in its tangent), v and τ, for any batch.

    Anchors that are not given are taken at each state and then fixed: a foot that stands at q stays there, and does
    not move with q.

    Args:
        robot: the robot.
        q, v, tau: (..., n_q), (..., n_v), (..., n_v).
        constraints: all of them act, with the robot's loops.
        t: time, s, for constraints that move.
        stabilization: as in `simulate`.
        joint_friction: True if the drives' friction acts.

    Raises:
        ZvenoError: rows of constraints follow from others: their reactions are not unique and have no derivatives.
            Or the state violates the constraints. Redundant rows of the robot's own loops bear nothing.
    """
    equations, given = equations_of(robot, tuple(constraints), joint_friction)
    with np.errstate(all="ignore"):  # redundant rows divide by zero, and are refused below
        *slopes, value, quality = _kernel(equations)(t, stabilization, q, v, tau, *given)
    given_states = [np.isfinite(np.asarray(x, dtype=float)).all(axis=-1) for x in (q, v, tau)]
    if np.any(~(quality > QUALITY) & np.logical_and.reduce(np.broadcast_arrays(*given_states))):
        redundant = constrained_dynamics(
            robot, q, v, tau, constraints, t=t, stabilization=stabilization, joint_friction=joint_friction
        ).redundant
        raise ZvenoError(
            f"some follow from others ({', '.join(redundant)}), and their reactions have no derivatives",
            element="constraints",
            remedy="Leave out what is redundant: a Weld instead of several BallJoints of one body",
        )
    if is_open(value):
        raise ZvenoError(
            f"the state violates them by {abs(value).max():.3g} m or rad",
            element="constraints",
            remedy="Give a state that satisfies them: simulate(duration=0) moves one onto them",
        )
    return ConstrainedDerivatives(*slopes)


@lru_cache(maxsize=32)
def _kernel(equations: Equations) -> Kernel:
    """Return the kernel (t, k, q, v, τ, given anchors) → six derivatives, violation and quality of the rows."""
    return compiled_program(trace(*derivatives_and_inputs(equations), name="constrained_dynamics_derivatives"))


def derivatives_and_inputs(equations: Equations) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]]]:
    """Return the traced function of one state for the kernel, and the shapes of its inputs."""
    mechanism, held = equations.mechanism, _held_equations(equations)

    def run(t, k, q, v, tau, given=()):
        anchors = equations.anchors_at(q, given)
        c = np.concatenate([np.array([k]), anchors])
        _, acting, _ = equations.forces(t, q, v, None, tau)
        a, R, value, _, quality, J = equations.solved(t, q, v, acting, c)
        pulled_by_q, pulled_by_v, rows_by_q, rows_by_v = call(held, t, k, q, v, a, R, anchors)
        tangent, solved = mechanism.tangent(q), list(equations.solved_rows)
        torque_by_q, torque_by_v, M = inverse_dynamics_derivatives(equations.dynamic, q, v, a)
        if equations.friction:
            torque_by_v = torque_by_v + np.diag(friction_slope(mechanism, v, FRICTION_SMOOTHING))
        return (
            *_solved(
                linear.inverse(M),
                J[solved],
                torque_by_q - pulled_by_q @ tangent,
                torque_by_v - pulled_by_v,
                (rows_by_q @ tangent)[solved],
                rows_by_v[solved],
                equations.solved_rows,
                equations.n_rows,
            ),
            value,
            quality,
        )

    inputs: dict[str, tuple[int, ...]] = {"t": (), "k": (), "q": (mechanism.n_q,), "v": (mechanism.n_v,)}
    inputs["tau"] = (mechanism.n_v,)
    if len(equations.given_anchors):
        inputs["given"] = equations.given_anchors.shape
    return run, inputs


def _solved(
    M_inverse: Any, J: Any, g_q: Any, g_v: Any, c_q: Any, c_v: Any, rows: tuple[int, ...], n_rows: int
) -> tuple[Any, ...]:
    """Return the six derivatives, by ∂a/∂τ = M⁻¹ − M⁻¹Jᵀ Λ J M⁻¹ and ∂R/∂τ = −Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹.

    J and c_q, c_v are those of the solved `rows` of n_rows.
    """
    m = len(J)
    if not m:
        none = np.zeros((n_rows, len(M_inverse)))
        return -(M_inverse @ g_q), -(M_inverse @ g_v), M_inverse, none, none, none
    W = M_inverse @ J.T
    compliance = linear.inverse(J @ W)
    reaction = compliance @ W.T
    mobility = linear.symmetric(M_inverse - W @ reaction)
    return (
        -(mobility @ g_q) - reaction.T @ c_q,
        -(mobility @ g_v) - reaction.T @ c_v,
        mobility,
        *(
            _spread(part, rows, n_rows)
            for part in (reaction @ g_q - compliance @ c_q, reaction @ g_v - compliance @ c_v, -reaction)
        ),
    )


def _spread(part: Any, rows: tuple[int, ...], n_rows: int) -> np.ndarray:
    """Return derivatives of all reactions: zero for rows that are not solved."""
    whole = np.zeros((n_rows, part.shape[1]), dtype=part.dtype)
    whole[list(rows)] = part
    return whole


def _held_equations(equations: Equations) -> Program:
    """Return ∂(JᵀR) and ∂(J a + P + 2k φ̇ + k² φ) by q and v, with fixed a, R and anchors: four arrays."""
    mechanism, n_c = equations.mechanism, equations.n_c - 1

    def run(t, k, q, v, a, R, anchors):
        c = np.concatenate([np.array([k]), np.asarray(anchors)])
        rows = equations.rows(t, q, v, c)
        rate = rows.J @ v + rows.rate
        return rows.J.T @ R, rows.J @ a + rows.bias + 2.0 * k * rate + k * k * rows.value

    shapes = {"t": (), "k": (), "q": (mechanism.n_q,), "v": (mechanism.n_v,), "a": (mechanism.n_v,)}
    shapes |= {"R": (equations.n_rows,), "anchors": (n_c,)}
    program = trace(run, shapes, outputs=("pulled", "rows"))
    return jacobian(program, wrt=("q", "v"))

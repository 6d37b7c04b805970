"""Derivatives of constrained dynamics: how accelerations and reactions change with q, v and τ.

With M a + H − JᵀR = τ and J a + P = 0, what remains of both equations when q or v change while a and R are held is
g = ∂(M a + H)/∂x − ∂(JᵀR)/∂x and c = ∂(J a + P)/∂x; then

    [[M, −Jᵀ], [J, 0]] [∂a; ∂R] = −[g; c].

∂(M a + H) are the derivatives of inverse dynamics by composite bodies; the rows of constraints, whatever they are,
are differentiated on the tape. All of it is one kernel.
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
from ..kernels.derivatives import jacobian
from ..kernels.door import compiled_program
from ..kernels.kernel import Kernel
from ..kernels.program import Program
from ..kernels.trace import call, trace
from ..robot_functions import RobotFunctions
from .constraints import Constraint
from .dynamics import constrained_dynamics, equations_of
from .equations import Equations
from .inputs import QUALITY


class ConstrainedSlopes(NamedTuple):
    """Derivatives of accelerations a (n_v,) and reactions R (m,), by q in its tangent; anchors are held."""

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
    constraints: Sequence[Constraint],
    *,
    t: float = 0.0,
    stabilization: float = 0.0,
    friction: bool = False,
) -> ConstrainedSlopes:
    """Derivatives of what `constrained_dynamics` gives, by q (in its tangent), v and τ, for any batch.

    Anchors that are not given are at each state's own place, and stay there: a foot that stands at q is held where
    it stands, not where a changed q would put it.

    Args:
        robot: the robot.
        q, v, tau: (..., n_q), (..., n_v), (..., n_v).
        constraints: all of them act, with the robot's loops.
        t: time, s, for constraints that move.
        stabilization: as in `simulate`.
        friction: whether the drives' friction acts.

    Raises:
        ZvenoError: rows of constraints follow from others: their reactions are not unique and have no derivatives.
    """
    equations, given = equations_of(robot, tuple(constraints), friction)
    with np.errstate(all="ignore"):  # redundant rows divide by zero, and are refused below
        *slopes, quality = _kernel(equations)(t, stabilization, q, v, tau, *given)
    if np.any(quality <= QUALITY):  # a state that is not finite has no quality, and stays so
        redundant = constrained_dynamics(
            robot, q, v, tau, constraints, t=t, stabilization=stabilization, friction=friction
        ).redundant
        raise ZvenoError(
            f"some follow from others ({', '.join(redundant)}), and their reactions have no derivatives",
            element="constraints",
            remedy="Leave out what is redundant: a Weld instead of many PointContacts of one body",
        )
    return ConstrainedSlopes(*slopes)


@lru_cache(maxsize=32)
def _kernel(equations: Equations) -> Kernel:
    """(t, k, q, v, τ, given anchors) → the six derivatives and the quality of the rows."""
    return compiled_program(trace(*derivatives_and_inputs(equations), name="constrained_dynamics_derivatives"))


def derivatives_and_inputs(equations: Equations) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]]]:
    """What the kernel is traced from: the function of one state, and the shapes of its inputs."""
    mechanism, held = equations.mechanism, _held_equations(equations)

    def run(t, k, q, v, tau, given=()):
        anchors = equations.anchors_at(q, given)
        c = np.concatenate([np.array([k]), np.ones(equations.n_rows), anchors])
        _, acting, _ = equations.forces(t, q, v, None, tau)
        a, R, _, _, quality, J = equations.solved(t, q, v, acting, c)
        pulled_by_q, pulled_by_v, rows_by_q, rows_by_v = call(held, t, k, q, v, a, R, anchors)
        tangent = mechanism.tangent(q)
        torque_by_q, torque_by_v, M = inverse_dynamics_derivatives(equations.dynamic, q, v, a)
        if equations.friction:
            torque_by_v = torque_by_v + np.diag(friction_slope(mechanism, v, FRICTION_SMOOTHING))
        return *_solved(
            linear.inverse(M),
            J,
            torque_by_q - pulled_by_q @ tangent,
            torque_by_v - pulled_by_v,
            rows_by_q @ tangent,
            rows_by_v,
        ), quality

    inputs: dict[str, tuple[int, ...]] = {"t": (), "k": (), "q": (mechanism.n_q,), "v": (mechanism.n_v,)}
    inputs["tau"] = (mechanism.n_v,)
    if len(equations.given_anchors):
        inputs["given"] = equations.given_anchors.shape
    return run, inputs


def _solved(M_inverse: Any, J: Any, g_q: Any, g_v: Any, c_q: Any, c_v: Any) -> tuple[Any, ...]:
    """The six derivatives: ∂a/∂τ = M⁻¹ − M⁻¹Jᵀ Λ J M⁻¹ and ∂R/∂τ = −Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹ give the rest."""
    m = len(J)
    if not m:
        none = np.zeros((0, len(M_inverse)))
        return -(M_inverse @ g_q), -(M_inverse @ g_v), M_inverse, none, none, none
    W = M_inverse @ J.T
    compliance = linear.inverse(J @ W)
    reaction = compliance @ W.T
    mobility = linear.symmetric(M_inverse - W @ reaction)
    return (
        -(mobility @ g_q) - reaction.T @ c_q,
        -(mobility @ g_v) - reaction.T @ c_v,
        mobility,
        reaction @ g_q - compliance @ c_q,
        reaction @ g_v - compliance @ c_v,
        -reaction,
    )


def _held_equations(equations: Equations) -> Program:
    """∂(JᵀR) and ∂(J a + P + 2k φ̇ + k² φ) by q and v, with a, R and anchors held: four arrays."""
    mechanism, n_c = equations.mechanism, equations.n_c - 1 - equations.n_rows

    def run(t, k, q, v, a, R, anchors):
        c = np.concatenate([np.array([k]), np.ones(equations.n_rows), np.asarray(anchors)])
        rows = equations.rows(t, q, v, c)
        rate = rows.J @ v + rows.rate
        return rows.J.T @ R, rows.J @ a + rows.bias + 2.0 * k * rate + k * k * rows.value

    shapes = {"t": (), "k": (), "q": (mechanism.n_q,), "v": (mechanism.n_v,), "a": (mechanism.n_v,)}
    shapes |= {"R": (equations.n_rows,), "anchors": (n_c,)}
    program = trace(run, shapes, outputs=("pulled", "rows"))
    return jacobian(program, wrt=("q", "v"))

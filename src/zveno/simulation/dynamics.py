"""`constrained_dynamics`: accelerations and reactions under constraints, for any batch of states.

In trees with hundreds of bodies, one kernel of all rows would be as long as the tree. Poses, motions, forward
dynamics and M⁻¹ Jᵀ then come from functions that loop over the bodies; the rows of the constraints, which depend
on a few links only, are computed with NumPy.

Derivatives by q, v and τ follow from the equations themselves. With M a + H − JᵀR = τ and J a + P = 0, the
residuals of both equations for changed q or v and fixed a and R are g = ∂(M a + H)/∂x − ∂(JᵀR)/∂x and c = ∂(J a +
P)/∂x; then

    [[M, −Jᵀ], [J, 0]] [∂a; ∂R] = −[g; c].

∂(M a + H) are the derivatives of inverse dynamics by composite bodies; constraint rows of any type are
differentiated on the tape. All of it is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import programs
from ..algorithms import constraints as algebra
from ..algorithms import linear
from ..algorithms.drives import FRICTION_SMOOTHING, friction_slope
from ..algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from ..algorithms.motion import Motion
from ..algorithms.springs import has_springs, spring_torque
from ..errors import ModelError, ZvenoError
from ..io.results import registered
from ..kernels.compile import compiled_program
from ..kernels.derivatives import jacobian
from ..kernels.kernel import Kernel
from ..kernels.program import Program
from ..kernels.trace import call, trace
from ..loops.selection import selection
from ..mechanism import Loop
from ..programs import has_many_bodies
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ._checks import bilateral_constraints
from ._equations import Equations
from ._layout import QUALITY, Inputs
from ._redundancy import CONTRADICTION, DEPENDENT, contradictions, least_squares, named, robust_rate
from .constraints import Constraint, as_constraint
from .contact import Contact
from .control import as_control

# --- trees with hundreds of bodies


class _Solved(NamedTuple):
    """Accelerations and reactions of a batch, with minimum-norm reactions where rows are dependent."""

    a: np.ndarray
    """(..., n_v)"""
    reactions: np.ndarray
    """(..., m)"""
    value: np.ndarray
    """φ, (..., m)"""
    rate: np.ndarray
    """φ̇, (..., m)"""
    redundant: np.ndarray
    """mask of dependent rows, (..., m)"""
    contradicting: np.ndarray
    """mask of rows that contradict others, (..., m)"""
    gap: np.ndarray
    """see `redundancy.LeastSquares`, (...,)"""


def large_tree_rows(
    robot: RobotFunctions, q: ArrayLike, v: ArrayLike, constraints: Sequence[Constraint], t: float
) -> algebra.Rows:
    """Return the rows of all constraints at one state (n_q,), (n_v,), from compiled poses and motions."""
    mechanism = robot.mechanism
    q, v = mechanism.checked_q(q), mechanism.checked_v(v)
    twists = robot.kernel("link_velocities")(q, v)
    accelerations = robot.kernel("link_accelerations")(q, v, np.zeros(mechanism.n_v))
    poses = np.asarray(robot.link_poses(q))
    R = poses[:, :3, :3]
    v_w, w_w, a_w, e_w = (
        (R @ part[..., None])[..., 0]
        for part in (twists[:, :3], twists[:, 3:], accelerations[:, :3], accelerations[:, 3:])
    )
    motions = [Motion(*parts) for parts in zip(v_w, w_w, a_w, e_w, strict=True)]
    state = algebra.Kinematics(mechanism, q, v, list(poses), motions)
    parts = [constraint.rows(state, t, constraint.anchor(mechanism, q)) for constraint in constraints]
    return algebra.stacked(parts, mechanism.n_v)


def solve_large_tree(
    robot: RobotFunctions,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    t: float,
    stabilization: float,
    joint_friction: bool,
) -> _Solved:
    """Solve the equations of `constrained_dynamics` for a batch of states."""
    mechanism = robot.mechanism
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    q, v, tau = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, v, tau))
    rows = [large_tree_rows(robot, q[at], v[at], constraints, t) for at in np.ndindex(*shape)]
    m = len(rows[0].value) if rows else 0
    value, J, rate, bias = (
        np.array([part[k] for part in rows]).reshape(*shape, m, *(() if k != 1 else (mechanism.n_v,)))
        for k in range(4)
    )
    if has_springs(mechanism):
        tau = tau + np.apply_along_axis(lambda state: spring_torque(mechanism, state), -1, q)
    free = np.asarray(robot.forward_dynamics(q, v, tau, joint_friction=joint_friction))
    W = programs.mass_solver(mechanism)(q, np.swapaxes(J, -1, -2))
    speed = _times(J, v) + rate
    short = -(bias + _times(J, free))
    wanted = short - 2.0 * stabilization * speed - stabilization**2 * value
    A = J @ W
    solved = least_squares(0.5 * (A + np.swapaxes(A, -1, -2)), wanted)
    residual = least_squares(A, short).residual if not np.isinf(solved.gap).all() else np.zeros_like(short)
    limit = CONTRADICTION * (1.0 + abs(short).max(axis=-1, keepdims=True, initial=0.0))
    a = free + _times(W, solved.reactions)
    return _Solved(a, solved.reactions, value, speed, solved.null > DEPENDENT, abs(residual) > limit, solved.gap)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]


# --- accelerations and reactions

_CLEAR_GAP = 1e3
"""Smallest ratio of nonzero to zero eigenvalues for which the rank is clear."""
_SMALLEST_GAP = 1e-16
"""Ratio of singular values that is rounding."""
_OPEN = 1e-6
"""Largest violation, m or rad, of a state that satisfies its constraints."""


def _is_open(violation: np.ndarray) -> bool:
    """Return True if any state of a batch violates its constraints."""
    return bool(abs(violation).max(initial=0.0) > _OPEN)


ConstrainedStatus = Literal["solved", "redundant", "nearly singular", "inconsistent", "open"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedMotion(Result):
    """Accelerations and reactions under constraints, for any batch.

    Attributes:
        a: (..., n_v).
        reactions: (..., m); they act on the first frame of each constraint.
        violation: φ, (..., m); violation_rate: φ̇, (..., m).
        names: of the rows, (m,).
        redundant: constraints that follow from others somewhere in the batch. Rows of the robot's loops that do so
            bear nothing; of other constraints, reactions are those of least norm.
        inconsistent: constraints that contradict others; accelerations are then those of least squares.
        gap: clarity of the rank of the rows: the smallest nonzero eigenvalue of J M⁻¹ Jᵀ over the largest one that
            counts as zero, minimum over the batch; infinite at full rank.
    """

    a: np.ndarray
    reactions: np.ndarray
    violation: np.ndarray
    violation_rate: np.ndarray
    names: tuple[str, ...]
    redundant: tuple[str, ...] = ()
    inconsistent: tuple[str, ...] = ()
    gap: float = np.inf

    kind = "constrained dynamics"

    @property
    def summary(self) -> str:
        """Summary in one sentence."""
        states = int(np.prod(self.a.shape[:-1]))
        largest = abs(self.reactions).max(initial=0.0)
        rows = f"{len(self.names)} rows of constraints"
        why = f"{self.status}: {self.reason}" if self.reason else self.status
        return f"{why}: {states} state(s), {rows}, reactions up to {largest:.4g}"

    @property
    def status(self) -> ConstrainedStatus:
        """ "solved", or the fault of the constraints.

        Redundant: reactions are not unique. Nearly singular: the rank of the rows is not clear. Inconsistent: no
        acceleration satisfies all constraints. Open: the state violates them. `reason` names the constraints.
        """
        if _is_open(self.violation):
            return "open"
        if self.inconsistent:
            return "inconsistent"
        if self.gap < _CLEAR_GAP:
            return "nearly singular"
        return "redundant" if self.redundant else "solved"

    @property
    def reason(self) -> str:
        """The constraints at fault; empty if the status is "solved"."""
        match self.status:
            case "open":
                worst = int(abs(self.violation).reshape(-1, len(self.names)).max(axis=0).argmax())
                return f"the state violates {self.names[worst]} by {abs(self.violation).max():.3g} m or rad"
            case "inconsistent":
                return ", ".join(self.inconsistent)
            case "nearly singular":
                return f"the rank of {', '.join(self.redundant)} is not clear"
            case _:
                return ", ".join(self.redundant)

    def describe(self) -> Description:
        """Return the description that text and pages show."""
        from ._describe import describe_constrained

        return describe_constrained(self)


def constrained_dynamics(
    robot: RobotFunctions,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint | Loop],
    *,
    t: float = 0.0,
    stabilization: float = 0.0,
    joint_friction: bool = False,
) -> ConstrainedMotion:
    """Compute accelerations and reactions from [[M, −Jᵀ], [J, 0]] [a; R] + [H; P] = [τ; 0] (document 003).

    Args:
        robot: the robot.
        q, v, tau: (..., n_q), (..., n_v), (..., n_v).
        constraints: all of them act. Anchors that are not given are taken at each state.
        t: time, s, for constraints that move.
        stabilization: as in `simulate`.
        joint_friction: True if the drives' friction acts.
    """
    equations, given = equations_of(robot, tuple(constraints), joint_friction)
    if has_many_bodies(robot.mechanism):
        solved = solve_large_tree(robot, q, v, tau, equations.constraints, t, stabilization, joint_friction)
        return ConstrainedMotion(
            solved.a,
            solved.reactions,
            solved.value,
            solved.rate,
            equations.row_names,
            redundant=named(equations, solved.redundant),
            inconsistent=named(equations, solved.contradicting),
            gap=float(np.min(solved.gap, initial=np.inf)),
        )
    with np.errstate(all="ignore"):  # dependent rows divide by zero, and are solved below
        a, reactions, value, speed, quality = equations.direct(t, stabilization, q, v, tau, *given)
    solution = ConstrainedMotion(a, reactions, value, speed, equations.row_names)
    # The kernel's own pivots tell if the solution was regular.
    regular = quality > QUALITY
    if regular if quality.ndim == 0 else regular.all():  # `all` of a single number takes a microsecond
        return solution if len(equations.solved_rows) == equations.n_rows else _with_redundant(solution, equations)
    return _repaired(solution, equations, t, stabilization, q, v, tau, quality)


def evaluate_constraints(
    robot: RobotFunctions, q: ArrayLike, v: ArrayLike, constraints: Sequence[Constraint | Loop], t: float = 0.0
) -> algebra.Rows:
    """Return values, Jacobian J (m, n_v) and bias P (m,) of constraints at one state (n_q,), (n_v,).

    Anchors that are not given are taken at q.
    """
    return large_tree_rows(robot, q, v, bilateral_constraints(robot, constraints), t)


def _with_redundant(solution: ConstrainedMotion, equations: Equations) -> ConstrainedMotion:
    """Return the solution with the names of loops that have rows that follow from others, and bear nothing."""
    flags = np.zeros(equations.n_rows, dtype=bool)
    flags[list(equations.checked_rows)] = True
    gap = 1.0 / max(selection(equations.mechanism).gap, _SMALLEST_GAP)
    return replace(solution, redundant=named(equations, flags), gap=gap)


def _repaired(solution: ConstrainedMotion, equations: Equations, t, k, q, v, tau, quality) -> ConstrainedMotion:
    """Return the solution with minimum-norm reactions and named faults where rows are dependent."""
    mechanism, shape = equations.mechanism, np.shape(quality)
    q, v, tau = (
        np.broadcast_to(np.asarray(x, dtype=float), (*shape, n))
        for x, n in ((q, mechanism.n_q), (v, mechanism.n_v), (tau, mechanism.n_v))
    )
    y = equations.state(q, v)
    bad = ~(quality > QUALITY) & np.isfinite(y).all(axis=-1) & np.isfinite(tau).all(axis=-1)
    if not np.any(bad):
        return solution
    inputs = Inputs(tau[bad], batch_settings(equations, q, k)[bad])
    robust = robust_rate(equations, t, y[bad], inputs)
    a, reactions = np.array(solution.a), np.array(solution.reactions)
    a[bad], reactions[bad] = robust.y[..., equations.v], robust.reactions
    at_fault = contradictions(equations, t, y[bad], inputs)
    return replace(
        solution,
        a=a,
        reactions=reactions,
        redundant=named(equations, robust.redundant),
        inconsistent=at_fault,
        gap=float(robust.gap.min()),
    )


class _Hashed:
    """Constraint that compares equal to others with the same compiled equations and anchors."""

    def __init__(self, constraint: Constraint | Contact | Loop):
        constraint = as_constraint(constraint)
        if not isinstance(constraint, Constraint | Contact):
            raise ModelError(
                f"{constraint!r} is not a constraint",
                element="constraints",
                remedy="Give Weld, Hinge, BallJoint, Distance, … of zveno.simulation",
            )
        self.constraint = constraint

    def _key(self):
        return type(self.constraint), tuple(
            value.tobytes() if isinstance(value, np.ndarray) else tuple(value) if isinstance(value, list) else value
            for value in vars(self.constraint).values()
        )

    def __eq__(self, other):
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())


@lru_cache(maxsize=32)
def equations_of(
    robot: RobotFunctions, constraints: tuple[Constraint | Loop, ...], friction: bool
) -> tuple[Equations, tuple[np.ndarray, ...]]:
    """Return the equations, looked up by object identity first and then by value, and the given anchors."""
    equations = _commanded_equations(robot, tuple(_Hashed(constraint) for constraint in constraints), friction)
    given = np.zeros(0) if has_many_bodies(robot.mechanism) else equations.given_anchors
    return equations, (given,) if len(given) else ()


@lru_cache(maxsize=32)
def _commanded_equations(robot: RobotFunctions, constraints: tuple[_Hashed, ...], friction: bool) -> Equations:
    mechanism = robot.mechanism
    control = as_control(lambda t, q, v: v, mechanism)  # the torques are given as the outside command
    return Equations(
        robot, bilateral_constraints(robot, [hashed.constraint for hashed in constraints]), control, None, friction
    )


def batch_settings(equations: Equations, q: np.ndarray, k: float) -> np.ndarray:
    """Return the settings c of every configuration of a batch, (..., n_c), each anchored at its own pose."""
    c = np.full((*q.shape[:-1], equations.n_c), k)
    if equations.n_c > 1:
        c[..., 1:] = equations.anchors(q)
    return c


# --- derivatives


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
    if _is_open(value):
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

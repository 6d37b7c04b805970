"""`constrained_dynamics`: accelerations and reactions under constraints, for any batch of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constraints as algebra
from ..errors import ModelError
from ..io.results import registered
from ..loops.selection import selection
from ..mechanism import Loop
from ..programs import has_many_bodies
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from . import _large_trees
from .checks import bilateral_constraints
from .constraints import Constraint, as_constraint
from .controllers import as_control
from .equations import Equations
from .inputs import QUALITY, Inputs
from .redundancy import contradictions, named, robust_rate
from .time_stepping.contact import Contact

CLEAR_GAP = 1e3
"""Smallest ratio of nonzero to zero eigenvalues for which the rank is clear."""
SMALLEST_GAP = 1e-16
"""Ratio of singular values that is rounding."""
OPEN = 1e-6
"""Largest violation, m or rad, of a state that satisfies its constraints."""


def is_open(violation: np.ndarray) -> bool:
    """Return True if any state of a batch violates its constraints."""
    return bool(abs(violation).max(initial=0.0) > OPEN)


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
        if is_open(self.violation):
            return "open"
        if self.inconsistent:
            return "inconsistent"
        if self.gap < CLEAR_GAP:
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
        solved = _large_trees.solve(robot, q, v, tau, equations.constraints, t, stabilization, joint_friction)
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
    return _large_trees.rows_at(robot, q, v, bilateral_constraints(robot, constraints), t)


def _with_redundant(solution: ConstrainedMotion, equations: Equations) -> ConstrainedMotion:
    """Return the solution with the names of loops that have rows that follow from others, and bear nothing."""
    flags = np.zeros(equations.n_rows, dtype=bool)
    flags[list(equations.checked_rows)] = True
    gap = 1.0 / max(selection(equations.mechanism).gap, SMALLEST_GAP)
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
            raise ModelError(f"{constraint!r} is not a constraint", element="constraints")
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

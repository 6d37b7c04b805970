"""`constrained_dynamics`: accelerations and reactions under constraints, for any batch of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constraints as algebra
from ..errors import ModelError
from ..io.results import Result, registered
from ..robot_functions import RobotFunctions
from .checks import checked_constraints
from .constraints import Constraint
from .controllers import as_control
from .equations import Equations
from .inputs import QUALITY, Inputs
from .redundancy import contradictions, named, robust_rate


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Constrained(Result):
    """Accelerations and reactions under constraints, for any batch.

    Attributes:
        a: (..., n_v).
        reactions: (..., m); they act on the first frame of each constraint.
        violation: φ, (..., m); violation_rate: φ̇, (..., m).
        names: of the rows, (m,).
        redundant: constraints that follow from others somewhere in the batch; reactions are then those of least
            norm.
        inconsistent: constraints that contradict others; accelerations are then those of least squares.
    """

    a: np.ndarray
    reactions: np.ndarray
    violation: np.ndarray
    violation_rate: np.ndarray
    names: tuple[str, ...]
    redundant: tuple[str, ...] = ()
    inconsistent: tuple[str, ...] = ()

    kind = "constrained dynamics"

    @property
    def summary(self) -> str:
        """One sentence."""
        states = int(np.prod(self.a.shape[:-1]))
        largest = abs(self.reactions).max(initial=0.0)
        rows = f"{len(self.names)} rows of constraints"
        return f"{self.status}: {states} state(s), {rows}, reactions up to {largest:.4g}"

    @property
    def status(self) -> str:
        """ "solved", or which constraints are redundant or inconsistent."""
        if self.inconsistent:
            return f"inconsistent: {', '.join(self.inconsistent)}"
        return f"redundant: {', '.join(self.redundant)}" if self.redundant else "solved"


def constrained_dynamics(
    robot: RobotFunctions,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    *,
    t: float = 0.0,
    stabilization: float = 0.0,
    friction: bool = False,
) -> Constrained:
    """Accelerations and reactions from [[M, −Jᵀ], [J, 0]] [a; R] + [H; P] = [τ; 0] (document 003).

    Args:
        robot: the robot.
        q, v, tau: (..., n_q), (..., n_v), (..., n_v).
        constraints: all of them act, contacts too. Anchors that are not given are at each state's own place.
        t: time, s, for constraints that move.
        stabilization: as in `simulate`.
        friction: whether the drives' friction acts.
    """
    equations, given = equations_of(robot, tuple(constraints), friction)
    with np.errstate(all="ignore"):  # rows that depend on one another divide by zero, and are solved below
        a, reactions, value, speed, quality = equations.direct(t, stabilization, q, v, tau, *given)
    solution = Constrained(a, reactions, value, speed, equations.row_names)
    # The kernel's own pivots say where that was a regular solution.
    regular = quality > QUALITY
    if regular if quality.ndim == 0 else regular.all():  # `all` of a single number takes a microsecond
        return solution
    return _repaired(solution, equations, t, stabilization, q, v, tau, quality)


def constraint_rows(
    robot: RobotFunctions, q: ArrayLike, v: ArrayLike, constraints: Sequence[Constraint], t: float = 0.0
) -> algebra.Rows:
    """Values, Jacobian J (m, n_v) and bias P (m,) of constraints at one state (n_q,), (n_v,).

    Anchors that are not given are where the robot is.
    """
    mechanism = robot.mechanism
    q, v = mechanism.checked_q(q), mechanism.checked_v(v)
    state = algebra.Kinematics(mechanism, q, v)
    parts = [
        constraint.rows(state, t, constraint.anchor(mechanism, q))
        for constraint in checked_constraints(robot, constraints)
    ]
    return algebra.stacked(parts, mechanism.n_v)


def _repaired(solution: Constrained, equations: Equations, t, k, q, v, tau, quality) -> Constrained:
    """The same with reactions of least norm, and faults by name, where rows depend on one another."""
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
        solution, a=a, reactions=reactions, redundant=named(equations, robust.redundant), inconsistent=at_fault
    )


class _Hashed:
    """A constraint that equals others which lead to the same compiled equations and the same anchors."""

    def __init__(self, constraint: Constraint):
        if not isinstance(constraint, Constraint):
            raise ModelError(f"{constraint!r} is no constraint", element="constraints")
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
    robot: RobotFunctions, constraints: tuple[Constraint, ...], friction: bool
) -> tuple[Equations, tuple[np.ndarray, ...]]:
    """The equations by the very objects, which is quick, and else by what they say; and the anchors given."""
    equations = _commanded_equations(robot, tuple(_Hashed(one) for one in constraints), friction)
    given = equations.given_anchors
    return equations, (given,) if len(given) else ()


@lru_cache(maxsize=32)
def _commanded_equations(robot: RobotFunctions, constraints: tuple[_Hashed, ...], friction: bool) -> Equations:
    mechanism = robot.mechanism
    control = as_control(lambda t, q, v: v, mechanism)  # the torques are given as the outside command
    return Equations(
        robot, checked_constraints(robot, [one.constraint for one in constraints]), control, None, friction
    )


def batch_settings(equations: Equations, q: np.ndarray, k: float) -> np.ndarray:
    """Settings c of every configuration of a batch, (..., n_c), each anchored at its own place."""
    c = np.ones((*q.shape[:-1], equations.n_c))
    c[..., 0] = k
    if equations.n_c > 1 + equations.n_rows:
        c[..., 1 + equations.n_rows :] = equations.anchors(q)
    return c

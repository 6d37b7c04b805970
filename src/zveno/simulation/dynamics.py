"""`constrained_dynamics`: accelerations and reactions under constraints, for any batch of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ModelError
from ..robot import Robot
from .checks import checked_constraints
from .constraints import Constraint
from .controllers import as_control
from .equations import QUALITY, Equations, Inputs
from .redundancy import contradictions, robust_rate


@dataclass(frozen=True, eq=False)
class Constrained:
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

    @property
    def status(self) -> str:
        """ "solved", or which constraints are redundant or inconsistent."""
        if self.inconsistent:
            return f"inconsistent: {', '.join(self.inconsistent)}"
        return f"redundant: {', '.join(self.redundant)}" if self.redundant else "solved"


def constrained_dynamics(
    robot: Robot,
    q,
    v,
    tau,
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
    mechanism = robot.mechanism
    q, v, tau = mechanism.checked_q(q), mechanism.checked_v(v), mechanism.checked_v(tau, "tau")
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    equations = _equations_of(robot, tuple(constraints), friction)
    y = np.zeros((*shape, equations.n_y))
    y[..., equations.q], y[..., equations.v] = q, v
    if not equations.constraints:
        a = equations.solution(t, y, tau)[0]
        nothing = np.zeros((*shape, 0))
        return Constrained(a, nothing, nothing, nothing, ())
    c = batch_settings(equations, np.broadcast_to(q, (*shape, robot.n_q)), stabilization)
    inputs = Inputs(tau, c)
    with np.errstate(all="ignore"):  # rows that depend on one another divide by zero, and are solved below
        a, reactions, value, speed, quality = equations.solution(t, y, *inputs.arrays())
    bad = ~(quality > QUALITY) & np.isfinite(y).all(axis=-1) & np.isfinite(tau).all(axis=-1)
    if not np.any(bad):
        return Constrained(a, reactions, value, speed, equations.row_names)
    c_all, tau_all = np.broadcast_to(c, (*shape, equations.n_c)), np.broadcast_to(tau, (*shape, robot.n_v))
    found = robust_rate(equations, t, y[bad], Inputs(tau_all[bad], c_all[bad]))
    a, reactions = np.array(a), np.array(reactions)
    a[bad], reactions[bad] = found.y[..., equations.v], found.reactions
    at_fault = contradictions(equations, t, y[bad], Inputs(tau_all[bad], c_all[bad]))
    return Constrained(a, reactions, value, speed, equations.row_names, found.redundant, at_fault)


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
def _equations_of(robot: Robot, constraints: tuple[Constraint, ...], friction: bool) -> Equations:
    """The equations by the very objects, which is quick, and else by what they say."""
    return _commanded_equations(robot, tuple(_Hashed(one) for one in constraints), friction)


@lru_cache(maxsize=32)
def _commanded_equations(robot: Robot, constraints: tuple[_Hashed, ...], friction: bool) -> Equations:
    mechanism = robot.mechanism
    control = as_control(lambda t, q, v: v, mechanism)  # the torques are given as the outside command
    return Equations(
        robot, checked_constraints(robot, [one.constraint for one in constraints]), control, None, friction
    )


def batch_settings(equations: Equations, q, k: float) -> np.ndarray:
    """Settings c of every configuration of a batch, (..., n_c), each anchored at its own place."""
    c = np.ones((*q.shape[:-1], equations.n_c))
    c[..., 0] = k
    if equations.n_c > 1 + equations.n_rows:
        c[..., 1 + equations.n_rows :] = equations.anchors(q)
    return c

"""Start of a run: the nearest state that satisfies the constraints, in the metric of the mass matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError
from ._equations import Equations
from ._layout import Inputs
from ._rates import refuse_infinite
from ._redundancy import least_squares, named
from .dynamics import batch_settings

# --- projection

_POSITION_TOLERANCE = 1e-11
"""Violation, m or rad, at which a projection has converged."""
MAX_PROJECTION = 0.1
"""Largest correction of an initial state, rad or m."""


class _Projection(NamedTuple):
    """Projected state."""

    y: np.ndarray
    moved: float
    """largest change of a coordinate, rad or m"""
    violation: float
    """remaining |φ|"""
    at_fault: tuple[str, ...]
    """constraints that could not be satisfied"""


def project(equations: Equations, t: float, y: np.ndarray, inputs: Inputs, iterations: int = 50) -> _Projection:
    """Project a state (n_y,) onto the constraints: positions by Gauss–Newton, then velocities exactly.

    δq = M⁻¹Jᵀ λ with J M⁻¹ Jᵀ λ = −φ, in least squares where rows are redundant: the smallest kinetic metric
    change that satisfies the linearised constraints.
    """
    y = np.array(y, dtype=float)
    start = y[equations.q].copy()
    robot = equations.robot
    last = np.inf
    for _ in range(iterations):
        _, W, A, _, value, _, _ = equations.terms(t, y, *inputs.arrays())
        worst = float(abs(value).max(initial=0.0))
        if worst <= _POSITION_TOLERANCE or not np.isfinite(worst) or (worst < 1e-9 and worst > 0.5 * last):
            break
        last = worst
        solved = least_squares(A, -value)
        change = W @ solved.reactions
        # Far from the constraints the linearisation is poor; half a radian or metre per iteration is enough.
        change *= min(1.0, 0.5 / max(abs(change).max(initial=0.0), 1e-300))
        y[equations.q] = robot.integrate(y[equations.q], change)
    _, W, A, _, value, rate, _ = equations.terms(t, y, *inputs.arrays())
    y[equations.v] += W @ least_squares(A, -rate).reactions
    moved = float(abs(robot.difference(start, y[equations.q])).max(initial=0.0))
    left = abs(value)
    at_fault = named(equations, ~(left <= 1e-8))
    return _Projection(y, moved, float(left.max(initial=0.0)), at_fault)


def _project_start(equations: Equations, t: float, y: np.ndarray, inputs: Inputs) -> _Projection:
    """Project the initial state; raise an error if that fails or moves it by more than `MAX_PROJECTION`."""
    state = project(equations, t, y, inputs)
    if state.at_fault:
        raise ZvenoError(
            f"no state near the initial one satisfies the constraints: {state.violation:.3g} m or rad are left",
            element=", ".join(state.at_fault),
            remedy="They contradict one another, or are out of reach; leave one out or move the start",
        )
    if state.moved > MAX_PROJECTION:
        raise ZvenoError(
            f"the initial state is {state.moved:.3g} rad or m from the constraints, more than {MAX_PROJECTION:g}",
            element="q0",
            remedy="Start nearer",
        )
    return state


# --- start


class Start(NamedTuple):
    """Initial state and settings of a run."""

    y: np.ndarray
    """(..., n_y)"""
    c: np.ndarray | None
    """settings of the constraints, (..., n_c); None without any"""
    moved: float
    """distance by which the state was moved onto the constraints, rad or m"""
    notes: tuple[str, ...] = ()


def initial_state(equations: Equations, q0: np.ndarray, v0: np.ndarray, tau0: ArrayLike | None) -> np.ndarray:
    """Return y (..., n_y) at q0 and v0, with drives that exert the torques tau0 (..., n_v), zero if None."""
    y0 = equations.state(q0, v0)
    if equations.drive is not None:
        torques = np.zeros(equations.mechanism.n_v)
        if tau0 is not None:
            torques = equations.mechanism.checked_v(tau0, "tau0")
            refuse_infinite(torques, "tau0")
        y0[..., equations.z] = equations.drive.initial(equations.mechanism, q0, torques)
    return y0


def start_of_run(equations: Equations, y0: np.ndarray, rate: float) -> Start:
    """Return the state and settings at t = 0.

    Args:
        equations: of the run.
        y0: given state, (n_y,) or a batch (..., n_y).
        rate: of the stabilisation, 1/s.
    """
    if not equations.constraints:
        return Start(y0, None, 0.0)
    q0 = y0[..., equations.q]
    c = batch_settings(equations, q0, rate) if y0.ndim > 1 else equations.settings(q0, rate)
    notes: list[str] = []
    y0, c, moved = _onto_constraints(equations, y0, c, notes)
    return Start(y0, c, moved, tuple(notes))


def _onto_constraints(equations: Equations, y0, c, notes: list[str]):
    """Return the projected start, and the distance moved."""
    flat_y, flat_c = y0.reshape(-1, y0.shape[-1]).copy(), np.broadcast_to(c, (*y0.shape[:-1], c.shape[-1]))
    flat_c = flat_c.reshape(-1, c.shape[-1]).copy()
    moved, changed = 0.0, 0.0
    u = np.zeros(equations.mechanism.n_v) if equations.commanded else None
    for i in range(len(flat_y)):
        before = flat_y[i].copy()
        projection = _project_start(equations, 0.0, flat_y[i], Inputs(u, flat_c[i]))
        moved = max(moved, projection.moved)
        flat_y[i] = projection.y
        changed = max(changed, float(abs(projection.y[equations.v] - before[equations.v]).max(initial=0.0)))
    if changed > 1e-9:
        notes.append(f"initial velocities changed by up to {changed:.3g} to satisfy the constraints")
    return flat_y.reshape(y0.shape), flat_c.reshape(*y0.shape[:-1], -1), moved if moved > 1e-9 else 0.0

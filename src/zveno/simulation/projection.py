"""Projection onto the constraints: the nearest feasible state in the metric of the mass matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ZvenoError
from .equations import Equations
from .inputs import Inputs
from .redundancy import least_squares, named

POSITION_TOLERANCE = 1e-11
"""Violation, m or rad, at which a projection has converged."""
MAX_PROJECTION = 0.1
"""Largest correction of an initial state, rad or m."""


class Projection(NamedTuple):
    """Projected state."""

    y: np.ndarray
    moved: float
    """largest change of a coordinate, rad or m"""
    violation: float
    """remaining |φ|"""
    at_fault: tuple[str, ...]
    """constraints that could not be satisfied"""


def project(equations: Equations, t: float, y: np.ndarray, inputs: Inputs, iterations: int = 50) -> Projection:
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
        if worst <= POSITION_TOLERANCE or not np.isfinite(worst) or (worst < 1e-9 and worst > 0.5 * last):
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
    return Projection(y, moved, float(left.max(initial=0.0)), at_fault)


def project_start(equations: Equations, t: float, y: np.ndarray, inputs: Inputs) -> Projection:
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

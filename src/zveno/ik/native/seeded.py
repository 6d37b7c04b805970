"""Newton's method from a seed, with a bound on its steps: for controllers of any chain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...kernels.builder import Builder
from ...kernels.ops import less, less_equal, logical_and, maximum, minimum, where
from ..ik_problem import IkProblem
from ..newton import DAMPING, LEAST_DAMPING, damped_step
from ..pose_error import error
from ..targets import place
from .bounds import Bounds
from .verdicts import NO_POSE

MOST_STEPS = 60
"""Steps of Newton's method at most."""
REACHED, NOT_REACHED = 0.0, 1.0
"""Status: a solution inside limits; none was reached, which proves nothing."""


def from_seed(program: Builder, problem: IkProblem, bounds: Bounds) -> None:
    """Write q (n,) near a seed q0 (n,) that puts the frame at T (4, 4), inside limits, and a status."""
    n = problem.n
    T, seed = program.input("T", (4, 4), 16), program.input("q0", (n,), n)
    q, status = program.output("q", (n,), n), program.output("status", ())
    target, rigid = program.scratch("target", 1, 12), program.scratch("rigid", 1, 1)
    x, squared, again = program.scratch("x", 1, n), program.scratch("squared", 1, 1), program.scratch("again", 1, 1)
    target[0], rigid[0] = program.step(partial(seen, problem, bounds), T[0])
    x[0], again[0] = program.step(partial(started, problem), seed[0], rigid[0])
    with program.repeat_while(again, MOST_STEPS):
        x[0], squared[0], again[0] = program.step(partial(stepped, problem, bounds), x[0], target[0])
    q[0], status[0] = program.step(partial(ended, problem, bounds), x[0], target[0], rigid[0])


def seen(problem: IkProblem, bounds: Bounds, T: Any) -> Any:
    """Return the target (3, 4) in the chain's units, and whether T is rigid."""
    target, off = place(T.reshape(4, 4), *problem.placement)
    return target.ravel(), less_equal(off, bounds.rigid)


def started(problem: IkProblem, seed: Any, rigid: Any) -> Any:
    """Return the seed in chain units, clamped to limits, and whether there is anything to do."""
    return _clipped(problem, seed / problem.units), rigid


def stepped(problem: IkProblem, bounds: Bounds, x: Any, target: Any) -> Any:
    """Return x after a damped step, clamped to limits; the squared error before it, and if that is not small."""
    at = error(problem, x, target.reshape(3, 4), problem.tool)
    again = less(bounds.closed**2, at.squared)
    delta = damped_step(at.J, at.e, LEAST_DAMPING + DAMPING * at.spread)
    moved = _clipped(problem, x - delta)
    return np.array([where(again, new, old) for new, old in zip(moved, x, strict=True)]), at.squared, again


def ended(problem: IkProblem, bounds: Bounds, x: Any, target: Any, rigid: Any) -> Any:
    """Return q and the status."""
    at = error(problem, x, target.reshape(3, 4), problem.tool, exact=True)
    inside = less_equal(at.squared, bounds.exact**2)
    status = where(logical_and(inside, rigid), REACHED, NOT_REACHED)
    return x * problem.units, where(rigid, status, NO_POSE)


def _clipped(problem: IkProblem, x: Any) -> Any:
    lower, upper = problem.box
    return np.array([maximum(minimum(value, high), low) for value, low, high in zip(x, lower, upper, strict=True)])

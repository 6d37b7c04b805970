"""Locked joints: joints that their limits hold at one value are taken out of a redundant chain."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..ik_problem import IkProblem

LOCKED = 1e-9
"""Limits no further apart than this, in radians or units of `length`, leave one value."""


@lru_cache(maxsize=32)
def without_locked(problem: IkProblem) -> IkProblem:
    """Return the problem of the movable joints, if it is redundant; locked joints keep their values.

    A seven-joint arm with one joint locked is an arm of six, which has exact methods.
    """
    lower, upper = problem.box
    locked = [int(k) for k in np.flatnonzero(upper - lower <= LOCKED)][: problem.redundancy]
    locked = [k for k in locked if all(step.index is not None for step in problem.steps if step.coordinate == k)]
    if not locked:
        return problem
    x = np.zeros(problem.n)
    x[locked] = 0.5 * (problem.lower[locked] + problem.upper[locked])
    rest = [k for k in range(problem.n) if k not in locked]
    held, steps, before = problem.held.copy(), [], np.eye(4)
    for step in problem.steps:
        before = before @ step.T_before
        if step.coordinate in locked:
            before = before @ step.motion(x)
            held[step.index] = x[step.coordinate]
        else:
            steps.append(replace(step, T_before=before, coordinate=rest.index(step.coordinate)))
            before = np.eye(4)
    return replace(
        problem,
        steps=tuple(steps),
        T_last_frame=before @ problem.T_last_frame,
        lower=problem.lower[rest],
        upper=problem.upper[rest],
        held=held,
        origin=problem.origin or problem,
        model=None,
    )

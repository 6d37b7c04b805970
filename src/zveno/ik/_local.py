"""One solution from a seed, for batches: damped Newton kept inside limits, started anew where it fails."""

from __future__ import annotations

import numpy as np

from .clock import time_is_over
from .ik_problem import IkProblem
from .newton import lanes_of, newton

ATTEMPTS = 60
ITERATIONS = 24
_LONGER = 48
"""Iterations of later attempts, when few poses are left and each is harder."""
ACCEPTED = 1e-19
"""Largest squared error of a solution, in units of `length` and radians."""


def solve_local(
    problem: IkProblem,
    T: np.ndarray,
    seed: np.ndarray | None = None,
    attempts: int = ATTEMPTS,
    rng: np.random.Generator | int | None = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (k, n) inside limits, whether it is a solution (k,), and the number of starts it took (k,).

    Args:
        problem: the chain.
        T: targets (k, 4, 4).
        seed: x to start from, (n,) or (k, n); random within limits if not given. Later starts are random.
        attempts: starts at most.
        rng: seed of the random starts.
    """
    rng = np.random.default_rng(rng)
    lanes, units = lanes_of(problem, T), problem.units
    box = (problem.lower / units, problem.upper / units)
    low, high = (side / units for side in problem.span)
    best, error = np.full((len(T), problem.n), np.nan), np.full(len(T), np.inf)
    starts = np.zeros(len(T), int)
    left = np.arange(len(T))
    for attempt in range(attempts):
        if attempt == 0 and seed is not None:
            x = np.broadcast_to(np.asarray(seed) / units, (len(T), problem.n))
        else:
            x = rng.uniform(low, high, (len(left), problem.n))
        iterations = ITERATIONS if attempt < 4 else _LONGER
        x, squared = newton(problem, x, lanes.targets[left], lanes.tool, iterations, box=box)
        starts[left] += 1
        better = squared < error[left]
        best[left[better]], error[left[better]] = x[better], squared[better]
        left = left[squared >= ACCEPTED]
        if not len(left) or time_is_over():
            break
    return best * units, error < ACCEPTED, starts

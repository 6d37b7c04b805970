"""One solution of many: by nearness, distance from limits, conditioning, or the user's own criterion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..mechanism import Mechanism
from .ik_problem import TURN
from .solutions import CHOSEN, FAMILY, SAMPLED, Solutions


def chosen(solutions: Solutions, cost: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The solution of least cost of every pose, (*batch, n_q), NaN where there is none.

    Args:
        solutions: what `solve_ik` returned.
        cost: of configurations (..., n_q) → (...).
    """
    values = np.asarray(cost(np.nan_to_num(solutions.q)), dtype=float)
    if values.shape != solutions.q.shape[:-1]:
        raise ShapeError(
            f"the criterion returned shape {values.shape} for configurations {solutions.q.shape}",
            element="cost",
            remedy="Return one number a configuration",
        )
    if solutions.q.shape[-2] == 0:
        return np.full((*solutions.batch, solutions.q.shape[-1]), np.nan)
    there = np.arange(solutions.q.shape[-2]) < np.asarray(solutions.count)[..., None]
    best = np.argmin(np.where(there & ~np.isnan(values), values, np.inf), axis=-1)
    return np.take_along_axis(solutions.q, best[..., None, None], axis=-2)[..., 0, :]


def nearest(solutions: Solutions, q: ArrayLike, robot: Any = None, weights: ArrayLike = 1.0) -> np.ndarray:
    """The solution nearest to a configuration, (*batch, n_q): least weighted sum of squares of the differences.

    Args:
        solutions: what `solve_ik` returned.
        q: (n_q,) or (*batch, n_q).
        robot: if given, joints that turn without limits are first moved by whole turns to where `q` has them.
        weights: of the coordinates.
    """
    q = np.asarray(q, dtype=float)
    goal = q[..., None, :] if q.ndim > 1 else q
    endless = _endless(robot, solutions.q.shape[-1])

    def shifted(candidates):
        return candidates - np.where(endless, TURN * np.round((candidates - goal) / TURN), 0.0)

    configuration = chosen(
        solutions, lambda candidates: np.sum(weights * (shifted(candidates) - goal) ** 2, axis=-1)
    )
    return configuration - np.where(endless, TURN * np.round((configuration - q) / TURN), 0.0)


def only_nearest(solutions: Solutions, q: ArrayLike, robot: Any = None) -> Solutions:
    """The same result with at most one solution a pose: the one nearest to a configuration (n_q,)."""
    configuration = nearest(solutions, q, robot)
    cost = np.sum((np.nan_to_num(solutions.q, nan=np.inf) - configuration[..., None, :]) ** 2, axis=-1)
    if solutions.q.shape[-2] == 0:
        return solutions
    best = np.argmin(np.where(np.isnan(cost), np.inf, cost), axis=-1)[..., None]

    def taken(values: np.ndarray) -> np.ndarray:
        return np.take_along_axis(values, best, axis=-1)

    count = np.asarray(solutions.count).reshape(-1)
    chosen_of = {int(i): f"nearest of {count[i]}" for i in np.flatnonzero(count > 1)}
    return replace(
        solutions,
        q=configuration[..., None, :],
        count=np.minimum(solutions.count, 1),
        residual=taken(solutions.residual),
        condition=taken(solutions.condition),
        radius=None if solutions.radius is None else taken(solutions.radius),
        unique=None if solutions.unique is None else taken(solutions.unique),
        families={},
        notes=chosen_of,
        codes=np.where(
            (solutions.count > 1) | np.isin(solutions.codes, (FAMILY, SAMPLED)), CHOSEN, solutions.codes
        ),
    )


def farthest_from_limits(solutions: Solutions, robot: Any) -> np.ndarray:
    """The solution whose nearest limit is relatively farthest, (*batch, n_q)."""
    mechanism: Mechanism = getattr(robot, "mechanism", robot)
    limited = np.isfinite(mechanism.upper - mechanism.lower) & (mechanism.upper > mechanism.lower)
    span = np.where(limited, mechanism.upper - mechanism.lower, 1.0)
    lower, upper = np.where(limited, mechanism.lower, 0.0), np.where(limited, mechanism.upper, 0.0)

    def cost(q):
        margin = np.minimum(q - lower, upper - q) / span
        return -np.min(np.where(limited, margin, 0.5), axis=-1)

    return chosen(solutions, cost)


def best_conditioned(solutions: Solutions) -> np.ndarray:
    """The solution with the smallest condition number, (*batch, n_q)."""
    return chosen(solutions, lambda _: solutions.condition)


def _endless(robot, n: int) -> np.ndarray:
    endless = np.zeros(n, bool)
    if robot is not None:
        mechanism: Mechanism = getattr(robot, "mechanism", robot)
        for name in mechanism.joint_names:
            coordinates = mechanism.q_slices[name]
            if mechanism.joint(name).type.sigma == 1:
                endless[coordinates] = np.isinf(mechanism.lower[coordinates]) & np.isinf(
                    mechanism.upper[coordinates]
                )
    return endless

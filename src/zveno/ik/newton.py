"""Damped Newton and Levenberg–Marquardt over (pose, seed) lanes: one kernel call is several whole iterations."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import linear
from ..kernels.compile import compiled
from ..kernels.ops import maximum, minimum
from .ik_problem import IkProblem
from .pose_error import error

CONVERGED = 1e-22
"""Squared error, in units of `length` and radians, at which an iteration has arrived."""
DAMPING = 0.03
"""The damping is this times the squared distance to the target, and so vanishes at solutions."""
LEAST_DAMPING = 1e-13
UNROLLED = 4
"""Iterations a kernel call."""


class Lanes(NamedTuple):
    """Poses as solvers want them: C_0 taken off, lengths in units of the chain's `length`."""

    targets: np.ndarray
    """(k, 3, 4)."""
    tool: np.ndarray
    """(3, 4), C_n."""


def lanes_of(problem: IkProblem, T: np.ndarray) -> Lanes:
    """Convert targets (k, 4, 4) to the chain's own units."""
    targets = (problem.end_transforms[0] @ T)[..., :3, :].copy()
    targets[..., 3] /= problem.length
    return Lanes(targets, problem.tool)


def damped_step(J: list[Any], e: Any, damping: Any) -> Any:
    """Solve (JᵀJ + μ) δ = Jᵀe for δ, J by columns; by (JJᵀ + μ) if there are fewer equations than unknowns."""
    n, m = len(J), len(e)
    if m < n:
        rows = [[J[k][i] for k in range(n)] for i in range(m)]
        A = [[_dot(rows[i], rows[j]) + (damping if i == j else 0.0) for j in range(i + 1)] for i in range(m)]
        y = linear.solve_factored(linear.factor(A), e)
        return np.array([_dot(column, y) for column in J])
    A = [[_dot(J[i], J[j]) + (damping if i == j else 0.0) for j in range(i + 1)] for i in range(n)]
    return linear.solve_factored(linear.factor(A), [_dot(column, e) for column in J])


@lru_cache(maxsize=128)
def newton_kernel(problem: IkProblem, frozen: tuple[int, ...] = (), clamped: bool = False) -> Any:
    """Return the kernel (x, target, tool[, lower, upper]) → (x after `UNROLLED` iterations, squared error).

    Args:
        problem: the chain.
        frozen: coordinates that do not move.
        clamped: x is put back to limits after every iteration.
    """
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    if clamped:
        inputs |= {"lower": (problem.n,), "upper": (problem.n,)}
    return compiled(_iterate, inputs, constants=(problem, frozen), name="ik_newton")


def _iterate(problem: IkProblem, frozen: tuple[int, ...], x, target, tool, *box):
    squared = None
    for _ in range(UNROLLED):
        x, squared = _newton(problem, x, target, tool, frozen)
        if box:
            x = maximum(minimum(x, box[1]), box[0])
    return x, squared


def _newton(problem: IkProblem, x, target, tool, frozen):
    task_error = error(problem, x, target, tool)
    free = [k for k in range(problem.n) if k not in frozen]
    delta = damped_step([task_error.J[k] for k in free], task_error.e, LEAST_DAMPING + DAMPING * task_error.spread)
    moved = [x[k] for k in range(problem.n)]
    for k, d in zip(free, delta, strict=True):
        moved[k] = moved[k] - d
    return np.array(moved), task_error.squared


@lru_cache(maxsize=64)
def marquardt_kernel(problem: IkProblem) -> Any:
    """Return the kernel (x, target, tool, damping) → (candidate, squared error at x, |gradient|²)."""
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4), "damping": ()}
    return compiled(_marquardt_step, inputs, constants=(problem,), name="ik_marquardt")


def _marquardt_step(problem: IkProblem, x, target, tool, damping):
    at = error(problem, x, target, tool, exact=True)
    gradient = [_dot(column, at.e) for column in at.J]
    return x - damped_step(at.J, at.e, damping), at.e @ at.e, _dot(gradient, gradient)


def newton(
    problem: IkProblem,
    x: np.ndarray,
    targets: np.ndarray,
    tool: np.ndarray,
    iterations: int = 24,
    frozen: tuple[int, ...] = (),
    box: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Run damped Newton from each row x (k, n), for targets (k, 3, 4); return x and the squared errors (k,).

    A converged lane does not change, whatever the others do: no answer depends on the batch. Lanes are
    taken out of the batch when a quarter of it has.
    """
    kernel = newton_kernel(problem.base, frozen, box is not None)
    limits = () if box is None else box
    x = np.array(x, dtype=float)
    squared = np.full(len(x), np.inf)
    alive, going = np.arange(len(x)), np.ones(len(x), dtype=bool)
    iterate, goal = x, targets
    for _ in range(-(-iterations // UNROLLED)):
        with np.errstate(all="ignore"):  # a lane that diverges does not concern the others
            iterate, squares = kernel(iterate, goal, tool, *limits)
        x[alive[going]], squared[alive[going]] = iterate[going], squares[going]
        going &= (squares >= CONVERGED) & np.isfinite(squares)
        if not going.any():
            break
        if np.count_nonzero(going) * 4 < 3 * len(going):
            alive, iterate, goal, going = alive[going], iterate[going], goal[going], going[going]
    return x, squared


def descend(
    problem: IkProblem,
    x: np.ndarray,
    targets: np.ndarray,
    tool: np.ndarray,
    box: Any = None,
    iterations: int = 60,
) -> tuple[np.ndarray, np.ndarray]:
    """Run Levenberg–Marquardt from each row: x (k, n) and the squared errors (k,), never worse than at the start.

    A row that has come to its end stays as it is while others go on: no answer depends on the batch.

    Args:
        problem: the chain.
        x: starts (k, n), chain units.
        targets, tool: as `lanes_of` gives them.
        box: limits (lower, upper) in chain units; candidates are put back to them.
        iterations: at most.
    """
    kernel = marquardt_kernel(problem.base)
    x = np.array(x, dtype=float)
    damping = np.full(len(x), 1e-2)
    going = np.ones(len(x), dtype=bool)
    candidate, best, _ = kernel(x, targets, tool, damping)
    for _ in range(iterations):
        if box is not None:
            candidate = np.clip(candidate, *box)
        _, square, slope = kernel(candidate, targets, tool, damping)
        better = going & (square < best)
        gain = best - square
        x = np.where(better[:, None], candidate, x)
        best = np.where(better, square, best)
        damping = np.clip(np.where(better, damping * 0.2, damping * 8.0), 1e-12, 1e8)
        going &= ~((best < CONVERGED) | (better & (gain <= 1e-16 * best)) | (damping >= 1e8) | (slope < 1e-28))
        if not going.any():
            break
        candidate = kernel(x, targets, tool, damping)[0]
    return x, best


def _dot(a, b):
    total = a[0] * b[0]
    for k in range(1, len(a)):
        total = total + a[k] * b[k]
    return total

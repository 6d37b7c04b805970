"""Search for the best motion: random feasible ones, then a log barrier and BFGS from the best, in threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from ...errors import ZvenoError
from ...kernels.threads import get_threads
from ._problem import ExcitationProblem

DRAWS, STARTS = 256, 6
"""Number of random motions, and of the best of them that are improved."""
BATCH = 32
"""Number of random motions evaluated at once."""
WEIGHTS = (1.0, 0.1, 0.01, 0.001)
"""Successive weights of the barrier, in units that make the first as strong as the criterion."""
ITERATIONS = 150
"""Maximum number of BFGS iterations per weight."""
SHRINK = 0.8
"""Factor that scales a random motion about its centre while torques or clearances forbid it."""
SHRINKS, MORE_SHRINKS = 12, 12
"""Number of such scalings; and, if weak motors then allow no motion at all, of scalings by its third power."""


@dataclass(frozen=True)
class Best:
    """Result of a search.

    Attributes:
        x: the best feasible motion.
        random: log det of the random feasible motions, in the order drawn.
        starts: log det after each start, in the order they ended.
        interrupted: whether it was stopped before its end.
    """

    x: np.ndarray
    random: np.ndarray
    starts: tuple[float, ...]
    interrupted: bool


def random_motions(problem: ExcitationProblem, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return feasible motions (k, f, n) of random shape and centre, out of n drawn, as large as limits allow."""
    coefficients = problem.free @ rng.normal(size=(n, *problem.shape))
    constant, limits = problem.basis.constant, problem.limits
    # The shape without its mean, then the centre somewhere in the inner part of the range.
    mean = problem.basis.functions(np.linspace(0.0, problem.basis.duration, 64, endpoint=False)).mean(axis=0)
    coefficients = coefficients - constant[:, None] * (mean @ coefficients)[:, None]
    centre = _centres(problem, n, rng)[:, None]
    shape, still = problem.free.T @ coefficients, problem.free.T @ constant
    room = np.min(
        [
            _room(rows, shape, centre[:, 0] - limits.middle if order == 0 else 0.0, limits.sizes(order))
            for order, rows in problem.bounds
        ],
        axis=0,
    )
    shape = shape * (room * rng.uniform(0.6, 0.98, (n, problem.n)))[:, None]
    placed = still[:, None] * centre
    kept = np.zeros(n, dtype=bool)
    for trial in range(SHRINKS + MORE_SHRINKS):
        open_ones = np.flatnonzero(~kept)
        if not len(open_ones) or (trial >= SHRINKS and kept.any()):
            break
        kept[open_ones] = problem.feasible(placed[open_ones] + shape[open_ones])
        shape[~kept] *= SHRINK if trial < SHRINKS else SHRINK**3
    return (placed + shape)[kept]


def _centres(problem: ExcitationProblem, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return configurations (n, joints) well inside the ranges, those that motors hold without collision first."""
    low, high = problem.limits.lower, problem.limits.upper
    for inner in (0.3, 0.05):
        q = low + (high - low) * rng.uniform(inner, 1.0 - inner, (8 * n, problem.n))
        rest = np.zeros_like(q)
        good = (abs(problem.torque(q, rest, rest)) < problem.torque_limit).all(axis=1)
        if problem.clearance is not None:
            good &= problem.clearance.clear(q)
        if good.sum() >= n:
            break
    return np.concatenate([q[good], q[~good]])[:n]


def _room(rows: np.ndarray, shape: np.ndarray, offset, size: np.ndarray) -> np.ndarray:
    """Return the factor by which shapes (k, f, n) may grow before |offset + rows · shape| reaches the size, (k,
    n)."""
    moved = rows @ shape
    up = (size - offset) / np.maximum(moved.max(axis=1), 1e-12)
    down = (size + offset) / np.maximum(-moved.min(axis=1), 1e-12)
    return np.minimum(up, down)


def best_motion(
    problem: ExcitationProblem,
    rng: np.random.Generator,
    seconds: float | None,
    progress: Callable[[float, float], object],
) -> Best:
    """Find the best motion from the best random ones; the best so far is kept if the search is interrupted."""
    deadline = np.inf if seconds is None else time.monotonic() + seconds
    motions, values = _drawn(problem, DRAWS, rng, deadline)
    order = np.argsort(-values)[:STARTS]
    stop = threading.Event()
    best_value, best = float(values[order[0]]), motions[order[0]]
    ended: list[float] = []

    def improved(start: np.ndarray) -> np.ndarray:
        return ascended(problem, start, lambda: stop.is_set() or time.monotonic() > deadline)

    pool = ThreadPoolExecutor(max_workers=max(1, min(get_threads(), len(order))))
    try:
        for done in as_completed([pool.submit(improved, motions[k]) for k in order]):
            x = settled(problem, done.result())
            value = problem.value(x)
            ended.append(value)
            progress(len(ended), len(order))
            if value > best_value:
                best_value, best = value, x
        stopped = time.monotonic() > deadline
    except KeyboardInterrupt:
        stopped = True
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return Best(settled(problem, best), values, tuple(ended), stopped)


def _drawn(problem: ExcitationProblem, draws: int, rng: np.random.Generator, deadline: float):
    motions: list[np.ndarray] = []
    n = 0
    while n < draws and (time.monotonic() < deadline or not any(map(len, motions))):
        motions.append(random_motions(problem, min(BATCH, draws - n), rng))
        n += min(BATCH, draws - n)
    feasible = np.concatenate(motions)
    values = np.array([problem.value(x) for x in feasible])
    shown = np.isfinite(values)
    if len(feasible) and not shown.any():
        raise ZvenoError(
            f"{len(feasible)} of {n} random motions keep to the limits, but none shows every parameter: "
            f"the {problem.wanted.n} wanted cannot be told apart in double precision",
            remedy="Let joints move further or faster, give more harmonics, or ask for fewer parameters (drives=)",
        )
    if not len(feasible):
        raise ZvenoError(f"none of {n} random motions keeps to the limits", remedy=_why(problem, rng))
    return feasible[shown], values[shown]


def _why(problem: ExcitationProblem, rng: np.random.Generator) -> str:
    """Return the obstacles to motions, as far as postures at rest show them."""
    limits = problem.limits
    q = rng.uniform(limits.lower, limits.upper, (2000, problem.n))
    rest = np.zeros_like(q)
    held = abs(problem.torque(q, rest, rest)) < problem.torque_limit
    names = problem.wanted.mechanism.coordinate_names
    worst = int(np.argmin(held.mean(axis=0)))
    if held[:, worst].mean() < 0.02:
        needed = abs(problem.torque(q, rest, rest))[:, worst].min()
        return (
            f"The torque limit of {names[worst]}, {problem.torque_limit[worst]:.4g} without friction and margin, "
            f"holds {100 * held[:, worst].mean():.2g} % of 2000 postures (the least is {needed:.4g}): raise it"
        )
    if problem.clearance is not None and problem.clearance.clear(q).mean() < 0.02:
        return "Almost no posture keeps clear: give smaller radii, or clearance=None"
    return "Loosen the limits, or give a longer duration or more harmonics"


def ascended(problem: ExcitationProblem, x: np.ndarray, enough: Callable[[], bool]) -> np.ndarray:
    """Return a feasible motion uphill of x, by BFGS on the barrier for falling weights (Nocedal and Wright, chapter
    6).

    The optimum lies at the limits, where torques and clearances can exceed them between samples of the grid.
    The weight that first ends so is repeated from its start on a grid twice as fine, which later weights keep:
    scaling the motion down instead can cost much, since a smaller motion about the same mean need not have smaller
    torques (0.1 % too much cost a factor of 1.2 in σ).
    """
    flat, grid = x.ravel().copy(), problem
    for weight in WEIGHTS:
        higher = _climbed(grid, flat, weight, enough)
        if grid is problem and not (_keeps(problem, higher) or enough()):
            inner = settled(problem, flat.reshape(problem.shape)).ravel()
            if np.isfinite(inner).all():
                grid = problem.finer(2)
                higher = _climbed(grid, inner, weight, enough)
        flat = higher
        if enough():
            break
    return flat.reshape(problem.shape)


def _climbed(grid: ExcitationProblem, flat: np.ndarray, weight: float, enough: Callable[[], bool]) -> np.ndarray:
    mu = 10.0 * weight * grid.wanted.n / grid.n_slacks
    return _descended(lambda y: grid.barrier(y, mu), flat, enough)


def _keeps(problem: ExcitationProblem, flat: np.ndarray) -> bool:
    return bool(problem.feasible(flat.reshape(problem.shape), fine=True))


def _descended(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray, enough: Callable[[], bool]
) -> np.ndarray:
    f, g = function(x)
    if not np.isfinite(f):
        return x
    H = np.eye(len(x)) * (0.05 / (np.linalg.norm(g) + 1e-300))
    fresh = True
    for _ in range(ITERATIONS):
        d = -H @ g
        if not g @ d < -1e-9 * abs(f):
            if fresh:
                break
            H, fresh = np.eye(len(x)) * (0.01 / (np.linalg.norm(g) + 1e-300)), True
            continue
        step = 1.0
        for _ in range(40):
            f_new, g_new = function(x + step * d)
            if f_new <= f + 1e-4 * step * (g @ d):
                break
            step *= 0.5
        else:  # closest points of bars jump, and slopes with them: begin again along the gradient
            if fresh:
                break
            H, fresh = np.eye(len(x)) * (0.01 / (np.linalg.norm(g) + 1e-300)), True
            continue
        s, y = step * d, g_new - g
        sy = s @ y
        if sy > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            if fresh:
                H = np.eye(len(x)) * (sy / (y @ y))
            Hy = H @ y
            H = H + ((sy + y @ Hy) / sy**2) * np.outer(s, s) - (np.outer(Hy, s) + np.outer(s, Hy)) / sy
            fresh = False
        little = f - f_new < 1e-6 * max(1.0, abs(f))
        x, f, g = x + s, f_new, g_new
        if little or enough():
            break
    return x


def settled(problem: ExcitationProblem, x: np.ndarray) -> np.ndarray:
    """Return x, scaled down about its mean posture as little as the finer grid requires."""
    if problem.feasible(x, fine=True):
        return x
    constant = problem.basis.constant
    mean = problem.states(x)[0].mean(axis=0)
    still = (problem.free.T @ constant)[:, None] * mean
    if not problem.feasible(still, fine=True):
        return still * np.nan
    # Start from the whole motion: feasible scales need not be an interval, and the largest is wanted.
    low, high = 0.0, 1.0
    for shrink in 2.0 ** np.arange(-12.0, 0.0):
        if problem.feasible(still + (1.0 - shrink) * (x - still), fine=True):
            low = 1.0 - shrink
            break
        high = 1.0 - shrink
    for _ in range(20):
        middle = 0.5 * (low + high)
        good = bool(problem.feasible(still + middle * (x - still), fine=True))
        low, high = (middle, high) if good else (low, middle)
    return still + low * (x - still)

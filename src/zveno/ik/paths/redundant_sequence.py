"""Paths of redundant arms: a sequence through slices of the self-motions, made smooth between the slices.

A dynamic program chooses one of the sampled configurations of every pose. The sequence is then moved inside the
self-motions of its poses so that the joints move least, which slices alone cannot do. Steps between neighbours
count as continuous only where refining them shows a curve.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from ..checks.judgement import jacobians
from ..ik_problem import TURN, IkProblem
from ..newton import lanes_of, newton
from .sequence import AT_START, JUMP, Sequence
from .track import UNEVEN, ChainFollower, between, extremes

CANDIDATE = 1.5
"""Longest step, in radians or lengths of the arm, that is looked at as a continuous one."""
PIECES = 16
"""Number of pieces of a step to check that it is a curve inside the limits."""
ROUNDS = 30
"""Steps of smoothing at most."""
CENTRING = 1e-4
"""Weight of the distance from the middle of the limits, against squared steps."""
_ACCEPTED = 1e-19


def redundant_sequence(follower: ChainFollower, solutions: list[np.ndarray], start: np.ndarray | None) -> Sequence:
    """Choose one configuration of every pose that has any.

    Args:
        follower: of the chain along the poses.
        solutions: of every pose, (s, n_q): a sample of its self-motions.
        start: a state (n,) the first configuration should be near: it is brought to the first pose and joins the
            sample there.
    """
    layers = [follower.states(q) for q in solutions]
    begun = False
    if start is not None and len(layers[0]):
        layers[0], begun = _with_start(follower, layers[0], start)
    layers = _with_tracked(follower, layers)
    filled = [k for k, layer in enumerate(layers) if len(layer)]
    states = np.full((len(layers), follower.problem.n), np.nan)
    if not filled:
        return Sequence(states, (), (), float("nan"))
    rows = _shortest(follower.problem, layers, filled, start)
    for k, row in zip(filled, rows, strict=True):
        states[k] = layers[k][row]
    _unwind(follower.problem, states, filled)
    for run in _runs(follower, states, filled):
        if len(run) > 1:
            states[run] = _smoothed(follower, np.array(run), states[run], hold_first=begun and run[0] == 0)
    jumps, sizes, cost = [], [], 0.0
    for (a, b), good in zip(itertools.pairwise(filled), _continuous(follower, states, filled), strict=True):
        d = states[b] - states[a]
        if good:
            cost += float(d @ d)
        else:
            jumps.append(a)
            sizes.append(float(np.linalg.norm(d)))
    return Sequence(states, tuple(jumps), tuple(sizes), cost)


def _with_start(follower: ChainFollower, layer: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, bool]:
    """Add the configuration of the first pose near the start to the layer; keep it alone if the arm is there."""
    problem = follower.problem
    x, squared = newton(problem, start[None], follower.lanes.targets[:1], follower.lanes.tool, 60, box=problem.box)
    good = (squared < _ACCEPTED) & problem.inside(problem.from_units(x))
    if good[0] and np.max(np.abs(x[0] - start)) < AT_START:
        return x, True
    return np.concatenate([layer, x[good]]), False


def _with_tracked(follower: ChainFollower, layers: list[np.ndarray]) -> list[np.ndarray]:
    """Add to the layers the configurations that the first ones lead to by least joint motion."""
    problem, out = follower.problem, [layers[0]]
    x = layers[0]
    for k in range(len(layers) - 1):
        if len(x):
            advance = follower.advance(np.full(len(x), k), x)
            inside = problem.inside(problem.from_units(advance.states))
            x = advance.states[advance.arrived & inside]
        out.append(np.concatenate([layers[k + 1], x]))
    return out


def _shortest(problem: IkProblem, layers, filled: list[int], start: np.ndarray | None) -> list[int]:
    """Choose rows by dynamic programming: fewest steps longer than `CANDIDATE`, then least squared motion."""
    first = layers[filled[0]]
    total = np.zeros(len(first)) if start is None else np.sum(_wrapped(problem, first - start) ** 2, axis=1)
    came = []
    for before, now in itertools.pairwise(filled):
        d = _wrapped(problem, layers[now][None] - layers[before][:, None])
        squares = np.sum(d * d, axis=2)
        broken = (np.max(np.abs(d), axis=2) > CANDIDATE) | (now > before + 1)
        through = total[:, None] + np.where(broken, JUMP + np.sqrt(squares), squares)
        best = np.argmin(through, axis=0)
        came.append(best)
        total = through[best, np.arange(len(best))]
    rows = [int(np.argmin(total))]
    for best in reversed(came):
        rows.append(int(best[rows[-1]]))
    return rows[::-1]


def _endless(problem: IkProblem) -> np.ndarray:
    return problem.turning & np.isinf(problem.upper) & np.isinf(problem.lower)


def _wrapped(problem: IkProblem, d: np.ndarray) -> np.ndarray:
    """Return differences the short way round where a joint turns without limits."""
    return d - np.where(_endless(problem), TURN * np.round(d / TURN), 0.0)


def _unwind(problem: IkProblem, states: np.ndarray, filled: list[int]):
    """Unwind endless joints through whole turns, in place."""
    for before, now in itertools.pairwise(filled):
        states[now] = states[before] + _wrapped(problem, states[now] - states[before])


def _runs(follower: ChainFollower, states: np.ndarray, filled: list[int]) -> list[list[int]]:
    """Return the numbers of poses that follow each other without a break."""
    runs = [[filled[0]]]
    for a, b in itertools.pairwise(filled):
        if b == a + 1 and np.max(np.abs(states[b] - states[a])) <= CANDIDATE:
            runs[-1].append(b)
        else:
            runs.append([b])
    return runs


def _smoothed(follower: ChainFollower, poses: np.ndarray, x: np.ndarray, hold_first: bool) -> np.ndarray:
    """Move configurations (r, n) of successive poses along their self-motions so that the joints move least.

    Minimises Σ|x_{k+1} − x_k|² with a small pull to the middle of the limits, by Gauss–Newton steps in the null
    spaces of the task's Jacobians; a step is taken only where it makes that sum smaller inside the limits.
    """
    problem, lanes = follower.problem, follower.lanes
    lower, upper = problem.box
    limited = np.isfinite(upper - lower) & (upper > lower)
    weight = np.where(limited, CENTRING / np.where(limited, upper - lower, 1.0) ** 2, 0.0)
    middle = np.where(limited, (lower + upper) / 2, 0.0)

    def value(x):
        return float(np.sum(np.diff(x, axis=0) ** 2) + np.sum(weight * (x - middle) ** 2))

    best, size = value(x), 1.0
    for _ in range(ROUNDS):
        N = _null_spaces(jacobians(problem, x, lanes, poses))
        if hold_first:
            N[0] = 0.0
        z = _newton_step(x, N, weight, middle)
        moved, squared = newton(problem, x + size * z, lanes.targets[poses], lanes.tool, 12)
        fine = (squared < _ACCEPTED).all() and problem.inside(problem.from_units(moved)).all()
        if fine and value(moved) < best:
            gain, x, best = best - value(moved), moved, value(moved)
            size = min(1.0, 2.0 * size)
            if gain < 1e-9 * best:
                break
        else:
            size *= 0.5
            if size < 1e-3:
                break
    return x


def _null_spaces(J: np.ndarray) -> np.ndarray:
    """Return orthonormal bases (r, n, n − m) of the null spaces of J (r, m, n)."""
    return np.swapaxes(np.linalg.svd(J)[2][:, J.shape[1] :], 1, 2)


def _newton_step(x: np.ndarray, N: np.ndarray, weight: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Minimize the quadratic in the null spaces, as steps (r, n): a block-tridiagonal system."""
    r, _, f = N.shape
    gradient = weight * (x - middle)
    d = np.diff(x, axis=0)
    gradient[:-1] -= d
    gradient[1:] += d
    count = np.full(r, 2.0)
    count[[0, -1]] = 1.0
    diagonal = np.einsum("rnf,rn,rng->rfg", N, count[:, None] + weight, N) + 1e-9 * np.eye(f)
    across = -np.einsum("rnf,rng->rfg", N[:-1], N[1:])
    at = f * np.arange(r)[:, None, None] + np.arange(f)[:, None], f * np.arange(r)[:, None, None] + np.arange(f)
    rows, columns = (np.broadcast_to(part, diagonal.shape) for part in at)
    right = columns[:-1] + f
    data = np.concatenate([diagonal.ravel(), across.ravel(), across.ravel()])
    i = np.concatenate([rows.ravel(), rows[:-1].ravel(), right.ravel()])
    j = np.concatenate([columns.ravel(), right.ravel(), rows[:-1].ravel()])
    A = sparse.csc_matrix((data, (i, j)), shape=(r * f, r * f))
    z = np.asarray(spsolve(A, -np.einsum("rnf,rn->rf", N, gradient).ravel())).reshape(r, f)
    step = np.einsum("rnf,rf->rn", N, z)
    longest = np.max(np.abs(step), initial=0.0)
    return step * min(1.0, 0.3 / longest) if longest > 0 else step


def _continuous(follower: ChainFollower, states: np.ndarray, filled: list[int]) -> list[bool]:
    """Return True for every pair of neighbours if refining the step between shows a curve inside the limits."""
    problem, out = follower.problem, []
    fractions = np.arange(1, PIECES)[:, None] / PIECES
    for a, b in itertools.pairwise(filled):
        d = states[b] - states[a]
        if b > a + 1 or np.max(np.abs(d)) > CANDIDATE:
            out.append(False)
            continue
        way = lanes_of(problem, between(follower.T[a], follower.T[b], PIECES)[1:-1])
        inner, squared = newton(problem, states[a] + fractions * d, way.targets, way.tool, 24)
        x = np.vstack([states[a], inner, states[b]])
        steps = np.max(np.abs(np.diff(x, axis=0)), axis=1)
        even = steps.max() <= UNEVEN * steps.mean() + 1e-9
        inside = all(problem.inside(problem.from_units(side)) for side in extremes(x))
        out.append(bool((squared < _ACCEPTED).all() and even and inside))
    return out

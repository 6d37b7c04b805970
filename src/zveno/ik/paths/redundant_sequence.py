"""Paths of redundant arms: a sequence through slices of the self-motions, made smooth between the slices.

A dynamic program chooses one of the sampled configurations of every pose. The sequence is then moved inside the
self-motions of its poses so that the joints move least, which slices alone cannot do. Steps between neighbours
count as continuous only where the motion can be followed from the one to the other.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from .._whole_body.tasks import plain_velocities
from ..accept import Accept, asked
from ..ik_problem import TURN
from .follow import ON_POSE, Follower, whole_turns
from .sequence import AT_START, JUMP, Sequence
from .strands import SLACK

CANDIDATE = 1.5
"""Longest step, in radians or lengths of the arm, that is looked at as a continuous one."""
ROUNDS = 30
"""Steps of smoothing at most."""
CENTRING = 1e-4
"""Weight of the distance from the middle of the limits, against squared steps."""


def redundant_sequence(
    follower: Follower, solutions: list[np.ndarray], start: np.ndarray | None, accept: Accept | None = None
) -> Sequence:
    """Choose one configuration of every pose that has any.

    Args:
        follower: of the chain along the poses.
        solutions: of every pose, (s, n_q): a sample of its self-motions.
        start: a state (n_q,) the first configuration should be near: it is brought to the first pose and joins the
            sample there.
        accept: (s, n_q) → (s,) which configurations may be used; solutions have been asked already.
    """
    layers, begun = list(solutions), False
    if start is not None and len(layers[0]):
        layers[0], begun = _with_start(follower, layers[0], start, accept)
    layers = _with_tracked(follower, layers, accept)
    filled = [k for k, layer in enumerate(layers) if len(layer)]
    states = np.full((len(layers), len(follower.periodic)), np.nan)
    if not filled:
        return Sequence(states, (), (), float("nan"))
    rows = _shortest(follower, layers, filled, start)
    for k, row in zip(filled, rows, strict=True):
        states[k] = layers[k][row]
    for before, now in itertools.pairwise(filled):
        states[now] = _unwound(follower, states[now], states[before])
    for run in _runs(follower, states, filled):
        if len(run) > 1:
            hold = begun and run[0] == 0
            states[run] = _smoothed(follower, np.array(run), states[run], hold, accept)
    a, b = np.array(filled[:-1], int), np.array(filled[1:], int)
    steps = follower.difference(states[b], states[a])
    good = _continuous(follower, states, a, b, steps)
    sizes = np.linalg.norm(steps[~good], axis=1)
    return Sequence(states, tuple(a[~good].tolist()), tuple(sizes.tolist()), float(np.sum(steps[good] ** 2)))


def _usable(follower: Follower, q: np.ndarray, accept: Accept | None) -> np.ndarray:
    """Return True (s,) for configurations within limits that are accepted."""
    lower, upper = follower.box
    x = follower.limited(q)
    usable = np.flatnonzero(((x >= lower - SLACK) & (x <= upper + SLACK)).all(axis=1))
    if accept is not None:
        usable = usable[asked(accept, q[usable])]
    return np.isin(np.arange(len(q)), usable)


def _with_start(
    follower: Follower, layer: np.ndarray, start: np.ndarray, accept: Accept | None
) -> tuple[np.ndarray, bool]:
    """Add the configuration of the first pose near the start to the layer; keep it alone if the arm is there."""
    x, squared = follower.corrected(start[None], follower.T[:1])
    x = x[(squared < ON_POSE) & _usable(follower, x, accept)]
    if len(x) and np.max(np.abs(follower.difference(x[0], start))) < AT_START:
        return x, True
    return np.concatenate([layer, x]), False


def _with_tracked(follower: Follower, layers: list[np.ndarray], accept: Accept | None) -> list[np.ndarray]:
    """Add to the layers the configurations that the first ones lead to by least joint motion."""
    x, out = layers[0], [layers[0]]
    for k in range(len(layers) - 1):
        if len(x):
            advance = follower.advance(np.full(len(x), k), x)
            x = advance.states[advance.arrived]
            x = x[_usable(follower, x, accept)]
        out.append(np.concatenate([layers[k + 1], x]))
    return out


def _shortest(follower: Follower, layers, filled: list[int], start: np.ndarray | None) -> list[int]:
    """Choose rows by dynamic programming: fewest steps longer than `CANDIDATE`, then least squared motion."""
    first = layers[filled[0]]
    total = np.zeros(len(first))
    if start is not None:
        total = np.sum(follower.difference(_unwound(follower, first, start), start) ** 2, axis=1)
    came = []
    for before, now in itertools.pairwise(filled):
        b = layers[before][:, None]
        d = follower.difference(_unwound(follower, layers[now][None], b), b)
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


def _unwound(follower: Follower, states: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return states moved by whole turns of joints without limits, as near to those before as they get."""
    n = len(follower.periodic)
    lower, upper = (side[:n] for side in follower.box)
    return states - TURN * whole_turns(follower.periodic & np.isinf(lower) & np.isinf(upper), states - before)


def _runs(follower: Follower, states: np.ndarray, filled: list[int]) -> list[list[int]]:
    """Return the numbers of poses that follow each other without a break."""
    runs = [[filled[0]]]
    for a, b in itertools.pairwise(filled):
        if b == a + 1 and np.max(np.abs(follower.difference(states[b], states[a]))) <= CANDIDATE:
            runs[-1].append(b)
        else:
            runs.append([b])
    return runs


def _smoothed(
    follower: Follower, poses: np.ndarray, q: np.ndarray, hold_first: bool, accept: Accept | None
) -> np.ndarray:
    """Move configurations (r, n_q) of successive poses along their self-motions so that the joints move least.

    Minimises Σ|q_{k+1} − q_k|² with a small pull to the middle of the limits, by Gauss–Newton steps in the null
    spaces of the task's Jacobians; a step is taken only where it makes that sum smaller inside the limits.
    """
    T = follower.T[poses]
    weight, off_middle = _centring(follower)

    def value(q):
        return float(np.sum(follower.difference(q[1:], q[:-1]) ** 2) + np.sum(weight * off_middle(q) ** 2))

    best, size = value(q), 1.0
    for _ in range(ROUNDS):
        J = follower.error(q, T)[1]
        N = np.swapaxes(np.linalg.svd(J)[2][:, J.shape[1] :], 1, 2)
        if hold_first:
            N[0] = 0.0
        z = _newton_step(follower.difference(q[1:], q[:-1]), N, weight, off_middle(q))
        moved, squared = follower.corrected(follower.moved(q, size * z), T)
        if (squared < ON_POSE).all() and value(moved) < best and _usable(follower, moved, accept).all():
            gain, q, best = best - value(moved), moved, value(moved)
            size = min(1.0, 2.0 * size)
            if gain < 1e-9 * best:
                break
        else:
            size *= 0.5
            if size < 1e-3:
                break
    return q


def _centring(follower: Follower):
    """Return weights (m,) of the distances of joints from the middle of their limits, and these as a function."""
    mechanism, (lower, upper) = follower.problem.mechanism, follower.box
    of_v = plain_velocities(mechanism)
    place = np.array([of_v.get(v, -1) for v in follower.columns.tolist()])
    plain = np.flatnonzero(place >= 0)
    plain = plain[np.isfinite((upper - lower)[place[plain]]) & ((upper - lower)[place[plain]] > 0)]
    own, units = place[plain], follower.units[plain]
    weight, middle = np.zeros(len(place)), (lower + upper)[own] / 2
    weight[plain] = CENTRING / ((upper - lower)[own] / units) ** 2

    def off_middle(q: np.ndarray) -> np.ndarray:
        off = np.zeros((len(q), len(place)))
        off[:, plain] = (q[:, own] - middle) / units
        return off

    return weight, off_middle


def _newton_step(d: np.ndarray, N: np.ndarray, weight: np.ndarray, off_middle: np.ndarray) -> np.ndarray:
    """Minimize the quadratic in the null spaces, as steps (r, m): a block-tridiagonal system.

    Args:
        d: (r − 1, m) joint motion from each configuration to the next.
        N: (r, m, f) orthonormal bases of the null spaces.
        weight, off_middle: of the pull to the middle, (m,) and (r, m).
    """
    r, _, f = N.shape
    gradient = weight * off_middle
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


def _continuous(follower: Follower, states: np.ndarray, a: np.ndarray, b: np.ndarray, steps: np.ndarray):
    """Return True (p,) for pairs of poses if the motion from the one to the other can be followed inside limits."""
    good = (b == a + 1) & (np.max(np.abs(steps), axis=1, initial=0.0) <= CANDIDATE)
    advance = follower.advance(a[good], states[a[good]], states[b[good]])
    lower, upper = follower.box
    kept = (advance.least >= lower - SLACK) & (advance.greatest <= upper + SLACK)
    good[good] = advance.arrived & kept.all(axis=1)
    return good

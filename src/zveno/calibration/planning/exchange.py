"""Selection of the best n of many candidates: greedy, then exchange to a local optimum, and an upper bound."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ...fit.greedy import add_best
from ...fit.threads import in_one_thread
from .criteria import Criterion, lifted, named_criterion, reduced
from .engines import Determinant, Screened, blockwise, engine

EXCURSION = 4
"""Number of postures added beyond n and then removed, if smaller exchanges fail (Mitchell's DETMAX)."""
RESTARTS = 4
"""Number of random restarts beside greedy and the continuous optimum, if there is one."""
IMPROVEMENT = 1e-9
"""Minimum relative gain of an exchange."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Chosen candidates.

    Attributes:
        members: numbers of the candidates, sorted; a number may appear several times.
        value: the criterion.
        information: M, (K, K), including the prior.
        history: value after every accepted step, first that of the start.
        steps: names of stages with their value.
        bound: upper bound of the criterion over all choices of n candidates; inf where it is not known.
    """

    members: np.ndarray
    value: float
    information: np.ndarray
    history: np.ndarray
    steps: dict[str, float] = field(default_factory=dict)
    bound: float = np.inf

    @property
    def efficiency(self) -> float:
        """Lower bound of the share of the best possible value, 0 … 1; nan where no bound is known."""
        return float(min(1.0, self.value / self.bound)) if np.isfinite(self.bound) else float("nan")


@in_one_thread
def select(
    J: np.ndarray,
    n: int,
    criterion: Criterion,
    *,
    prior: np.ndarray | None = None,
    interest: int | None = None,
    bound: bool = True,
) -> Selection:
    """Choose the n of N candidates that maximise a criterion.

    Args:
        J: rows of every candidate divided by their standard deviation, (N, m, K).
        n: number of candidates to choose.
        criterion: see `criteria`.
        prior: information known before, (K, K).
        interest: the first `interest` of K parameters count, the others are nuisance parameters; all if None.
        bound: whether to look for an upper bound, and a second start from it.
    """
    J = np.ascontiguousarray(J, dtype=float)
    k = J.shape[-1] if interest is None else interest
    prior = np.zeros((J.shape[-1],) * 2) if prior is None else prior
    start = greedy(J, n, prior, k)
    first = _judged(J, start, criterion, prior, k)
    if not (bound and criterion.name in ("D", "A") and first.value > 0):
        best = exchange(J, start, criterion, prior=prior, interest=k)
        return replace(best, steps={"greedy": first.value, "exchange": best.value})
    limit, weights, slopes = upper_bound(J, n, criterion, first, prior, k)
    # Candidates with small slopes at the continuous optimum are hardly ever chosen: first without, then with them.
    pool = np.union1d(np.argsort(-slopes)[: max(600, 2 * n)], np.flatnonzero(weights))
    starts = [start, rounded(weights, n)]
    rng = np.random.default_rng(0)
    starts += [rng.choice(len(J), n, p=_spread(weights, slopes)) for _ in range(RESTARTS)]
    ends = []
    for members in starts:
        near = np.union1d(pool, members)
        places = np.searchsorted(near, members)
        end = exchange(J[near], places, criterion, prior=prior, interest=k, thorough=False)
        ends.append(near[end.members])
    ends.sort(key=lambda members: _judged(J, members, criterion, prior, k).value)
    best = exchange(J, ends[-1], criterion, prior=prior, interest=k)
    return replace(best, steps={"greedy": first.value, "exchange": best.value}, bound=limit)


def _spread(weights: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return probabilities for random starts: mostly the continuous optimum, partly all that is nearly as good."""
    near = (slopes / slopes.max()) ** 20
    p = 0.8 * weights / weights.sum() + 0.2 * near / near.sum()
    return p / p.sum()


def _judged(J: np.ndarray, members: ArrayLike, criterion: Criterion, prior: np.ndarray, k: int) -> Selection:
    members, M = np.sort(np.asarray(members, dtype=int)), prior + information(J, members)
    value = float(criterion.value(reduced(M, k)))
    return Selection(members, value, M, np.array([value]))


def greedy(J: np.ndarray, n: int, prior: np.ndarray, k: int) -> np.ndarray:
    """Choose n candidates, each the one that adds most to det(M): a start for every criterion, never rank deficient
    if n candidates can avoid it. Arguments as in `select`."""
    # A weak prior makes the first determinants exist; what is seen of a new direction outweighs everything else.
    weak = 1e-7 * np.mean(np.sum(J**2, axis=(1, 2))) / J.shape[-1]
    state = Determinant(J, prior + weak * np.eye(J.shape[-1]), J.shape[-1], named_criterion("D"))
    members: list[int] = []
    for step in range(n):
        add_best(state, members)
        if step * J.shape[1] < 2 * J.shape[-1]:
            state.refresh()  # the first steps change M by orders of magnitude
    return np.sort(members)


def exchange(
    J: np.ndarray,
    start: ArrayLike,
    criterion: Criterion,
    *,
    prior: np.ndarray,
    interest: int,
    thorough: bool = True,
    most: int = 2000,
) -> Selection:
    """Exchange members with candidates until no exchange improves; the criterion never decreases.

    First the best candidate is added and the least useful member removed, in excursions of growing depth; then
    every member in turn is replaced by the best candidate, if the search is to be `thorough`.
    """
    members = np.asarray(start, dtype=int).tolist()
    first = _judged(J, members, criterion, prior, interest)
    history, M = [first.value], first.information
    if first.value <= 0.0 or np.linalg.cond(M) > 1e15:
        return first
    state = engine(J, M, interest, criterion)
    value, depth = history[0], 1
    while len(history) <= most:
        if depth <= EXCURSION:
            trial = _excursion(state, members, depth)
        else:
            trial = _one_by_one(state, members, value) if thorough else None
        if trial is not None and trial[0].value > value * (1.0 + IMPROVEMENT):
            state, members = trial
            value, depth = state.value, 1
            history.append(value)
        elif depth > EXCURSION:
            break
        else:
            depth += 1
    return replace(_judged(J, members, criterion, prior, interest), history=np.array(history))


MeasurementPlan = tuple[Determinant | Screened, list[int]]
"""Engine and the members of its plan."""


def _excursion(state: Determinant | Screened, members: list[int], depth: int) -> MeasurementPlan | None:
    """Return the plan after `depth` candidates are added, best first, and as many members removed, least useful
    first; None if that is impossible."""
    state, members = copy(state), list(members)
    for _ in range(depth):
        if not add_best(state, members):
            return None
    for _ in range(depth):
        gains = state.gains(-1.0, members)
        worst = int(np.argmax(gains))
        if not np.isfinite(gains[worst]):
            return None  # nothing can be spared
        state.change(members.pop(worst), -1.0)
    return state, members


def _one_by_one(state: Determinant | Screened, members: list[int], value: float) -> MeasurementPlan | None:
    """Return the plan after the first replacement of a member that improves the criterion; None if none does."""
    gains = state.gains(-1.0, members)
    for place in np.argsort(-gains)[: int(np.isfinite(gains).sum())]:
        trial, others = copy(state), list(members)
        trial.change(others.pop(int(place)), -1.0)
        if add_best(trial, others) and trial.value > value * (1.0 + IMPROVEMENT):
            return trial, others
    return None


def information(J: np.ndarray, members: ArrayLike) -> np.ndarray:
    """Return Σ JᵀJ over members, (K, K)."""
    rows = J[np.asarray(members, dtype=int)].reshape(-1, J.shape[-1])
    return rows.T @ rows


def upper_bound(
    J: np.ndarray, n: int, criterion: Criterion, selection: Selection, prior: np.ndarray, k: int, rounds: int = 12
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a value that no n candidates can exceed, the weights (N,), sum 1, of a continuous plan close to it,
    and the derivatives (N,) of the criterion there.

    A concave criterion lies below its tangents, and one that doubles with M passes through zero: for the gradient G
    at any M, φ(M*) ≤ tr(G M*) ≤ tr(G prior) + n max_i tr(J_i G J_iᵀ). The tangent at the best continuous plan (the
    optimum of the convex relaxation) is the tightest; it is approached by multiplicative updates of the weights on
    a small support that grows by the candidates with the largest slopes.
    """
    weights = np.bincount(selection.members, minlength=len(J)).astype(float)
    weights /= weights.sum()
    support = np.flatnonzero(weights)
    flat = np.ascontiguousarray(J.transpose(2, 1, 0)).reshape(J.shape[-1], -1)
    power = 1.0 if criterion.name == "D" else 0.5
    least, slopes_all = np.inf, np.zeros(len(J))
    for _ in range(rounds):
        rows = J[support]
        blocks = np.swapaxes(rows, 1, 2) @ rows
        w = weights[support]
        for _ in range(60):
            M = prior + n * np.tensordot(w, blocks, 1)
            G = lifted(criterion.gradient(reduced(M, k)), M)
            slopes = np.einsum("nij,ij->n", blocks, G)
            w = w * np.maximum(slopes, 0.0) ** power
            w /= w.sum()
        weights[support] = w
        M = prior + n * np.tensordot(w, blocks, 1)
        G = lifted(criterion.gradient(reduced(M, k)), M)
        slopes_all = np.einsum("kn,kn->n", blockwise(G, flat), flat).reshape(-1, len(J)).sum(axis=0)
        least = min(least, float(np.sum(G * prior) + n * slopes_all.max()))
        reached = float(criterion.value(reduced(M, k)))
        if least <= reached * (1.0 + 1e-4):
            break
        new = np.argsort(-slopes_all)[:24]
        kept = support[w > 1e-6]
        weights[np.setdiff1d(support, kept)] = 0.0
        weights[new] = np.maximum(weights[new], 1e-2 / len(new))
        weights /= weights.sum()
        support = np.flatnonzero(weights)
    return least, weights, slopes_all


def rounded(weights: np.ndarray, n: int) -> np.ndarray:
    """Return n numbers in proportion to weights: shares rounded down, the largest remainders rounded up."""
    share = n * weights / weights.sum()
    counts = np.floor(share).astype(int)
    more = np.argsort(-(share - counts))[: n - counts.sum()]
    counts[more] += 1
    return np.repeat(np.arange(len(weights)), counts)

"""Selection of the best n of many candidates: greedy, then exchange to a local optimum, and an upper bound."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ...fit.greedy import add_best
from ...fit.threads import in_one_thread
from ._criteria import Criterion, lifted, named_criterion, reduced

REFRESH = 40
"""Number of low-rank updates before the inverse is recomputed."""
SINGULAR = 1e-10
"""Share below which a determinant is zero up to rounding after a member is removed."""
LOOKED_AT = 32
"""Number of candidates that `Screened` computes exactly in one step."""
Members = list[int] | np.ndarray | slice
"""Numbers of candidates."""


def engine(J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion) -> Determinant | Screened:
    """Return the fastest engine for a criterion. Arguments as in `Screened`."""
    if criterion.name == "D":
        return Determinant(J, M, k, criterion)
    return Screened(J, M, k, criterion)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """C = M⁻¹ and J_i C J_iᵀ for every candidate.

    Candidates are the last axis everywhere, so that small matrices are vectors of their entries over candidates.

    Attributes:
        J: rows of every candidate, (N, m, K); `flat` has them as (K, m N).
        M, C: information (K, K), and its inverse.
        A: upper triangles of J_i C J_iᵀ, (m (m + 1)/2, N).
        age: low-rank updates since C was computed.
    """

    J: np.ndarray
    flat: np.ndarray
    M: np.ndarray
    C: np.ndarray
    A: np.ndarray
    age: int = 0

    @classmethod
    def of(cls, J: np.ndarray, M: np.ndarray, flat: np.ndarray | None = None) -> _Quadratic:
        """Compute everything from M."""
        if flat is None:
            flat = np.ascontiguousarray(J.transpose(2, 1, 0)).reshape(J.shape[2], -1)
        C = np.linalg.inv(M)
        half = blockwise(np.linalg.cholesky(0.5 * (C + C.T)).T, flat)
        return cls(J, flat, M, C, _products(half, J))

    def changed(self, i: int, sign: float) -> _Quadratic:
        """Return the state with candidate i added (sign 1) or removed (−1): the Woodbury formula."""
        Ji = self.J[i]
        M = self.M + sign * Ji.T @ Ji
        if self.age + 1 >= REFRESH:
            return _Quadratic.of(self.J, M, self.flat)
        P = Ji @ self.C
        try:
            half = np.linalg.cholesky(np.linalg.inv(np.eye(len(Ji)) + sign * P @ Ji.T))
        except np.linalg.LinAlgError:  # rounding of C, while the plan hardly determines some unknowns
            return _Quadratic.of(self.J, M, self.flat)
        U = P.T @ half
        A = self.A - sign * _products(blockwise(U.T, self.flat), self.J)
        return _Quadratic(self.J, self.flat, M, self.C - sign * U @ U.T, A, self.age + 1)

    def log_ratio(self, sign: float, members: Members) -> np.ndarray:
        """Return log det(M ± J_iᵀJ_i) − log det M for every candidate."""
        return _log_det(self.A[:, members], self.J.shape[1], sign)


class _Engine:
    """Base of all engines; see `Screened` for the arguments. A copy keeps its plan unchanged."""

    M: np.ndarray

    def __init__(self, M: np.ndarray, k: int, criterion: Criterion):
        self.M, self._k, self._criterion = M, k, criterion

    @property
    def value(self) -> float:
        """Current value of the criterion."""
        return float(self._criterion.value(reduced(self.M, self._k)))


class Determinant(_Engine):
    """Engine of the D criterion; see `Screened` for the arguments."""

    def __init__(self, J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion):
        super().__init__(M, k, criterion)
        self._parts = [_Quadratic.of(J, M)]
        if J.shape[-1] > k:  # det S = det M / det of the block of unknowns in the way
            self._parts.append(_Quadratic.of(np.ascontiguousarray(J[:, :, k:]), M[k:, k:]))

    def gains(self, sign: float, members: Members = slice(None)) -> np.ndarray:
        """Return the change of log det S when each candidate is added (1) or removed (−1)."""
        gain, *rest = (part.log_ratio(sign, members) for part in self._parts)
        for unknowns in rest:
            # Without this member some unknown in the way would be lost too: not a plan to go on from.
            lost = ~(np.isfinite(gain) & np.isfinite(unknowns))
            gain = np.where(lost, -np.inf, gain - np.where(lost, 0.0, unknowns))
        return gain

    def change(self, i: int, sign: float) -> None:
        """Add (1) or remove (−1) candidate i."""
        self._parts = [part.changed(i, sign) for part in self._parts]
        self.M = self._parts[0].M

    def refresh(self) -> None:
        """Remove accumulated rounding errors."""
        self._parts = [_Quadratic.of(part.J, part.M, part.flat) for part in self._parts]


class Screened(_Engine):
    """Engine of any criterion.

    Args:
        J: rows of every candidate, (N, m, K).
        M: information to start with, (K, K), not singular for D.
        k: the first k of K parameters are of interest.
        criterion: function to maximise.
    """

    def __init__(self, J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion):
        super().__init__(M, k, criterion)
        self._J = J

    def gains(self, sign: float, members: Members | None = None) -> np.ndarray:
        """Return the change of the criterion, −inf for candidates that were not computed."""
        if members is not None:
            return self._exactly(members, sign)
        H = lifted(self._criterion.outlook(reduced(self.M, self._k)), self.M)
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        flat = self._J.reshape(-1, self._J.shape[-1])
        scores = np.sum((flat @ (vectors * np.sqrt(np.maximum(values, 0.0)))) ** 2, axis=1)
        scores = scores.reshape(len(self._J), -1).sum(axis=1)
        few = min(LOOKED_AT, len(scores))
        best = np.argpartition(sign * scores, -few)[-few:]
        gains = np.full(len(self._J), -np.inf)
        gains[best] = self._exactly(best, sign)
        return gains

    def change(self, i: int, sign: float) -> None:
        """Add (1) or remove (−1) candidate i."""
        self.M = self.M + sign * self._J[i].T @ self._J[i]

    def _exactly(self, members: Members, sign: float) -> np.ndarray:
        rows = self._J[members]
        S = reduced(self.M + sign * (np.swapaxes(rows, 1, 2) @ rows), self._k)
        return self._criterion.value(S) - self.value


def _products(thin: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return upper triangles, entries (m (m + 1)/2, N), of X_iᵀ X_i for the columns X_i of thin (c, m N)."""
    N, m, _ = J.shape
    X = thin.reshape(len(thin), m, N)
    return np.concatenate([np.einsum("cn,cbn->bn", X[:, a], X[:, a:]) for a in range(m)])


def blockwise(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A @ B for a small A and a very wide B, in blocks of columns.

    Blocks stay in the cache, and below the size from which BLAS starts its threads: that costs more than the
    product, and on a busy machine a hundred times more.
    """
    width = max(256, 200_000 // A.size)
    out = np.empty((len(A), B.shape[1]))
    for k in range(0, B.shape[1], width):
        out[:, k : k + width] = A @ B[:, k : k + width]
    return out


def _log_det(A: np.ndarray, m: int, sign: float) -> np.ndarray:
    """Return log det(1 ± A) of symmetric (m, m) matrices given by entries of their upper triangles (m (m + 1)/2,
    N).

    Elimination without pivoting, all matrices at once; −inf where one is not positive definite.
    """
    rows = np.split(sign * A, np.cumsum(np.arange(m, 1, -1)))
    det = np.ones(A.shape[1])
    good = np.ones(A.shape[1], dtype=bool)
    for row in rows:
        row[0] += 1.0
    for p in range(m):
        good &= rows[p][0] > SINGULAR
        pivot = np.where(good, rows[p][0], 1.0)
        det *= pivot
        for a in range(p + 1, m):
            rows[a] -= rows[p][a - p] / pivot * rows[p][a - p :]
    return np.where(good & (det > SINGULAR), np.log(np.maximum(det, SINGULAR)), -np.inf)


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

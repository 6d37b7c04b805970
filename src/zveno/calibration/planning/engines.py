"""Values of the criterion after adding a candidate or removing a member, for all of them at once.

`Determinant` keeps J C Jᵀ of every candidate and updates it by low-rank terms when the plan changes: a step over
thousands of candidates costs one thin product. `Screened` serves every other criterion: candidates are ranked by
the derivative of the (smoothed) criterion, and the best few are computed exactly, so that reported steps are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .criteria import Criterion, lifted, reduced

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

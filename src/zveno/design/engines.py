"""What the criterion would be if a candidate were added or a member taken away, for all of them at once.

`Determinant` keeps J C Jᵀ of every candidate and updates it by low-rank terms when the plan changes: a step over
thousands of candidates costs one thin product. `Screened` serves every other criterion: candidates are ranked by
the slope of the (smoothed) criterion, and the best few are computed exactly, so a step is never worse than it says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .criteria import Criterion, lifted, reduced

REFRESH = 40
"""Low-rank updates before the inverse is computed anew."""
SINGULAR = 1e-10
"""A determinant that falls below this share of itself when a member is taken away is zero up to rounding."""
LOOKED_AT = 32
"""Candidates that `Screened` computes exactly in one step."""


def engine(J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion, n: int) -> Determinant | Screened:
    """The fastest engine for a criterion. Arguments as in `Screened`."""
    if criterion.name in ("D", "O1"):
        return Determinant(J, M, k, criterion, n)
    return Screened(J, M, k, criterion, n)


class _Quadratic:
    """C = M⁻¹ and J_i C J_iᵀ for every candidate, kept up to date.

    Candidates are the last axis everywhere, so that small matrices are vectors of their entries over candidates.
    """

    def __init__(self, J: np.ndarray, M: np.ndarray):
        N, m, K = J.shape
        self.J, self.M = J, M.copy()
        self.flat = np.ascontiguousarray(J.transpose(2, 1, 0)).reshape(K, m * N)
        self.refresh()

    def refresh(self):
        """Everything anew from M."""
        self.age = 0
        self.C = np.linalg.inv(self.M)
        half = blockwise(np.linalg.cholesky(0.5 * (self.C + self.C.T)).T, self.flat)
        self.A = self._products(half)

    def _products(self, thin: np.ndarray) -> np.ndarray:
        """Upper triangles, entries (m (m + 1)/2, N), of X_iᵀ X_i for the columns X_i of thin (c, m N)."""
        N, m, _ = self.J.shape
        X = thin.reshape(len(thin), m, N)
        return np.concatenate([np.einsum("cn,cbn->bn", X[:, a], X[:, a:]) for a in range(m)])

    def change(self, i: int, sign: float):
        """Add (sign 1) or take away (−1) candidate i: the Woodbury formula."""
        Ji = self.J[i]
        self.M = self.M + sign * Ji.T @ Ji
        self.age += 1
        if self.age >= REFRESH:
            self.refresh()
            return
        P = Ji @ self.C
        U = P.T @ np.linalg.cholesky(np.linalg.inv(np.eye(len(Ji)) + sign * P @ Ji.T))
        self.C = self.C - sign * U @ U.T
        self.A = self.A - sign * self._products(blockwise(U.T, self.flat))

    def log_ratio(self, sign: float, members: Any = slice(None)) -> np.ndarray:
        """log det(M ± J_iᵀJ_i) − log det M for every candidate."""
        return _log_det(self.A[:, members], self.J.shape[1], sign)

    @property
    def state(self) -> Any:
        """What `back_to` takes."""
        return self.M, self.C, self.A, self.age

    def back_to(self, state: Any):
        """Undo every change since `state`."""
        self.M, self.C, self.A, self.age = state


class Determinant:
    """Engine of the D criterion; see `Screened` for the arguments."""

    criterion: Criterion
    k: int
    n: int

    def __init__(self, J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion, n: int):
        self.criterion, self.k, self.n = criterion, k, n
        self.whole: _Quadratic = _Quadratic(J, M)
        self.rest: _Quadratic | None = (
            _Quadratic(np.ascontiguousarray(J[:, :, k:]), M[k:, k:]) if J.shape[-1] > k else None
        )

    @property
    def M(self) -> np.ndarray:
        """Information of the plan now."""
        return self.whole.M

    @property
    def value(self) -> float:
        """The criterion now."""
        return float(self.criterion.value(reduced(self.M, self.k), self.n))

    def gains(self, sign: float, members: Any = slice(None)) -> np.ndarray:
        """Change of log det S when each candidate is added (1) or taken away (−1)."""
        gain = self.whole.log_ratio(sign, members)
        if self.rest is None:
            return gain
        # Without this member some unknown in the way would be lost too: not a plan to go on from.
        rest = self.rest.log_ratio(sign, members)
        return np.where(
            np.isfinite(gain) & np.isfinite(rest), gain - np.where(np.isfinite(rest), rest, 0.0), -np.inf
        )

    def change(self, i: int, sign: float) -> None:
        """Add (1) or take away (−1) candidate i."""
        self.whole.change(i, sign)
        if self.rest is not None:
            self.rest.change(i, sign)

    def refresh(self) -> None:
        """Remove what rounding has added up."""
        self.whole.refresh()
        if self.rest is not None:
            self.rest.refresh()

    @property
    def state(self) -> Any:
        """What `back_to` takes."""
        return self.whole.state, None if self.rest is None else self.rest.state

    def back_to(self, state: Any) -> None:
        """Undo every change since `state`."""
        self.whole.back_to(state[0])
        if self.rest is not None:
            self.rest.back_to(state[1])


class Screened:
    """Engine of any criterion.

    Args:
        J: rows of every candidate, (N, m, K).
        M: information to start with, (K, K), not singular for D.
        k: the first k of K parameters are of interest.
        criterion: what is made large.
        n: number of postures the plan will have.
    """

    k: int
    criterion: Criterion
    n: int

    def __init__(self, J: np.ndarray, M: np.ndarray, k: int, criterion: Criterion, n: int):
        self.J, self.M, self.k, self.criterion, self.n = J, M.copy(), k, criterion, n
        self.flat: np.ndarray = J.reshape(-1, J.shape[-1])

    @property
    def value(self) -> float:
        """The criterion now."""
        return float(self.criterion.value(reduced(self.M, self.k), self.n))

    def gains(self, sign: float, members: Any = None) -> np.ndarray:
        """Change of the criterion, −inf for candidates that were not looked at."""
        if members is None:
            H = lifted(self.criterion.outlook(reduced(self.M, self.k), self.n), self.M)
            values, vectors = np.linalg.eigh(0.5 * (H + H.T))
            scores = np.sum((self.flat @ (vectors * np.sqrt(np.maximum(values, 0.0)))) ** 2, axis=1)
            scores = scores.reshape(len(self.J), -1).sum(axis=1)
            few = min(LOOKED_AT, len(scores))
            members = np.argpartition(sign * scores, -few)[-few:]
            out = np.full(len(self.J), -np.inf)
            out[members] = self._exactly(members, sign)
            return out
        return self._exactly(np.asarray(members), sign)

    def change(self, i: int, sign: float) -> None:
        """Add (1) or take away (−1) candidate i."""
        self.M = self.M + sign * self.J[i].T @ self.J[i]

    @property
    def state(self) -> Any:
        """What `back_to` takes."""
        return self.M

    def back_to(self, state: Any) -> None:
        """Undo every change since `state`."""
        self.M = state

    def _exactly(self, members: np.ndarray, sign: float) -> np.ndarray:
        rows = self.J[members]
        S = reduced(self.M + sign * (np.swapaxes(rows, 1, 2) @ rows), self.k)
        return self.criterion.value(S, self.n) - self.value


def blockwise(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B for a small A and a very wide B, in blocks of columns.

    Blocks stay in the cache, and below the size from which BLAS wakes its threads: waking them costs more than the
    product, and on a busy machine a hundred times more.
    """
    width = max(256, 200_000 // A.size)
    out = np.empty((len(A), B.shape[1]))
    for k in range(0, B.shape[1], width):
        out[:, k : k + width] = A @ B[:, k : k + width]
    return out


def _log_det(A: np.ndarray, m: int, sign: float) -> np.ndarray:
    """log det(1 ± A) of symmetric (m, m) matrices given by entries of their upper triangles (m (m + 1)/2, N).

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

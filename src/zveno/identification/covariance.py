"""Covariance of an estimate whose residuals are correlated in time (Newey and West 1987, Bartlett weights).

Residuals of a torque model are its errors as well as noise, and both last: variances that take rows as independent
are several times too small. Bartlett weights of L lags are the mean square of sums over L consecutive rows, so a
moving sum of the scores is all that a pass over the rows needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .estimate import Estimate
from .model import TorqueModel
from .moments import block_of
from .rows import Rows

WINDOW = 1.0
"""s of correlation that is counted."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What the residuals say about the scatter of an estimate.

    Attributes:
        long_run: (blocks, p, p) long-run covariance of the scores Wᵀe/σ², summed over the rows of each block.
        squares, correlated: (blocks, n) sums of every joint's e² and of (moving sum of e)²/L.
    """

    long_run: np.ndarray
    squares: np.ndarray
    correlated: np.ndarray


def score_sums(
    model: TorqueModel,
    places: np.ndarray,
    rows: Iterable[Rows],
    estimate: Estimate,
    edges: np.ndarray,
) -> Scores:
    """One pass over the rows with the residuals of an estimate.

    Args:
        model: whose columns the rows hold.
        places: columns of the estimate.
        rows: all rows.
        estimate: the fit.
        edges: places between blocks.
    """
    n, p, blocks = model.mechanism.n_v, len(places), len(edges) + 1
    x = np.zeros(model.n_columns)
    x[places] = estimate.x
    number = np.full(model.n_columns, -1)
    number[places] = np.arange(p)
    out = np.zeros((blocks, p, p))
    squares, correlated = np.zeros((blocks, n)), np.zeros((blocks, n))
    before: np.ndarray | None = None
    for part in rows:
        score = np.zeros((len(part.t), p))
        e = np.zeros((len(part.t), n))
        for j, (columns, place) in enumerate(zip(model.active, model.slices, strict=True)):
            used = number[columns] >= 0
            A = part.columns[:, place][:, used]
            e[:, j] = np.where(part.moving[:, j], part.tau[:, 0, j] - A @ x[columns[used]], 0.0)
            score[:, number[columns[used]]] += A * (e[:, j] / estimate.sigma[j] ** 2)[:, None]
        lags = max(1, round(WINDOW / _interval(part)))
        both = np.concatenate([score, e], axis=1)
        if part.first or before is None or len(before) != lags - 1:
            before = np.zeros((lags - 1, both.shape[1]))
        sums = np.cumsum(np.concatenate([np.zeros((1, both.shape[1])), before, both]), axis=0)
        moving = (sums[lags:] - sums[:-lags]) / np.sqrt(lags)
        before = np.concatenate([before, both])[len(both) :]
        label = block_of(part, edges)
        for k in np.unique(label):
            chosen = label == k
            out[k] += moving[chosen, :p].T @ moving[chosen, :p]
            squares[k] += (e[chosen] ** 2).sum(axis=0)
            correlated[k] += (moving[chosen, p:] ** 2).sum(axis=0)
    return Scores(out, squares, correlated)


def _interval(part: Rows) -> float:
    return float(part.t[1] - part.t[0]) if len(part.t) > 1 else WINDOW


def sandwich(estimate: Estimate, scores: Scores, without: Iterable[int] = ()) -> np.ndarray:
    """(p, p) covariance H⁻¹ S H⁻¹ of the parameters; infinite variance where the rows do not show one."""
    inverse = inverse_normal(estimate)
    S = np.delete(scores.long_run, list(without), axis=0).sum(axis=0)
    C = inverse @ S @ inverse
    # Directions that few windows fill look certain by chance: never less than independent residuals leave.
    C = C + np.diag(np.maximum(inverse.diagonal() - C.diagonal(), 0.0))
    C[~estimate.seen, :] = C[:, ~estimate.seen] = 0.0
    C[~estimate.seen, ~estimate.seen] = np.inf
    return C


def inflation(estimate: Estimate, scores: Scores, without: Iterable[int] = ()) -> float:
    """By how much the variance of the parameters exceeds that of independent residuals, on average; at least 1."""
    S = np.delete(scores.long_run, list(without), axis=0).sum(axis=0)
    kept = len(scores.long_run) - len(list(without))
    share = kept / len(scores.long_run)
    seen = max(1, len(estimate.x) - estimate.unseen.shape[1])
    return max(1.0, float(np.sum(inverse_normal(estimate) * S)) / seen / share if share else 1.0)


def inverse_normal(estimate: Estimate) -> np.ndarray:
    """(p, p) inverse of the normal matrix along what the rows show."""
    d = estimate.scale
    S = estimate.normal / (d[:, None] * d)
    w, V = np.linalg.eigh(S)
    k = estimate.unseen.shape[1]
    half = V[:, k:] / np.sqrt(w[k:])
    return (half @ half.T) / (d[:, None] * d)

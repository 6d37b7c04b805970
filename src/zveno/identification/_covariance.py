"""Covariance of an estimate whose residuals are correlated in time (Newey and West 1987, Bartlett weights).

Residuals of a torque model are its errors as well as noise, and both last: variances that take rows as independent
are several times too small. Bartlett weights of L lags are the mean square of sums over L consecutive rows, so a
moving sum of the scores is all that a pass over the rows needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add, attrgetter

import numpy as np

from ..io.results import registered
from ._estimate import Estimate
from ._rows import Rows, block_of
from .model import TorqueModel

WINDOW = 1.0
"""Correlation time that is counted, s."""


@registered
@dataclass(frozen=True, eq=False)
class Scores:
    """Scatter statistics of the residuals of an estimate.

    Attributes:
        long_run: (blocks, p, p) long-run covariance of the scores Wᵀe/σ², summed over the rows of each block.
        rows: (blocks,) rows that joints move in, all joints together.
        least: inflation of the variance that the filter alone causes where noise is white.
    """

    long_run: np.ndarray
    rows: np.ndarray
    least: float

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.long_run + other.long_run, self.rows + other.rows, max(self.least, other.least))


def score_sums(
    model: TorqueModel,
    rows: Iterable[Rows],
    estimate: Estimate,
    edges: np.ndarray,
    least: float = 1.0,
) -> Scores:
    """Sum scores in one pass over the rows with the residuals of an estimate, log by log, as in `accumulate`.

    Args:
        model: whose columns the rows hold.
        rows: all rows.
        estimate: the fit of all these columns.
        edges: places between blocks.
        least: inflation that the filter alone causes.
    """
    by_log = [log_scores(model, part, estimate, edges, least) for _, part in groupby(rows, key=attrgetter("log"))]
    return reduce(add, by_log) if by_log else log_scores(model, (), estimate, edges, least)


def log_scores(
    model: TorqueModel, rows: Iterable[Rows], estimate: Estimate, edges: np.ndarray, least: float
) -> Scores:
    """Return the scores of one log."""
    p, blocks = model.n_columns, len(edges) + 1
    out = np.zeros((blocks, p, p))
    counts = np.zeros(blocks)
    before: np.ndarray | None = None
    for part in rows:
        score = np.zeros((len(part.t), p))
        for j, (columns, place) in enumerate(zip(model.active, model.slices, strict=True)):
            A = part.columns[:, place]
            e = np.where(part.moving[:, j], part.tau[:, 0, j] - A @ estimate.x[columns], 0.0)
            score[:, columns] += A * (e / estimate.sigma[j] ** 2)[:, None]
        lags = max(1, round(WINDOW / _interval(part)))
        if part.first or before is None or len(before) != lags - 1:
            before = np.zeros((lags - 1, p))
        sums = np.cumsum(np.concatenate([np.zeros((1, p)), before, score]), axis=0)
        moving = (sums[lags:] - sums[:-lags]) / np.sqrt(lags)
        before = np.concatenate([before, score])[len(score) :]
        label = block_of(part, edges)
        for k in np.unique(label):
            chosen = label == k
            out[k] += moving[chosen].T @ moving[chosen]
            counts[k] += part.moving[chosen].sum()
    return Scores(out, counts, least)


def _interval(part: Rows) -> float:
    return float(part.t[1] - part.t[0]) if len(part.t) > 1 else WINDOW


def sandwich(estimate: Estimate, scores: Scores) -> np.ndarray:
    """Return the covariance (p, p) of the parameters, H⁻¹ S H⁻¹; infinite variance where the rows do not show one.

    Residuals have lost the parameters' degrees of freedom, and few windows make variances small by chance: none
    is taken smaller than the average inflation implies.
    """
    inverse, average = inverse_normal(estimate), inflation(estimate, scores)
    C = inverse @ scores.long_run.sum(axis=0) @ inverse
    variances, expected = C.diagonal(), average * inverse.diagonal()
    raised = np.sqrt(np.maximum(1.0, expected / np.where(variances > 0, variances, np.inf)))
    independent = scores.rows.sum() / average
    freedom = max(independent - len(estimate.x), 0.1 * independent)
    C = C * raised[:, None] * raised * (independent / freedom)
    C[~estimate.seen, :] = C[:, ~estimate.seen] = 0.0
    C[~estimate.seen, ~estimate.seen] = np.inf
    return C


def inflation(estimate: Estimate, scores: Scores, without: Sequence[int] = ()) -> float:
    """Return the average factor by which the variance of the parameters exceeds that of independent residuals."""
    S = np.delete(scores.long_run, list(without), axis=0).sum(axis=0)
    share = 1.0 - len(without) / len(scores.long_run)
    seen = max(1, len(estimate.x) - estimate.unseen.shape[1])
    return max(scores.least, float(np.sum(inverse_normal(estimate) * S)) / seen / share)


def inverse_normal(estimate: Estimate) -> np.ndarray:
    """Return the inverse (p, p) of the normal matrix along the observed directions."""
    d = estimate.scale
    S = estimate.normal / (d[:, None] * d)
    w, V = np.linalg.eigh(S)
    k = estimate.unseen.shape[1]
    half = V[:, k:] / np.sqrt(w[k:])
    return (half @ half.T) / (d[:, None] * d)

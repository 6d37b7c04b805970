"""Stage of a fit: test for a displacement of the tool during a campaign, and its first row.

At a fit with whitened Jacobian A and residuals r, a displacement of the tool from posture t on has columns C, zero
before. Orthogonal to A they have the information M = CᵀC and the score b = −Cᵀr. Sums over postures give both for
all t at once: M(t) = Σ CᵀC − (Σ CᵀQ)(Σ CᵀQ)ᵀ with Q an orthonormal basis of A. The share bᵀM⁻¹b of the squares
has a beta distribution where nothing moved. The clearest t is accepted only if the linear problem with it
predicts held-out postures better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy.special import betainc

from ..measurements._fit_problem import FitProblem
from .findings import ToolMove
from .held_out import folds_of, split
from .noise import FitOptions, Whitening, prior_of, row_distances, row_sigma
from .outliers import freedom, outlier_limits
from .solve import Solution
from .state import FitState

CHANCE = 0.01
"""Probability that a change is found in a calibration in which nothing moved."""
GAIN = 0.1
"""Share by which squared errors of held-out postures must decrease with the change."""
FEWEST = 3
"""Minimum number of postures before and after a change."""
FOLDS = 10
"""Number of folds, where no held-out errors are requested."""


@dataclass(frozen=True, eq=False)
class _Change:
    """Displacement of the tool.

    Attributes:
        part, posture: number of the campaign, and of its first posture after the change.
        columns: derivatives (rows, k) of all scalar rows by the displacement, zero before it.
        free, step: which of the six displacements these are, and their sizes, (k,), m and rad.
        chance: probability of such residuals if nothing moved.
    """

    part: int
    posture: int
    columns: np.ndarray
    free: tuple[int, ...]
    step: np.ndarray
    chance: float


def find_moved_tool(state: FitState) -> FitState:
    """Find the row from which on the tool is displaced, if rows in their order show it."""
    problem, options, whole, settings = state.problem, state.options, state.fit, state.settings
    change = _clearest(problem, options, whole)
    if change is None or change.chance > CHANCE:
        return state
    folds = [*chain(*folds_of(problem, settings.folds or FOLDS, settings.seed, options.components))]
    none = np.zeros((problem.n_rows, 0))
    distances = [_distances(problem, options, whole, folds, extra) for extra in (change.columns, none)]
    components = distances[0][1]
    # A large displacement is not linear, and leaves more than the stated noise: limits grow with what is left.
    size = max(1.0, float(np.median(distances[0][0] / np.sqrt(np.maximum(components, 1)))))
    limits = size * outlier_limits(problem, components, freedom(problem, whole.fit, whole.weight))
    with_change, without = (float(np.sum(np.minimum(distance, limits) ** 2)) for distance, _ in distances)
    if not with_change < (1.0 - GAIN) * without:
        return state
    campaign, six = problem.campaigns[change.part], np.zeros(6)
    six[list(change.free)] = change.step
    sizes = float(np.linalg.norm(six[:3])), float(np.linalg.norm(six[3:]))
    row = int(campaign.lines[change.posture])
    return replace(state, tool_moved=ToolMove(campaign.name, row, *sizes, campaign.file))


def _distances(
    problem: FitProblem, options: FitOptions, whole: Solution, folds: list[np.ndarray], extra: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances (data rows,) from linear fits without them, in standard deviations, and their numbers of
    components.

    Args:
        problem, options, whole: the fit.
        folds: postures that are held out together.
        extra: columns (rows, k) besides those of the fit.
    """
    sigma = row_sigma(problem, options, whole.sigma)
    J, r = whole.fit.state.J / sigma[:, None], whole.residual / sigma
    weight = np.sqrt(problem.by_row(_trusted(problem, whole), 1.0))
    prior_columns, weights, prior_rows = prior_of(options)
    pulled, prior_rows = weights @ whole.values[prior_columns], np.pad(prior_rows, ((0, 0), (0, extra.shape[1])))
    A, unseen = np.column_stack([J, extra / sigma[:, None]]), np.zeros(problem.n_rows)
    for postures in folds:
        test = np.isin(problem.posture, postures)
        kept, train, _ = split(problem, options.columns, test)
        fitted = np.concatenate([kept & whole.fit.free, np.ones(extra.shape[1], dtype=bool)])
        rows = np.concatenate([(A * weight[:, None])[train], prior_rows])[:, fitted]
        norms = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
        target = np.concatenate([(r * weight)[train], pulled])
        step = np.linalg.lstsq(rows / norms, -target, rcond=1e-9)[0] / norms
        left = r[test] + A[np.ix_(test, fitted)] @ step
        new = J[np.ix_(test, ~kept)]
        Q = np.linalg.qr(new[:, abs(new).max(axis=0, initial=0.0) > 0])[0]
        unseen[test] = left - Q @ (Q.T @ left)
    return row_distances(problem, unseen)


def _clearest(problem: FitProblem, options: FitOptions, whole: Solution) -> _Change | None:
    """Return the tool displacement that explains most of the residuals of a fit; None if there are too few."""
    white = Whitening(problem, options, whole.sigma, _trusted(problem, whole))
    rows = len(white.scale)
    A = np.concatenate([white(whole.fit.state.J), prior_of(options)[2]])[:, whole.fit.free]
    Q = np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))[0][:rows]
    r = white(whole.residual)
    r = r - Q @ (Q.T @ r)
    squares, left = float(r @ r), rows - A.shape[1]
    if left < 2 * FEWEST or not squares:
        return None
    posture, changes = problem.posture[white.used], []
    for number, part in enumerate(problem.parts):
        n = len(part.q)
        # Between two campaigns the tool may have moved, too: before the first posture of a later one.
        times = np.array([*([0] if number and n >= FEWEST else []), *range(FEWEST, n - FEWEST + 1)], dtype=int)
        columns, free = _tool_columns(problem, whole, number)
        if not len(times) or not free:
            continue
        test, rank, step = _scanned(white(columns), Q, r, posture - part.first_posture, n)
        share, k = np.minimum(test[times] / squares, 1.0), np.clip(rank[times], 1, left - 1)
        p = np.where(rank[times] > 0, betainc(0.5 * (left - k), 0.5 * k, 1.0 - share), 1.0)
        best = int(np.argmin(p))
        # Neighbouring times are nearly one test: they count as about this many independent ones.
        chance = float(p[best]) * (4.0 + 6.0 * np.log(len(times))) * len(problem.parts)
        posture_of_change = int(times[best])
        late = problem.posture >= part.first_posture + posture_of_change
        moved = np.where(late[:, None], columns, 0.0)
        changes.append(_Change(number, posture_of_change, moved, free, step[posture_of_change], chance))
    return min(changes, key=lambda change: change.chance, default=None)


def _trusted(problem: FitProblem, whole: Solution) -> np.ndarray:
    """Return weights (data rows,). Flagged rows count if most neighbours are flagged, as after a change."""
    good = whole.weight > 0.05
    first, weight = 0, good.astype(float)
    for part in problem.parts:
        rows = np.arange(first, first + len(part.y))
        if len(rows) >= 2 * FEWEST:
            near = np.convolve(~good[rows], np.ones(5), mode="same") >= 3
            weight[rows[near]] = 1.0
        first += len(part.y)
    return weight


def _tool_columns(problem: FitProblem, whole: Solution, number: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return derivatives (rows, k) of all scalar rows by displacements of the tool of a campaign, and which of the
    six displacements its readings depend on."""
    part = problem.parts[number]
    start = sum(other.n_known for other in problem.parts[:number])
    T, _ = problem.poses(part, whole.values, part.q)
    by_tool = problem.rows_of(part, T[part.posture], whole.frames)[3]
    size = abs(by_tool).max(axis=(0, 1))
    free = tuple(int(k) for k in np.flatnonzero(size > 1e-9 * size.max(initial=0.0)))
    columns = np.zeros((problem.n_rows, len(free)))
    columns[start : start + part.n_known] = by_tool[part.known][:, list(free)]
    return columns, free


def _scanned(C, Q, r, place: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for a change before every posture, bᵀM⁻¹b (n,), its rank (n,) and the best step (n, k). Rows are of
    the posture `place`, or of other campaigns."""
    inside = (place >= 0) & (place < n)
    at, C, Q, r = place[inside], C[inside], Q[inside], r[inside]

    def after(other: np.ndarray) -> np.ndarray:
        """Return Σ Cᵀ other (n, k, …) over the rows of every posture and those that follow."""
        sums = np.zeros((n, C.shape[1], other.shape[1]))
        np.add.at(sums, at, C[:, :, None] * other[:, None, :])
        return np.cumsum(sums[::-1], axis=0)[::-1]

    CQ = after(Q)
    M = after(C) - CQ @ np.swapaxes(CQ, 1, 2)
    b = -after(r[:, None])[..., 0]
    scale = np.sqrt(np.maximum(np.diagonal(M, axis1=1, axis2=2).max(axis=0), 1e-300))
    eigenvalues, V = np.linalg.eigh(M / np.outer(scale, scale))
    score = np.einsum("nij,ni->nj", V, b / scale)
    seen = eigenvalues > 1e-6
    inverse = np.where(seen, 1.0 / np.where(seen, eigenvalues, 1.0), 0.0)
    step = np.einsum("nij,nj->ni", V, score * inverse) / scale
    return np.sum(score**2 * inverse, axis=1), seen.sum(axis=1), step

"""Many simultaneous least-squares fits near a known one, each to its own rows and columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..measurements.fit_problem import FitProblem
from .least_squares import FitPoint, least_squares
from .weighting import FitOptions, Whitening, prior_of

TURNS = 6
"""Number of steps after which a fit is left to Levenberg–Marquardt."""
TOLERANCE = 1e-5
"""Relative change of the cost below which a step is the last."""
STRAIGHT = 1e-8
"""Share of their squares by which residuals may differ from the tangent's for a step to count as exact."""


def refits(
    problem: FitProblem, options: FitOptions, start: FitPoint, use: np.ndarray, kept: np.ndarray
) -> FitPoint:
    """Return the ends of fits that start near by, all in one `FitPoint`, whose derivatives are those of the start.

    Steps are Gauss–Newton steps. A fit ends where the next step is negligible, or where residuals
    equal those of the tangent. Fits that do not converge, or that have bounds, are solved one by one.

    Args:
        problem: the rows.
        options: columns; noise known, no loss.
        start: where to start, one for all or one for each.
        use: scalar rows of every fit, (fits, rows) booleans.
        kept: columns that it estimates, (fits, n) booleans.
    """
    fits, P, columns = len(use), len(problem.model.terms), list(options.columns)
    weight = np.ones(problem.n_data_rows)
    white = [Whitening(problem, options, options.sigma, weight, rows) for rows in use]
    J = np.broadcast_to(start.J, (fits, *start.J.shape[-2:]))
    zero = np.zeros((fits, 1))
    first = FitPoint(start.values + zero, start.frames + zero[:, :, None, None], start.r + zero, J)
    end = FitPoint(first.values.copy(), first.frames.copy(), first.r.copy(), J)
    now, left = first, np.arange(fits)
    from_one = start.J.ndim == 2 and start.r.ndim == 1 and not options.components
    for turn in range(0 if options.bounds else TURNS):
        those = [white[k] for k in left]
        if turn == 0 and from_one:
            sums = _sums_from_one(start, Whitening(problem, options, options.sigma, weight), use)
        else:
            sums = _sums(now, those)
        step, settled = _steps(now.values, options, sums, kept[left])
        full = np.zeros((len(left), problem.n_columns))
        full[:, columns] = step
        values, frames = now.values + full[:, :P], problem.moved(now.frames, full)
        tangent = now.r + (now.J @ step[..., None])[..., 0]
        r, _ = problem.evaluate(values, frames, ())
        off = np.array([np.sum(whiten(d) ** 2) for whiten, d in zip(those, r - tangent, strict=True)])
        settled |= off <= STRAIGHT * sums[2]
        end.values[left], end.frames[left], end.r[left] = values, frames, r
        left = left[~settled]
        if not len(left):
            break
        now = FitPoint.of(problem, columns, values[~settled], frames[~settled])
    for k in left:
        single = replace(options, columns=tuple(np.array(columns)[kept[k]].tolist()))
        point = FitPoint(first.values[k], first.frames[k], first.r[k], J[k][:, kept[k]])
        fit = least_squares(problem, single, point, options.sigma, weight, use[k], rough=True, near=True)
        end.values[k], end.frames[k], end.r[k] = fit.state.values, fit.state.frames, fit.state.r
    return end


Sums = tuple[np.ndarray, np.ndarray, np.ndarray]
"""JᵀJ (fits, n, n), Jᵀr (fits, n) and rᵀr (fits,) of whitened rows."""


def _sums(now: FitPoint, white: list[Whitening]) -> Sums:
    """Return the sums over the rows of every fit at its current point."""
    A = [whiten(J) for whiten, J in zip(white, now.J, strict=True)]
    r = [whiten(residual) for whiten, residual in zip(white, now.r, strict=True)]
    H = np.array([rows.T @ rows for rows in A])
    g = np.array([rows.T @ left for rows, left in zip(A, r, strict=True)])
    return H, g, np.array([left @ left for left in r])


def _sums_from_one(start: FitPoint, white: Whitening, use: np.ndarray) -> Sums:
    """Return the sums over the rows `use` (fits, rows) of fits with one start, as all rows less those left out."""
    A, r = white(start.J), white(start.r)
    out = [A[~rows] for rows in use[:, white.used]]
    left = [r[~rows] for rows in use[:, white.used]]
    H = A.T @ A - np.array([rows.T @ rows for rows in out])
    g = A.T @ r - np.array([rows.T @ gone for rows, gone in zip(out, left, strict=True)])
    return H, g, r @ r - np.array([gone @ gone for gone in left])


def _steps(values: np.ndarray, options: FitOptions, sums: Sums, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps (fits, n) from the current points, and whether each is negligible."""
    prior_columns, prior, prior_rows = prior_of(options)
    H, g, squares = sums
    H = prior_rows.T @ prior_rows + H
    norms = np.sqrt(np.maximum(np.diagonal(H, axis1=1, axis2=2), 1e-300))
    seen = kept[:, :, None] & kept[:, None, :]
    H = np.where(seen, H / (norms[:, :, None] * norms[:, None, :]), 0.0)
    H += np.where(kept, 1e-12, 1.0)[:, :, None] * np.eye(H.shape[1])
    pulled = values[:, prior_columns] @ prior.T
    gradient = np.where(kept, (g + pulled @ prior_rows) / norms, 0.0)
    step = np.linalg.solve(H, -gradient[..., None])[..., 0]
    cost = squares + np.sum(pulled**2, axis=1)
    return step / norms, -np.sum(gradient * step, axis=1) <= TOLERANCE * cost

"""Many least-squares fits near a known one, all at once, each to its own rows and columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..measurements.fit_problem import FitProblem
from .least_squares import FitPoint, least_squares
from .weighting import FitOptions, Whitening, prior_of

TURNS = 6
"""Steps after which a fit is left to Levenberg and Marquardt."""
TOLERANCE = 1e-5
"""A step that changes the cost by less than this share is the last, and residuals follow it along the tangent."""


def refits(
    problem: FitProblem, options: FitOptions, start: FitPoint, use: np.ndarray, kept: np.ndarray
) -> FitPoint:
    """Where fits end that start near by, all in one `FitPoint`, whose derivatives are those of the start.

    Steps are those of Gauss and Newton. Fits that do not settle, or that have bounds, are made one by one.

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
    for _ in range(0 if options.linear or options.bounds else TURNS):
        step, settled = _steps(now, options, [white[k] for k in left], kept[left])
        full = np.zeros((len(left), problem.n_columns))
        full[:, columns] = step
        values, frames = now.values + full[:, :P], problem.moved(now.frames, full)
        end.values[left], end.frames[left] = values, frames
        end.r[left] = now.r + (now.J @ step[..., None])[..., 0]
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


def _steps(
    now: FitPoint, options: FitOptions, white: list[Whitening], kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Steps (fits, n) from where fits stand, and whether each is negligible."""
    prior_columns, prior, prior_rows = prior_of(options)
    A = [whiten(J) for whiten, J in zip(white, now.J, strict=True)]
    r = [whiten(residual) for whiten, residual in zip(white, now.r, strict=True)]
    H = prior_rows.T @ prior_rows + np.array([rows.T @ rows for rows in A])
    norms = np.sqrt(np.maximum(np.diagonal(H, axis1=1, axis2=2), 1e-300))
    seen = kept[:, :, None] & kept[:, None, :]
    H = np.where(seen, H / (norms[:, :, None] * norms[:, None, :]), 0.0)
    H += np.where(kept, 1e-12, 1.0)[:, :, None] * np.eye(H.shape[1])
    pulled = now.values[:, prior_columns] @ prior.T
    gradient = np.array([rows.T @ left for rows, left in zip(A, r, strict=True)]) + pulled @ prior_rows
    gradient = np.where(kept, gradient / norms, 0.0)
    step = np.linalg.solve(H, -gradient[..., None])[..., 0]
    cost = np.array([left @ left for left in r]) + np.sum(pulled**2, axis=1)
    return step / norms, -np.sum(gradient * step, axis=1) <= TOLERANCE * cost

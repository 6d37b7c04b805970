"""Held-out residuals of postures, by many simultaneous fits near the one of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..measurements._fit_problem import FitProblem, Part
from ..measurements.datasets import Dataset
from .noise import FitOptions, Whitening, prior_of
from .shared_errors import VarianceComponent
from .solve import FitPoint, Solution, least_squares

LARGEST = 4_000_000
"""Maximum number of entries of the Jacobians of simultaneous fits."""


def folds_of(
    problem: FitProblem, folds: int, seed: int, components: Sequence[VarianceComponent] = ()
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the postures, by number, that are held out together: random folds, and those of every place.

    Postures whose contact alone determines an unknown target, as a ball in a socket, are held out place by
    place: other postures there would reveal the prediction. All others are dealt out at random; those of a group
    that shares an error together, those of an unknown plane, line or sphere evenly, so that the rest places it. A
    target that too few touch for that is held out whole.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(problem.n_postures)
    for component in components:
        rows = component.group >= 0
        group[problem.posture[rows]] = problem.n_postures + component.group[rows]
    n_folds = max(2, min(folds, problem.n_postures))
    dealt: list[list[int]] = [[] for _ in range(n_folds)]
    at_places: list[np.ndarray] = []
    for campaign, part in zip(problem.campaigns, problem.parts, strict=True):
        numbers, place = part.first_posture + np.arange(len(campaign)), _places(problem, campaign, part)
        at_places += [numbers[place == k] for k in range(place.max(initial=-1) + 1)]
        target = np.full(len(campaign), -1)
        unknown = np.isin(part.target, list(problem.unknown_at))
        if part.measurement.grouped is not None:
            target[part.posture[unknown]] = part.target[unknown]
        turn = 0
        for target_number in np.unique(target[place < 0]):
            of_target = numbers[(place < 0) & (target == target_number)]
            most = -(-len(of_target) // n_folds)
            if target_number >= 0 and (len(of_target) - most) * part.measurement.n_rows < len(
                problem.unknown_at[target_number].free
            ):
                at_places.append(of_target)
                continue
            for of_group in rng.permutation(np.unique(group[of_target])):
                dealt[turn % n_folds] += of_target[group[of_target] == of_group].tolist()
                turn += 1
    parts = [np.array(sorted(part)) for part in dealt if part]
    return (parts, at_places) if len(parts) + len(at_places) > 1 else ([], [])


def _places(problem: FitProblem, campaign: Dataset, part: Part) -> np.ndarray:
    """Return the place number of every posture of a campaign, (n,), whose contact determines its target; −1 for
    others, and with fewer than three targets."""
    place = np.full(len(campaign), -1)
    slot = part.measurement.grouped
    if slot is None or part.measurement.n_rows < len(slot.free) or len(set(campaign.groups)) < 3:
        return place
    unknown = part.posture[np.isin(part.target, list(problem.unknown_at))]
    names = [part.measurement.place_of(campaign.groups[posture]) for posture in unknown]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    place[unknown] = [numbers[name] for name in names]
    return place


def n_groups(problem: FitProblem, options: FitOptions) -> int:
    """Return the number of posture groups: places of contacts, and groups that share an error."""
    parts = zip(problem.campaigns, problem.parts, strict=True)
    places = sum(int(_places(problem, campaign, part).max(initial=-1)) + 1 for campaign, part in parts)
    return places + sum(int(component.group.max()) + 1 for component in options.components)


def held_out(
    problem: FitProblem,
    options: FitOptions,
    whole: Solution,
    folds: int,
    seed: int,
    progress: Callable[[float, float], object] | None = None,
) -> np.ndarray:
    """Return the residual of every scalar row from a fit without its posture; NaN where there was none.

    Each fit starts from the whole one, with its noise and prior and without the rows it flagged. Unknowns that only
    held-out rows touch are fitted to those alone, parameters fixed.
    """
    if not folds:
        return np.full(problem.n_rows, np.nan)
    fixed = replace(options, sigma=whole.sigma, estimated=np.zeros_like(options.estimated), loss="none")
    residual = np.full(problem.n_rows, np.nan)
    good = problem.by_row(whole.weight > 0.05, True)
    start = whole.fit.state
    groups = [*chain(*folds_of(problem, folds, seed, options.components))]
    at_once = max(1, LARGEST // max(start.J.size, 1))
    for first in range(0, len(groups), at_once):
        if progress is not None:
            progress(first, len(groups))
        tests = [np.isin(problem.posture, postures) for postures in groups[first : first + at_once]]
        fits = [(test, *split(problem, options.columns, test)) for test in tests]
        fits = [fit for fit in fits if (good & fit[2]).sum() >= fit[1].sum()]
        if not fits:
            continue
        test, kept, train, alone = (np.array(fit) for fit in zip(*fits, strict=True))
        refitted = refits(problem, fixed, start, good & train, kept)
        if not kept.all():
            use = np.where((good & test).any(axis=1, keepdims=True), good & alone, alone)
            again = FitPoint.of(problem, options.columns, refitted.values, refitted.frames)
            refitted = refits(problem, fixed, again, use, ~kept)
        for rows, r in zip(test, refitted.r, strict=True):
            residual[rows] = r[rows]
    return residual


def split(
    problem: FitProblem, columns: Sequence[int], test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns (n,) and scalar rows (rows,) for training, and the rows that other columns are fitted to,
    booleans.

    A known distance between two targets belongs to the rows that touch both.
    """
    touched_by_train = np.zeros(problem.n_columns, dtype=bool)
    touched_by_train[: len(problem.model.terms)] = True
    start = 0
    for part in problem.parts:
        n = part.n_known
        rows = np.zeros(part.known.shape, dtype=bool)
        rows[part.known] = test[start : start + n]
        seen = np.asarray(~(rows.all(axis=1) | ~part.known.any(axis=1)))
        if seen.any():
            touched_by_train[[column for _, column in part.number_columns]] = True
        for scattered in part.scattered:
            if scattered is not None and seen.any():
                rows, unknown_columns, _ = scattered
                touched_by_train[unknown_columns if isinstance(rows, slice) else unknown_columns[seen[rows]]] = True
        start += n
    train_rows, test_rows = ~test, test.copy()
    for k, (a, b, *_) in enumerate(problem.constraints):
        row = problem.n_rows - len(problem.constraints) + k
        ends = [problem.unknown_at[frame].start for frame in (a, b)]
        train_rows[row] = all(touched_by_train[end] for end in ends)
        test_rows[row] = not any(touched_by_train[end] for end in ends)
    return touched_by_train[list(columns)], train_rows, test_rows


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

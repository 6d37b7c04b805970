"""Held-out residuals: of postures that a fit has not seen, leave-one-group-out where they share a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..measurements.fit_problem import FitProblem
from .least_squares import FitPoint
from .refits import refits
from .solve import Solution
from .variance_components import VarianceComponent
from .weighting import FitOptions

LARGEST = 4_000_000
"""Entries of the Jacobians of fits that are made at once."""


def folds_of(
    problem: FitProblem, folds: int, seed: int, components: Sequence[VarianceComponent] = ()
) -> list[np.ndarray]:
    """Postures, by number, that are held out together.

    Postures in contact with an unknown target are held out place by place: a place whose other postures were seen
    would tell where the target is. Others, also those that touch a target whose place is known, are dealt out at
    random; those of a group that shares an error together.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(problem.n_postures)
    for component in components:
        rows = component.group >= 0
        group[problem.posture[rows]] = problem.n_postures + component.group[rows]
    dealt: list[list[int]] = [[] for _ in range(max(2, folds))]
    at_places: list[np.ndarray] = []
    for campaign, part in zip(problem.campaigns, problem.parts, strict=True):
        numbers = part.first_posture + np.arange(len(campaign))
        if part.measurement.grouped is not None and len(set(campaign.groups)) > 2:
            places = np.array([part.measurement.place_of(group) for group in campaign.groups])
            unknown = np.zeros(len(campaign), dtype=bool)
            unknown[part.posture[np.isin(part.target, list(problem.unknown_at))]] = True
            at_places += [numbers[unknown & (places == place)] for place in dict.fromkeys(places[unknown].tolist())]
            numbers = numbers[~unknown]
        for k, of_group in enumerate(rng.permutation(np.unique(group[numbers]))):
            dealt[k % len(dealt)] += numbers[group[numbers] == of_group].tolist()
    parts = [np.array(sorted(part)) for part in dealt if part] + at_places
    return parts if len(parts) > 1 else []


def n_groups(problem: FitProblem, options: FitOptions) -> int:
    """Groups that postures come in: places of contacts, and groups that share an error."""
    places = {
        (number, part.measurement.place_of(group))
        for number, (campaign, part) in enumerate(zip(problem.campaigns, problem.parts, strict=True))
        if part.measurement.grouped is not None
        for group in campaign.groups
    }
    return len(places) + sum(int(one.group.max()) + 1 for one in options.components)


def held_out(
    problem: FitProblem,
    options: FitOptions,
    whole: Solution,
    folds: int,
    seed: int,
    progress: Callable[[float, float], object] | None = None,
) -> np.ndarray:
    """Residual of every scalar row from a fit that did not see its posture; NaN where there was none.

    Each fit starts from the whole one, with its noise and prior and without the rows it flagged. Unknowns that only
    held-out rows touch are fitted to those alone, parameters fixed.
    """
    if not folds:
        return np.full(problem.n_rows, np.nan)
    fixed = replace(options, sigma=whole.sigma, estimated=np.zeros_like(options.estimated), loss="none")
    residual = np.full(problem.n_rows, np.nan)
    good = problem.by_row(whole.weight > 0.05, True)
    start = whole.fit.state
    groups = folds_of(problem, folds, seed, options.components)
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
    """Columns (n,) and scalar rows (rows,) for training, and the rows that other columns are fitted to, booleans.

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

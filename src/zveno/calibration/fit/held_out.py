"""Held-out residuals of postures; leave-one-group-out where postures share a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..measurements.campaigns import Dataset
from ..measurements.fit_problem import FitProblem, Part
from .least_squares import FitPoint
from .refits import refits
from .solve import Solution
from .variance_components import VarianceComponent
from .weighting import FitOptions

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
    n_folds = max(2, folds)
    dealt: list[list[int]] = [[] for _ in range(n_folds)]
    at_places: list[np.ndarray] = []
    for campaign, part in zip(problem.campaigns, problem.parts, strict=True):
        numbers, place = part.first_posture + np.arange(len(campaign)), _places(problem, campaign, part)
        at_places += [numbers[place == one] for one in range(place.max(initial=-1) + 1)]
        target = np.full(len(campaign), -1)
        unknown = np.isin(part.target, list(problem.unknown_at))
        if part.measurement.grouped is not None:
            target[part.posture[unknown]] = part.target[unknown]
        turn = 0
        for one in np.unique(target[place < 0]):
            of_target = numbers[(place < 0) & (target == one)]
            most = -(-len(of_target) // n_folds)
            if one >= 0 and (len(of_target) - most) * part.measurement.n_rows < len(problem.unknown_at[one].free):
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
    return places + sum(int(one.group.max()) + 1 for one in options.components)


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

"""Errors of a fit, and errors on postures the fit has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...io.results import registered
from ...io.units import ERRORS
from ..measurements.fit_problem import FitProblem, within
from .least_squares import FitPoint
from .refits import refits
from .solve import Solution
from .weighting import FitOptions

LARGEST = 4_000_000
"""Entries of the Jacobians of fits that are made at once."""


@registered
@dataclass(frozen=True)
class Error:
    """Size of residuals of one noise: lengths of the vectors, one a row.

    Attributes:
        name: campaign and noise.
        unit: "m" or "rad".
        rms, mean, std, max: of the lengths.
        accuracy: ISO 9283 pose accuracy AP: length of the mean vector; what is left of a systematic error.
        repeatability: ISO 9283 form l̄ + 3·S_l of the distances from that mean.
        rows: how many.
    """

    name: str
    unit: str
    rms: float
    mean: float
    std: float
    max: float
    accuracy: float
    repeatability: float
    rows: int

    def text(self) -> str:
        """`1.02 mm rms (mean 0.88, max 2.9)`."""
        factor, unit = ERRORS[self.unit]
        return f"{self.rms * factor:.3g} {unit} rms (mean {self.mean * factor:.3g}, max {self.max * factor:.3g})"


def errors(problem: FitProblem, residual: np.ndarray, rows: np.ndarray | None = None) -> tuple[Error, ...]:
    """Errors by noise; `rows` says which rows of data count."""
    found = []
    for number, (campaign, name, unit) in enumerate(problem.noise_names):
        own = problem.noise == number
        if rows is not None:
            own = own & np.concatenate([rows, [False]])[problem.row]
        if not own.any():
            continue
        index = np.unique(problem.row[own], return_inverse=True)[1]
        n = int(index.max()) + 1
        squares = np.bincount(index, residual[own] ** 2)
        lengths = np.sqrt(squares)
        place = within(index)
        center = np.array([residual[own][place == k].mean() for k in range(int(place.max()) + 1)])
        spread = np.sqrt(np.bincount(index, (residual[own] - center[place]) ** 2))
        deviation = float(spread.std(ddof=1)) if n > 1 else 0.0
        found.append(
            Error(
                f"{campaign}: {name}" if campaign != name else name,
                unit,
                float(np.sqrt(squares.mean())),
                float(lengths.mean()),
                float(lengths.std()),
                float(lengths.max()),
                float(np.linalg.norm(center)),
                float(spread.mean() + 3.0 * deviation),
                n,
            )
        )
    return tuple(found)


def folds_of(problem: FitProblem, folds: int, seed: int) -> list[np.ndarray]:
    """Postures, by number, that are held out together.

    Postures in contact with an unknown target are held out place by place: a place whose other postures were seen
    would tell where the target is. Others are dealt out at random.
    """
    rng = np.random.default_rng(seed)
    out: list[list[int]] = [[] for _ in range(max(2, folds))]
    places: list[list[int]] = []
    for campaign, part in zip(problem.campaigns, problem.parts, strict=True):
        n = len(campaign.q)
        numbers = part.first_posture + np.arange(n)
        if part.measurement.grouped is not None and len(set(campaign.groups)) > 2:
            names = [group.rpartition("/")[0] or group for group in campaign.groups]
            for name in dict.fromkeys(names):
                places.append([int(k) for k, own in zip(numbers, names, strict=True) if own == name])
            continue
        for k, posture in enumerate(rng.permutation(numbers)):
            out[k % len(out)].append(int(posture))
    chosen = [np.array(sorted(one)) for one in out if one]
    return chosen + [np.array(place) for place in places] if len(chosen) + len(places) > 1 else []


def held_out(
    problem: FitProblem, options: FitOptions, whole: Solution, folds: int, seed: int, progress: Any = None
) -> np.ndarray:
    """Residual of every scalar row from a fit that did not see its posture; NaN where there was none.

    Each fit starts from the whole one, with its noise and prior and without the rows it flagged. Unknowns that only
    held-out rows touch are fitted to those alone, parameters fixed.
    """
    if not folds:
        return np.full(problem.n_rows, np.nan)
    fixed = replace(options, sigma=whole.sigma, estimated=np.zeros_like(options.estimated), loss="none")
    residual = np.full(problem.n_rows, np.nan)
    good = np.concatenate([whole.weight > 0.05, [True]])[problem.row]
    start = whole.fit.state
    groups = folds_of(problem, folds, seed)
    at_once = max(1, LARGEST // max(start.J.size, 1))
    for first in range(0, len(groups), at_once):
        if progress is not None:
            progress(first, len(groups))
        tests = [np.isin(problem.posture, postures) for postures in groups[first : first + at_once]]
        fits = [(test, *split(problem, options.columns, test)) for test in tests]
        fits = [one for one in fits if (good & one[2]).sum() >= one[1].sum()]
        if not fits:
            continue
        test, kept, train, alone = (np.array(one) for one in zip(*fits, strict=True))
        found = refits(problem, fixed, start, good & train, kept)
        if not kept.all():
            use = np.where((good & test).any(axis=1, keepdims=True), good & alone, alone)
            again = FitPoint.of(problem, options.columns, found.values, found.frames)
            found = refits(problem, fixed, again, use, ~kept)
        for rows, r in zip(test, found.r, strict=True):
            residual[rows] = r[rows]
    return residual


def split(problem: FitProblem, columns: Any, test: np.ndarray) -> tuple[Any, Any, Any]:
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
        for scattered in part.scattered:
            if scattered is not None and seen.any():
                rows, own, _ = scattered
                touched_by_train[own if isinstance(rows, slice) else own[seen[rows]]] = True
        start += n
    train_rows, test_rows = ~test, test.copy()
    for k, (a, b, *_) in enumerate(problem.constraints):
        row = problem.n_rows - len(problem.constraints) + k
        ends = [problem.unknowns[problem.unknown_of[frame]].start for frame in (a, b)]
        train_rows[row] = all(touched_by_train[end] for end in ends)
        test_rows[row] = not any(touched_by_train[end] for end in ends)
    return touched_by_train[list(columns)], train_rows, test_rows

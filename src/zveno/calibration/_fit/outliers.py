"""Outliers: detection and naming of rows that do not belong to a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...fit import robust
from ...fit.levenberg_marquardt import Fit
from ..measurements._fit_problem import FitProblem, Part
from ..measurements.datasets import Dataset
from .findings import Outlier
from .noise import LEAST_SIGMA, row_distances

if TYPE_CHECKING:
    from .solve import FitPoint, Solution

CHANCE = 0.01
"""Probability that any good row of all measurements is flagged as an outlier."""
WILD = 30.0
"""Multiple of the median residual beyond which a row is a gross outlier at the start of a fit. Robot errors differ
by posture, but not so much."""


def freedom(problem: FitProblem, fit: Fit[FitPoint], weight: np.ndarray, use: np.ndarray | None = None) -> int:
    """Return the degrees of freedom: scalar rows of a fit less its parameters."""
    rows = problem.by_row(weight, 1.0) > 0
    return max(int((rows if use is None else rows & use).sum()) - int(fit.free.sum()), 1)


def outlier_limits(problem: FitProblem, components: np.ndarray, freedom: int) -> np.ndarray:
    """Return the distance beyond which rows with so many components are outliers."""
    return robust.limit(1.0 - CHANCE / problem.n_data_rows, components, freedom)


def wild_rows(problem: FitProblem, residual: np.ndarray) -> np.ndarray:
    """Return the data rows with gross residuals at the start of a fit, (data rows,) booleans.

    Such a row has another posture or target: with it, the first least squares would place a plane or a sphere
    where no later fit recovers. It is left out until a fit exists that all rows can be checked against.
    """
    miss = np.zeros(len(residual))
    for k in range(len(problem.noise_names)):
        of_noise = problem.noise == k
        sizes = abs(residual[of_noise])
        miss[of_noise] = sizes / max(float(np.median(sizes)), LEAST_SIGMA) if len(sizes) else 0.0
    distance, _ = row_distances(problem, miss)
    return keeping_unknowns_placed(problem, distance > WILD, np.ones(len(distance), dtype=bool), distance)


def keeping_unknowns_placed(
    problem: FitProblem, flagged: np.ndarray, inside: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Return the row flags, cleared for the nearest rows of every unknown that would have too few numbers.

    If every touch of a socket is bad, one row places it and contributes nothing else.

    Args:
        problem: the rows.
        flagged: which do not belong, (rows,).
        inside: which are used at all, (rows,).
        distance: of every row from the fit.
    """
    if not flagged.any():
        return flagged
    numbers = np.concatenate([part.known.sum(axis=1) for part in problem.parts])
    slots = [
        np.concatenate([getattr(part, name) for part in problem.parts]) for name in ("left", "right", "target")
    ]
    kept = flagged.copy()
    touched = {int(frame) for slot in slots for frame in np.unique(slot[flagged])}
    for unknown in problem.unknowns:
        if unknown.frame not in touched:
            continue
        of_unknown = np.flatnonzero(inside & np.any([slot == unknown.frame for slot in slots], axis=0))
        lacking = len(unknown.free) - int(numbers[of_unknown[~kept[of_unknown]]].sum())
        for row in sorted(of_unknown[kept[of_unknown]].tolist(), key=lambda k: distance[k]):
            if lacking <= 0:
                break
            kept[row] = False
            lacking -= int(numbers[row])
    return kept


def named_outliers(problem: FitProblem, whole: Solution, good: np.ndarray) -> tuple[Outlier, ...]:
    """Return the outlier rows of a fit (`good` marks the others), the farthest first."""
    limits = outlier_limits(problem, whole.components, freedom(problem, whole.fit, whole.weight))
    outliers, first = [], 0
    for part, campaign in zip(problem.parts, problem.campaigns, strict=True):
        for k in np.flatnonzero(~good[first : first + len(part.y)]):
            of_row = problem.row == first + k
            off = {
                f"{name} ({unit})": float(np.linalg.norm(whole.residual[of_row & (problem.noise == number)]))
                for number, (_, name, unit) in enumerate(problem.noise_names)
                if (of_row & (problem.noise == number)).any()
            }
            far = float(whole.distance[first + k]), float(limits[first + k])
            thing = _thing(part, campaign, int(k))
            outliers.append(Outlier(campaign.name, int(part.line[k]), thing, *far, off, campaign.file))
        first += len(part.y)
    return tuple(sorted(outliers, key=lambda outlier: -outlier.distance))


def _thing(part: Part, campaign: Dataset, k: int) -> str:
    """Return the name of the thing a row sees, if there are several: the touched target, a tool point, a centre."""
    posture = part.posture[k]
    if campaign.groups:
        return campaign.groups[posture]
    kind = part.measurement
    number = int(k - np.flatnonzero(part.posture == posture)[0])
    point, target = divmod(number, len(kind.targets))
    words = [f"point {point + 1}"] if len(kind.right) > 1 else []
    return ", ".join(words + ([f"target {target + 1}"] if len(kind.targets) > 1 else []))

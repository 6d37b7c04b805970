"""Residuals of a fit by data row, and their size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...io.expressions import ERRORS
from ...io.results import registered
from ..measurements._fit_problem import FitProblem


@registered
@dataclass(frozen=True)
class Error:
    """Size of the residuals of one noise: lengths of the vectors, one per row.

    Attributes:
        name: campaign and noise.
        unit: "m" or "rad".
        rms, mean, std, max: of the lengths.
        accuracy: ISO 9283 pose accuracy AP: length of the mean vector, the remaining systematic error.
        repeatability: ISO 9283 form l̄ + 3·S_l of the distances from that mean.
        rows: number of rows.
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
        """Return `1.02 mm rms (mean 0.88, max 2.9)`."""
        factor, unit = ERRORS[self.unit]
        return f"{self.rms * factor:.3g} {unit} rms (mean {self.mean * factor:.3g}, max {self.max * factor:.3g})"


@registered
@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of one noise, predicted less read, by row of data; NaN where a component was not read.

    Attributes:
        name, unit: campaign and noise, and "m" or "rad".
        row: the row of each in its campaign, from 1, (n,).
        used: whether it belongs to the fit, (n,).
        nominal: of the nominal robot with its frames fitted, (n, components).
        calibrated: of the calibrated robot, (n, components).
        held_out: from a fit without its posture, (n, components); NaN where there was none.
    """

    name: str
    unit: str
    row: np.ndarray
    used: np.ndarray
    nominal: np.ndarray
    calibrated: np.ndarray
    held_out: np.ndarray

    def errors(self, fit: str, unflagged: bool = False) -> list[Error]:
        """Return the errors of the "nominal", "calibrated" or "held_out" residuals, of all or the used rows."""
        vectors = getattr(self, fit)
        counted = np.isfinite(vectors).any(axis=1)
        return _sizes(self.name, self.unit, vectors[counted & self.used if unflagged else counted])


def errors(problem: FitProblem, residual: np.ndarray, rows: np.ndarray | None = None) -> tuple[Error, ...]:
    """Return the errors by noise of residuals (scalar rows,); `rows` selects the data rows that count."""
    sizes = []
    for number, (_, _, unit) in enumerate(problem.noise_names):
        numbers, vectors = by_row(problem, number, residual)
        counted = vectors if rows is None else vectors[rows[numbers]]
        sizes += _sizes(noise_label(problem, number), unit, counted)
    return tuple(sizes)


def _sizes(name: str, unit: str, vectors: np.ndarray) -> list[Error]:
    """Return the error of residuals (n, components); an empty list for no rows."""
    if not len(vectors):
        return []
    lengths = np.sqrt(np.nansum(vectors**2, axis=1))
    center = np.nansum(vectors, axis=0) / np.maximum(np.isfinite(vectors).sum(axis=0), 1)
    spread = np.sqrt(np.nansum((vectors - center) ** 2, axis=1))
    deviation = float(spread.std(ddof=1)) if len(spread) > 1 else 0.0
    return [
        Error(
            name,
            unit,
            float(np.sqrt(np.mean(lengths**2))),
            float(lengths.mean()),
            float(lengths.std()),
            float(lengths.max()),
            float(np.linalg.norm(center)),
            float(spread.mean() + 3.0 * deviation),
            len(lengths),
        )
    ]


def residuals(
    problem: FitProblem, used: np.ndarray, nominal: np.ndarray, calibrated: np.ndarray, held_out: np.ndarray
) -> tuple[Residuals, ...]:
    """Return residuals (scalar rows,) of three fits, and the data rows that are used, (data rows,), by noise."""
    lines = np.concatenate([part.line for part in problem.parts])
    kinds = []
    for number, (_, _, unit) in enumerate(problem.noise_names):
        rows, *vectors = by_row(problem, number, nominal, calibrated, held_out)
        kinds.append(Residuals(noise_label(problem, number), unit, lines[rows], used[rows], *vectors))
    return tuple(kinds)


def noise_label(problem: FitProblem, number: int) -> str:
    """Return the data set and the name of a noise."""
    campaign, name, _ = problem.noise_names[number]
    return f"{campaign}: {name}" if campaign != name else name


def by_row(problem: FitProblem, number: int, *residuals: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return numbers (n,) of the data rows that have a noise, and each of the residuals by row, (n, components)."""
    of_noise = problem.noise == number
    rows, place = np.unique(problem.row[of_noise], return_inverse=True)
    component = problem.component[of_noise]
    vectors = np.full((len(residuals), len(rows), int(component.max(initial=-1)) + 1), np.nan)
    vectors[:, place, component] = [residual[of_noise] for residual in residuals]
    return rows, *vectors

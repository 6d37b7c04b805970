"""Document 001's simulation of a calibration: a planar two-link arm, two plans, many experiments.

The RzRzTzRz arm is the planar chain p = (x0, y0) + (a1 + Δa1) e(q1 + Δq1) + (a2 + Δa2) e(q1 + Δq1 + q2 + Δq2) with
six deviations (Δa1, Δa2, Δq1, Δq2, x0, y0). Lengths are in mm as in the document. Calibration is least squares by
Gauss–Newton for all experiments at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

NAMES = ("a1", "a2", "q1", "q2", "x0", "y0")
LENGTHS = (250.0, 160.0)
SIGMA = 0.2
TRUE = np.array([0.5, -0.3, 2e-3, -3e-3, 1.0, -0.7])
"""Deviations of the simulated arm, mm and rad. The document prints none; the accuracy does not depend on them."""
CHUNK = 1000


def usual_plan() -> np.ndarray:
    """The document's first plan, (16, 2): all combinations of 0, 30, 60, 90 degrees."""
    grid = np.radians([0.0, 30.0, 60.0, 90.0])
    return np.array([(a, b) for a in grid for b in grid])


def proposed_plan() -> np.ndarray:
    """The document's second plan, (16, 2): ±90 degrees of both joints, each combination four times."""
    ends = np.radians([-90.0, 90.0])
    return np.array([(a, b) for a in ends for b in ends] * 4)


def positions(parameters: ArrayLike, q: np.ndarray, lengths: Sequence[float] = LENGTHS) -> np.ndarray:
    """Tool positions (..., n, 2) for deviations (..., 6) at postures (n, 2)."""
    P = np.asarray(parameters, dtype=float)
    first, second = _links(P, q, lengths)
    z = P[..., 4, None] + 1j * P[..., 5, None] + first + second
    return np.stack([z.real, z.imag], axis=-1)


def jacobian(parameters: ArrayLike, q: np.ndarray, lengths: Sequence[float] = LENGTHS) -> np.ndarray:
    """Derivatives (..., 2 n, 6) of the positions, rows x and y of each posture in turn."""
    P = np.asarray(parameters, dtype=float)
    first, second = _links(P, q, lengths)
    flat = np.ones_like(first)
    columns = np.stack(
        [
            first / (lengths[0] + P[..., 0, None]),
            second / (lengths[1] + P[..., 1, None]),
            1j * (first + second),
            1j * second,
            flat,
            1j * flat,
        ],
        axis=-1,
    )
    return np.stack([columns.real, columns.imag], axis=-2).reshape(*P.shape[:-1], -1, 6)


def predicted_std(q: np.ndarray, sigma: float = SIGMA, lengths: Sequence[float] = LENGTHS) -> np.ndarray:
    """Standard deviations (6,) of the estimates, from (28): σ² (JᵀJ)⁻¹."""
    J = jacobian(np.zeros(6), q, lengths)
    return sigma * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))


def calibrated(
    readings: ArrayLike, q: np.ndarray, lengths: Sequence[float] = LENGTHS, iterations: int = 5
) -> np.ndarray:
    """Deviations (..., 6) from readings (..., n, 2) by Gauss–Newton from zero, all experiments at once."""
    y = np.asarray(readings, dtype=float)
    P = np.zeros((*y.shape[:-2], 6))
    for _ in range(iterations):
        J = jacobian(P, q, lengths)
        r = (y - positions(P, q, lengths)).reshape(*y.shape[:-2], -1)
        Jt = np.swapaxes(J, -1, -2)
        step = np.linalg.solve(Jt @ J, Jt @ r[..., None])[..., 0]
        P = P + step
        if abs(step).max(initial=0.0) < 1e-10:
            break
    return P


@dataclass(frozen=True, eq=False)
class Study:
    """Errors of many simulated calibrations with one plan.

    Attributes:
        q: the plan, (n, 2).
        errors: estimated less true deviations, (experiments, 6), mm and rad.
        predicted: standard deviations by (28), (6,).
        sigma, bias: noise and constant error of the measuring system, mm.
    """

    q: np.ndarray
    errors: np.ndarray
    predicted: np.ndarray
    sigma: float
    bias: np.ndarray

    @property
    def std(self) -> np.ndarray:
        """Standard deviations seen, (6,)."""
        return self.errors.std(axis=0, ddof=1)

    @property
    def mean(self) -> np.ndarray:
        """Mean errors, (6,)."""
        return self.errors.mean(axis=0)

    def band(self, confidence: float = 0.95) -> np.ndarray:
        """(2, 6): where the standard deviations should be seen with that probability if the prediction is right."""
        from scipy.stats import chi2

        freedom = len(self.errors) - 1
        ends = chi2.ppf([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], freedom)
        return self.predicted * np.sqrt(ends / freedom)[:, None]

    @property
    def agrees(self) -> bool:
        """True if every standard deviation is within its 99.9 % band."""
        low, high = self.band(0.999)
        return bool(np.all((self.std >= low) & (self.std <= high)))


def simulate_study(
    q: np.ndarray,
    experiments: int = 100,
    *,
    sigma: float = SIGMA,
    bias: ArrayLike = (0.0, 0.0),
    true: ArrayLike = TRUE,
    seed: int = 0,
) -> Study:
    """Simulate calibrations with a plan.

    Args:
        q: the plan, (n, 2), rad.
        experiments: how many.
        sigma: standard deviation of x and y, mm.
        bias: constant error of the measuring system, (2,), mm.
        true: deviations of the arm, (6,).
        seed: of the noise.
    """
    q = np.asarray(q, dtype=float)
    bias = np.asarray(bias, dtype=float)
    exact = positions(true, q) + bias
    sizes = [min(CHUNK, experiments - k) for k in range(0, experiments, CHUNK)]
    streams = np.random.default_rng(seed).spawn(len(sizes))
    errors = [
        calibrated(exact + sigma * stream.normal(size=(size, *exact.shape)), q) - true
        for stream, size in zip(streams, sizes, strict=True)
    ]
    return Study(q, np.concatenate(errors), predicted_std(q, sigma), sigma, bias)


def ratio_band(n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Factors between which the ratio of two standard deviations, each seen in n experiments, lies around its true
    value: roots of the F distribution."""
    from scipy.stats import f

    low, high = f.ppf([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], n - 1, n - 1)
    return float(np.sqrt(low)), float(np.sqrt(high))


def _links(P: np.ndarray, q, lengths) -> tuple[np.ndarray, np.ndarray]:
    """Both links as complex numbers, (..., n)."""
    q = np.asarray(q, dtype=float)
    angle = q[:, 0] + P[..., 2, None]
    link = (lengths[0] + P[..., 0, None]) * np.exp(1j * angle)
    return link, (lengths[1] + P[..., 1, None]) * np.exp(1j * (angle + q[:, 1] + P[..., 3, None]))

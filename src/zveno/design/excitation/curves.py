"""Periodic curves in joint space: Fourier series and B-splines, linear in their coefficients.

A basis gives the values of its functions and of their derivatives, rows that bound a curve *between* samples as
well, and rows that vanish where the curve closes or rests.

- A trigonometric polynomial of degree H stays below max|f(t_i)| / cos(πH/n) for n > 2H equidistant samples (Ehlich
  and Zeller, Math. Z. 86, 1964), and so do its derivatives.
- A B-spline lies in the convex hull of its control points, and its derivatives are B-splines. Points of a finer
  knot sequence lie closer to the curve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from ...io.results import registered

DEGREE = 5
"""Of the splines: accelerations are smooth and jerks continuous."""
_SAMPLES_A_HARMONIC = 40
"""Of the rows that bound a Fourier curve: cos(π/40) takes 0.3 % of every limit."""
_SPLITS = 16
"""Pieces that every knot interval is cut into for the hull of a spline, which exceeds the curve by about 0.5 %."""


@registered
@dataclass(frozen=True, eq=False)
class JointCurve(ABC):
    """A curve in joint space; calling it with times (...) gives q (..., n), or a derivative of q.

    Attributes:
        duration: of one period, s.
        coefficients: of the basis functions, (m, n).
    """

    duration: float
    coefficients: np.ndarray

    @cached_property
    @abstractmethod
    def basis(self) -> Basis:
        """What the coefficients multiply."""

    def __call__(self, t: Any, order: int = 0) -> np.ndarray:
        """q (..., n) at times t (...), s, or its derivative of an order up to 3: velocity, acceleration, jerk."""
        return self.basis.functions(np.asarray(t, dtype=float), order) @ self.coefficients


@registered
@dataclass(frozen=True, eq=False)
class FourierCurve(JointCurve):
    """q₀ + Σ (a_k sin kωt − b_k cos kωt) / (kω), ω = 2π / duration; rows q₀, a_1 … a_H, b_1 … b_H."""

    @cached_property
    def basis(self) -> Basis:
        """Sines and cosines."""
        return FourierBasis(self.duration, (len(self.coefficients) - 1) // 2)


@registered
@dataclass(frozen=True, eq=False)
class SplineCurve(JointCurve):
    """A quintic B-spline on uniform knots, its coefficients the control points."""

    @cached_property
    def basis(self) -> Basis:
        """B-splines."""
        return SplineBasis(self.duration, len(self.coefficients))


class Basis(ABC):
    """Functions of time on [0, duration], m of them."""

    duration: float
    m: int
    curve: ClassVar[type[JointCurve]]

    @abstractmethod
    def functions(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(..., m) values of the functions, or of their derivatives, at times (...)."""

    @abstractmethod
    def bounds(self, order: int) -> np.ndarray:
        """Rows B (r, m): where |B c| ≤ L, the derivative of that order stays within ±L at all times."""

    @abstractmethod
    def closing(self) -> np.ndarray:
        """Rows (r, m) that vanish where the curve repeats itself smoothly."""

    @property
    @abstractmethod
    def constant(self) -> np.ndarray:
        """(m,) coefficients of the constant 1."""

    def at_rest(self) -> np.ndarray:
        """Rows (r, m) that vanish where velocity and acceleration are zero at both ends, and both ends meet."""
        ends = np.array([0.0, self.duration])
        jump = self.functions(ends)
        return np.concatenate([jump[1:] - jump[:1], self.functions(ends, 1), self.functions(ends, 2)])

    def free(self, rest: bool) -> np.ndarray:
        """(m, f) orthonormal directions of the coefficients that close the curve, at rest or smoothly."""
        rows = self.at_rest() if rest else self.closing()
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = (rows / np.where(size > 0.0, size, 1.0))[size[:, 0] > 1e-12]
        if not len(rows):
            return np.eye(self.m)
        _, s, vt = np.linalg.svd(rows)
        return vt[int(np.sum(s > 1e-9)) :].T


class FourierBasis(Basis):
    """The constant, then sines and cosines of H harmonics, scaled so that velocities have the coefficients."""

    curve: ClassVar[type[JointCurve]] = FourierCurve
    duration: float
    harmonics: int
    m: int

    def __init__(self, duration: float, harmonics: int):
        self.duration, self.harmonics, self.m = duration, harmonics, 2 * harmonics + 1
        self.rates: np.ndarray = 2.0 * np.pi / duration * np.arange(1, harmonics + 1)

    def functions(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(..., m), see `Basis`."""
        w = self.rates
        angle = t[..., None] * w + order * np.pi / 2  # every derivative turns sines and cosines by a quarter
        size = w ** (order - 1.0)
        first = np.ones_like(t) if order == 0 else np.zeros_like(t)
        return np.concatenate([first[..., None], size * np.sin(angle), -size * np.cos(angle)], axis=-1)

    def bounds(self, order: int) -> np.ndarray:
        """(r, m), see `Basis`."""
        n = _SAMPLES_A_HARMONIC * self.harmonics
        t = np.arange(n) * self.duration / n
        return self.functions(t, order) / np.cos(np.pi * self.harmonics / n)

    def closing(self) -> np.ndarray:
        """(r, m), see `Basis`."""
        return np.zeros((0, self.m))

    @property
    def constant(self) -> np.ndarray:
        """(m,), see `Basis`."""
        return np.eye(self.m)[0]


class SplineBasis(Basis):
    """B-splines of degree 5 on uniform knots, repeated at the ends."""

    curve: ClassVar[type[JointCurve]] = SplineCurve
    duration: float
    m: int

    def __init__(self, duration: float, points: int):
        self.duration, self.m = duration, points
        self.knots: np.ndarray = _knots(points - DEGREE, duration)

    def functions(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(..., m), see `Basis`."""
        knots, degree = self.knots[order : len(self.knots) - order], DEGREE - order
        return _design(knots, degree, t) @ _derivative(self.m, self.duration, order)

    def bounds(self, order: int) -> np.ndarray:
        """(r, m), see `Basis`."""
        return _refinement(self.m, self.duration, order) @ _derivative(self.m, self.duration, order)

    def closing(self) -> np.ndarray:
        """(r, m), see `Basis`."""
        ends = np.array([0.0, self.duration])
        return np.concatenate([np.diff(self.functions(ends, order), axis=0) for order in range(DEGREE)])

    @property
    def constant(self) -> np.ndarray:
        """(m,), see `Basis`."""
        return np.ones(self.m)


def _knots(pieces: int, duration: float, splits: int = 1) -> np.ndarray:
    inner = np.linspace(0.0, duration, pieces * splits + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, duration)])


def _design(knots: np.ndarray, degree: int, t: np.ndarray) -> np.ndarray:
    """(..., m) values of the B-splines on these knots."""
    from scipy.interpolate import BSpline

    m = len(knots) - degree - 1
    flat = np.clip(t.ravel(), knots[degree], knots[m])
    return BSpline.design_matrix(flat, knots, degree).toarray().reshape(*t.shape, m)


@cache
def _derivative(m: int, duration: float, order: int) -> np.ndarray:
    """(m − order, m): control points of a derivative from those of the curve."""
    knots, points = _knots(m - DEGREE, duration), np.eye(m)
    for degree in range(DEGREE, DEGREE - order, -1):
        width = knots[degree + 1 : -1] - knots[1 : -degree - 1]
        points = degree / width[:, None] * np.diff(points, axis=0)
        knots = knots[1:-1]
    return points


@cache
def _refinement(m: int, duration: float, order: int) -> np.ndarray:
    """Control points on finer knots from those of a derivative: the same curve, a closer hull.

    The finer splines contain the coarser ones, so equal values at as many places as there are points suffice.
    """
    degree = DEGREE - order
    coarse, fine = (_knots(m - DEGREE, duration, k)[order:] for k in (1, _SPLITS))
    coarse, fine = coarse[: len(coarse) - order], fine[: len(fine) - order]
    places = np.array([fine[k + 1 : k + degree + 1].mean() for k in range(len(fine) - degree - 1)])
    return np.linalg.solve(_design(fine, degree, places), _design(coarse, degree, places))

"""Dissipative friction: every part of the law is zero or opposes the motion.

A law that may turn around where no rows are (below the velocities that count as rest, above the recorded ones) fits
the rows and drives a simulation. Each term dissipates by itself if its factor is not negative, and then their sum
does at every velocity and load. Viscous friction that differs between directions, v·Fv + |v|·Fa, dissipates if the
slopes of both directions, Fv ± Fa, are not negative.

Factors at zero are an active set: those that would be negative are held at zero, and released again where the fit
asks for a positive value (block principal pivoting, Kostreva 1978; Portugal and others 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ._estimate import pseudo_inverse
from ._friction import ASYMMETRIC
from .model import FrictionColumn

SMALL = 1e-9
"""Share of the largest factor or gradient below which it counts as zero."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Factors of friction and of the user's torques as parts of which some cannot be negative.

    Attributes:
        matrix: (k, k) factors = matrix @ parts.
        positive: (k,) whether a part cannot be negative.
    """

    matrix: np.ndarray
    positive: np.ndarray

    @cached_property
    def inverse(self) -> np.ndarray:
        """Matrix (k, k) with parts = inverse @ factors."""
        return np.linalg.inv(self.matrix)


def friction_parts(columns: Sequence[FrictionColumn], free: int = 0) -> Parts:
    """Return the parts of friction columns, followed by `free` numbers of either sign (the user's torques)."""
    n = len(columns)
    matrix, positive = np.eye(n + free), np.arange(n + free) < n
    place = {(column.element, column.term): k for k, column in enumerate(columns)}
    for (element, term), a in place.items():
        if term == ASYMMETRIC:
            v = place[element, "viscous"]
            matrix[v, [v, a]] = 0.5, 0.5
            matrix[a, [v, a]] = 0.5, -0.5
    return Parts(matrix, positive)


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Objective ½ (x − x̂)ᵀ Λ (x − x̂) as a function of the base parameters b alone, with the best friction for
    each b.

    Attributes:
        x: (m + k,) estimate, base parameters first, then parts. information: its Λ.
        m: number of base parameters.
        held: (k,) parts that are zero.
    """

    x: np.ndarray
    information: np.ndarray
    m: int
    held: np.ndarray

    @cached_property
    def _kept(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers that stay (base parameters, then held parts), and those that are eliminated."""
        parts = self.m + np.arange(len(self.held))
        return np.concatenate([np.arange(self.m), parts[self.held]]), parts[~self.held]

    @cached_property
    def _back(self) -> np.ndarray:
        """Matrix of the free parts, which follow as −back @ (what stays − its estimate)."""
        stay, free = self._kept
        return self.spread @ self.information[np.ix_(free, stay)]

    @cached_property
    def spread(self) -> np.ndarray:
        """Covariance of the free parts where all others are known."""
        free = self._kept[1]
        return pseudo_inverse(self.information[np.ix_(free, free)])

    @cached_property
    def _schur(self) -> np.ndarray:
        stay, free = self._kept
        return self.information[np.ix_(stay, stay)] - self.information[np.ix_(stay, free)] @ self._back

    @property
    def H(self) -> np.ndarray:
        """Second derivative, (m, m)."""
        return self._schur[: self.m, : self.m]

    @property
    def g(self) -> np.ndarray:
        """Negative gradient at b = 0, (m,)."""
        return self._schur[: self.m] @ self.x[self._kept[0]]

    @property
    def constant(self) -> float:
        """Value at b = 0."""
        x = self.x[self._kept[0]]
        return 0.5 * float(x @ self._schur @ x)

    def whole(self, b: np.ndarray) -> np.ndarray:
        """Return the base parameters with the parts that fit them best, (m + k,)."""
        stay, free = self._kept
        y = np.zeros(len(self.x))
        y[: self.m] = b
        y[free] = self.x[free] - self._back @ (y[stay] - self.x[stay])
        return y

    @property
    def follows(self) -> np.ndarray:
        """Derivative of the free parts by the base parameters, (free parts, m)."""
        return -self._back[:, : self.m]

    def changed(self, b: np.ndarray, positive: np.ndarray, single: bool) -> Eliminated | None:
        """Return the problem with the active set that is right at b; None if the current one is.

        Args:
            b: base parameters.
            positive: (k,) parts that cannot be negative.
            one: whether only the part that is wrong by most changes, which guarantees termination.
        """
        y = self.whole(b)
        slope = (self.information @ (y - self.x))[self.m :]
        scale = np.sqrt(np.maximum(self.information.diagonal()[self.m :], 0.0))
        # In units of standard deviations: how negative free parts are, how much held ones ask to be positive.
        wrong = np.where(self.held, -slope / np.where(scale > 0, scale, 1.0), -y[self.m :] * scale)
        size = np.abs(self.x[self.m :] * scale).max(initial=1.0)
        wrong = np.where(positive & (wrong > SMALL * size), wrong, 0.0)
        if not wrong.any():
            return None
        swap = wrong == wrong.max() if single else wrong > 0
        return replace(self, held=self.held ^ swap)

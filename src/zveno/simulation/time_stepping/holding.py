"""Bilateral constraints in a step: loops, welds, hinges. Their impulses are eliminated before the sweeps.

With Y_e = L⁻ᵀ J_eᵀ and A = Y_eᵀ diag(r) Y_e the impulses are μ = −A⁻¹ (b_e + Y_eᵀ diag(r) Y λ). The
contacts then see a velocity that satisfies the constraints, and rows Y − Y_e A⁻¹ Y_eᵀ diag(r) Y of impulses that do
not violate them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...kernels.ops import abs as magnitude
from ...kernels.ops import maximum
from .stepping import Stepping

REDUNDANT = 1e-9
"""Share of the diagonal of A that is added to it: dependent rows share their force."""
BACK = 0.2
"""Share of a violation that a step corrects."""


class Held(NamedTuple):
    """Step after elimination of the bilateral constraints."""

    free: Any
    """velocities that satisfy them, (n_v,)"""
    Y: list[Any]
    """rows of the contacts' motions, (n_v,) each"""
    impulses: Any
    """μ without contacts, (p,)"""
    coupling: Any
    """change of μ for unit impulses on these, (n_motions · p,)"""
    violation: Any
    """the largest |φ|"""


class Holding:
    """Constraints of `stepping.equations` at the beginning of a step."""

    def __init__(self, stepping: Stepping, t: Any, q: Any, v: Any, c: Any):
        self._rows = stepping.equations.rows(t, q, v, c[len(stepping.settings) :])
        self._moving = stepping.equations.moving(self._rows.J)
        self.J: Any = np.array([share * row for share, row in zip(self._moving, self._rows.J, strict=True)])
        """(p, n_v), zero where a row moves nothing"""

    def held(self, h: Any, factors: Any, free: Any, Y: list[Any]) -> Held:
        """Eliminate the constraints from a step, with the factors (L, r) of M̂."""
        L, r = factors
        rows, p = self._rows, len(self.J)
        Y_e = [linear.up(L, row) for row in self.J]
        A = [[(Y_e[i] * r) @ Y_e[j] for j in range(i + 1)] for i in range(p)]
        for i in range(p):
            # a row that moves nothing bears nothing
            A[i][i] = A[i][i] * (1.0 + REDUNDANT) + (1.0 - self._moving[i])
        A_factors = linear.factor(A)
        b = rows.J @ free + rows.rate + (BACK / h) * rows.value
        impulses = -linear.solve_factored(A_factors, b * np.array(self._moving))
        free = free + linear.down(L, r * sum(Y_e[i] * impulses[i] for i in range(p)))
        left, coupling = [], []
        for row in Y:
            shares = linear.solve_factored(A_factors, [(Y_e[i] * r) @ row for i in range(p)])
            left.append(row - sum(Y_e[i] * shares[i] for i in range(p)))
            coupling.append(-shares)
        violation: Any = 0.0
        for value in rows.value:
            violation = maximum(violation, magnitude(value))
        return Held(free, left, impulses, np.concatenate([np.zeros(0), *coupling]), violation)

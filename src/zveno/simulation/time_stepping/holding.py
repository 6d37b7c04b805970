"""Constraints that hold both ways in a step: loops, welds, hinges. Their impulses are eliminated before the sweeps.

With Y_e = L⁻ᵀ J_eᵀ and A = Y_eᵀ diag(r) Y_e the impulses are μ = −A⁻¹ (b_e + Y_eᵀ diag(r) Y λ). What is left for
the contacts is a velocity that obeys the constraints, and rows Y − Y_e A⁻¹ Y_eᵀ diag(r) Y of impulses that do not
break them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algorithms import linear
from ...kernels.math import abs as magnitude
from ...kernels.math import maximum
from .stepping import Stepping

REDUNDANT = 1e-9
"""Share of the diagonal of A that is added to it: rows that depend on one another share their force."""
BACK = 0.2
"""Share of a violation that a step takes back."""


class Held(NamedTuple):
    """What the constraints leave of a step."""

    free: Any
    """velocities that obey them, (n_v,)"""
    Y: list[Any]
    """rows of the contacts' motions, (n_v,) each"""
    impulses: Any
    """μ without contacts, (p,)"""
    coupling: Any
    """change of μ for unit impulses on these, (n_motions · p,)"""
    violation: Any
    """the largest |φ|"""


def held(stepping: Stepping, t: Any, h: Any, q: Any, v: Any, c: Any, factors: Any, free: Any, Y: list[Any]) -> Held:
    """The constraints of `stepping.equations` in a step, with the factors (L, r) of M̂."""
    L, r = factors
    rows = stepping.equations.rows(t, q, v, c[len(stepping.settings) :])
    Y_e = [linear.up(L, row) for row in rows.J]
    p = len(Y_e)
    A = [[(Y_e[i] * r) @ Y_e[j] for j in range(i + 1)] for i in range(p)]
    for i in range(p):
        A[i][i] = A[i][i] * (1.0 + REDUNDANT)
    A_factors = linear.factor(A)
    b = rows.J @ free + rows.rate + (BACK / h) * rows.value
    impulses = -linear.solve_factored(A_factors, b)
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

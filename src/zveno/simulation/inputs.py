"""What the kernels of a run are given beside time and state, and where in it things stand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

QUALITY = 1e-9
"""Pivots of J M⁻¹ Jᵀ below this share of its diagonal mean that constraints are redundant."""


class Inputs(NamedTuple):
    """What a kernel is given beside time and state: numbers or batches of them."""

    u: Any = None
    """command computed outside, (..., n_v)"""
    c: Any = None
    """settings of the constraints, (..., n_c): rate of stabilisation, active rows, anchors"""

    def arrays(self) -> tuple[Any, ...]:
        """Those that are there, in the order of the kernels' inputs."""
        return tuple(part for part in self if part is not None)


class Sliding(NamedTuple):
    """A contact with friction."""

    number: int
    """of the constraint"""
    row: int
    """of its normal; the two tangents follow"""
    at: int
    """where in c its μ while it slides (else 0), the direction and the lowest speed of sliding stand"""
    mu: float


def slices(sizes: list[int]) -> tuple[slice, ...]:
    """Consecutive places of the given sizes."""
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

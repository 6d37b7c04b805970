"""Inputs of the kernels of a run besides time and state, and index slices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

QUALITY = 1e-9
"""Share of the diagonal of J M⁻¹ Jᵀ below which a pivot means that constraints are redundant."""


class Inputs(NamedTuple):
    """Kernel inputs besides time and state: single values or batches."""

    u: Any = None
    """command computed outside, (..., n_v)"""
    c: Any = None
    """settings of the constraints, (..., n_c): rate of stabilisation, anchors"""

    def arrays(self) -> tuple[Any, ...]:
        """Return the inputs that are present, in the order of the kernel inputs."""
        return tuple(part for part in self if part is not None)


def slices(sizes: list[int]) -> tuple[slice, ...]:
    """Return consecutive slices of the given sizes."""
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

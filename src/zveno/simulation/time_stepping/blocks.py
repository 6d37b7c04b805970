"""Blocks of W: the effect of a unit impulse on its own contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import sqrt
from .stepping import Group

SINGULAR = 1e-9
"""Share of its trace added to the diagonal of a contact's block, which few joints may leave singular."""
TINY = 1e-300


def scales(groups: tuple[Group, ...], W: Any) -> Any:
    """Return 1 over the diagonal of W; for two rows with a common disc, over their block's larger eigenvalue."""
    scales: list[Any] = []
    for group in groups:
        scales.append(1.0 / entry(W, group.row, group.row))
        row = group.row + 1
        for pair in (group.friction, None, group.rolling):
            if pair is None:
                if group.torsional:
                    scales.append(1.0 / entry(W, row, row))
                    row += 1
            elif pair:
                a, b, d = entry(W, row, row), entry(W, row + 1, row), entry(W, row + 1, row + 1)
                half = 0.5 * (a - d)
                scales += [1.0 / (0.5 * (a + d) + sqrt(half * half + b * b + TINY))] * 2
                row += 2
    return np.array(scales)


def inverses(groups: tuple[Group, ...], W: Any) -> Any:
    """Return the inverses of the blocks of normal and tangents, with `SINGULAR` of their trace on the diagonal."""
    parts = []
    for n in (group.row for group in groups if group.friction):
        a, b, d = entry(W, n, n), entry(W, n + 1, n), entry(W, n + 2, n)
        c, e, f = entry(W, n + 1, n + 1), entry(W, n + 2, n + 1), entry(W, n + 2, n + 2)
        small = SINGULAR * (a + c + f)
        a, c, f = a + small, c + small, f + small
        first = c * f - e * e, d * e - b * f, b * e - c * d  # cofactors of the first row
        scale = 1.0 / (a * first[0] + b * first[1] + d * first[2] + TINY)
        lower = first[0], first[1], a * f - d * d, first[2], b * d - a * e, a * c - b * b
        parts += [scale * cofactor for cofactor in lower]
    return np.array(parts) if parts else np.zeros(0)


def entry(W: Any, i: int, j: int) -> Any:
    """Return W at row i and column j ≤ i."""
    return W[i * (i + 1) // 2 + j]

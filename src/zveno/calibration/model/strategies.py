"""Column selection strategies J, B, T, L, R: from a redundant model to the unique irreducible one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ZvenoError
from .models import Model

LETTERS = {"J": "joint", "B": "base", "T": "tool"}


def checked_strategy(strategy: str) -> str:
    """Return the strategy in capitals, with L at the end if no direction is given."""
    letters = strategy.upper()
    order, direction = (letters[:-1], letters[-1]) if letters[-1:] in ("L", "R") else (letters, "L")
    if any(letter not in LETTERS for letter in order) or len(set(order)) < len(order):
        raise ZvenoError(
            f"{strategy!r} is not a strategy of column selection",
            remedy="Combine J (joints first), B (base first), T (tool first), and end with L (from the left) or R, "
            "for example JL or BJR",
        )
    return order + direction


def column_order(model: Model, strategy: str) -> list[int]:
    """Return numbers of the model's parameters in the order of the strategy."""
    strategy = checked_strategy(strategy)
    everything = list(range(len(model.terms)))
    if strategy[-1] == "R":
        everything.reverse()
    first = [k for letter in strategy[:-1] for k in everything if model.terms[k].role == LETTERS[letter]]
    return first + [k for k in everything if k not in set(first)]


def independent_columns(
    A: np.ndarray, order: Sequence[int], rank: int, firm: np.ndarray | None = None
) -> list[int]:
    """Return the first `rank` columns in that order that do not depend on those before them, sorted.

    The rank has been decided from singular values; here the threshold follows it.

    Args:
        A: columns of unit length, or zero.
        order: order of selection.
        rank: of A.
        firm: how independent each column must be to be taken at once, as a share of its own length; others are
            passed over at first, and taken only where the rank needs them. A fit then is not parametrised by
            what can hardly be seen, such as the offset of an axis that the measured point nearly lies on.
    """
    Q = np.zeros((A.shape[0], rank))
    kept: list[int] = []
    factor, floor = 1.0, 1e-7
    while len(kept) < rank and floor > 1e-30:
        for k in order:
            if len(kept) == rank:
                break
            if k in kept:
                continue
            v, basis = A[:, k], Q[:, : len(kept)]
            for _ in range(2):
                v = v - basis @ (basis.T @ v)
            length = float(np.linalg.norm(v))
            if length > (floor if firm is None else max(floor, factor * firm[k])):
                Q[:, len(kept)] = v / length
                kept.append(k)
        factor, floor = (0.1 * factor, floor) if firm is not None and factor > 1e-7 else (0.0, 0.1 * floor)
    return sorted(kept)

"""Column selection strategies J, B, T, L, R: from a redundant model to the unique complete irreducible one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ZvenoError
from .models import Model

LETTERS = {"J": "joint", "B": "base", "T": "tool"}


def checked_strategy(strategy: str) -> str:
    """The strategy in capitals, with L at the end where no direction is given."""
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
    """Numbers of the model's parameters in the order in which the strategy looks at them."""
    strategy = checked_strategy(strategy)
    everything = list(range(len(model.terms)))
    if strategy[-1] == "R":
        everything.reverse()
    first = [k for letter in strategy[:-1] for k in everything if model.terms[k].role == LETTERS[letter]]
    return first + [k for k in everything if k not in set(first)]


def independent_columns(A: np.ndarray, order: Sequence[int], rank: int) -> list[int]:
    """The first `rank` columns in that order that do not depend on those before them, sorted.

    The rank has been decided from singular values; here the threshold follows it. Columns of A have unit length or
    are zero.
    """
    if not rank:
        return []
    Q = np.zeros((A.shape[0], rank))
    left = np.zeros(len(order))
    tolerance = 1e-7
    for _ in range(60):
        kept: list[int] = []
        for place, k in enumerate(order):
            v = A[:, k]
            basis = Q[:, : len(kept)]
            for _ in range(2):
                v = v - basis @ (basis.T @ v)
            left[place] = length = float(np.linalg.norm(v))
            if length > tolerance and len(kept) < rank:
                Q[:, len(kept)] = v / length
                kept.append(k)
        if len(kept) == rank:
            return sorted(kept)
        tolerance /= 3.0
    return sorted(kept)

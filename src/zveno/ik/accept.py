"""Configurations that the user accepts, such as those free of collisions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ShapeError

Accept = Callable[[np.ndarray], np.ndarray]
"""(s, n_q) → (s,) booleans: True for configurations that may be used."""


def asked(accept: Accept, q: np.ndarray) -> np.ndarray:
    """Return booleans (s,), True for accepted configurations (s, n_q)."""
    if not len(q):
        return np.zeros(0, bool)
    good = np.asarray(accept(q))
    if good.shape != (len(q),):
        raise ShapeError(
            f"returned shape {good.shape} for {len(q)} configurations",
            element="where",
            remedy="Take (s, n_q) and return (s,) booleans",
        )
    return good.astype(bool, copy=False)

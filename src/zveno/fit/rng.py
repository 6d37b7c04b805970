"""Seeds of random numbers."""

from __future__ import annotations

import numpy as np


def seed_of(rng: np.random.Generator | int | None) -> int:
    """A seed: the number given, or one drawn from a generator; None is a new one at every call."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**32))

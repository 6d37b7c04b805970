"""Seeds of random number generators."""

from __future__ import annotations

import numpy as np


def seed_of(rng: np.random.Generator | int | None) -> int:
    """Return a seed: the given number, or one drawn from a generator; None gives a new one at every call."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**32))

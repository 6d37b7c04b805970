"""Clearance of links along a motion, with derivatives: a term of the barrier."""

from __future__ import annotations

import numpy as np

from ...clearance import Capsules

NEAR = 0.1
"""Share of the reach below which distances count."""


class ClearanceTerm:
    """Barrier of a robot's capsules: −log s + s − 1 where s = distance / near < 1, else zero."""

    def __init__(self, capsules: Capsules):
        self.capsules = capsules
        self.near: float = NEAR * capsules.reach

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Return True for postures (..., n_q) that keep clear, (...)."""
        return self.capsules.clear(q)

    def value_and_slope(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the term over postures (n, n_q), infinite where one touches, and its gradient (n, n_v)."""
        distance, slopes = self.capsules.distances_and_slopes(q)
        if distance.min(initial=np.inf) <= 0.0:
            return np.inf, np.zeros(slopes.shape[:-2] + slopes.shape[-1:])
        s = np.minimum(distance / self.near, 1.0)
        pushed = np.einsum("np,npv->nv", (1.0 - 1.0 / s) / self.near, slopes)
        return float((s - 1.0 - np.log(s)).sum()), pushed

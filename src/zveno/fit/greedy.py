"""Greedy choice among many candidates: one after the other, each the one that improves a criterion most."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Engine(Protocol):
    """A criterion as it is now, and its change by every candidate."""

    def gains(self, sign: float) -> np.ndarray:
        """Change of the criterion when each candidate is added (1) or taken away (−1), −inf where it cannot be."""
        ...

    def change(self, i: int, sign: float) -> None:
        """Add (1) or take away (−1) candidate i."""
        ...


def add_best(engine: Engine, members: list[int], repeats: bool = True) -> bool:
    """Add the best candidate to an engine and to its members; False if there is none left to add."""
    gains = engine.gains(1.0)
    if not repeats:
        gains = gains.copy()
        gains[members] = -np.inf
    best = int(np.argmax(gains))
    if not np.isfinite(gains[best]):
        return False
    members.append(best)
    engine.change(best, 1.0)
    return True

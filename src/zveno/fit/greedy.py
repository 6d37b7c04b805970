"""Greedy selection: candidates are added in sequence, each time the one that improves a criterion most."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Engine(Protocol):
    """Current value of a criterion, and its change by every candidate."""

    def gains(self, sign: float) -> np.ndarray:
        """Return the change of the criterion if each candidate is added (1) or removed (−1), −inf if impossible."""
        ...

    def change(self, i: int, sign: float) -> None:
        """Add (1) or remove (−1) candidate i."""
        ...


def add_best(engine: Engine, members: list[int]) -> bool:
    """Add the best candidate to an engine and to its members, and return True; False if none can be added."""
    gains = engine.gains(1.0)
    best = int(np.argmax(gains))
    if not np.isfinite(gains[best]):
        return False
    members.append(best)
    engine.change(best, 1.0)
    return True

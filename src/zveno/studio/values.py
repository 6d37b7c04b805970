"""Coordinates in the units people use: degrees and millimetres, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..mechanism import Mechanism
from ..mechanism.units import coordinate_units

_SHOWN = {"rad": (180.0 / np.pi, "°", 1), "m": (1e3, "mm", 1)}
"""Factor, unit and decimals of what is shown."""
_FREE_TURN = 2.0 * np.pi
"""Range of sliders of joints without limits, rad; slides have twice the robot's size."""


class Coordinate(NamedTuple):
    """A coordinate that a slider shows."""

    place: int
    """in q"""
    name: str
    factor: float
    unit: str
    low: float
    """in the unit shown"""
    high: float

    def shown(self, value: float) -> float:
        """A coordinate as it is shown, within the limits."""
        return float(np.clip(round(self.factor * float(value), 2), self.low, self.high))

    def meant(self, value: float) -> float:
        """A coordinate from what was typed or dragged, within the limits."""
        return float(np.clip(float(value), self.low, self.high)) / self.factor


def coordinates(mechanism: Mechanism, size: float) -> Iterator[Coordinate]:
    """The coordinates that are plain numbers; quaternions have no sliders."""
    units = coordinate_units(mechanism)
    for place, (name, unit) in enumerate(zip(mechanism.coordinate_names, units, strict=True)):
        if unit not in _SHOWN:
            continue
        factor, shown, _ = _SHOWN[unit]
        free = _FREE_TURN if unit == "rad" else 2.0 * size
        low, high = max(float(mechanism.lower[place]), -free), min(float(mechanism.upper[place]), free)
        if low < high:
            yield Coordinate(place, name, factor, shown, factor * low, factor * high)


def within(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """q with every limited coordinate within its limits."""
    return np.clip(np.asarray(q, dtype=float), mechanism.lower, mechanism.upper)


def in_words(mechanism: Mechanism, q: np.ndarray, places: tuple[int, ...]) -> list[str]:
    """Coordinates as they stand in tables."""
    units = coordinate_units(mechanism)
    factors = [_SHOWN.get(units[k], (1.0, "", 2)) for k in places]
    return [
        f"{round(factor * q[k], digits) + 0.0:.{digits}f}"
        for k, (factor, _, digits) in zip(places, factors, strict=True)
    ]

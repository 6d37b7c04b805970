"""Units of files: names of lengths and angles, and their values in metres and radians."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import ModelError

# Dividing by 1000 gives the double nearest to the decimal meant (431.8 mm); multiplying by 0.001 does not.
LENGTHS: dict[str, Callable[[float], float]] = {
    "m": float,
    "mm": lambda value: value / 1000.0,
    "cm": lambda value: value / 100.0,
}
ANGLES: dict[str, Callable[[float], float]] = {"rad": float, "deg": math.radians}
DIMENSIONS = {"length": LENGTHS, "angle": ANGLES}


@dataclass(frozen=True)
class Units:
    """Units of numbers without a unit of their own."""

    length: str = "m"
    angle: str = "rad"

    def si(self, value: float, dimension: str) -> float:
        """Return a number in the file's unit of `dimension` ("length" or "angle") in metres or radians."""
        return DIMENSIONS[dimension][getattr(self, dimension)](value)


def nearest_of(word: object, known: Iterable[str]) -> str:
    """Return a remedy that names the nearest and all the known words."""
    known = list(known)
    near = difflib.get_close_matches(str(word)[:60], known, n=1, cutoff=0.5)
    return (f"Did you mean {near[0]!r}? " if near else "") + "Known: " + ", ".join(known)


def checked_unit(value: object, dimension: str, *, file: object | None = None, element: str | None = None) -> str:
    """Return the name of a unit of `dimension`, or raise an error that lists the known ones."""
    table = DIMENSIONS[dimension]
    if not isinstance(value, str) or value not in table:
        raise ModelError(
            f"{str(value)[:60]!r} is not a unit of {dimension}",
            file=file,
            element=element,
            remedy=nearest_of(value, table),
        )
    return value


DEGREES = (180.0 / math.pi, "°")
ERRORS: dict[str, tuple[float, str]] = {"m": (1e3, "mm"), "rad": DEGREES, "px": (1.0, "px")}
"""Display of measurement errors by unit: factor and suffix."""
DEVIATIONS = {
    "m": (1e3, "mm"),
    "rad": (1e3, "mrad"),
    "1": (1e3, "‰"),
    "rad/Nm": (1e6, "µrad/Nm"),
    "m/N": (1e6, "µm/N"),
    "px": (1.0, "px"),
}
"""Display of parameter deviations by unit: factor and suffix."""

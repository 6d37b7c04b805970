"""Regular grids over a box of parameters, by step or by count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError
from ...kernels.math import floor
from .coding import checked_radices, decode, encode


@dataclass(frozen=True, eq=False)
class Grid:
    """α_j(θ_j) = lower_j + step_j (θ_j − 1), θ_j = 1 … counts_j, numbered i = 1 … size.

    Attributes:
        lower: (J,) first value of every parameter.
        step: (J,) distance of neighbours.
        counts: Θ_j, number of values of every parameter.
    """

    lower: np.ndarray
    step: np.ndarray
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", np.array(self.lower, float))
        object.__setattr__(self, "step", np.array(self.step, float))
        object.__setattr__(self, "counts", checked_radices(self.counts))
        if self.lower.shape != (len(self.counts),) or self.step.shape != self.lower.shape:
            raise ShapeError("lower, step and counts must have one entry a parameter", element="Grid")
        if not np.isfinite(self.lower).all() or not np.isfinite(self.step).all():
            raise ShapeError("bounds and steps must be finite", element="Grid")

    @classmethod
    def by_step(cls, lower: ArrayLike, upper: ArrayLike, step: ArrayLike, rounding: str = "floor") -> Grid:
        """Θ_j = floor or ceil of (upper − lower)/step, as document 004 has it; values start at `lower`."""
        lower, upper, step = _box(lower, upper, step)
        if np.any(step <= 0):
            raise ShapeError("a step is not positive", element="step")
        if rounding not in ("floor", "ceil"):
            raise ShapeError(f"{rounding!r} is neither 'floor' nor 'ceil'", element="rounding")
        ratio = (upper - lower) / step
        # A quotient that is whole up to rounding is meant to be whole: 0.3/0.1 is 3.
        near = np.abs(ratio - np.round(ratio)) <= 1e-12 * np.maximum(1.0, np.abs(ratio))
        rounded = np.where(near, np.round(ratio), np.floor(ratio) if rounding == "floor" else np.ceil(ratio))
        return cls(lower, step, tuple(max(1, int(count)) for count in rounded))

    @classmethod
    def by_count(
        cls, lower: ArrayLike, upper: ArrayLike, counts: ArrayLike, ends: bool = False, centred: bool = False
    ) -> Grid:
        """Θ_j values: step = (upper − lower)/Θ_j.

        Args:
            lower, upper: the box, (J,) or numbers.
            counts: Θ_j, (J,) or one number.
            ends: both ends are values: Θ_j + 1 nodes, what procedures П7 and П8 use.
            centred: values in the middle of their cells instead of at the lower end.
        """
        lower, upper, counts = _box(lower, upper, counts)
        if np.any(counts < 1) or np.any(counts != np.floor(counts)):
            raise ShapeError("counts must be whole numbers from 1", element="counts")
        step = (upper - lower) / counts
        start = lower + step / 2 if centred else lower
        return cls(start, step, tuple(int(count) + ends for count in counts))

    @property
    def n_parameters(self) -> int:
        """J."""
        return len(self.counts)

    @cached_property
    def size(self) -> int:
        """I, the number of numbers; a Python integer of any size."""
        return math.prod(self.counts)

    def points(self, numbers: ArrayLike) -> np.ndarray:
        """Parameters α (..., J) of numbers (...)."""
        return self.lower + self.step * (decode(numbers, self.counts) - 1).astype(float)

    def range_points(self, start: int, stop: int) -> np.ndarray:
        """Parameters (stop − start, J) of the numbers start … stop − 1."""
        if stop <= _EXACT:
            points = _decoder(self.n_parameters)(np.arange(start - 1.0, stop - 1.0), np.array(self.counts, float))
            points *= self.step  # in place: fresh memory costs more than the arithmetic
            points += self.lower
            return points
        if stop <= 2**62:
            return self.points(np.arange(start, stop))
        return self.points(np.array(range(start, stop), dtype=object))

    def number_of(self, alpha: ArrayLike) -> Any:
        """Numbers (...) of the grid points nearest to α (..., J)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = np.where(self.step > 0, np.round((np.asarray(alpha) - self.lower) / self.step), 0.0)
        return encode(np.clip(theta.astype(int), 0, np.array(self.counts) - 1) + 1, self.counts)


_EXACT = 2**52
"""Below this, decoding in floating point is exact."""


def _places(number, counts):
    """Formula (2) in floating point: (i − 1, Θ (J,)) → θ − 1 (J,)."""
    places = []
    for count in counts:
        rest = floor(number / count)
        places.append(number - rest * count)
        number = rest
    return np.array(places)


def _decoder(J: int):
    """`_places` compiled for J parameters."""
    from ...kernels.door import compiled

    return compiled(_places, {"number": (), "counts": (J,)}, name="decode")


def step_from_resolution(resolution: Any, fraction: float = 1.0) -> Any:
    """The step that a sensor's resolution asks for: what it cannot tell apart need not be scanned apart."""
    return np.asarray(resolution, float) * fraction


def step_from_bandwidth(bandwidth: Any, oversampling: float = 1.0) -> Any:
    """The largest step that loses nothing of a function whose spectrum ends at `bandwidth` cycles a unit: 1/(2 B).

    The sampling theorem (Shannon 1949; Jerri, Proc. IEEE 65, 1977, no. 11). `oversampling` divides it further.
    """
    return 1.0 / (2.0 * np.asarray(bandwidth, float) * oversampling)


def _box(lower, upper, other) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        lower, upper, other = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, float)) for x in (lower, upper, other))
        )
    except (TypeError, ValueError):
        raise ShapeError("lower, upper and step or count must have one entry a parameter", element="Grid") from None
    if lower.ndim != 1 or not np.isfinite([lower, upper, other]).all():
        raise ShapeError("bounds, steps and counts must be finite", element="Grid")
    if np.any(lower > upper):
        raise ShapeError("a lower bound is above its upper bound", element="Grid")
    return lower, upper, other

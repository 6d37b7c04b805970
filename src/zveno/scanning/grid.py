"""Parameter grids numbered by one integer in mixed radix.

i = θ_1 + Θ_1 (θ_2 − 1) + Θ_1 Θ_2 (θ_3 − 1) + …, with θ_j = 1 … Θ_j and i = 1 … I = Θ_1 Θ_2 … Θ_J. The first
parameter changes fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..kernels.ops import floor


@dataclass(frozen=True, eq=False)
class Grid:
    """Grid α_j(θ_j) = lower_j + step_j (θ_j − 1), θ_j = 1 … counts_j, numbered i = 1 … size.

    Attributes:
        lower: (J,) first value of every parameter.
        step: (J,) distance between neighbours.
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
            raise ShapeError("lower, step and counts must have one entry per parameter", element="Grid")
        if not np.isfinite(self.lower).all() or not np.isfinite(self.step).all():
            raise ShapeError("bounds and steps must be finite", element="Grid")

    @classmethod
    def by_step(cls, lower: ArrayLike, upper: ArrayLike, step: ArrayLike, rounding: str = "floor") -> Grid:
        """Build a grid from steps: Θ_j is the floor or ceil of (upper − lower)/step; values start at `lower`."""
        lower, upper, step = _box(lower, upper, step)
        if np.any(step <= 0):
            raise ShapeError("every step must be positive", element="step")
        if rounding not in ("floor", "ceil"):
            raise ShapeError(f"must be 'floor' or 'ceil', got {rounding!r}", element="rounding")
        ratio = (upper - lower) / step
        # A quotient that is an integer up to rounding counts as an integer: 0.3/0.1 is 3.
        near = np.abs(ratio - np.round(ratio)) <= 1e-12 * np.maximum(1.0, np.abs(ratio))
        rounded = np.where(near, np.round(ratio), np.floor(ratio) if rounding == "floor" else np.ceil(ratio))
        return cls(lower, step, tuple(max(1, int(count)) for count in rounded))

    @classmethod
    def by_count(
        cls, lower: ArrayLike, upper: ArrayLike, counts: ArrayLike, ends: bool = False, centred: bool = False
    ) -> Grid:
        """Build a grid from counts: step = (upper − lower)/Θ_j.

        Args:
            lower, upper: the box, (J,) or numbers.
            counts: Θ_j, (J,) or one number.
            ends: include both ends: Θ_j + 1 nodes, as procedures П7 and П8 use.
            centred: put values in the middle of their cells instead of at the lower end.
        """
        lower, upper, counts = _box(lower, upper, counts)
        if np.any(counts < 1) or np.any(counts != np.floor(counts)):
            raise ShapeError("counts must be positive integers", element="counts")
        step = (upper - lower) / counts
        start = lower + step / 2 if centred else lower
        return cls(start, step, tuple(int(count) + ends for count in counts))

    @property
    def n_parameters(self) -> int:
        """Number of parameters J."""
        return len(self.counts)

    @cached_property
    def size(self) -> int:
        """Number of grid points I, a Python integer of any size."""
        return math.prod(self.counts)

    def points(self, numbers: ArrayLike) -> np.ndarray:
        """Parameters α (..., J) of numbers (...)."""
        return self.lower + self.step * (decode(numbers, self.counts) - 1).astype(float)

    def range_points(self, start: int, stop: int) -> np.ndarray:
        """Parameters (stop − start, J) of the numbers start … stop − 1."""
        if stop <= _EXACT:
            points = _decoder(self.n_parameters)(np.arange(start - 1.0, stop - 1.0), np.array(self.counts, float))
            points *= self.step  # in place: allocation costs more than the arithmetic
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
"""Largest number for which decoding in floating point is exact."""


def _places(number, counts):
    """Decode by formula (2) in floating point: (i − 1, Θ (J,)) → θ − 1 (J,)."""
    places = []
    for count in counts:
        rest = floor(number / count)
        places.append(number - rest * count)
        number = rest
    return np.array(places)


def _decoder(J: int):
    """Compiled `_places` for J parameters."""
    from ..kernels.compile import compiled

    return compiled(_places, {"number": (), "counts": (J,)}, name="decode")


def step_from_resolution(resolution: Any, fraction: float = 1.0) -> Any:
    """Step for a sensor's resolution: values that the sensor cannot distinguish need not be scanned separately."""
    return np.asarray(resolution, float) * fraction


def step_from_bandwidth(bandwidth: Any, oversampling: float = 1.0) -> Any:
    """Largest lossless step 1/(2 B) for a function of bandwidth B cycles per unit.

    This is the sampling theorem (Shannon 1949; Jerri, Proc. IEEE 65, 1977, no. 11). `oversampling` divides the step
    further.
    """
    return 1.0 / (2.0 * np.asarray(bandwidth, float) * oversampling)


def _box(lower, upper, other) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        lower, upper, other = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, float)) for x in (lower, upper, other))
        )
    except (TypeError, ValueError):
        raise ShapeError(
            "lower, upper and step or count must have one entry per parameter", element="Grid"
        ) from None
    if lower.ndim != 1 or not np.isfinite([lower, upper, other]).all():
        raise ShapeError("bounds, steps and counts must be finite", element="Grid")
    if np.any(lower > upper):
        raise ShapeError("every lower bound must not exceed its upper bound", element="Grid")
    return lower, upper, other


_LARGEST = 2**62


def checked_radices(radices: Sequence[int]) -> tuple[int, ...]:
    """Convert Θ_1 … Θ_J to positive integers."""
    try:
        whole = tuple(int(radix) for radix in radices)
        same = all(a == b for a, b in zip(whole, radices, strict=True))
    except (TypeError, ValueError, OverflowError):
        same, whole = False, ()
    if not same or not whole or min(whole) < 1:
        raise ShapeError(f"radices must be positive integers, got {radices!r}", remedy="Give whole numbers from 1")
    return whole


def encode(theta: Any, radices: Sequence[int]) -> Any:
    """Encode local numbers θ (..., J) as numbers i (...): formula (1).

    The result is int64 if I fits, otherwise an object array of Python integers (or a plain integer).
    """
    radices = checked_radices(radices)
    small = math.prod(radices) <= _LARGEST
    theta = np.asarray(theta, dtype=np.int64 if small else object)
    if theta.ndim == 0 or theta.shape[-1] != len(radices):
        raise ShapeError(
            f"must have {len(radices)} numbers in the last axis, got shape {theta.shape}", element="theta"
        )
    limits = np.array(radices, dtype=theta.dtype)
    if theta.size and (np.any(theta < 1) or np.any(theta > limits)):
        raise ShapeError("a local number is outside its range", element="theta", remedy="θ_j runs from 1 to Θ_j")
    number = theta[..., -1] - 1
    for j in range(len(radices) - 2, -1, -1):
        number = number * radices[j] + (theta[..., j] - 1)
    return number + 1


def decode(numbers: Any, radices: Sequence[int]) -> np.ndarray:
    """Decode numbers i (...) into local numbers θ (..., J): formula (2).

    θ_j = K_{j−1} − Θ_j floor((K_{j−1} − 1)/Θ_j), K_j = 1 + floor((K_{j−1} − 1)/Θ_j), K_0 = i.
    """
    radices = checked_radices(radices)
    total = math.prod(radices)
    K = np.asarray(numbers, dtype=np.int64 if total <= _LARGEST else object)
    if K.size and (np.any(K < 1) or np.any(total < K)):
        raise ShapeError(f"every number must be from 1 to {total}", element="numbers")
    theta = np.empty((*K.shape, len(radices)), dtype=np.int64 if max(radices) <= _LARGEST else object)
    K = K - 1
    for j, radix in enumerate(radices):
        rest = K // radix
        theta[..., j] = K - rest * radix + 1
        K = rest
    return theta

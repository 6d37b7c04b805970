"""What every joint type gives, and the axis that most of them have."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError, ZvenoError

QUATERNION_TOLERANCE = 1e-6
"""Tasks refuse a quaternion whose norm is off by more than this."""


def unit_axis(axis: ArrayLike, what: str = "axis") -> np.ndarray:
    """A (3,) axis scaled to unit length; a zero, non-finite or misshapen one is refused."""
    direction = np.array(axis, dtype=float)
    if direction.shape != (3,):
        raise ModelError(f"the {what} has shape {direction.shape}", remedy="Give three numbers, for example 0 0 1")
    largest = abs(direction).max()
    if not largest <= 1e50:  # beyond it, squares leave the range of floating point
        raise ModelError(f"the {what} {direction.tolist()} is not finite or too long", remedy="Give a direction")
    if largest < 1e-12:
        raise ModelError(f"the {what} is zero", remedy="Give a direction, for example 0 0 1")
    norm = np.linalg.norm(direction)
    if np.count_nonzero(direction) == 1:
        direction = direction / largest  # exactly 0 and ±1
    elif abs(norm - 1.0) > 1e-15:
        direction = direction / norm  # an axis that has unit length stays as it is, to the last bit
    direction.setflags(write=False)
    return direction


@dataclass(frozen=True, eq=False)
class JointType(ABC):
    """The relative motion a joint allows."""

    kind: ClassVar[str]
    n_q: ClassVar[int]
    n_v: ClassVar[int]
    units: ClassVar[tuple[str, ...]]
    """Unit of every velocity component without the 'per second': "rad" or "m"."""
    suffixes: ClassVar[tuple[str, ...]] = ("",)
    """What distinguishes the coordinates of one joint when each needs a name; (n_q,)."""
    sigma: ClassVar[int | None] = None
    """σ of document 003: 1 revolute, 0 prismatic, None where the document has no such joint."""
    in_sequence: ClassVar[bool] = False
    """Whether the coordinates are those of joints one after the other; if not, all axes are fixed on the child."""

    @abstractmethod
    def motion(self, q: Any) -> Any:
        """(4, 4) transform from the moved frame to the joint frame."""

    @abstractmethod
    def subspace(self, q: Any) -> Any:
        """(6, n_v) matrix S of the relative twist, in the moved frame."""

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """(6, n_v) matrix Ṡ at the velocity v, zero unless the subspace changes with q."""
        return np.zeros((6, self.n_v))

    def neutral(self) -> np.ndarray:
        """(n_q,) coordinates at which the moved frame coincides with the joint frame."""
        return np.zeros(self.n_q)

    def integrate(self, q: Any, v: Any) -> Any:
        """Coordinates after moving from q with the constant velocity v for unit time."""
        return q + v

    def difference(self, q0: Any, q1: Any) -> Any:
        """The constant velocity (n_v,) that takes q0 to q1 in unit time."""
        return q1 - q0

    def tangent(self, q: Any) -> Any:
        """(n_q, n_v) derivative of `integrate(q, v)` by v at v = 0: q̇ = tangent(q) v."""
        return np.eye(self.n_q)

    def normalized(self, q: Any) -> Any:
        """The coordinates with their quaternion, if any, scaled to unit length."""
        return q

    def quaternion_error(self, q: Any) -> Any:
        """How far the norm of the quaternion, if any, is from 1; q may have leading batch axes."""
        return np.zeros(np.shape(q)[:-1])

    def random_range(self, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray]:
        """Where plain coordinates are drawn from: the limits; a missing one is 2π or 2 m from the other."""
        return finite_range(lower, upper, np.array([math.pi if unit == "rad" else 1.0 for unit in self.units]))

    def random(self, rng: np.random.Generator, lower: Any, upper: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Uniform coordinates between limits, (*shape, n_q); infinite ones stand for ±π and ±1 m."""
        return rng.uniform(*self.random_range(lower, upper), size=(*shape, self.n_q))

    def about(self, axis: ArrayLike) -> JointType:
        """The same joint along or about another axis (joints with one axis only)."""
        raise ZvenoError(f"a {self.kind} joint does not have one axis")

    def scaled(self, factor: float) -> JointType:
        """The same joint in a mechanism whose lengths are multiplied by `factor`."""
        return self

    def parameters(self) -> dict[str, np.ndarray | float]:
        """What defines the joint beyond its kind, by name (axes, pitch)."""
        return {}

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={np.round(value, 6)}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({words})"


def finite_range(lower: Any, upper: Any, reach: Any) -> tuple[np.ndarray, np.ndarray]:
    """Limits made finite: one that is infinite is put at 2·reach from the other, both at ±reach."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * reach, -reach))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * reach, reach))
    return low, high


def angular_column(direction: Any) -> np.ndarray:
    """[0, direction] as a column (6, 1)."""
    return np.concatenate([np.zeros(3), direction])[:, None]

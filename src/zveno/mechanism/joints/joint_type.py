"""Base class of joint types, and helpers for joint axes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError, ZvenoError

QUATERNION_TOLERANCE = 1e-6
"""Maximum deviation of a quaternion's norm from 1 that tasks accept."""


def unit_axis(axis: ArrayLike, name: str = "axis") -> np.ndarray:
    """Scale a (3,) axis to unit length; raise if it is zero, not finite or of another shape."""
    direction = np.array(axis, dtype=float)
    if direction.shape != (3,):
        raise ModelError(
            f"the {name} must have shape (3,), got {direction.shape}",
            remedy="Give three numbers, for example 0 0 1",
        )
    largest = abs(direction).max()
    if not largest <= 1e50:  # squares of larger numbers overflow
        raise ModelError(f"the {name} {direction.tolist()} is not finite or too long", remedy="Give a direction")
    if largest < 1e-12:
        raise ModelError(f"the {name} is zero", remedy="Give a direction, for example 0 0 1")
    norm = np.linalg.norm(direction)
    if np.count_nonzero(direction) == 1:
        direction = direction / largest  # exactly 0 and ±1
    elif abs(norm - 1.0) > 1e-15:
        direction = direction / norm  # a unit axis is not changed, not even by rounding
    direction.setflags(write=False)
    return direction


class Step(NamedTuple):
    """Elementary motion about or along one axis.

    Attributes:
        kind: "R" rotation, "P" translation, "H" screw.
        axis: unit vector in the frame that the previous step moved.
        pitch: metres per radian, for "H".
        coordinate: number of the joint's coordinate, or of the angle that stands for a quaternion.
    """

    kind: str
    axis: np.ndarray
    pitch: float
    coordinate: int


@dataclass(frozen=True, eq=False)
class JointType(ABC):
    """Relative motion that a joint allows."""

    kind: ClassVar[str]
    n_q: ClassVar[int]
    n_v: ClassVar[int]
    units: ClassVar[tuple[str, ...]]
    """Unit of every velocity component without "per second": "rad" or "m"."""
    suffixes: ClassVar[tuple[str, ...]] = ("",)
    """Suffixes for the names of the joint's coordinates, (n_q,)."""
    sigma: ClassVar[int | None] = None
    """σ of document 003: 1 revolute, 0 prismatic, None for joint types that the document does not have."""
    in_sequence: ClassVar[bool] = False
    """True if the coordinates are those of joints in sequence; False if all axes are fixed on the child."""

    @abstractmethod
    def motion(self, q: Any) -> Any:
        """Transform (4, 4) from the moved frame to the joint frame."""

    @abstractmethod
    def subspace(self, q: Any) -> Any:
        """Motion subspace S (6, n_v) of the relative twist, in the moved frame."""

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """Time derivative Ṡ (6, n_v) at the velocity v, zero unless the subspace depends on q."""
        return np.zeros((6, self.n_v))

    def steps(self) -> tuple[Step, ...]:
        """Elementary motions in order from the parent to the child; inverse kinematics solves for them.

        Angles about z, y and x stand for a quaternion.
        """
        raise ModelError(
            f"inverse kinematics does not know {self.kind} joints",
            remedy="Lock it with zveno.edit.fix_joints, or choose a frame that it does not move",
        )

    def neutral(self) -> np.ndarray:
        """Coordinates (n_q,) at which the moved frame coincides with the joint frame."""
        return np.zeros(self.n_q)

    def integrate(self, q: Any, v: Any) -> Any:
        """Coordinates after moving from q with the constant velocity v for unit time."""
        return q + v

    def difference(self, q0: Any, q1: Any) -> Any:
        """Constant velocity (n_v,) that moves q0 to q1 in unit time."""
        return q1 - q0

    def tangent(self, q: Any) -> Any:
        """Derivative (n_q, n_v) of `integrate(q, v)` with respect to v at v = 0: q̇ = tangent(q) v."""
        return np.eye(self.n_q)

    def normalized(self, q: Any) -> Any:
        """Scale the quaternion of the coordinates, if any, to unit length."""
        return q

    def quaternion_error(self, q: Any) -> Any:
        """Deviation of the quaternion's norm from 1, zero without a quaternion; q may have leading batch axes."""
        return np.zeros(np.shape(q)[:-1])

    def random_range(self, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sampling range of plain coordinates: the limits; a missing limit is 2π or 2 m from the other."""
        return finite_range(lower, upper, np.array([math.pi if unit == "rad" else 1.0 for unit in self.units]))

    def random(self, rng: np.random.Generator, lower: Any, upper: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Draw uniform coordinates between limits, (*shape, n_q); ±π and ±1 m replace infinite limits."""
        return rng.uniform(*self.random_range(lower, upper), size=(*shape, self.n_q))

    def about(self, axis: ArrayLike) -> JointType:
        """Return the same joint type with another axis (joints with one axis only)."""
        raise ZvenoError(
            f"a {self.kind} joint does not have one axis", remedy="Choose a joint with one axis, such as Revolute"
        )

    def scaled(self, factor: float) -> JointType:
        """Return the joint type for a mechanism whose lengths are multiplied by `factor`."""
        return self

    def parameters(self) -> dict[str, np.ndarray | float]:
        """Geometric parameters of the joint by name (axes, pitch)."""
        return {}

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={np.round(value, 6)}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({words})"


def finite_range(lower: Any, upper: Any, reach: Any) -> tuple[np.ndarray, np.ndarray]:
    """Replace infinite limits: a single one by 2·reach from the other, both by ±reach."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * reach, -reach))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * reach, reach))
    return low, high


def angular_column(direction: Any) -> np.ndarray:
    """Column [0, direction], (6, 1)."""
    return np.concatenate([np.zeros(3), direction])[:, None]

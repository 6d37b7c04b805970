"""Fixed joints, and joints with one coordinate along or about one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError
from ...spatial import rotations
from ...spatial.transforms import transform
from .joint_type import JointType, Step, angular_column, unit_axis


@dataclass(frozen=True, repr=False, eq=False)
class Fixed(JointType):
    """No relative motion."""

    kind = "fixed"
    n_q = n_v = 0
    units: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = ()

    def motion(self, q: Any) -> Any:
        """Identity."""
        return np.eye(4)

    def subspace(self, q: Any) -> Any:
        """Empty matrix (6, 0)."""
        return np.zeros((6, 0))

    def steps(self) -> tuple[Step, ...]:
        """No motion."""
        return ()


@dataclass(frozen=True, repr=False, eq=False)
class _OneAxis(JointType):
    """Base class of joints with one coordinate along or about one axis."""

    axis: np.ndarray = (0.0, 0.0, 1.0)  # pyright: ignore[reportAssignmentType]  (a tuple becomes an array)

    n_q = n_v = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def parameters(self) -> dict[str, np.ndarray | float]:
        """Axis by name."""
        return {"axis": self.axis}

    def about(self, axis: ArrayLike) -> JointType:
        """Return the same joint type with another axis."""
        return replace(self, axis=axis)


@dataclass(frozen=True, repr=False, eq=False)
class _AboutAxis(_OneAxis):
    units = ("rad",)
    sigma: ClassVar[int | None] = 1

    def motion(self, q: Any) -> Any:
        """Rotation about the axis by q[0] radians."""
        return transform(rotations.about_axis_by(self.axis, q[0]))

    def subspace(self, q: Any) -> Any:
        """Column [0, axis]."""
        return angular_column(self.axis)

    def steps(self) -> tuple[Step, ...]:
        """One rotation."""
        return (Step("R", self.axis, 0.0, 0),)


@dataclass(frozen=True, repr=False, eq=False)
class Revolute(_AboutAxis):
    """Rotation about an axis within limits."""

    kind = "revolute"


@dataclass(frozen=True, repr=False, eq=False)
class Continuous(_AboutAxis):
    """Rotation about an axis without limits; the coordinate is one angle."""

    kind = "continuous"


@dataclass(frozen=True, repr=False, eq=False)
class Prismatic(_OneAxis):
    """Translation along an axis."""

    kind = "prismatic"
    units: ClassVar[tuple[str, ...]] = ("m",)
    sigma: ClassVar[int | None] = 0

    def motion(self, q: Any) -> Any:
        """Translation along the axis by q[0] metres."""
        return transform(None, self.axis * q[0])

    def subspace(self, q: Any) -> Any:
        """Column [axis, 0]."""
        return np.concatenate([self.axis, np.zeros(3)])[:, None]

    def steps(self) -> tuple[Step, ...]:
        """One translation."""
        return (Step("P", self.axis, 0.0, 0),)


@dataclass(frozen=True, repr=False, eq=False)
class Helical(_OneAxis):
    """Screw joint: rotation about an axis by q and translation along it by pitch · q, pitch in m/rad."""

    pitch: float = 0.0

    kind = "helical"
    units: ClassVar[tuple[str, ...]] = ("rad",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.pitch):
            raise ModelError(f"the pitch must be finite, got {self.pitch}", remedy="Give metres per radian")

    def motion(self, q: Any) -> Any:
        """Rotation about the axis by q[0] and translation along it by pitch · q[0]."""
        return transform(rotations.about_axis_by(self.axis, q[0]), self.axis * (self.pitch * q[0]))

    def subspace(self, q: Any) -> Any:
        """Column [pitch · axis, axis]."""
        return np.concatenate([self.pitch * self.axis, self.axis])[:, None]

    def steps(self) -> tuple[Step, ...]:
        """One screw."""
        return (Step("H" if self.pitch else "R", self.axis, self.pitch, 0),)

    def parameters(self) -> dict[str, np.ndarray | float]:
        """Axis and pitch by name."""
        return {"axis": self.axis, "pitch": self.pitch}

    def scaled(self, factor: float) -> JointType:
        """Return the joint type with a scaled pitch, which is a length per radian."""
        return Helical(self.axis, self.pitch * factor)

"""Joint types whose coordinates are those of single-axis joints in sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import ModelError
from ...spatial import rotations
from ...spatial.transforms import transform
from ...spatial.vectors import cross
from .joint_type import JointType, Step, angular_column, unit_axis


@dataclass(frozen=True, repr=False, eq=False)
class Universal(JointType):
    """Rotation about a first axis, fixed on the parent, then about a second axis, fixed on the child."""

    first: np.ndarray = (1.0, 0.0, 0.0)  # pyright: ignore[reportAssignmentType]  (a tuple becomes an array)
    second: np.ndarray = (0.0, 1.0, 0.0)  # pyright: ignore[reportAssignmentType]

    kind = "universal"
    in_sequence = True
    n_q = n_v = 2
    units: ClassVar[tuple[str, ...]] = ("rad", "rad")
    suffixes: ClassVar[tuple[str, ...]] = ("1", "2")

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", unit_axis(self.first, "first axis"))
        object.__setattr__(self, "second", unit_axis(self.second, "second axis"))
        if np.linalg.norm(cross(self.first, self.second)) < 1e-6:
            raise ModelError(
                "the two axes of the universal joint are parallel",
                remedy="Use a revolute joint, or axes that span a plane",
            )

    def motion(self, q: Any) -> Any:
        """Rotation R = R(first, q[0]) R(second, q[1])."""
        return transform(rotations.about_axis_by(self.first, q[0]) @ rotations.about_axis_by(self.second, q[1]))

    def subspace(self, q: Any) -> Any:
        """Columns of w = R₂ᵀ first · q̇₁ + second · q̇₂."""
        return np.concatenate([angular_column(self._first_moved(q)), angular_column(self.second)], axis=1)

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """First column d/dt(R₂ᵀ first) = (R₂ᵀ first × second) q̇₂."""
        turned = angular_column(cross(self._first_moved(q), self.second) * v[1])
        return np.concatenate([turned, np.zeros((6, 1))], axis=1)

    def steps(self) -> tuple[Step, ...]:
        """Two rotations."""
        return Step("R", self.first, 0.0, 0), Step("R", self.second, 0.0, 1)

    def _first_moved(self, q):
        return rotations.about_axis_by(self.second, q[1]).T @ self.first

    def parameters(self) -> dict[str, np.ndarray | float]:
        """Axes by name."""
        return {"first": self.first, "second": self.second}


@dataclass(frozen=True, repr=False, eq=False)
class Planar(JointType):
    """Motion in a plane: q = [x, y, θ], x and y along axes fixed on the parent, θ about the normal; v = q̇.

    The in-plane axes of the normal z are x and y, and cyclically for x and y.
    """

    normal: np.ndarray = (0.0, 0.0, 1.0)  # pyright: ignore[reportAssignmentType]  (a tuple becomes an array)

    kind = "planar"
    in_sequence = True
    n_q = n_v = 3
    units: ClassVar[tuple[str, ...]] = ("m", "m", "rad")
    suffixes: ClassVar[tuple[str, ...]] = ("x", "y", "angle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    @property
    def in_plane(self) -> np.ndarray:
        """(3, 2) matrix of the two in-plane axes, right-handed with the normal."""
        n = self.normal
        e = np.eye(3)[(int(np.argmax(abs(n))) + 1) % 3]
        x = unit_axis(e - (e @ n) * n)
        return np.stack([x, cross(n, x)], axis=1)

    def motion(self, q: Any) -> Any:
        """Translation in the plane, then rotation about the normal."""
        return transform(rotations.about_axis_by(self.normal, q[2]), self.in_plane @ q[:2])

    def subspace(self, q: Any) -> Any:
        """Columns of the twist [Rᵀ(x ẋ + y ẏ), normal θ̇]."""
        linear = rotations.about_axis_by(self.normal, q[2]).T @ self.in_plane
        return np.concatenate([np.concatenate([linear, np.zeros((3, 2))]), angular_column(self.normal)], axis=1)

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """Columns d/dt(Rᵀ x) = −w × Rᵀ x, and likewise for y."""
        linear = rotations.about_axis_by(self.normal, q[2]).T @ self.in_plane
        turned = [cross(linear[:, k], self.normal) * v[2] for k in range(2)]
        columns = [np.concatenate([column, np.zeros(3)]) for column in turned]
        return np.stack([*columns, np.zeros(6)], axis=1)

    def steps(self) -> tuple[Step, ...]:
        """Two translations, then the rotation."""
        x, y = self.in_plane.T
        return Step("P", x, 0.0, 0), Step("P", y, 0.0, 1), Step("R", self.normal, 0.0, 2)

    def parameters(self) -> dict[str, np.ndarray | float]:
        """Normal by name."""
        return {"normal": self.normal}

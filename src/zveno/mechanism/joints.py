"""Joint types. This is the only module that knows them: a new joint is one class here.

A joint type is the relative motion of two frames: the joint frame, fixed on the parent, and the moved
frame, fixed on the child. It gives

- `motion(q)`: (4, 4) transform from the moved to the joint frame;
- `subspace(q)`: (6, n_v) matrix S; the moved frame's twist relative to the joint frame, in the moved
  frame's axes at its origin, is `[v, w] = S q̇`;
- `bias(q, v)`: (6,) vector Ṡ q̇, so that the twist's derivative is S q̈ + Ṡ q̇;
- the space its coordinates live in: `neutral`, `integrate`, `difference`, `random`, `normalized`.

Coordinates are plain numbers with q̇ = v, except for the unit quaternions of `Spherical` and `Free`,
whose velocity is in the moved frame's own axes. Entries may be float, complex or traced.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..errors import ModelError, ZvenoError
from ..kernels.math import sqrt
from ..spatial import rotations, transforms
from ..spatial.transforms import transform
from ..spatial.vectors import cross

QUATERNION_TOLERANCE = 1e-6
"""Tasks refuse a quaternion whose norm is off by more than this."""


def unit_axis(axis, what: str = "axis") -> np.ndarray:
    """A (3,) axis scaled to unit length; a zero, non-finite or misshapen one is refused."""
    axis = np.array(axis, dtype=float)
    if axis.shape != (3,):
        raise ModelError(f"the {what} has shape {axis.shape}", remedy="Give three numbers, for example 0 0 1")
    largest = abs(axis).max()
    if not math.isfinite(largest):
        raise ModelError(f"the {what} {axis.tolist()} is not finite", remedy="Give three finite numbers")
    if largest < 1e-12:
        raise ModelError(f"the {what} is zero", remedy="Give a direction, for example 0 0 1")
    norm = np.linalg.norm(axis)
    if np.count_nonzero(axis) == 1:
        axis = axis / largest  # exactly 0 and ±1
    elif abs(norm - 1.0) > 1e-15:
        axis = axis / norm  # an axis that has unit length stays as it is, to the last bit
    axis.setflags(write=False)
    return axis


def _linear_column(direction):
    return np.concatenate([direction, np.zeros(3)])[:, None]


def _angular_column(direction):
    return np.concatenate([np.zeros(3), direction])[:, None]


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
    def motion(self, q) -> Any:
        """(4, 4) transform from the moved frame to the joint frame."""

    @abstractmethod
    def subspace(self, q) -> Any:
        """(6, n_v) matrix S of the relative twist, in the moved frame."""

    def bias(self, q, v):
        """(6,) vector Ṡ q̇, zero unless the subspace changes with q."""
        return np.zeros(6)

    def neutral(self) -> np.ndarray:
        """(n_q,) coordinates at which the moved frame coincides with the joint frame."""
        return np.zeros(self.n_q)

    def integrate(self, q, v):
        """Coordinates after moving from q with the constant velocity v for unit time."""
        return q + v

    def difference(self, q0, q1):
        """The constant velocity (n_v,) that takes q0 to q1 in unit time."""
        return q1 - q0

    def tangent(self, q):
        """(n_q, n_v) derivative of `integrate(q, v)` by v at v = 0: q̇ = tangent(q) v."""
        return np.eye(self.n_q)

    def normalized(self, q):
        """The coordinates with their quaternion, if any, scaled to unit length."""
        return q

    def quaternion_error(self, q):
        """How far the norm of the quaternion, if any, is from 1; q may have leading batch axes."""
        return np.zeros(np.shape(q)[:-1])

    def random(self, rng: np.random.Generator, lower, upper) -> np.ndarray:
        """Uniform coordinates between limits; infinite ones stand for ±π and ±1 m."""
        reach = np.array([math.pi if unit == "rad" else 1.0 for unit in self.units])
        return _uniform(rng, lower, upper, reach)

    def about(self, axis) -> JointType:
        """The same joint along or about another axis (joints with one axis only)."""
        raise ZvenoError(f"a {self.kind} joint does not have one axis")

    def scaled(self, factor: float) -> JointType:
        """The same joint in a mechanism whose lengths are multiplied by `factor`."""
        return self

    def parameters(self) -> dict[str, np.ndarray | float]:
        """What defines the joint beyond its kind, by name (axes, pitch)."""
        return {}

    def __repr__(self):
        words = ", ".join(f"{name}={np.round(value, 6)}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({words})"


@dataclass(frozen=True, repr=False, eq=False)
class Fixed(JointType):
    """No relative motion."""

    kind = "fixed"
    n_q = n_v = 0
    units = ()
    suffixes = ()

    def motion(self, q):
        """Identity."""
        return np.eye(4)

    def subspace(self, q):
        """An empty matrix."""
        return np.zeros((6, 0))


@dataclass(frozen=True, repr=False, eq=False)
class _OneAxis(JointType):
    """Shared by joints that move along or about one axis by one number."""

    axis: np.ndarray = (0.0, 0.0, 1.0)  # pyright: ignore[reportAssignmentType]  (a tuple becomes an array)

    n_q = n_v = 1

    def __post_init__(self):
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def parameters(self):
        """The axis."""
        return {"axis": self.axis}

    def about(self, axis):
        """The same joint along or about another axis."""
        return replace(self, axis=axis)


@dataclass(frozen=True, repr=False, eq=False)
class _AboutAxis(_OneAxis):
    units = ("rad",)
    sigma = 1

    def motion(self, q):
        """Rotation about the axis by q[0] radians."""
        return transform(rotations.about_axis_by(self.axis, q[0]))

    def subspace(self, q):
        """[0, axis]."""
        return _angular_column(self.axis)


@dataclass(frozen=True, repr=False, eq=False)
class Revolute(_AboutAxis):
    """Rotation about an axis, within limits."""

    kind = "revolute"


@dataclass(frozen=True, repr=False, eq=False)
class Continuous(_AboutAxis):
    """Rotation about an axis without limits; its coordinate is still one angle."""

    kind = "continuous"


@dataclass(frozen=True, repr=False, eq=False)
class Prismatic(_OneAxis):
    """Translation along an axis."""

    kind = "prismatic"
    units = ("m",)
    sigma = 0

    def motion(self, q):
        """Translation along the axis by q[0] metres."""
        return transform(None, self.axis * q[0])

    def subspace(self, q):
        """[axis, 0]."""
        return _linear_column(self.axis)


@dataclass(frozen=True, repr=False, eq=False)
class Helical(_OneAxis):
    """A screw: rotation about an axis by q and translation along it by pitch · q, pitch in metres a radian."""

    pitch: float = 0.0

    kind = "helical"
    units = ("rad",)

    def __post_init__(self):
        super().__post_init__()
        if not math.isfinite(self.pitch):
            raise ModelError(f"the pitch {self.pitch} is not finite", remedy="Give metres a radian")

    def motion(self, q):
        """Rotation about the axis by q[0] and translation along it by pitch · q[0]."""
        return transform(rotations.about_axis_by(self.axis, q[0]), self.axis * (self.pitch * q[0]))

    def subspace(self, q):
        """[pitch · axis, axis]."""
        return np.concatenate([self.pitch * self.axis, self.axis])[:, None]

    def parameters(self):
        """The axis and the pitch."""
        return {"axis": self.axis, "pitch": self.pitch}

    def scaled(self, factor):
        """The pitch is a length."""
        return Helical(self.axis, self.pitch * factor)


@dataclass(frozen=True, repr=False, eq=False)
class Universal(JointType):
    """Rotation about a first axis, fixed on the parent, then about a second one, fixed on the child."""

    first: np.ndarray = (1.0, 0.0, 0.0)  # pyright: ignore[reportAssignmentType]  (a tuple becomes an array)
    second: np.ndarray = (0.0, 1.0, 0.0)  # pyright: ignore[reportAssignmentType]

    kind = "universal"
    in_sequence = True
    n_q = n_v = 2
    units = ("rad", "rad")
    suffixes = ("1", "2")

    def __post_init__(self):
        object.__setattr__(self, "first", unit_axis(self.first, "first axis"))
        object.__setattr__(self, "second", unit_axis(self.second, "second axis"))
        if np.linalg.norm(cross(self.first, self.second)) < 1e-6:
            raise ModelError(
                "the two axes of the universal joint are parallel",
                remedy="Use a revolute joint, or axes that span a plane",
            )

    def motion(self, q):
        """R = R(first, q[0]) R(second, q[1])."""
        return transform(rotations.about_axis_by(self.first, q[0]) @ rotations.about_axis_by(self.second, q[1]))

    def subspace(self, q):
        """w = R₂ᵀ first · q̇₁ + second · q̇₂."""
        return np.concatenate([_angular_column(self._first_moved(q)), _angular_column(self.second)], axis=1)

    def bias(self, q, v):
        """d/dt(R₂ᵀ first) q̇₁ = (R₂ᵀ first × second) q̇₁ q̇₂."""
        return np.concatenate([np.zeros(3), cross(self._first_moved(q), self.second) * (v[0] * v[1])])

    def _first_moved(self, q):
        return rotations.about_axis_by(self.second, q[1]).T @ self.first

    def parameters(self):
        """Both axes."""
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
    units = ("m", "m", "rad")
    suffixes = ("x", "y", "angle")

    def __post_init__(self):
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    @property
    def in_plane(self) -> np.ndarray:
        """(3, 2) matrix of the two in-plane axes, right-handed with the normal."""
        n = self.normal
        e = np.eye(3)[(int(np.argmax(abs(n))) + 1) % 3]
        x = unit_axis(e - (e @ n) * n)
        return np.stack([x, cross(n, x)], axis=1)

    def motion(self, q):
        """Translation in the plane, then rotation about the normal."""
        return transform(rotations.about_axis_by(self.normal, q[2]), self.in_plane @ q[:2])

    def subspace(self, q):
        """[Rᵀ(x ẋ + y ẏ), normal θ̇]."""
        linear = rotations.about_axis_by(self.normal, q[2]).T @ self.in_plane
        return np.concatenate([np.concatenate([linear, np.zeros((3, 2))]), _angular_column(self.normal)], axis=1)

    def bias(self, q, v):
        """−w × Rᵀ(x ẋ + y ẏ)."""
        linear = rotations.about_axis_by(self.normal, q[2]).T @ (self.in_plane @ v[:2])
        return np.concatenate([cross(linear, self.normal) * v[2], np.zeros(3)])

    def parameters(self):
        """The normal."""
        return {"normal": self.normal}


def _uniform(rng: np.random.Generator, lower, upper, reach) -> np.ndarray:
    """Uniform between limits; one that is infinite is put at 2·reach from the other, both at ±reach."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * reach, -reach))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * reach, reach))
    return rng.uniform(low, high)


def _random_quaternion(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _quaternion_tangent(q):
    columns = [rotations.quaternion_product(q, 0.5 * unit) for unit in np.eye(4)[1:]]
    return np.stack(columns, axis=1)


def _unit(quaternion):
    return quaternion / sqrt(quaternion @ quaternion)


@dataclass(frozen=True, repr=False, eq=False)
class Spherical(JointType):
    """Rotation about a point: q = unit quaternion `[w, x, y, z]`, v = angular velocity in the child's axes."""

    kind = "spherical"
    n_q, n_v = 4, 3
    units = ("rad", "rad", "rad")
    suffixes = ("qw", "qx", "qy", "qz")

    def motion(self, q):
        """The quaternion's rotation."""
        return transform(rotations.from_quaternion(q))

    def subspace(self, q):
        """[0, 1]."""
        return np.eye(6)[:, 3:]

    def neutral(self):
        """No rotation."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def integrate(self, q, v):
        """q ⊗ exp(v)."""
        return _unit(rotations.quaternion_product(q, rotations.quaternion_exp(v)))

    def difference(self, q0, q1):
        """log(q0⁻¹ ⊗ q1)."""
        return rotations.quaternion_log(rotations.quaternion_product(rotations.quaternion_conjugate(q0), q1))

    def tangent(self, q):
        """q ⊗ [0, v/2]."""
        return _quaternion_tangent(q)

    def normalized(self, q):
        """q/|q|."""
        return _unit(q)

    def quaternion_error(self, q):
        """||q| − 1|."""
        return abs(np.linalg.norm(q, axis=-1) - 1.0)

    def random(self, rng, lower, upper):
        """Uniform over all rotations."""
        return _random_quaternion(rng)


@dataclass(frozen=True, repr=False, eq=False)
class Free(JointType):
    """All six degrees of freedom: q = `[x, y, z, qw, qx, qy, qz]`, v = `[v, w]` in the child's own axes."""

    kind = "free"
    n_q, n_v = 7, 6
    units = ("m", "m", "m", "rad", "rad", "rad")
    suffixes = ("x", "y", "z", "qw", "qx", "qy", "qz")

    def motion(self, q):
        """The quaternion's rotation after the translation."""
        return transform(rotations.from_quaternion(q[3:]), q[:3])

    def subspace(self, q):
        """The identity: v is the twist itself."""
        return np.eye(6)

    def neutral(self):
        """The identity transform."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def integrate(self, q, v):
        """T exp(v): the screw motion with the constant body twist v."""
        step = transforms.exp(v)[:3, 3]
        turned = _unit(rotations.quaternion_product(q[3:], rotations.quaternion_exp(v[3:])))
        return np.concatenate([q[:3] + rotations.from_quaternion(q[3:]) @ step, turned])

    def difference(self, q0, q1):
        """log(T0⁻¹ T1)."""
        turn = rotations.quaternion_product(rotations.quaternion_conjugate(q0[3:]), q1[3:])
        p = rotations.from_quaternion(q0[3:]).T @ (q1[:3] - q0[:3])
        return transforms.log(rotations.quaternion_log(turn), p)

    def tangent(self, q):
        """ṗ = R v and the quaternion's rate."""
        R = rotations.from_quaternion(q[3:])
        upper = np.concatenate([R, np.zeros((3, 3))], axis=1)
        return np.concatenate([upper, np.concatenate([np.zeros((4, 3)), _quaternion_tangent(q[3:])], axis=1)])

    def normalized(self, q):
        """The quaternion scaled to unit length."""
        return np.concatenate([q[:3], _unit(q[3:])])

    def quaternion_error(self, q):
        """How far the quaternion's norm is from 1."""
        return abs(np.linalg.norm(np.asarray(q)[..., 3:], axis=-1) - 1.0)

    def random(self, rng, lower, upper):
        """Uniform over a cube (±1 m without limits) and over all rotations."""
        p = _uniform(rng, lower[:3], upper[:3], np.ones(3))
        return np.concatenate([p, _random_quaternion(rng)])


JOINT_TYPES: dict[str, type[JointType]] = {
    joint.kind: joint
    for joint in (Revolute, Continuous, Prismatic, Fixed, Helical, Universal, Spherical, Planar, Free)
}
"""Every joint type by the name files and users call it."""

"""Constraints as objects: what a user says, and the rows each one adds.

Every constraint holds a frame of the robot (A) against another frame of it (B), or against the world if no other
is named. What it is held to — a point, a placement, a length — is its *anchor*; one that is not given is where
the robot is at the start. Anchors are inputs of the compiled equations, so another point needs no new kernel.

The reaction of a row acts on A, its opposite on B; a positive one pushes towards larger values of the row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..algorithms import constraints as rows
from ..errors import ModelError, ShapeError, unknown_name
from ..mechanism import Mechanism
from ..mechanism.joints import unit_axis
from ..spatial.rotations import z_to
from ..spatial.transforms import inverse, is_transform, transform
from .motion import TimeFunction

_X, _Y, _Z = np.eye(3)
Point = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Constraint(ABC):
    """What every constraint gives: a name, rows, and an anchor."""

    unilateral: ClassVar[bool] = False

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of rows m."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The name it is reported under."""

    @property
    @abstractmethod
    def structure(self) -> tuple:
        """Everything but the anchor that decides its rows, hashable."""

    @abstractmethod
    def check(self, mechanism: Mechanism):
        """Refuse frames or joints that the mechanism does not have."""

    @abstractmethod
    def anchor(self, mechanism: Mechanism, q) -> np.ndarray:
        """The numbers it is held to, flat; those not given are taken from the configuration q."""

    @abstractmethod
    def rows(self, state: rows.Kinematics, t, anchor) -> rows.Rows:
        """Value, Jacobian and bias at a state; entries may be traced."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row."""
        return tuple(f"{self.label}[{k}]" for k in range(self.size)) if self.size > 1 else (self.label,)


@dataclass(frozen=True, eq=False)
class _Framed(Constraint):
    """A constraint between two frames."""

    frame: str
    other: str | None = None
    name: str | None = None

    @property
    def label(self) -> str:
        kind = type(self).__name__
        return self.name or (f"{kind}({self.frame})" if self.other is None else f"{kind}({self.frame}, {self.other})")

    def check(self, mechanism: Mechanism):
        frames = [mechanism.frame(self.frame)] + ([] if self.other is None else [mechanism.frame(self.other)])
        links = {mechanism.link_number(frame.link) for frame in frames} | ({0} if self.other is None else set())
        if len(links) == 1:
            raise ModelError(
                "both its frames are on the same link, so that it cannot act", element=f"constraint {self.label}"
            )

    def _relative(self, mechanism: Mechanism, q) -> np.ndarray:
        """T_B_A at a configuration, (4, 4)."""
        from ..algorithms.forward_kinematics import frame_pose

        base = mechanism.links[0].name if self.other is None else self.other
        return inverse(frame_pose(mechanism, q, base)) @ frame_pose(mechanism, q, self.frame)


@dataclass(frozen=True, eq=False)
class PointContact(_Framed):
    """A's origin stays at a point: three rows in world axes; the reaction is the force on A, N.

    Attributes:
        frame: A.
        other: B, the world if None.
        name: what reports call it.
        point: in B's axes, m; at B's origin if B is named, else where A is at the start.
    """

    point: Point | None = None
    size = 3

    @property
    def structure(self):
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def anchor(self, mechanism, q):
        """The point, (3,)."""
        if self.point is not None:
            return _vector(self.point, self)
        return np.zeros(3) if self.other is not None else self._relative(mechanism, q)[:3, 3]

    def rows(self, state, t, anchor):
        """p_A − p_B."""
        return rows.coincidence(state.frame(self.frame), state.point(self.other, anchor))


@dataclass(frozen=True, eq=False)
class _Placement(_Framed):
    placement: np.ndarray | None = None
    """T_B_A that is held, (4, 4); the identity if B is named, else where A is at the start."""

    def anchor(self, mechanism, q):
        """The upper three rows of the placement, (12,)."""
        T = self.placement
        if T is None:
            T = np.eye(4) if self.other is not None else self._relative(mechanism, q)
        elif not is_transform(T, 1e-6):
            raise ShapeError("the placement is no rigid (4, 4) transform", element=f"constraint {self.label}")
        return np.asarray(T, dtype=float)[:3].ravel()

    def _held(self, state: rows.Kinematics, anchor):
        T = np.concatenate([np.asarray(anchor).reshape(3, 4), np.array([[0.0, 0.0, 0.0, 1.0]])])
        return state.frame(self.other, T)


@dataclass(frozen=True, eq=False)
class Weld(_Placement):
    """A is fixed to B: six rows in world axes; the reaction is the wrench `[f, n]` on A at its origin."""

    size = 6

    @property
    def structure(self):
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def rows(self, state, t, anchor):
        """p_A − p_B and the rotation vector from B to A."""
        A, B = state.frame(self.frame), self._held(state, anchor)
        n_v = state.mechanism.n_v
        return rows.stacked([rows.coincidence(A, B), rows.same_attitude(A, B)], n_v)


_LOCKS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class LoopClosure(_Placement):
    """A loop closed by any joint: the directions named in `locked` are taken away, in B's axes.

    "x", "y", "z" hold A's origin along B's axes: the reaction is the force on A along them. Rotations: all three of
    "rx", "ry", "rz" weld the attitude; two leave a hinge about the third; one alone, say "rz", keeps A's y axis
    square to B's x axis (and cyclically), which is a universal joint. A planar loop is `locked=("x", "y")`: the
    third row of a point contact would be redundant there.
    """

    locked: tuple[str, ...] = _LOCKS

    @property
    def size(self):
        """As many as directions are locked."""
        return len(self.locked)

    @property
    def structure(self):
        """Frames and locked directions."""
        return (type(self).__name__, self.frame, self.other, tuple(self.locked))

    def check(self, mechanism):
        """Frames and directions."""
        super().check(mechanism)
        for lock in self.locked:
            if lock not in _LOCKS:
                raise unknown_name("direction", lock, _LOCKS)
        if not self.locked or len(set(self.locked)) != len(self.locked):
            raise ModelError("name every locked direction once", element=f"constraint {self.label}")

    def rows(self, state, t, anchor):
        """Translations first, then rotations."""
        A, B = state.frame(self.frame), self._held(state, anchor)
        parts = [rows.along(A, B, np.eye(3)["xyz".index(k)]) for k in ("x", "y", "z") if k in self.locked]
        turns = ["xyz".index(k[1]) for k in ("rx", "ry", "rz") if k in self.locked]
        if len(turns) == 3:
            parts.append(rows.same_attitude(A, B))
        elif len(turns) == 2:
            (free,) = {0, 1, 2} - set(turns)
            parts += [rows.perpendicular(A, np.eye(3)[k], B, np.eye(3)[free]) for k in turns]
        elif len(turns) == 1:
            k = turns[0]
            parts.append(rows.perpendicular(A, np.eye(3)[(k + 2) % 3], B, np.eye(3)[(k + 1) % 3]))
        return rows.stacked(parts, state.mechanism.n_v)


@dataclass(frozen=True, eq=False)
class Hinge(_Framed):
    """A turns about an axis of B through A's origin: five rows (a revolute joint that closes a loop).

    The first three are those of a point contact, the force on A in world axes; the last two hold the axis.

    Attributes:
        frame, other, name, point: as in `PointContact`.
        axis: in A's axes.
        other_axis: in B's axes; `axis` if B is named, else where A's axis points at the start.
    """

    axis: Point = (0.0, 0.0, 1.0)
    other_axis: Point | None = None
    point: Point | None = None
    size = 5

    @property
    def structure(self):
        """Frames and axis."""
        return (type(self).__name__, self.frame, self.other, tuple(unit_axis(self.axis)))

    def anchor(self, mechanism, q):
        """Point and axis in B, (6,)."""
        T = np.eye(4) if self.other is not None else self._relative(mechanism, q)
        point = T[:3, 3] if self.point is None else _vector(self.point, self)
        axis = T[:3, :3] @ unit_axis(self.axis) if self.other_axis is None else unit_axis(self.other_axis)
        return np.concatenate([point, axis])

    def rows(self, state, t, anchor):
        """p_A − p_B, and two directions of A square to the axis of B."""
        A, B = state.frame(self.frame), state.point(self.other, anchor[:3])
        turn = z_to(unit_axis(self.axis))
        held = [rows.perpendicular(A, turn[:, k], B, anchor[3:]) for k in (0, 1)]
        return rows.stacked([rows.coincidence(A, B), *held], state.mechanism.n_v)


@dataclass(frozen=True, eq=False)
class Distance(_Framed):
    """A's origin stays at a distance from a point of B: one row; the reaction pushes A away from it, N.

    Attributes:
        frame, other, name: as in `PointContact`.
        length: m; the distance at the start if None.
        point: in B's axes, B's origin if None.
    """

    length: float | None = None
    point: Point | None = None
    size = 1

    @property
    def structure(self):
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def anchor(self, mechanism, q):
        """Point and length, (4,)."""
        point = np.zeros(3) if self.point is None else _vector(self.point, self)
        length = self.length
        if length is None:
            length = np.linalg.norm(self._relative(mechanism, q)[:3, 3] - point)
        if not length > 0 or not np.isfinite(length):
            raise ModelError(f"a length of {length} m cannot be kept", element=f"constraint {self.label}")
        return np.concatenate([point, [float(length)]])

    def rows(self, state, t, anchor):
        """|p_A − p_B| − length."""
        return rows.distance(state.frame(self.frame), state.point(self.other, anchor[:3]), anchor[3])


@dataclass(frozen=True, eq=False)
class PointOnPlane(_Framed):
    """A's origin stays in a plane of B: one row; the reaction is the force on A along the normal, N.

    Attributes:
        frame, other, name: as in `PointContact`.
        normal: in B's axes.
        height: of the plane over B's origin along the normal, m; where A is at the start if None.
    """

    normal: Point = (0.0, 0.0, 1.0)
    height: float | None = None
    size = 1

    @property
    def structure(self):
        """Frames and normal."""
        return (type(self).__name__, self.frame, self.other, tuple(unit_axis(self.normal)))

    def anchor(self, mechanism, q):
        """The height, (1,)."""
        n = unit_axis(self.normal)
        return np.array([n @ self._relative(mechanism, q)[:3, 3] if self.height is None else float(self.height)])

    def rows(self, state, t, anchor):
        """normal · (p_A − p_B) − height."""
        n = np.array(unit_axis(self.normal))
        return rows.along(state.frame(self.frame), state.point(self.other, n * anchor[0]), n)


@dataclass(frozen=True, eq=False)
class JointMotion(Constraint):
    """A joint moves as prescribed: one row; the reaction is the torque or force that this takes.

    Attributes:
        joint: a joint with one coordinate.
        motion: rad or m; a number, a function of time that can be traced (NumPy's sin, cos, exp, … of one
            number), or None to hold the joint where it is at the start.
        name: what reports call it.
    """

    joint: str
    motion: float | Callable | None = None
    name: str | None = None
    size = 1

    @property
    def label(self):
        """The name it is reported under."""
        return self.name or f"{type(self).__name__}({self.joint})"

    @property
    def structure(self):
        """The joint, and the function if there is one."""
        return (type(self).__name__, self.joint, self.motion if callable(self.motion) else None)

    def check(self, mechanism):
        """The joint has one coordinate of its own."""
        joint = mechanism.joint(self.joint)
        if joint.type.n_q != 1 or joint.mimic is not None:
            raise ModelError(
                f"joint {self.joint} is {'a mimic joint' if joint.mimic else joint.type.kind}, and the motion of "
                "a joint with one coordinate of its own can be prescribed",
                element=f"constraint {self.label}",
            )

    def anchor(self, mechanism, q):
        """The value it is held at, (1,), none for a function."""
        if callable(self.motion):
            return np.zeros(0)
        at = mechanism.q_slices[self.joint].start
        return np.array([float(q[at] if self.motion is None else self.motion)])

    def rows(self, state, t, anchor):
        """q − f(t)."""
        if callable(self.motion):
            target = TimeFunction.of(self.motion, f"the motion of joint {self.joint}")(t)
        else:
            target = (anchor[0], 0.0, 0.0)
        return rows.joint_coordinate(state.mechanism, state.q, self.joint, *target)


@dataclass(frozen=True, eq=False)
class GroundContact(Constraint):
    """A point that may touch the ground, push on it and leave it: three rows, the normal first, then two tangents.

    It closes when the point reaches the plane `normal · p = height` (an impact with restitution), sticks where it
    touched, and opens when the ground would have to pull. The reaction is the force on the point: `[N, T1, T2]`.

    Attributes:
        frame: the point is its origin.
        normal: in world axes, away from the ground.
        height: of the ground along the normal, m.
        restitution: normal velocity after an impact over the one before, 0 to 1.
        friction: None: the point sticks whatever the tangential force; 0: it slides freely (one row); a positive
            coefficient: it sticks, and the time when |T| exceeds friction · N is reported as an event.
        name: what reports call it.
    """

    frame: str
    normal: Point = (0.0, 0.0, 1.0)
    height: float = 0.0
    restitution: float = 0.0
    friction: float | None = None
    name: str | None = None
    unilateral: ClassVar[bool] = True

    @property
    def size(self):
        """3, or 1 for a point that slides freely."""
        return 1 if self.friction == 0 else 3

    @property
    def label(self):
        """The name it is reported under."""
        return self.name or f"{type(self).__name__}({self.frame})"

    @property
    def structure(self):
        """Frame, normal and size."""
        return (type(self).__name__, self.frame, tuple(unit_axis(self.normal)), self.size)

    def check(self, mechanism):
        """The frame moves, and the numbers make sense."""
        if mechanism.link_number(mechanism.frame(self.frame).link) == 0:
            raise ModelError("the frame is fixed in the world", element=f"constraint {self.label}")
        if not 0 <= self.restitution <= 1:
            raise ModelError(f"restitution is {self.restitution}, not 0 to 1", element=f"constraint {self.label}")
        if self.friction is not None and not self.friction >= 0:
            raise ModelError(f"friction is {self.friction}, not 0 or more", element=f"constraint {self.label}")

    def anchor(self, mechanism, q):
        """The point where it touches, (3,): straight below the frame, on the ground."""
        from ..algorithms.forward_kinematics import frame_pose

        return self.touched(frame_pose(mechanism, q, self.frame)[:3, 3])

    def touched(self, p) -> np.ndarray:
        """The foot of the perpendicular from a point to the ground, (3,)."""
        n = unit_axis(self.normal)
        return np.asarray(p) - n * (n @ p - self.height)

    def rows(self, state, t, anchor):
        """Normal and tangential coordinates of the point over the anchor."""
        turn = z_to(unit_axis(self.normal))[:, [2, 0, 1]]
        A, B = state.frame(self.frame), state.frame(None, transform(None, anchor))
        part = rows.coincidence(A, B)
        chosen = turn.T[: self.size]
        return rows.Rows(chosen @ part.value, chosen @ part.J, np.zeros(self.size), chosen @ part.bias)


@dataclass(frozen=True, eq=False)
class JointLimit(Constraint):
    """A joint against the end of its range: one row. Made by `simulate(limits=True)`."""

    joint: str
    restitution: float = 0.0
    size = 1
    unilateral: ClassVar[bool] = True

    @property
    def label(self):
        """The name it is reported under."""
        return f"limit of {self.joint}"

    @property
    def structure(self):
        """The joint."""
        return (type(self).__name__, self.joint)

    def check(self, mechanism):
        """The joint has one coordinate."""
        JointMotion(self.joint).check(mechanism)

    def anchor(self, mechanism, q):
        """The nearer end of the range, (1,)."""
        at = mechanism.q_slices[self.joint].start
        ends = np.array([mechanism.lower[at], mechanism.upper[at]])
        return ends[[int(abs(q[at] - ends[1]) < abs(q[at] - ends[0]))]]

    def rows(self, state, t, anchor):
        """q − end."""
        return rows.joint_coordinate(state.mechanism, state.q, self.joint, anchor[0])


def _vector(value, constraint: Constraint) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ShapeError("the point is not three finite numbers", element=f"constraint {constraint.label}")
    return array

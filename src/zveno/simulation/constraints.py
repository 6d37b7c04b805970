"""Constraint classes, and the rows that each one adds.

Every constraint relates a frame of the robot (A) to another frame (B), or to the world if B is not given. The
point, placement or length that it keeps is its *anchor*. An anchor that is not given is taken from the initial
configuration. Anchors are inputs of the compiled equations: another point needs no new kernel.

The reaction of a row acts on A, its opposite on B; a positive one pushes towards larger values of the row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..algorithms import constraints as rows
from ..errors import ModelError, ShapeError
from ..kernels.ops import sqrt
from ..mechanism import Loop, Mechanism
from ..mechanism.joints import unit_axis
from ..mechanism.loops import DIRECTIONS, checked_directions
from ..spatial.rotations import z_to
from ..spatial.transforms import inverse, is_transform
from .control import TimeFunction

_X, _Y, _Z = np.eye(3)
Point = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Constraint(ABC):
    """Base class of constraints: a name, rows, and an anchor."""

    n_rows: ClassVar[int] = 0
    """number of rows, for types with a fixed number"""

    @property
    def size(self) -> int:
        """Number of rows m."""
        return self.n_rows

    @property
    @abstractmethod
    def label(self) -> str:
        """Name in reports."""

    @property
    @abstractmethod
    def structure(self) -> tuple[Any, ...]:
        """Hashable key of everything except the anchor that determines the rows."""

    @abstractmethod
    def check(self, mechanism: Mechanism) -> None:
        """Refuse frames or joints that the mechanism does not have."""

    @abstractmethod
    def anchor(self, mechanism: Mechanism, q: Any) -> np.ndarray:
        """Return the anchor as a flat array; values not given are taken from q (n_q,), which may be traced."""

    @abstractmethod
    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return value, Jacobian and bias at a state; entries may be traced."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of every row."""
        return tuple(f"{self.label}[{k}]" for k in range(self.size)) if self.size > 1 else (self.label,)


@dataclass(frozen=True, eq=False)
class _Framed(Constraint):
    """Constraint between two frames."""

    frame: str
    other: str | None = None
    name: str | None = None

    @property
    def label(self) -> str:
        kind = type(self).__name__
        return self.name or (
            f"{kind}({self.frame})" if self.other is None else f"{kind}({self.frame}, {self.other})"
        )

    def check(self, mechanism: Mechanism) -> None:
        frames = [mechanism.frame(self.frame)] + ([] if self.other is None else [mechanism.frame(self.other)])
        links = {mechanism.link_number(frame.link) for frame in frames} | ({0} if self.other is None else set())
        if len(links) == 1:
            raise ModelError(
                "both frames are on the same link; a constraint needs two links",
                element=f"constraint {self.label}",
                remedy="Name a frame on another link",
            )

    def _relative(self, mechanism: Mechanism, q) -> np.ndarray:
        """Return T_B_A at a configuration, (4, 4)."""
        from ..algorithms.forward_kinematics import frame_pose

        base = mechanism.links[0].name if self.other is None else self.other
        return inverse(frame_pose(mechanism, q, base)) @ frame_pose(mechanism, q, self.frame)


@dataclass(frozen=True, eq=False)
class BallJoint(_Framed):
    """Ball joint that holds A's origin at a point: three rows in world axes; the reaction is the force on A, N.

    Attributes:
        frame: A.
        other: B, the world if None.
        name: name in reports.
        point: in B's axes, m; at B's origin if B is named, else where A is at the start.
    """

    point: Point | None = None
    n_rows = 3

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return the point, (3,)."""
        if self.point is not None:
            return _vector(self.point, self)
        return np.zeros(3) if self.other is not None else self._relative(mechanism, q)[:3, 3]

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the rows of p_A − p_B."""
        return rows.coincidence(state.frame(self.frame), state.point(self.other, anchor))


@dataclass(frozen=True, eq=False)
class _Placement(_Framed):
    placement: np.ndarray | None = None
    """T_B_A that is held, (4, 4); the identity if B is named, else where A is at the start."""

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return the upper three rows of the placement, (12,)."""
        T = self.placement
        if T is None:
            T = np.eye(4) if self.other is not None else self._relative(mechanism, q)
        elif not is_transform(T, 1e-6):
            raise ShapeError(
                "the placement is not a rigid (4, 4) transform",
                element=f"constraint {self.label}",
                remedy="Give a rotation and a translation, zveno.transforms.transform(R, p)",
            )
        return np.asarray(T)[:3].ravel()

    def _held(self, state: rows.Kinematics, anchor):
        T = np.concatenate([np.asarray(anchor).reshape(3, 4), np.array([[0.0, 0.0, 0.0, 1.0]])])
        return state.frame(self.other, T)


@dataclass(frozen=True, eq=False)
class Weld(_Placement):
    """Rigid connection of A and B: six rows in world axes; the reaction is the wrench `[f, n]` on A's origin."""

    n_rows = 6

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the rows of p_A − p_B and of the rotation vector from B to A."""
        A, B = state.frame(self.frame), self._held(state, anchor)
        n_v = state.mechanism.n_v
        return rows.stacked([rows.coincidence(A, B), rows.same_attitude(A, B)], n_v)


@dataclass(frozen=True, eq=False)
class LoopClosure(_Placement):
    """Constraint of a `Loop`: the directions `locked` are removed, in B's axes.

    The reaction along "x", "y" and "z" is the force on A, and of a locked orientation the moment, in B's axes.
    """

    locked: tuple[str, ...] = DIRECTIONS

    @property
    def label(self) -> str:
        """Name in reports."""
        return f"Loop({self.frame}, {self.other})"

    @property
    def size(self) -> int:
        """Number of locked directions."""
        return len(self.locked)

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames and locked directions."""
        return (type(self).__name__, self.frame, self.other, tuple(self.locked))

    def check(self, mechanism: Mechanism) -> None:
        """Check frames and directions."""
        super().check(mechanism)
        checked_directions(self.locked, f"constraint {self.label}")

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the rows, translations before rotations."""
        A, B = state.frame(self.frame), self._held(state, anchor)
        return rows.closing(A, B, self.locked, state.mechanism.n_v)

    @classmethod
    def of(cls, loop: Loop) -> LoopClosure:
        """Return the constraint that closes a loop of the mechanism."""
        return cls(loop.frame, loop.other, locked=tuple(loop.locked))


@dataclass(frozen=True, eq=False)
class Hinge(_Framed):
    """Revolute joint that closes a loop: A turns about an axis of B through A's origin; five rows.

    The first three are those of a point contact, the force on A in world axes; the last two hold the axis.

    Attributes:
        frame, other, name, point: as in `BallJoint`.
        axis: in A's axes.
        other_axis: in B's axes; `axis` if B is named, else where A's axis points at the start.
    """

    axis: Point = (0.0, 0.0, 1.0)
    other_axis: Point | None = None
    point: Point | None = None
    n_rows = 5

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames and axis."""
        return (type(self).__name__, self.frame, self.other, tuple(unit_axis(self.axis)))

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return point and axis in B, (6,)."""
        T = np.eye(4) if self.other is not None else self._relative(mechanism, q)
        point = T[:3, 3] if self.point is None else _vector(self.point, self)
        axis = T[:3, :3] @ unit_axis(self.axis) if self.other_axis is None else unit_axis(self.other_axis)
        return np.concatenate([point, axis])

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the rows of p_A − p_B, and of two directions of A perpendicular to the axis of B."""
        A, B = state.frame(self.frame), state.point(self.other, anchor[:3])
        turn = z_to(unit_axis(self.axis))
        held = [rows.perpendicular(A, turn[:, k], B, anchor[3:]) for k in (0, 1)]
        return rows.stacked([rows.coincidence(A, B), *held], state.mechanism.n_v)


@dataclass(frozen=True, eq=False)
class Distance(_Framed):
    """Fixed distance of A's origin from a point of B: one row; the reaction pushes A away from it, N.

    Attributes:
        frame, other, name: as in `BallJoint`.
        length: m; the distance at the start if None.
        point: in B's axes, B's origin if None.
    """

    length: float | None = None
    point: Point | None = None
    n_rows = 1

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames."""
        return (type(self).__name__, self.frame, self.other)

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return point and length, (4,)."""
        point = np.zeros(3) if self.point is None else _vector(self.point, self)
        if self.length is None:
            r = self._relative(mechanism, q)[:3, 3] - point
            return np.concatenate([point, [sqrt(r @ r)]])
        if not self.length > 0 or not np.isfinite(self.length):
            raise ModelError(
                f"a length of {self.length} m cannot be kept",
                element=f"constraint {self.label}",
                remedy="Give a positive length in metres",
            )
        return np.concatenate([point, [float(self.length)]])

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the row of |p_A − p_B| − length."""
        return rows.distance(state.frame(self.frame), state.point(self.other, anchor[:3]), anchor[3])


@dataclass(frozen=True, eq=False)
class PointOnPlane(_Framed):
    """Plane of B that contains A's origin: one row; the reaction is the force on A along the normal, N.

    Attributes:
        frame, other, name: as in `BallJoint`.
        normal: in B's axes.
        height: of the plane over B's origin along the normal, m; where A is at the start if None.
    """

    normal: Point = (0.0, 0.0, 1.0)
    height: float | None = None
    n_rows = 1

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frames and normal."""
        return (type(self).__name__, self.frame, self.other, tuple(unit_axis(self.normal)))

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return the height, (1,)."""
        n = unit_axis(self.normal)
        return np.array([n @ self._relative(mechanism, q)[:3, 3] if self.height is None else float(self.height)])

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the row of normal · (p_A − p_B) − height."""
        n = np.array(unit_axis(self.normal))
        return rows.along(state.frame(self.frame), state.point(self.other, n * anchor[0]), n)


@dataclass(frozen=True, eq=False)
class JointMotion(Constraint):
    """Prescribed motion of a joint: one row; the reaction is the torque or force that it requires.

    Attributes:
        joint: a joint with one coordinate.
        motion: rad or m; a number, a function of time that can be traced (NumPy's sin, cos, exp, … of one
            number), or None to hold the joint where it is at the start.
        name: name in reports.
    """

    joint: str
    motion: float | Callable[..., Any] | None = None
    name: str | None = None
    n_rows = 1

    @property
    def label(self) -> str:
        """Name in reports."""
        return self.name or f"{type(self).__name__}({self.joint})"

    @property
    def structure(self) -> tuple[Any, ...]:
        """Joint, and its function of time if there is one."""
        return (type(self).__name__, self.joint, self.motion if callable(self.motion) else None)

    def check(self, mechanism: Mechanism) -> None:
        """Raise an error unless the joint has one coordinate of its own."""
        joint = mechanism.joint(self.joint)
        if joint.type.n_q != 1 or joint.mimic is not None:
            raise ModelError(
                f"joint {self.joint} is {'a mimic joint' if joint.mimic else joint.type.kind}, and the motion of "
                "a joint with one coordinate of its own can be prescribed",
                element=f"constraint {self.label}",
                remedy="Name a joint with one coordinate",
            )

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """Return the fixed value, (1,); empty for a function."""
        if callable(self.motion):
            return np.zeros(0)
        at = mechanism.q_slices[self.joint].start
        return np.array([q[at] if self.motion is None else float(self.motion)])

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Return the row of q − f(t)."""
        if callable(self.motion):
            target = TimeFunction.of(self.motion, f"the motion of joint {self.joint}")(t)
        else:
            target = (anchor[0], 0.0, 0.0)
        return rows.joint_coordinate(state.mechanism, state.q, self.joint, *target)


def _vector(value, constraint: Constraint) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ShapeError(
            "the point is not three finite numbers",
            element=f"constraint {constraint.label}",
            remedy="Give x, y, z in metres",
        )
    return array


def as_constraint(constraint: Any) -> Any:
    """Return the constraint of a `Loop`, and anything else as it is."""
    return LoopClosure.of(constraint) if isinstance(constraint, Loop) else constraint

"""Constraints of single joints, and those that only push: prescribed motions, limits, contact with the ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..algorithms import constraints as rows
from ..algorithms.forward_kinematics import frame_pose
from ..errors import ModelError
from ..mechanism import Mechanism
from ..mechanism.joints import unit_axis
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from .constraints import Constraint, Point
from .motion import TimeFunction


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
    motion: float | Callable[..., Any] | None = None
    name: str | None = None
    n_rows = 1

    @property
    def label(self) -> str:
        """The name it is reported under."""
        return self.name or f"{type(self).__name__}({self.joint})"

    @property
    def structure(self) -> tuple[Any, ...]:
        """The joint, and the function if there is one."""
        return (type(self).__name__, self.joint, self.motion if callable(self.motion) else None)

    def check(self, mechanism: Mechanism) -> None:
        """The joint has one coordinate of its own."""
        joint = mechanism.joint(self.joint)
        if joint.type.n_q != 1 or joint.mimic is not None:
            raise ModelError(
                f"joint {self.joint} is {'a mimic joint' if joint.mimic else joint.type.kind}, and the motion of "
                "a joint with one coordinate of its own can be prescribed",
                element=f"constraint {self.label}",
            )

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """The value it is held at, (1,), none for a function."""
        if callable(self.motion):
            return np.zeros(0)
        at = mechanism.q_slices[self.joint].start
        return np.array([q[at] if self.motion is None else float(self.motion)])

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
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
    touched or slides with Coulomb's friction, and opens when the ground would have to pull. The reaction is the
    force on the point: `[N, T1, T2]`.

    Attributes:
        frame: the point is its origin.
        normal: in world axes, away from the ground.
        height: of the ground along the normal, m.
        restitution: normal velocity after an impact over the one before, 0 to 1.
        friction: None: the point sticks whatever the tangential force; 0: it slides freely (one row); a positive
            coefficient μ: it sticks while |T| ≤ μ N, and slides against T = −μ N · direction otherwise.
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
    def size(self) -> int:
        """3, or 1 for a point that slides freely."""
        return 1 if self.friction == 0 else 3

    @property
    def label(self) -> str:
        """The name it is reported under."""
        return self.name or f"{type(self).__name__}({self.frame})"

    @property
    def slides(self) -> bool:
        """Whether it has a coefficient of friction."""
        return bool(self.friction)

    @property
    def structure(self) -> tuple[Any, ...]:
        """Frame, normal, size, and whether it slides."""
        return (type(self).__name__, self.frame, tuple(unit_axis(self.normal)), self.size, self.slides)

    def check(self, mechanism: Mechanism) -> None:
        """The frame moves, and the numbers make sense."""
        if mechanism.link_number(mechanism.frame(self.frame).link) == 0:
            raise ModelError("the frame is fixed in the world", element=f"constraint {self.label}")
        if not 0 <= self.restitution <= 1:
            raise ModelError(f"restitution is {self.restitution}, not 0 to 1", element=f"constraint {self.label}")
        if self.friction is not None and not self.friction >= 0:
            raise ModelError(f"friction is {self.friction}, not 0 or more", element=f"constraint {self.label}")

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """The point where it touches, (3,): straight below the frame, on the ground.

        With friction four numbers follow: μ while it slides, else 0, the direction of sliding along the two
        tangents, and the speed below which that is taken for the true one.
        """
        point = self.touched(frame_pose(mechanism, q, self.frame)[:3, 3])
        return np.concatenate([point, np.zeros(4)]) if self.slides else point

    def touched(self, p: np.ndarray) -> np.ndarray:
        """The foot of the perpendicular from a point to the ground, (3,)."""
        n = unit_axis(self.normal)
        return np.asarray(p) - n * (n @ p - self.height)

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """Normal and tangential coordinates of the point over the anchor."""
        turn = z_to(unit_axis(self.normal))[:, [2, 0, 1]]
        A, B = state.frame(self.frame), state.frame(None, transform(None, anchor[:3]))
        part = rows.coincidence(A, B)
        chosen = turn.T[: self.size]
        return rows.Rows(chosen @ part.value, chosen @ part.J, np.zeros(self.size), chosen @ part.bias)


def joint_limits(mechanism: Mechanism) -> tuple[JointLimit, ...]:
    """A unilateral constraint for every joint of one coordinate with a finite limit."""
    return tuple(
        JointLimit(joint.name)
        for joint in mechanism.joints
        if joint.mimic is None
        and joint.type.n_q == 1
        and (np.isfinite(joint.limits.lower).all() or np.isfinite(joint.limits.upper).all())
    )


def ball_limits(mechanism: Mechanism) -> tuple[str, ...]:
    """Ball joints that turn only so far."""
    return tuple(
        joint.name for joint in mechanism.joints if joint.mimic is None and np.isfinite(joint.limits.angle)
    )


@dataclass(frozen=True, eq=False)
class JointLimit(Constraint):
    """A joint against the end of its range: one row. Made by `simulate(limits=True)`."""

    joint: str
    restitution: float = 0.0
    n_rows = 1
    unilateral: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name it is reported under."""
        return f"limit of {self.joint}"

    @property
    def structure(self) -> tuple[Any, ...]:
        """The joint."""
        return (type(self).__name__, self.joint)

    def check(self, mechanism: Mechanism) -> None:
        """The joint has one coordinate."""
        JointMotion(self.joint).check(mechanism)

    def anchor(self, mechanism: Mechanism, q: Any) -> Any:
        """The nearer end of the range, (1,)."""
        at = mechanism.q_slices[self.joint].start
        ends = np.array([mechanism.lower[at], mechanism.upper[at]])
        return ends[[int(abs(q[at] - ends[1]) < abs(q[at] - ends[0]))]]

    def rows(self, state: rows.Kinematics, t: Any, anchor: Any) -> rows.Rows:
        """q − end."""
        return rows.joint_coordinate(state.mechanism, state.q, self.joint, anchor[0])

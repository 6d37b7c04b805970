"""Parts of a mechanism: links, joints, limits, drives, mimic relations and named frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..errors import ModelError
from ..spatial import transforms
from ..spatial.inertia import N_PARAMETERS
from ..spatial.vectors import real_array
from .joints import Fixed, JointType


def frozen_array(value: Any, shape: tuple[int, ...], label: str) -> np.ndarray:
    """Read-only copy of `value` broadcast to `shape`; traced entries are kept."""
    array = np.array(value)
    if array.dtype != object:
        try:
            array = real_array(value)
        except (TypeError, ValueError):
            raise ModelError(f"{label} must be real numbers, got {value!r}") from None
    try:
        array = np.array(np.broadcast_to(array, shape))
    except ValueError:
        raise ModelError(f"{label} must have shape {shape}, got {array.shape}") from None
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Link:
    """A rigid body and its frame.

    Attributes:
        name: unique in the mechanism.
        inertia: the ten inertial parameters in the link's frame, (10,), see `zveno.spatial.inertia`.
        inertia_given: False if the model file does not specify the link's inertia.
    """

    name: str
    inertia: np.ndarray = field(default_factory=lambda: np.zeros(N_PARAMETERS))
    inertia_given: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", frozen_array(self.inertia, (N_PARAMETERS,), "the inertia"))

    def __repr__(self) -> str:
        return f"<Link {self.name}: {self.inertia[0]} kg>" if self.inertia_given else f"<Link {self.name}>"


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of a joint's coordinates, velocity and effort; infinite if unlimited.

    `angle` is the maximum rotation of a ball joint from its neutral orientation, rad.
    """

    lower: np.ndarray | float = -np.inf
    upper: np.ndarray | float = np.inf
    velocity: np.ndarray | float = np.inf
    effort: np.ndarray | float = np.inf
    angle: float = np.inf

    def shaped(self, n_q: int, n_v: int) -> Limits:
        """Convert the limits to arrays with one entry per coordinate or velocity."""
        return Limits(
            frozen_array(self.lower, (n_q,), "the lower limit"),
            frozen_array(self.upper, (n_q,), "the upper limit"),
            frozen_array(self.velocity, (n_v,), "the velocity limit"),
            frozen_array(self.effort, (n_v,), "the effort limit"),
            float(frozen_array(self.angle, (), "the angle limit")),
        )


@dataclass(frozen=True, eq=False)
class Drive:
    """Motor, gear and friction of a joint.

    The rotor turns at `gear_ratio` times the joint's velocity and adds gear_ratio² · rotor_inertia to the
    joint's own inertia. Friction acts at the joint: viscous · v + coulomb · sign(v) + offset.

    Attributes:
        rotor_inertia: on the motor's side, kg·m² (kg for a linear motor).
        gear_ratio: motor velocity over joint velocity; negative if the motor turns the other way.
        viscous: N·m·s/rad or N·s/m.
        coulomb: N·m or N.
        offset: constant torque or force, N·m or N.
    """

    rotor_inertia: np.ndarray | float = 0.0
    gear_ratio: np.ndarray | float = 1.0
    viscous: np.ndarray | float = 0.0
    coulomb: np.ndarray | float = 0.0
    offset: np.ndarray | float = 0.0

    def shaped(self, n_v: int) -> Drive:
        """Convert the drive parameters to arrays with one entry per velocity."""
        return Drive(
            *(
                frozen_array(getattr(self, name), (n_v,), f"the drive's {name}")
                for name in ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset")
            )
        )


@dataclass(frozen=True, eq=False)
class Spring:
    """Joint spring with torque −stiffness · (q − rest).

    For a ball joint, q − rest is the rotation vector from the rest orientation. Springs act in simulations and in
    `constrained_dynamics`; inverse and forward dynamics ignore them.

    Attributes:
        stiffness: N·m/rad or N/m, a scalar or one value per velocity of the joint.
        rest: coordinates (n_q,) of zero torque, rad or m; neutral if None.
    """

    stiffness: np.ndarray | float
    rest: np.ndarray | float | None = None

    def shaped(self, joint_type: JointType) -> Spring:
        """Convert the spring parameters to arrays (n_v,) and (n_q,)."""
        rest = joint_type.neutral() if self.rest is None else self.rest
        return Spring(
            frozen_array(self.stiffness, (joint_type.n_v,), "the spring's stiffness"),
            frozen_array(rest, (joint_type.n_q,), "the spring's rest"),
        )


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = multiplier · q(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """The joint that connects a link to its parent.

    The child's frame in the parent's is T = T_parent_joint · motion(q) · T_joint_child, which is
    M_{f(i),ns(i)} · A_i in document 003 with A_i = motion(q) · T_joint_child.

    Attributes:
        name: unique in the mechanism.
        parent, child: names of the links.
        type: the relative motion, see `zveno.mechanism.joints`.
        T_parent_joint: pose of the joint frame on the parent (document 003's auxiliary frame M).
        T_joint_child: from the moved joint frame to the child's frame; identity unless the model's
            convention puts the link frame elsewhere (distal Denavit–Hartenberg frames).
    """

    name: str
    parent: str
    child: str
    type: JointType = field(default_factory=Fixed)
    T_parent_joint: np.ndarray = field(default_factory=lambda: np.eye(4))
    T_joint_child: np.ndarray = field(default_factory=lambda: np.eye(4))
    limits: Limits = field(default_factory=Limits)
    drive: Drive | None = None
    mimic: Mimic | None = None
    spring: Spring | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.type, JointType):
            raise ModelError(
                f"its type must be a joint type, got {self.type!r}",
                element=f"joint {self.name}",
                remedy="Give a joint type such as zveno.joints.Revolute((0, 0, 1))",
            )
        try:
            self._freeze()
        except ModelError as error:
            raise error.located(element=f"joint {self.name}") from None

    def _freeze(self) -> None:
        """Convert the fields to arrays that cannot be written."""
        put = object.__setattr__
        put(self, "T_parent_joint", frozen_array(self.T_parent_joint, (4, 4), "the joint's placement"))
        put(self, "T_joint_child", frozen_array(self.T_joint_child, (4, 4), "the child's placement"))
        put(self, "limits", self.limits.shaped(self.type.n_q, self.type.n_v))
        if self.drive is not None:
            put(self, "drive", self.drive.shaped(self.type.n_v))
        if self.spring is not None:
            put(self, "spring", self.spring.shaped(self.type))

    def __repr__(self) -> str:
        follows = "" if self.mimic is None else f", follows {self.mimic.joint}"
        return f"<Joint {self.name}: {self.type.kind} from {self.parent} to {self.child}{follows}>"

    def motion(self, q: np.ndarray) -> np.ndarray:
        """Transform A_i (4, 4) from the child's frame to the joint frame, at the joint's own coordinates."""
        return self.type.motion(q) @ self.T_joint_child

    def transform(self, q: np.ndarray) -> np.ndarray:
        """Transform T_parent_child = M A_i, (4, 4), at the joint's own coordinates (n_q,)."""
        return self.T_parent_joint @ self.motion(q)

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """Motion subspace S (6, n_v): the child's twist relative to its parent is S q̇, in the child's frame."""
        return self._to_child @ self.type.subspace(q)

    def subspace_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Time derivative Ṡ (6, n_v) of the motion subspace in the child's frame."""
        return self._to_child @ self.type.subspace_rate(q, v)

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocity-product term Ṡ q̇, (6,), in the child's frame."""
        return self._to_child @ (self.type.subspace_rate(q, v) @ v)

    @cached_property
    def _to_child(self):
        return transforms.adjoint(transforms.inverse(self.T_joint_child))


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """A named frame fixed on a link."""

    name: str
    link: str
    T_link_frame: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_link_frame", frozen_array(self.T_link_frame, (4, 4), "the frame's placement"))

    def __repr__(self) -> str:
        return f"<Frame {self.name} on {self.link}>"


@dataclass(frozen=True)
class Extra:
    """Part of a URDF that no computation uses, kept so that it can be written again.

    Attributes:
        text: the XML element: a shape, a material, a transmission, a section of another program.
        link, joint: name of the link or joint it belongs to; both are empty if it belongs to the whole robot.
    """

    text: str
    link: str = ""
    joint: str = ""


Part = TypeVar("Part", Link, Joint, Frame)


def prefixed(part: Part, prefix: str) -> Part:
    """Copy a link, joint or frame with a prefix added to every name in it."""
    if isinstance(part, Link):
        return replace(part, name=prefix + part.name)
    if isinstance(part, Frame):
        return replace(part, name=prefix + part.name, link=prefix + part.link)
    mimic = None if part.mimic is None else replace(part.mimic, joint=prefix + part.mimic.joint)
    return replace(
        part, name=prefix + part.name, parent=prefix + part.parent, child=prefix + part.child, mimic=mimic
    )

"""MJCF writer.

MuJoCo reads the file as the same tree: coordinates, poses by name, mass matrix, gravity and bias agree. Joints of
one body act one after the other about axes fixed on that body. Universal and planar joints are therefore two or
three joints of one body, and a link without mass between two joints is written as such a body too. Velocities of a
free joint are in world axes in MuJoCo, and in the body's axes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..errors import ModelError
from ..mechanism import Drive, Frame, Joint, Link, Loop, Mechanism
from ..mechanism.loops import CLOSING_JOINTS
from ..spatial import inertia
from ..spatial.rotations import to_quaternion
from ..spatial.transforms import inverse
from .write import coupling_losses, extra_losses, listed, warn_about_losses
from .write_urdf import checked_name, numbers

_SMALLEST = 2e-15
"""Smallest principal moment, kg·m², that MuJoCo accepts for a body that moves."""
_ROUNDING = 1e-6
"""Relative violation of the triangle inequality of principal moments that counts as rounding of a file."""


_EQUALITIES = {CLOSING_JOINTS["point"]: "connect", CLOSING_JOINTS["weld"]: "weld"}
"""Equality constraints of MJCF by the locked directions of a loop."""


def _numbered(name: str) -> Iterator[str]:
    """Iterate over the name, then the name with numbers."""
    return chain([name], (f"{name}{k}" for k in count(2)))


class _Motion(NamedTuple):
    """One MuJoCo joint: its type, its axis in the joint frame, and its row among the joint's velocities."""

    tag: str
    axis: np.ndarray | None
    row: int


_MOTIONS: dict[str, Callable[[Any], list[_Motion]]] = {
    "fixed": lambda joint_type: [],
    "revolute": lambda joint_type: [_Motion("hinge", joint_type.axis, 0)],
    "continuous": lambda joint_type: [_Motion("hinge", joint_type.axis, 0)],
    "prismatic": lambda joint_type: [_Motion("slide", joint_type.axis, 0)],
    "universal": lambda joint_type: [
        _Motion("hinge", joint_type.first, 0),
        _Motion("hinge", joint_type.second, 1),
    ],
    "planar": lambda joint_type: [
        _Motion("slide", joint_type.in_plane[:, 0], 0),
        _Motion("slide", joint_type.in_plane[:, 1], 1),
        _Motion("hinge", joint_type.normal, 2),
    ],
    "spherical": lambda joint_type: [_Motion("ball", None, 0)],
    "free": lambda joint_type: [_Motion("free", None, 0)],
}
"""Joints of MuJoCo, in their order, for each type of joint that MJCF can express."""


def to_mjcf(mechanism: Mechanism) -> str:
    """Return the text of an MJCF file whose inverse dynamics in MuJoCo are those of the mechanism.

    Points and welds that close loops become equality constraints between sites, motors actuators, and the closed
    reference a keyframe. A `ZvenoWarning` names the losses: other closed loops, velocity and one-sided limits, gear
    ratios (armatures hold their effect), constant drive torques, a coupling matrix, shapes, and the order of
    coordinates if it changes.

    Raises:
        ModelError: a helical joint, a free joint that does not hang from the world, a moving link without mass, or
            inertia that no body can have: MuJoCo accepts none of them.
    """
    writer = _Writer(mechanism)
    writer.write()
    warn_about_losses(mechanism, "MJCF", writer.all_losses())
    ElementTree.indent(writer.root)
    return ElementTree.tostring(writer.root, encoding="unicode") + "\n"


class _Writer:
    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.root = ElementTree.Element("mujoco", model=checked_name(mechanism.name))
        self.children: dict[str, list[Joint]] = {}
        for joint in mechanism.joints:
            self.children.setdefault(joint.parent, []).append(joint)
        self.frames: dict[str, list[Frame]] = {}
        for frame in mechanism.frames:
            self.frames.setdefault(frame.link, []).append(frame)
        self.site_of = {frame.name: frame.name for frame in mechanism.frames}
        for name in (name for loop in mechanism.loops for name in (loop.frame, loop.other)):
            if name not in self.site_of:  # a loop that ends at a link's own frame needs a site there
                self.site_of[name] = next(free for free in _numbered(f"{name}_loop") if free not in self.site_of)
                self.frames.setdefault(name, []).append(Frame(self.site_of[name], name))
        self.order: list[str] = []
        self.lost: dict[str, list[str]] = {}

    def write(self) -> None:
        """Write all elements."""
        for joint in self.mechanism.joints:
            self.check(joint)
        self.add(self.root, "compiler", angle="radian")
        self.add(self.root, "option", gravity=numbers(self.mechanism.gravity))
        world, base = self.add(self.root, "worldbody"), self.mechanism.links[0]
        free = [joint for joint in self.children.get(base.name, []) if joint.type.kind == "free"]
        root = world
        if base.name != "world":
            root = self.add(world, "body", name=checked_name(base.name))
            self.inertial(root, base)
        self.contents(root, base)
        for joint in free:
            self.body(world, [joint])
        followers = [joint for joint in self.mechanism.joints if joint.mimic is not None]
        if followers or self.held_loops:
            equality = self.add(self.root, "equality")
        for joint in followers:
            mimic = joint.mimic
            assert mimic is not None
            polynomial = numbers([mimic.offset, mimic.multiplier, 0, 0, 0])
            self.add(equality, "joint", joint1=joint.name, joint2=mimic.joint, polycoef=polynomial)
        for loop in self.held_loops:
            first, second = (checked_name(self.site_of[name]) for name in (loop.frame, loop.other))
            self.add(equality, _EQUALITIES[tuple(loop.locked)], site1=first, site2=second)
        if self.mechanism.loops:
            self.driving()

    @property
    def held_loops(self) -> list[Loop]:
        """Loops that an equality constraint holds."""
        return [loop for loop in self.mechanism.loops if tuple(loop.locked) in _EQUALITIES]

    @property
    def keeps_order(self) -> bool:
        """True if coordinates have the order of the mechanism."""
        return self.order == [joint.name for joint in self.mechanism.joints if joint.type.n_v]

    def driving(self) -> None:
        """Write motors as actuators, and the closed reference as a keyframe."""
        mechanism = self.mechanism
        motors = [name for name in mechanism.motors or () if mechanism.joint(name).type.n_v == 1]
        self.lost["the motors of"] = [name for name in mechanism.motors or () if name not in motors]
        if motors:
            actuators = self.add(self.root, "actuator")
            for name in motors:
                self.add(actuators, "motor", name=checked_name(name), joint=checked_name(name))
        if mechanism.reference is None:
            return
        if not self.keeps_order or any(joint.mimic is not None for joint in mechanism.joints):
            self.lost["the reference configuration of"] = [mechanism.name]
            return
        keys = self.add(self.root, "keyframe")
        self.add(keys, "key", name="closed", qpos=numbers(mechanism.reference))

    def all_losses(self) -> list[str]:
        """Return the losses in words."""
        mechanism = self.mechanism
        matrix = coupling_losses(mechanism, loops_held=self.held_loops)
        kept = ("the springs of", "the limits of")
        losses = [words for words in matrix if not words.startswith(kept)] + extra_losses(mechanism)
        losses += [
            words for start, names in self.lost.items() for words in listed(start, list(dict.fromkeys(names)))
        ]
        if not self.keeps_order:
            losses.append("the order of coordinates, which follows the tree branch by branch")
        return losses

    def add(self, parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
        return ElementTree.SubElement(parent, tag, attributes)

    def contents(self, body: ElementTree.Element, link: Link) -> None:
        """Write the frames of a link and the bodies that hang from it."""
        for frame in self.frames.get(link.name, []):
            T = frame.T_link_frame
            self.placed(self.add(body, "site", name=checked_name(frame.name)), T)
        for joint in self.children.get(link.name, []):
            if joint.type.kind != "free":
                self.body(body, [joint])

    def body(self, parent: ElementTree.Element, joints: list[Joint]) -> None:
        """Write the body that the last of these joints moves, with the links without mass between them."""
        link = self.mechanism.links[self.mechanism.link_number(joints[-1].child)]
        following = self.children.get(link.name, [])
        if self.can_merge(joints[-1], link, following):
            self.body(parent, [*joints, following[0]])
            return
        last = joints[-1]
        # The coordinates of ball and free joints are those of the body's own rotation, so it must be the joint's.
        whole_rotation = last.type.kind in ("spherical", "free")
        T_parent_body = np.eye(4)
        for joint in joints:
            T_parent_body = T_parent_body @ joint.T_parent_joint
            if not whole_rotation:
                T_parent_body = T_parent_body @ joint.T_joint_child
        moving = [joint for joint in joints if joint.type.n_v]
        if moving and not self.welded_mass(link):
            raise ModelError(
                "the link moves without mass, which MuJoCo does not accept",
                element=f"link {link.name}",
                remedy="Give it a mass and moments of inertia, which may be small",
            )
        body = self.placed(self.add(parent, "body"), T_parent_body)
        T_body_moved = np.eye(4)
        for joint in reversed(joints):
            if not whole_rotation:
                T_body_moved = T_body_moved @ inverse(joint.T_joint_child)
            motions = _MOTIONS[joint.type.kind](joint.type)
            for motion in reversed(motions):
                name = joint.name if len(motions) == 1 else f"{joint.name}.{joint.type.suffixes[motion.row]}"
                body.insert(0, self.joint(joint, motion, name, T_body_moved))
            T_body_moved = T_body_moved @ inverse(joint.T_parent_joint)
        self.order += [joint.name for joint in moving]
        if whole_rotation and not np.array_equal(last.T_joint_child, np.eye(4)):
            body.set("name", checked_name(f"{link.name}_joint_frame"))
            body = self.placed(self.add(body, "body"), last.T_joint_child)
        body.set("name", checked_name(link.name))
        self.inertial(body, link)
        self.contents(body, link)

    def can_merge(self, joint: Joint, link: Link, following: list[Joint]) -> bool:
        """Return True if a link without mass and the next one can be one body with the joints of both."""
        single_axis = ("revolute", "continuous", "prismatic", "universal", "planar")
        return (
            not link.inertia.any()
            and len(following) == 1
            and joint.type.kind in single_axis
            and following[0].type.kind in single_axis
            and link.name not in self.frames
        )

    def welded_mass(self, link: Link) -> float:
        """Return the mass of a link with the links that fixed joints hold to it, kg."""
        fixed = [joint.child for joint in self.children.get(link.name, []) if not joint.type.n_v]
        links = [self.mechanism.links[self.mechanism.link_number(name)] for name in fixed]
        return float(link.inertia[0]) + sum(self.welded_mass(each) for each in links)

    def check(self, joint: Joint) -> None:
        """Raise if MJCF has no such joint."""
        kind, name = joint.type.kind, f"joint {joint.name}"
        if kind not in _MOTIONS:
            raise ModelError(f"MJCF has no {kind} joint", element=name, remedy="Write .urdf, which keeps it")
        on_base = joint.parent == self.mechanism.links[0].name and np.array_equal(joint.T_parent_joint, np.eye(4))
        if kind == "free" and not on_base:
            raise ModelError(
                "a free joint of MJCF starts from the world frame",
                element=name,
                remedy="Attach it to the base with the identity as its placement",
            )

    def joint(self, joint: Joint, motion: _Motion, name: str, T_body_joint: np.ndarray) -> ElementTree.Element:
        """Return one MuJoCo joint of a body; `T_body_joint` is the joint frame in the body at zero."""
        if motion.tag == "free":
            element = ElementTree.Element("freejoint", name=checked_name(name))
            self.freely(joint)
            return element
        element = ElementTree.Element("joint", name=checked_name(name), type=motion.tag)
        if motion.axis is not None:
            element.set("pos", numbers(T_body_joint[:3, 3]))
            element.set("axis", numbers(T_body_joint[:3, :3] @ motion.axis))
        self.limits(element, joint, motion)
        self.drive(element, joint, motion)
        self.spring(element, joint, motion)
        return element

    def freely(self, joint: Joint) -> None:
        """Note the properties of a free joint that are not written."""
        limits, drive = joint.limits, joint.drive or Drive().shaped(joint.type.n_v)
        bounds = (limits.lower, limits.upper, limits.velocity, limits.effort)
        if any(np.isfinite(bound).any() for bound in bounds):
            self.lose("the limits of", joint)
        if np.any(drive.rotor_inertia) or np.any(drive.viscous) or np.any(drive.coulomb) or np.any(drive.offset):
            self.lose("the drives of", joint)
        if joint.spring is not None:
            self.lose("the springs of", joint)

    def limits(self, element: ElementTree.Element, joint: Joint, motion: _Motion) -> None:
        limits, row = joint.limits, motion.row
        if np.isfinite(limits.velocity).any():
            self.lose("the velocity limits of", joint)
        if motion.tag == "ball":
            if np.isfinite(limits.angle):
                element.set("range", numbers([0.0, limits.angle]))
            if np.isfinite(limits.effort).any():
                self.lose("the effort limits of", joint)
            return
        lower, upper = np.ravel(limits.lower)[row], np.ravel(limits.upper)[row]
        if np.isfinite([lower, upper]).all():
            element.set("range", numbers([lower, upper]))
        elif np.isfinite([lower, upper]).any():
            self.lose("the one-sided position limits of", joint)
        effort = np.ravel(limits.effort)[row]
        if np.isfinite(effort):
            element.set("actuatorfrcrange", numbers([-effort, effort]))

    def drive(self, element: ElementTree.Element, joint: Joint, motion: _Motion) -> None:
        if joint.drive is None:
            return
        drive = joint.drive
        armature = np.square(drive.gear_ratio) * drive.rotor_inertia
        values = {"armature": armature, "damping": drive.viscous, "frictionloss": drive.coulomb}
        for key, several in values.items():
            value = np.ravel(several)[motion.row]
            if motion.tag == "ball" and np.ptp(several):
                self.lose("drives with different values per axis of", joint)
            elif value:
                element.set(key, numbers(value))
        if np.any(np.not_equal(drive.gear_ratio, 1.0)):
            self.lose("the gear ratios of", joint)
        if np.any(drive.offset):
            self.lose("the constant drive torques of", joint)

    def spring(self, element: ElementTree.Element, joint: Joint, motion: _Motion) -> None:
        if joint.spring is None:
            return
        spring = joint.spring.shaped(joint.type)
        stiffness, rest = np.ravel(spring.stiffness), np.ravel(np.asarray(spring.rest))
        if motion.tag == "ball":
            if np.ptp(stiffness) or not np.array_equal(rest, joint.type.neutral()):
                self.lose("the springs of", joint)
            else:
                element.set("stiffness", numbers(stiffness[0]))
            return
        element.set("stiffness", numbers(stiffness[motion.row]))
        element.set("springref", numbers(rest[motion.row]))

    def lose(self, words: str, joint: Joint) -> None:
        self.lost.setdefault(words, []).append(joint.name)

    def inertial(self, body: ElementTree.Element, link: Link) -> None:
        """Write mass, centre of mass and principal moments with their axes."""
        p = link.inertia
        if not p.any():
            return
        problems = inertia.problems(p, _ROUNDING)
        if problems:
            raise ModelError(
                f"{problems[0]}, which MuJoCo does not accept",
                element=f"link {link.name}",
                remedy="Correct its inertia; identification with zveno gives bodies that can exist",
            )
        moments, axes = np.linalg.eigh(inertia.tensor_at_center(p))
        moments = np.maximum(moments, _SMALLEST)
        moments[2] = min(moments[2], (moments[0] + moments[1]) * (1.0 - 1e-15))
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        element = self.add(body, "inertial", pos=numbers(inertia.center_of_mass(p)))
        element.set("quat", numbers(to_quaternion(axes)))
        element.set("mass", numbers(inertia.mass(p)))
        element.set("diaginertia", numbers(moments))

    def placed(self, element: ElementTree.Element, T: np.ndarray) -> ElementTree.Element:
        """Set the pose of an element unless it is the identity."""
        if T[:3, 3].any():
            element.set("pos", numbers(T[:3, 3]))
        if not np.array_equal(T[:3, :3], np.eye(3)):
            element.set("quat", numbers(to_quaternion(T[:3, :3])))
        return element

"""URDF writer.

Every pose by name is kept: a link whose frame is not where its joint leaves it (distal Denavit–Hartenberg frames)
hangs by a fixed joint on an extra massless link, and named frames become massless links. Numbers are written with
all their digits. Other properties are written with the extensions listed in `zveno.io.urdf`; other programs
ignore them, except the joint types helical, universal and spherical.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from ..errors import ModelError
from ..mechanism import DEFAULT_GRAVITY, Drive, Joint, Link, Mechanism
from ..spatial import inertia
from ..spatial.rotations import to_rpy
from .urdf import DRAKE, JOINT_KINDS, axis_tag, element_of, type_of
from .write import coupling_losses, warn_about_losses

_URDF_NAMES = {kind: name for name, kind in JOINT_KINDS.items()}
_NO_LIMIT = 1e308
"""Value of an infinite limit where URDF demands a number."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_urdf(mechanism: Mechanism) -> str:
    """Return the text of a URDF file that `read_urdf` reads as the same mechanism.

    Coordinates keep their order, and links and frames their poses by name; extra links appear as described above.
    Closed loops become
    `<loop_joint>` elements. A `ZvenoWarning` names the losses: the coupling matrix of a transmission, first
    moments without mass, position limits of continuous joints.
    """
    writer = _Writer(mechanism)
    for link in mechanism.links:
        writer.link(link)
    for joint in mechanism.joints:
        writer.joint(joint)
    for frame in mechanism.frames:
        writer.link(Link(frame.name, inertia_given=False))
        writer.fixed(writer.fresh_joint(f"{frame.name}_fixed"), frame.link, frame.name, frame.T_link_frame)
    writer.loops(mechanism)
    if mechanism.gravity.tolist() != list(DEFAULT_GRAVITY):
        writer.add(writer.robot, "gravity", xyz=numbers(mechanism.gravity))
    writer.robot.extend([element_of(extra) for extra in mechanism.extras if not extra.link and not extra.joint])
    warn_about_losses(mechanism, "URDF", writer.losses)
    ElementTree.indent(writer.robot)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(writer.robot, encoding="unicode")}\n'


class _Writer:
    def __init__(self, mechanism: Mechanism):
        self.robot = ElementTree.Element("robot", name=checked_name(mechanism.name))
        self.links = set(mechanism.frame_names)
        self.joints = {joint.name for joint in mechanism.joints}
        self.losses = coupling_losses(mechanism, loops_held=mechanism.loops)
        self.extras: dict[tuple[str, str], list[ElementTree.Element]] = {}
        for extra in mechanism.extras:
            self.extras.setdefault((extra.link, extra.joint), []).append(element_of(extra))

    def add(self, parent, tag: str, **attributes: str):
        return ElementTree.SubElement(parent, tag, attributes)

    def link(self, link: Link):
        element = self.add(self.robot, "link", name=checked_name(link.name))
        element.extend(self.extras.pop((link.name, ""), []))
        p = link.inertia
        if not link.inertia_given and not p.any():
            return
        mass = float(inertia.mass(p))
        center, tensor = np.zeros(3), inertia.tensor(p)
        if mass:
            center, tensor = inertia.center_of_mass(p), inertia.tensor_at_center(p)
        elif inertia.first_moment(p).any():
            self.losses.append(f"the first moments of link {link.name}, which has no mass")
        inertial = self.add(element, "inertial")
        self.add(inertial, "origin", xyz=numbers(center))
        self.add(inertial, "mass", value=numbers(mass))
        entries = {f"i{'xyz'[a]}{'xyz'[b]}": numbers(tensor[a, b]) for a in range(3) for b in range(a, 3)}
        self.add(inertial, "inertia", **entries)

    def joint(self, joint: Joint):
        kind = joint.type.kind
        if kind == "fixed":
            T_parent_child = joint.T_parent_joint @ joint.T_joint_child
            element = self.placed(joint.name, kind, joint.parent, joint.child, T_parent_child)
            self.keep_extras(element, joint)
            return
        moved = joint.child
        if not np.array_equal(joint.T_joint_child, np.eye(4)):
            moved = self.fresh_link(f"{joint.child}_joint_frame")
            self.link(Link(moved, inertia_given=False))
            self.fixed(self.fresh_joint(f"{joint.name}_offset"), moved, joint.child, joint.T_joint_child)
        element = self.placed(joint.name, _URDF_NAMES[kind], joint.parent, moved, joint.T_parent_joint)
        for name, value in joint.type.parameters().items():
            if name == "pitch":
                element.set("pitch", numbers(value))
            else:
                self.add(element, axis_tag(name), xyz=numbers(value))
        self.limit(element, joint)
        if joint.mimic is not None:
            leader, multiplier, offset = joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset
            self.add(element, "mimic", joint=leader, multiplier=numbers(multiplier), offset=numbers(offset))
        self.drive(element, joint, self.keep_extras(element, joint))

    def keep_extras(self, element, joint: Joint) -> list[ElementTree.Element]:
        """Write the kept parts of a joint; return its transmissions, which are elements of the robot."""
        extras = self.extras.get(("", joint.name), [])
        element.extend([extra for extra in extras if extra.tag != "transmission"])
        transmissions = [extra for extra in extras if extra.tag == "transmission"]
        self.robot.extend(transmissions)
        return transmissions

    def loops(self, mechanism: Mechanism):
        """Write loops, motors and the closed reference; the ends of a loop are links of the file."""
        for loop in mechanism.loops:
            kind = type_of(loop)
            how = {"locked": " ".join(loop.locked)} if kind is None else {"type": kind}
            element = self.add(self.robot, "loop_joint", name=f"{loop.frame}_{loop.other}", **how)
            self.add(element, "link1", link=loop.frame)
            self.add(element, "link2", link=loop.other)
            if kind == "revolute":
                self.add(element, "axis", xyz="0 0 1")
        for name in mechanism.motors or ():
            self.add(self.robot, "motor", joint=name)
        if mechanism.reference is not None:
            for name, q in mechanism.unpack(mechanism.reference).items():
                self.add(self.robot, "reference", joint=name, q=numbers(q))

    def fixed(self, name: str, parent: str, child: str, T: np.ndarray):
        self.placed(name, "fixed", parent, child, T)

    def placed(self, name: str, kind: str, parent: str, child: str, T: np.ndarray):
        element = self.add(self.robot, "joint", name=checked_name(name), type=kind)
        self.add(element, "parent", link=parent)
        self.add(element, "child", link=child)
        self.add(element, "origin", xyz=numbers(T[:3, 3]), rpy=numbers(to_rpy(T[:3, :3])))
        return element

    def limit(self, element, joint: Joint):
        limits = joint.limits
        if joint.type.kind == "continuous" and any(np.isfinite(x).any() for x in (limits.lower, limits.upper)):
            self.losses.append(f"the position limits of the continuous joint {joint.name}")
        bounded = joint.type.kind in ("revolute", "prismatic")  # where URDF demands all four
        texts = {
            name: numbers(np.clip(value, -_NO_LIMIT, _NO_LIMIT))
            for name, value in (
                ("lower", limits.lower),
                ("upper", limits.upper),
                ("velocity", limits.velocity),
                ("effort", limits.effort),
            )
            if bounded or np.isfinite(value).any()
        }
        if texts:
            # Velocity and effort are demanded wherever there is a limit.
            self.add(element, "limit", **{"velocity": numbers(_NO_LIMIT), "effort": numbers(_NO_LIMIT)} | texts)

    def drive(self, element, joint: Joint, kept_transmissions: list[ElementTree.Element]):
        drive, name = joint.drive or Drive().shaped(joint.type.n_v), joint.name
        dynamics = {"damping": drive.viscous, "friction": drive.coulomb, "offset": drive.offset}
        if any(np.any(value) for value in dynamics.values()):
            kept = {key: numbers(value) for key, value in dynamics.items() if key != "offset" or np.any(value)}
            self.add(element, "dynamics", **kept)
        for transmission in kept_transmissions:
            for named in transmission.findall("joint"):
                named.set("name", name)
        if np.any(drive.rotor_inertia) or np.any(drive.gear_ratio != 1.0):
            actuator = self.actuator(name, kept_transmissions)
            self.add(actuator, "mechanicalReduction").text = numbers(drive.gear_ratio)
            self.robot.set("xmlns:drake", DRAKE)
            self.add(actuator, "drake:rotor_inertia", value=numbers(drive.rotor_inertia))
            self.add(actuator, "drake:gear_ratio", value=numbers(drive.gear_ratio))

    def actuator(self, name: str, kept_transmissions: list[ElementTree.Element]):
        """Return the actuator of a joint, without numbers: that of its only transmission, or a new one."""
        if len(kept_transmissions) == 1 and len(kept_transmissions[0].findall("actuator")) == 1:
            actuator = kept_transmissions[0].findall("actuator")[0]
            for owner in (kept_transmissions[0], actuator):
                for child in list(owner):
                    if child.tag in ("mechanicalReduction", f"{{{DRAKE}}}rotor_inertia", f"{{{DRAKE}}}gear_ratio"):
                        owner.remove(child)
            return actuator
        transmission = self.add(self.robot, "transmission", name=f"{name}_transmission")
        self.add(transmission, "type").text = "transmission_interface/SimpleTransmission"
        self.add(transmission, "joint", name=name)
        return self.add(transmission, "actuator", name=f"{name}_motor")

    def fresh_link(self, name: str) -> str:
        return _fresh(name, self.links)

    def fresh_joint(self, name: str) -> str:
        return _fresh(name, self.joints)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def checked_name(name: str) -> str:
    """Return a name; raise if XML cannot hold one of its characters."""
    if _NOT_XML.search(name):
        raise ModelError(
            "the name has a character that XML cannot hold", element=repr(name), remedy="Rename it before writing"
        )
    return name


def numbers(values) -> str:
    """Return a number, or several with spaces between them, with all digits."""
    try:
        values = np.asarray(values, dtype=float).ravel() + 0.0  # −0 becomes 0
    except (TypeError, ValueError):
        raise ModelError(
            "a parameter is not a number", remedy="Give the traced parameters of the mechanism values first"
        ) from None
    return " ".join(repr(value).removesuffix(".0") for value in values.tolist())

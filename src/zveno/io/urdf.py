"""URDF reader.

The reader covers everything that kinematics and dynamics need: the tree, joint types and axes, limits, mimic
relations, `<dynamics>` and inertia. Shapes, materials, simulator and controller sections are kept unchanged for the
writer (`Mechanism.extras`); meshes and `package://` addresses are never opened.

Beyond standard URDF the reader supports the writer's extensions, which keep every mechanism: joint types `helical`
(attribute `pitch`, metres per radian), `universal` (`<axis>` and `<axis2>`) and `spherical`; lists of numbers in
limits and dynamics of joints with several coordinates; `offset` in `<dynamics>`; `<gravity xyz="…"/>`; and Drake's
`<drake:rotor_inertia value="…"/>` and `<drake:gear_ratio value="…"/>` of an actuator.

URDF itself has no closed loops. `<loop_joint name type>` is the extension of Isaac Sim, with
`<link1 link xyz rpy>` and `<link2 link xyz rpy>`. Types are `spherical`, `fixed`, and `revolute` about an
`<axis xyz>` of link 1's frame, x by default as in every joint. An attribute `locked="x y"` names the locked
directions instead. Two elements are extensions of our own: `<motor joint>` names a driven joint, and
`<reference joint q>` the coordinates of a joint in a closed configuration. Without `<motor>`, the joints of
transmissions and of ros2_control command interfaces are driven.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import (
    DEFAULT_GRAVITY,
    JOINT_TYPES,
    Drive,
    Extra,
    Frame,
    Joint,
    JointType,
    Limits,
    Link,
    Loop,
    Mechanism,
    Mimic,
    assemble,
)
from ..mechanism.assemble import MAX_MAGNITUDE
from ..mechanism.joints import unit_axis
from ..mechanism.loops import CLOSING_JOINTS
from ..mechanism.plausibility import warn_about_inertia
from ..spatial import inertia, rotations
from ..spatial.transforms import transform
from ._xml import Element, parse_xml, to_floats
from .files import read_bytes
from .near_exact import near_exact_notes, snapped_axis, snapped_rpy

# --- parts without effect

_READ = {
    "robot": {"link", "joint", "gravity"},
    "link": {"inertial"},
    "joint": {"parent", "child", "origin", "axis", "axis2", "limit", "dynamics", "mimic"},
}


def _extras_of(root: Element) -> list[Extra]:
    """Return the unread parts of links, joints and robot; a transmission belongs to its joint."""
    extras = []
    for owner in (root, *root.all("link"), *root.all("joint")):
        for child in owner.children:
            if child.tag in _READ[owner.tag]:
                continue
            belongs = {owner.tag: owner.attributes.get("name", "")} if owner is not root else {}
            joints = child.all("joint")
            if child.tag == "transmission" and len(joints) == 1:
                belongs = {"joint": joints[0].attributes.get("name", "")}
            extras.append(Extra(ElementTree.tostring(_tree(child), encoding="unicode"), **belongs))
    return extras


def element_of(extra: Extra) -> ElementTree.Element:
    """Return the XML element of an extra; refuse other text, which a saved result may hold."""
    try:
        return _tree(parse_xml(extra.text))
    except ModelError as error:
        raise error.located(element=f"extra of {extra.link or extra.joint or 'the robot'}") from None


def _tree(element: Element) -> ElementTree.Element:
    made = ElementTree.Element(element.tag, element.attributes)
    made.text = element.text or None
    made.extend([_tree(child) for child in element.children])
    return made


# --- numbers and placements

_ATTRIBUTES = {
    "link": {"name"},
    "mass": {"value"},
    "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"},
    "joint": {"name", "type", "pitch"},
    "origin": {"xyz", "rpy", "quat_xyzw"},
    "limit": {"lower", "upper", "velocity", "effort"},
    "dynamics": {"damping", "friction", "offset"},
    "mimic": {"joint", "multiplier", "offset"},
}
"""Attributes that are read; others are listed in the notes, because a misspelt one would be lost silently."""


def where(element: Element, attribute: str, owner: str) -> str:
    """Return the name of an attribute in errors: `joint elbow, origin rpy (line 12)`."""
    tag = "" if owner.startswith(f"{element.tag} ") else f"{element.tag} "
    return f"{owner}, {tag}{attribute} (line {element.line})"


def numbers(
    element: Element,
    attribute: str,
    owner: str,
    *,
    counts: tuple[int, ...] = (1,),
    default: str | None = None,
    bound: float = MAX_MAGNITUDE,
) -> np.ndarray:
    """Return the numbers of an attribute; raise an error unless their count is one of `counts`."""
    text = element.attributes.get(attribute, default)
    place = where(element, attribute, owner)
    if text is None:
        raise ModelError("the attribute is missing", element=place, remedy=f'Add {attribute}="…"')
    return np.array(to_floats(text, counts, place, bound))


def number(element: Element, attribute: str, owner: str, default: str | None = None) -> float:
    """Return the single number of an attribute."""
    return float(numbers(element, attribute, owner, default=default)[0])


class _Reading:
    """State of one pass over a file, with its notes.

    Attributes:
        snap: True to make near-exact angles and axes exact.
        near: texts about near-exact angles and axes, by place ("joint elbow").
        lines: first line of every link and joint, by `link name` and `joint name`.
    """

    def __init__(self, snap: bool):
        self.snap = snap
        self.near: dict[str, list[str]] = {}
        self.lines: dict[str, int] = {}
        self._notes: dict[str, list[str]] = {}
        self._ignored: Counter[str] = Counter()

    def note(self, text: str, owner: str) -> None:
        """Record a note about a link or joint; equal notes of several become one."""
        self._notes.setdefault(text, []).append(owner)

    def named(self, element: Element) -> str:
        """Return the name of a link or joint in errors; refuse missing and duplicate names."""
        name = element.attributes.get("name")
        if not name:
            raise ModelError(
                "it has no name", element=f"{element.tag} on line {element.line}", remedy='Add name="…"'
            )
        owner = f"{element.tag} {name}"
        if owner in self.lines:
            raise ModelError(
                f"line {self.lines[owner]} has a {element.tag} of the same name",
                element=f"{owner} (line {element.line})",
                remedy="Names must be unique; rename one of them",
            )
        self.lines[owner] = element.line
        self.count_ignored(element)
        return owner

    def only(self, element: Element, tag: str, owner: str) -> Element | None:
        """Return the child with that tag, or None; count its unknown attributes."""
        child = element.only(tag, owner)
        if child is not None:
            self.count_ignored(child)
        return child

    def count_ignored(self, element: Element) -> None:
        """Record attributes that nothing reads."""
        known = _ATTRIBUTES.get(element.tag)
        self._ignored.update(f"{element.tag} {name}" for name in element.attributes if known and name not in known)

    def origin(self, element: Element, owner: str) -> tuple[np.ndarray, list[str]]:
        """Return the (4, 4) transform of an `<origin>` and a joint's near-exact angles, snapped on request."""
        origin = self.only(element, "origin", owner)
        if origin is None:
            return np.eye(4), []
        xyz = numbers(origin, "xyz", owner, counts=(3,), default="0 0 0")
        if "quat_xyzw" in origin.attributes:
            return transform(_from_quaternion(origin, owner), xyz), []
        rpy = numbers(origin, "rpy", owner, counts=(3,), default="0 0 0")
        exact, near = snapped_rpy(rpy.tolist()) if element.tag == "joint" else (rpy, [])
        return transform(rotations.from_rpy(exact if self.snap else rpy), xyz), near

    def all_notes(self) -> list[str]:
        """Return all notes for the user."""
        counts = ", ".join(f"{name} ({count}×)" for name, count in sorted(self._ignored.items()))
        ignored = [f"attributes not read: {counts}"] if counts else []
        grouped = [f"{text}: {', '.join(owners)}" for text, owners in self._notes.items()]
        return [*grouped, *ignored, *near_exact_notes(self.near, self.snap)]


def _from_quaternion(origin: Element, owner: str) -> np.ndarray:
    if "rpy" in origin.attributes:
        raise ModelError(
            "it has both rpy and quat_xyzw",
            element=f"{owner}, origin (line {origin.line})",
            remedy="Keep one of them",
        )
    x, y, z, w = numbers(origin, "quat_xyzw", owner, counts=(4,))
    wxyz = np.array([w, x, y, z])
    norm = np.linalg.norm(wxyz)
    if not abs(norm - 1.0) <= 1e-3:
        raise ModelError(
            f"the quaternion has norm {norm:.4g}",
            element=where(origin, "quat_xyzw", owner),
            remedy="A rotation is a quaternion of norm 1, scalar part last",
        )
    return rotations.from_quaternion(wxyz / norm)


# --- transmissions

DRAKE = "http://drake.mit.edu"
"""Namespace of the two elements that Drake adds to an actuator."""


@dataclass(frozen=True)
class _Gear:
    """Texts of a simple transmission, with their place."""

    gear_ratio: str | None
    rotor_inertia: str | None
    where: str

    def values(self, counts: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Return fields of a `Drive`, each a scalar or one value per velocity."""
        fields = {}
        for name in ("gear_ratio", "rotor_inertia"):
            text = getattr(self, name)
            if text is not None:
                fields[name] = np.array(to_floats(text, counts, f"{self.where}, {name}"))
        if np.any(fields.get("gear_ratio", 1.0) == 0.0) or np.any(fields.get("rotor_inertia", 0.0) < 0.0):
            raise ModelError(
                "a gear ratio is zero or a rotor inertia is negative",
                element=self.where,
                remedy="A gear ratio is not zero; a rotor inertia is zero or positive",
            )
        return fields


def gears(root: Element) -> tuple[dict[str, _Gear], list[str]]:
    """Return gears by joint name, and notes on the transmissions left out.

    One joint and one actuator, and one such transmission per joint, are unambiguous. Everything else
    (differentials, four-bar linkages) couples joints in ways the element does not specify.
    """
    by_joint: dict[str, list[_Gear]] = {}
    left_out = []
    for element in root.all("transmission"):
        joints, actuators = element.all("joint"), element.all("actuator")
        if len(joints) != 1 or len(actuators) != 1 or not joints[0].attributes.get("name"):
            left_out.append(element.attributes.get("name", f"on line {element.line}"))
            continue
        ratio = _value(actuators[0], "gear_ratio") or _text(actuators[0]) or _text(element)
        where = f"transmission {element.attributes.get('name', '')} (line {element.line})"
        gear = _Gear(ratio, _value(actuators[0], "rotor_inertia"), where)
        by_joint.setdefault(joints[0].attributes["name"], []).append(gear)
    notes = [f"transmissions not read: {', '.join(left_out)}"] if left_out else []
    several = [name for name, of_joint in by_joint.items() if len(of_joint) > 1]
    if several:
        notes.append(f"several transmissions drive the same joint and were not read: {', '.join(several)}")
    return {name: of_joint[0] for name, of_joint in by_joint.items() if len(of_joint) == 1}, notes


def _text(element: Element) -> str | None:
    reductions = element.all("mechanicalReduction")
    return reductions[0].text if reductions and reductions[0].text.strip() else None


def _value(actuator: Element, name: str) -> str | None:
    elements = actuator.all(f"{{{DRAKE}}}{name}")
    return elements[0].attributes.get("value") if elements else None


# --- joints

JOINT_KINDS = {"floating" if kind == "free" else kind: kind for kind in JOINT_TYPES}
"""Joint kinds by URDF's names of joint types."""
_DEFAULT_AXIS = "1 0 0"
_UNLIMITED = 1e300
"""Smallest value of a limit that stands for no limit."""


def axis_tag(parameter: str) -> str:
    """Return the element that holds an axis of a joint type (`axis`, `normal`, `first`, `second`)."""
    return "axis2" if parameter == "second" else "axis"


def _read_joint(reading: _Reading, element: Element, gears: dict[str, _Gear]) -> Joint:
    """Read a joint from its `<joint>` element."""
    owner = reading.named(element)
    name = element.attributes["name"]
    kind = _kind(element, owner)
    parent, child = (_end(element, role, owner) for role in ("parent", "child"))
    T_parent_joint, near = reading.origin(element, owner)
    joint_type, near_axes = _joint_type(reading, element, kind, owner)
    if near or near_axes:
        reading.near[f"joint {name}"] = near + near_axes
    return Joint(
        name,
        parent,
        child,
        joint_type,
        T_parent_joint,
        limits=_limits(reading, element, joint_type, owner),
        drive=_drive(reading, element, joint_type, owner, gears.get(name)),
        mimic=_mimic(reading, element, joint_type, owner),
    )


def _kind(element: Element, owner: str) -> str:
    given = element.attributes.get("type")
    if given not in JOINT_KINDS:
        raise ModelError(
            "it has no type" if given is None else f"its type {given[:60]!r} is unknown",
            element=f"{owner} (line {element.line})",
            remedy=f"Joint types: {', '.join(JOINT_KINDS)}",
        )
    return JOINT_KINDS[given]


def _end(element: Element, role: str, owner: str) -> str:
    end = element.only(role, owner)
    if end is None or not end.attributes.get("link"):
        raise ModelError(
            f"it names no {role} link",
            element=f"{owner} (line {element.line})",
            remedy=f'Add <{role} link="…"/>',
        )
    return end.attributes["link"]


def _joint_type(reading: _Reading, element: Element, kind: str, owner: str) -> tuple[JointType, list[str]]:
    """Return the type with its axes and pitch, and texts about near-exact axes."""
    values, near = {}, []
    for parameter in dataclasses.fields(JOINT_TYPES[kind]):
        if parameter.name == "pitch":
            values["pitch"] = number(element, "pitch", owner)
            continue
        tag = axis_tag(parameter.name)
        unit = _axis(reading, element, tag, owner)
        exact, words = snapped_axis(unit)
        values[parameter.name] = exact if reading.snap else unit
        near += words
    try:
        return JOINT_TYPES[kind](**values), near
    except ModelError as error:
        raise error.located(element=owner) from None


def _axis(reading: _Reading, element: Element, tag: str, owner: str) -> np.ndarray:
    axis = element.only(tag, owner) or Element(tag, {"xyz": _DEFAULT_AXIS} if tag == "axis" else {}, element.line)
    given = numbers(axis, "xyz", owner, counts=(3,))
    try:
        unit = unit_axis(given)
    except ModelError as error:
        raise error.located(element=where(axis, "xyz", owner)) from None
    length = float(np.linalg.norm(given))
    if abs(length - 1.0) > 1e-3:
        reading.note(f"{tag} of length {length:.4g}, scaled to 1", owner)
    return unit


def _limits(reading: _Reading, element: Element, joint_type: JointType, owner: str) -> Limits:
    bounded = joint_type.kind in ("revolute", "prismatic")
    limit = reading.only(element, "limit", owner)
    if limit is None:
        if bounded:
            reading.note("no <limit>, taken as unlimited", owner)
        return Limits()
    values = {}
    for name, count, unlimited in (
        ("lower", joint_type.n_q, -np.inf),
        ("upper", joint_type.n_q, np.inf),
        ("velocity", joint_type.n_v, np.inf),
        ("effort", joint_type.n_v, np.inf),
    ):
        text = limit.attributes.get(name)
        # URDF knows no lower and upper limit of a continuous joint, and files often give it some.
        if text is None or count == 0 or (joint_type.kind == "continuous" and name in ("lower", "upper")):
            continue
        if count > 1 and name in ("lower", "upper") and len(text.split()) == 1:
            # One number cannot be meant for lengths, angles and quaternions alike.
            reading.note(f"one number as {name} limit of {count} coordinates, ignored", owner)
            continue
        given = numbers(limit, name, owner, counts=(1, count), bound=np.inf)
        values[name] = np.where(abs(given) >= _UNLIMITED, unlimited, given)
    if bounded:
        _complete(reading, values, owner)
    return Limits(**values)


def _complete(reading: _Reading, values: dict, owner: str):
    """Fill in URDF's default of a missing bound, 0, unless it would lock a joint that has neither."""
    missing = [name for name in ("lower", "upper") if name not in values]
    if len(missing) == 2:
        reading.note("<limit> without lower and upper, taken as unlimited", owner)
    elif missing:
        values[missing[0]] = 0.0
        reading.note(f"no {missing[0]} limit, which is 0 in URDF", owner)
    elif values["lower"] == values["upper"]:
        reading.note("cannot move, lower and upper limits are equal", owner)


def _drive(
    reading: _Reading, element: Element, joint_type: JointType, owner: str, gear: _Gear | None
) -> Drive | None:
    if joint_type.n_v == 0:
        return None
    values = {}
    counts = (1, joint_type.n_v)
    dynamics = reading.only(element, "dynamics", owner)
    if dynamics is not None:
        for attribute, name in (("damping", "viscous"), ("friction", "coulomb"), ("offset", "offset")):
            values[name] = numbers(dynamics, attribute, owner, counts=counts, default="0")
            if name != "offset" and (values[name] < 0).any():
                raise ModelError(
                    f"the {attribute} is negative",
                    element=where(dynamics, attribute, owner),
                    remedy="Friction opposes motion: give zero or a positive number",
                )
    if gear is not None:
        values |= gear.values(counts)
    drive = Drive(**values)
    says_something = any(np.any(getattr(drive, f.name) != f.default) for f in dataclasses.fields(Drive))
    return drive if says_something else None


def _mimic(reading: _Reading, element: Element, joint_type: JointType, owner: str) -> Mimic | None:
    mimic = reading.only(element, "mimic", owner)
    if mimic is None:
        return None
    if joint_type.n_q == 0:
        reading.note(f"{joint_type.kind}, its <mimic> is ignored", owner)
        return None
    if not mimic.attributes.get("joint"):
        raise ModelError(
            "it names no joint to follow", element=f"{owner}, mimic (line {mimic.line})", remedy='Add joint="…"'
        )
    return Mimic(
        mimic.attributes["joint"],
        number(mimic, "multiplier", owner, default="1"),
        number(mimic, "offset", owner, default="0"),
    )


# --- closed loops

_LOOP_SECTIONS = ("loop_joint", "motor", "reference")
"""Elements of the root that this module reads."""
_LOOP_TYPES = {"spherical": "point", "revolute": "hinge", "continuous": "hinge", "fixed": "weld"}
"""Joints of `Loop` by URDF's names of joint types."""


def _loops_of(root: Element, links: set[str]) -> tuple[list[Frame], list[Loop]]:
    """Return the loops and the frames at their ends; an end without a pose of its own is the link itself."""
    frames: list[Frame] = []
    loops: list[Loop] = []
    for element in root.all("loop_joint"):
        name = element.attributes.get("name") or f"loop{len(loops)}"
        owner = f"loop_joint {name}"
        locked = _locked(element, owner)
        R = np.eye(3)
        if locked == "hinge":
            axis = element.only("axis", owner)
            direction = [1.0, 0.0, 0.0] if axis is None else numbers(axis, "xyz", owner, counts=(3,))
            R = rotations.z_to(unit_axis(direction))  # the hinge of a loop turns about z
        ends = []
        for tag, side in (("link1", "first"), ("link2", "second")):
            end = element.only(tag, owner)
            link = None if end is None else end.attributes.get("link")
            if end is None or link not in links:
                raise ModelError(
                    f"its {tag} is missing" if link is None else f"its {tag} {link!r} does not exist",
                    element=f"{owner} (line {element.line})",
                    remedy=f'Add <{tag} link="…" xyz="0 0 0" rpy="0 0 0"/>',
                )
            xyz, rpy = (numbers(end, key, owner, counts=(3,), default="0 0 0") for key in ("xyz", "rpy"))
            T = transform(rotations.from_rpy(rpy) @ R, xyz)
            if np.array_equal(T, np.eye(4)):
                ends.append(link)
            else:
                frames.append(Frame(f"{name}_{side}", link, T))
                ends.append(frames[-1].name)
        loops.append(Loop(ends[0], ends[1], locked))
    return frames, loops


def _locked(element: Element, owner: str) -> str | tuple[str, ...]:
    if "locked" in element.attributes:
        return tuple(element.attributes["locked"].split())
    kind = element.attributes.get("type", "")
    if kind not in _LOOP_TYPES:
        raise ModelError(
            f"its type {kind[:60]!r} does not close a loop",
            element=f"{owner} (line {element.line})",
            remedy=f'Types: {", ".join(_LOOP_TYPES)}; or give locked="x y z"',
        )
    return _LOOP_TYPES[kind]


def type_of(loop: Loop) -> str | None:
    """Return URDF's name of the joint that a loop is, None if it has none."""
    closing = {CLOSING_JOINTS[words]: name for name, words in _LOOP_TYPES.items() if name != "continuous"}
    return closing.get(tuple(loop.locked))


def _motors_of(root: Element, transmissions: Iterable[str], joints: list[Joint]) -> list[str] | None:
    """Return the names of driven joints, None if the file does not say."""
    named = [element.attributes.get("joint", "") for element in root.all("motor")]
    if named:
        return named
    movable = {joint.name for joint in joints if joint.mimic is None and joint.type.n_q}
    commanded = [
        joint.attributes.get("name", "")
        for control in root.all("ros2_control")
        for joint in control.all("joint")
        if joint.all("command_interface")
    ]
    driven = [name for name in dict.fromkeys([*transmissions, *commanded]) if name in movable]
    return driven or None


def _reference_of(root: Element) -> dict[str, np.ndarray] | None:
    """Return the closed configuration by joint name, None if the file has none."""
    elements = root.all("reference")
    if not elements:
        return None
    return {
        element.attributes.get("joint", ""): np.array(
            to_floats(element.attributes.get("q", ""), (1, 2, 3, 4, 7), f"reference (line {element.line})", 1e50)
        )
        for element in elements
    }


# --- the mechanism

_FOREIGN_SECTIONS = ("gazebo", "ros2_control")
_KNOWN_SECTIONS = (
    *("link", "joint", "gravity", "material", "transmission", "sensor"),
    *_LOOP_SECTIONS,
    *_FOREIGN_SECTIONS,
)
_OTHER_ROOTS = {
    "mujoco": ("this is an MJCF model", "Read it with read_mjcf, or with zveno.load"),
    "sdf": ("this is an SDF model", "Export the robot as URDF from the tool that wrote it"),
    "COLLADA": ("this is a COLLADA mesh", "Give the URDF that refers to it"),
}


def read_urdf(source: str | PathLike[str], *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism in a URDF file.

    Args:
        source: path of the file.
        snap: make angles and axes exact that are within 1e-4 rad of a multiple of 15°; otherwise (also None) they
            are kept.
            Either way `Mechanism.notes` lists them, with all omissions and interpretations.

    Raises:
        ModelError: with file, element, line and remedy, for anything that is not a valid model.

    Warns:
        ZvenoWarning: for moving links without inertia, and for inertia that no body can have.
    """
    mechanism = _mechanism(read_bytes(source), source, bool(snap))
    warn_about_inertia(mechanism)
    return mechanism


def parse_urdf(text: str | bytes, *, file: object = "URDF text", snap: bool = False) -> Mechanism:
    """Return the mechanism in the text of a URDF file, as `read_urdf`; `file` is its name in errors."""
    mechanism = _mechanism(text, file, snap)
    warn_about_inertia(mechanism)
    return mechanism


def _mechanism(data: bytes | str, file: object, snap: bool) -> Mechanism:
    reading = _Reading(snap)
    try:
        root = parse_xml(data)
        _refuse_other_formats(root)
        return _assembled(reading, root, file)
    except ZvenoError as error:
        line = reading.lines.get(error.element or "")
        raise type(error)(
            error.problem,
            file=file,
            element=error.element if line is None else f"{error.element} (line {line})",
            remedy=error.remedy or "Correct this element of the file",
        ) from None


def _assembled(reading: _Reading, root: Element, file: object) -> Mechanism:
    gear_by_joint, left_out = gears(root)
    links = [_link(reading, element) for element in root.all("link")]
    joints = [_read_joint(reading, element, gear_by_joint) for element in root.all("joint")]
    gravity = root.only("gravity", "robot")
    unknown = sorted({child.tag for child in root.children}.difference(_KNOWN_SECTIONS))
    sections = [f"sections not read: {', '.join(unknown)}"] if unknown else []
    frames, loops = _loops_of(root, {link.name for link in links})
    motors = _motors_of(root, gear_by_joint, joints) if loops else None
    return assemble(
        root.attributes.get("name") or Path(str(file)).stem,
        links,
        joints,
        frames,
        loops=loops,
        motors=motors,
        reference=_reference_of(root),
        gravity=DEFAULT_GRAVITY if gravity is None else numbers(gravity, "xyz", "robot", counts=(3,)),
        source=str(file),
        extras=_extras_of(root),
        notes=[*reading.all_notes(), *left_out, *sections],
    )


def _link(reading: _Reading, element: Element) -> Link:
    owner = reading.named(element)
    name = element.attributes["name"]
    inertial = element.only("inertial", owner)
    if inertial is None:
        return Link(name, inertia_given=False)
    mass = reading.only(inertial, "mass", owner)
    if mass is None:
        raise ModelError(
            "it has no <mass>",
            element=f"{owner}, inertial (line {inertial.line})",
            remedy='Add <mass value="…"/>, or delete <inertial>',
        )
    kilograms = number(mass, "value", owner)
    if kilograms < 0:
        raise ModelError(
            f"the mass is negative ({kilograms:g} kg)",
            element=where(mass, "value", owner),
            remedy="A mass is zero or positive",
        )
    T_link_inertial = reading.origin(inertial, owner)[0]
    R = T_link_inertial[:3, :3]
    tensor = R @ _tensor(reading, inertial, owner) @ R.T
    return Link(name, inertia.parameters(kilograms, T_link_inertial[:3, 3], tensor))


def _tensor(reading: _Reading, inertial: Element, owner: str) -> np.ndarray:
    """Return the central inertia tensor, (3, 3), in the axes of the `<inertial>` origin."""
    element = reading.only(inertial, "inertia", owner)
    if element is None:
        reading.note("mass without <inertia>, taken as a point mass", owner)
        return np.zeros((3, 3))
    xx, yy, zz = (number(element, name, owner) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(element, name, owner, default="0") for name in ("ixy", "ixz", "iyz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _refuse_other_formats(root: Element):
    if root.tag != "robot":
        problem, remedy = _OTHER_ROOTS.get(
            root.tag, (f"the root element is <{root.tag[:60]}>", "A URDF file has the root element <robot>")
        )
        raise ModelError(problem, element=f"root element (line {root.line})", remedy=remedy)
    for section in (root, *root.children):
        if section.tag in _FOREIGN_SECTIONS:
            continue
        for element in [root] if section is root else section.walk():
            macro = "xacro" in element.tag.rpartition("}")[0]
            if macro or any("${" in value or "$(" in value for value in element.attributes.values()):
                raise ModelError(
                    "this is a xacro file, not a URDF",
                    element=f"{element.tag.rpartition('}')[2]} (line {element.line})",
                    remedy="Expand it first: xacro robot.urdf.xacro > robot.urdf",
                )

"""URDF reader.

The reader covers everything that kinematics and dynamics need: the tree, joint types and axes, limits, mimic
relations, `<dynamics>` and inertia. Shapes, materials, simulator and controller sections are kept unchanged for the
writer (`Mechanism.extras`); meshes and `package://` addresses are never opened.

Beyond standard URDF the reader supports the writer's extensions, which keep every mechanism: joint types `helical`
(attribute `pitch`, metres per radian), `universal` (`<axis>` and `<axis2>`) and `spherical`; lists of numbers in
limits and dynamics of joints with several coordinates; `offset` in `<dynamics>`; `<gravity xyz="…"/>`; loops,
motors and the closed reference (`zveno.io.urdf_loops`); and Drake's
`<drake:rotor_inertia value="…"/>` and `<drake:gear_ratio value="…"/>` of an actuator.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import DEFAULT_GRAVITY, Link, Mechanism, assemble
from ..mechanism.plausibility import warn_about_inertia
from ..spatial import inertia
from .files import read_bytes
from .urdf_extras import extras_of
from .urdf_joints import read_joint
from .urdf_loops import LOOP_SECTIONS, loops_of, motors_of, reference_of
from .urdf_reading import Reading, number, numbers, where
from .urdf_transmissions import gears
from .xml import Element, parse_xml

_FOREIGN_SECTIONS = ("gazebo", "ros2_control")
_KNOWN_SECTIONS = (
    *("link", "joint", "gravity", "material", "transmission", "sensor"),
    *LOOP_SECTIONS,
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
    reading = Reading(snap)
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


def _assembled(reading: Reading, root: Element, file: object) -> Mechanism:
    gear_by_joint, left_out = gears(root)
    links = [_link(reading, element) for element in root.all("link")]
    joints = [read_joint(reading, element, gear_by_joint) for element in root.all("joint")]
    gravity = root.only("gravity", "robot")
    unknown = sorted({child.tag for child in root.children}.difference(_KNOWN_SECTIONS))
    sections = [f"sections not read: {', '.join(unknown)}"] if unknown else []
    frames, loops = loops_of(root, {link.name for link in links})
    motors = motors_of(root, gear_by_joint, joints) if loops else None
    return assemble(
        root.attributes.get("name") or Path(str(file)).stem,
        links,
        joints,
        frames,
        loops=loops,
        motors=motors,
        reference=reference_of(root),
        gravity=DEFAULT_GRAVITY if gravity is None else numbers(gravity, "xyz", "robot", counts=(3,)),
        source=str(file),
        extras=extras_of(root),
        notes=[*reading.all_notes(), *left_out, *sections],
    )


def _link(reading: Reading, element: Element) -> Link:
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


def _tensor(reading: Reading, inertial: Element, owner: str) -> np.ndarray:
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

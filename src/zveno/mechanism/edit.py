"""Edits of a mechanism. Every function returns a new mechanism and leaves the original unchanged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, unknown_name
from ..spatial import inertia as inertial
from ..spatial.transforms import is_transform, transform
from ..spatial.vectors import real_array
from .assemble import ROTATION_TOLERANCE, assemble
from .joints import Fixed, JointType
from .loops import prefixed_loops
from .mechanism import Mechanism
from .parts import Extra, Frame, Joint, Limits, Spring, prefixed

_NO_SHAPES = "shapes and other parts of the model file were left out when lengths were scaled"


def rebuilt(mechanism: Mechanism, **changes: Any) -> Mechanism:
    """Replace some fields of a mechanism and assemble it again.

    Motors and the reference configuration follow the joints that remain; new joints are neutral and not driven.
    """
    fields = ("name", "links", "joints", "frames", "gravity", "transmission", "source", "notes", "loops", "extras")
    kept = {
        joint.name for joint in changes.get("joints", mechanism.joints) if joint.mimic is None and joint.type.n_q
    }
    motors, reference = driving(mechanism, kept)
    given = {field: getattr(mechanism, field) for field in fields} | {"motors": motors, "reference": reference}
    return assemble(**(given | changes))


def driving(
    mechanism: Mechanism, kept: Container[str], prefix: str = ""
) -> tuple[tuple[str, ...] | None, dict[str, object] | None]:
    """Motors, and reference configuration by name, of the joints that are kept; their names get a prefix."""
    motors = None if mechanism.motors is None else tuple(prefix + name for name in mechanism.motors if name in kept)
    if mechanism.reference is None:
        return motors, None
    values = mechanism.unpack(mechanism.reference)
    return motors, {prefix + name: value for name, value in values.items() if name in kept}


def opened(mechanism: Mechanism) -> Mechanism:
    """Remove the closed loops: the tree alone. A note says which loops were opened."""
    notes = tuple(f"{loop.label}: opened on purpose" for loop in mechanism.loops)
    return replace(mechanism, loops=(), motors=None, reference=None, notes=mechanism.notes + notes)


def fix_joints(mechanism: Mechanism, values: Mapping[str, object] | Iterable[str]) -> Mechanism:
    """Lock joints at given coordinates (by name), or at neutral if only names are given.

    Joints that mimic a locked joint are locked with it.
    """
    if not isinstance(values, Mapping):
        values = dict.fromkeys(values)
    for name in values:
        if name not in mechanism.joint_names:
            raise unknown_name("joint with coordinates", name, mechanism.joint_names)
    locked = {name: value for name, value in values.items() if value is not None}
    q = mechanism.pack(locked)
    positions = mechanism.joint_positions(q)
    joints = []
    for i, _, joint in mechanism.outward():
        leader = joint.name if joint.mimic is None else joint.mimic.joint
        joints.append(_lock(joint, positions[i]) if leader in values else joint)
    keep = [k for name in mechanism.joint_names if name not in values for k in _indices(mechanism.v_slices[name])]
    transmission = None if mechanism.transmission is None else mechanism.transmission[np.ix_(keep, keep)]
    reference = {}
    if mechanism.reference is not None and mechanism.loops:
        slices = [mechanism.q_slices[name] for name in values]
        if any(abs(mechanism.reference[at] - q[at]).max() > 1e-12 for at in slices):
            reference = {"reference": None}  # a joint locked elsewhere would leave the loops open there
    return rebuilt(mechanism, joints=joints, transmission=transmission, **reference)


def attach(
    mechanism: Mechanism,
    other: Mechanism,
    to: str | None = None,
    T_frame_base: ArrayLike | None = None,
    prefix: str = "",
    joint: JointType | None = None,
) -> Mechanism:
    """Mount another mechanism on a frame of this one: a gripper on an arm, two arms in one cell.

    Args:
        mechanism: the carrier.
        other: the mounted mechanism, attached by its link 0.
        to: mounting frame on the carrier; the default frame if not given.
        T_frame_base: pose of the other's link 0 in the mounting frame, (4, 4).
        prefix: added to every name of the other mechanism to keep names unique.
        joint: joint type between the two; fixed if not given.
    """
    carrier = mechanism.frame(to)
    T = carrier.T_link_frame @ _as_transform(T_frame_base, "T_frame_base")
    base = prefix + other.links[0].name
    mount = Joint(f"{prefix}mount" if prefix else f"{other.name}_mount", carrier.link, base, joint or Fixed(), T)
    frames = [prefixed(frame, prefix) for frame in other.frames]
    if not prefix and any(frame.name == "tool" for frame in frames):
        # The tool frame of the mounted mechanism replaces that of the carrier.
        kept = [frame for frame in mechanism.frames if frame.name != "tool"]
    else:
        kept = list(mechanism.frames)
    motors, reference = _join_driving(mechanism, other, prefix)
    return assemble(
        f"{mechanism.name}+{other.name}",
        mechanism.links + tuple(prefixed(link, prefix) for link in other.links),
        mechanism.joints + (mount,) + tuple(prefixed(other_joint, prefix) for other_joint in other.joints),
        kept + frames,
        mechanism.gravity,
        _join_transmissions(mechanism, other, mount),
        "; ".join(source for source in (mechanism.source, other.source) if source),
        mechanism.notes + other.notes,
        mechanism.loops + prefixed_loops(other.loops, prefix),
        dict.fromkeys(mechanism.extras + tuple(_prefix_extra(extra, prefix) for extra in other.extras)),
        motors,
        reference,
    )


def cut(mechanism: Mechanism, link: str) -> Mechanism:
    """Remove a link, its subtree and the frames on them."""
    gone = _subtree_names(mechanism, link)
    if mechanism.link_names[0] in gone:
        raise ModelError(
            "link 0 carries the whole mechanism and cannot be cut off",
            element=f"link {link}",
            remedy="Name a link that a joint carries",
        )
    return _restrict(mechanism, [name for name in mechanism.link_names if name not in gone])


def subtree(mechanism: Mechanism, link: str) -> Mechanism:
    """Extract a link and its subtree as a separate mechanism, with the link fixed in the world."""
    return _restrict(mechanism, _subtree_names(mechanism, link))


def with_frame(mechanism: Mechanism, name: str, link: str, T_link_frame: ArrayLike | None = None) -> Mechanism:
    """Add a named frame on a link, or move it if it exists."""
    mechanism.link_number(link)
    others = tuple(frame for frame in mechanism.frames if frame.name != name)
    frame = Frame(name, link, _as_transform(T_link_frame, "T_link_frame"))
    return rebuilt(mechanism, frames=others + (frame,))


def with_tool(mechanism: Mechanism, T_frame_tool: ArrayLike, frame: str | None = None) -> Mechanism:
    """Place the frame `tool` at `T_frame_tool` in a frame; the default frame if not given."""
    carrier = mechanism.frame(frame)
    return with_frame(
        mechanism, "tool", carrier.link, carrier.T_link_frame @ _as_transform(T_frame_tool, "T_frame_tool")
    )


def with_payload(
    mechanism: Mechanism,
    mass: float,
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    frame: str | None = None,
) -> Mechanism:
    """Add a rigid payload at a frame.

    Args:
        mechanism: the mechanism.
        mass: kg.
        center_of_mass: in the frame, (3,), m.
        inertia: tensor about the payload's centre of mass in the frame's axes, (3, 3), kg·m²; a point mass if None.
        frame: frame that carries the payload; the default frame if not given.
    """
    if not np.isfinite(mass) or mass < 0:
        raise ModelError(f"the payload's mass must be finite and at least 0 kg, got {mass}")
    carrier = mechanism.frame(frame)
    load = inertial.parameters(
        float(mass), _as_array(center_of_mass, (3,), "center_of_mass"), _as_array(inertia, (3, 3), "inertia")
    )
    if wrong := inertial.problems(load):
        raise ModelError(
            f"no body is like this: {wrong[0]}",
            element="payload",
            remedy="Give its inertia about its centre of mass, in kg·m²",
        )
    number = mechanism.link_number(carrier.link)
    links = list(mechanism.links)
    total = links[number].inertia + inertial.moved(load, carrier.T_link_frame)
    links[number] = replace(links[number], inertia=total, inertia_given=True)
    return rebuilt(mechanism, links=links)


def with_inertia(mechanism: Mechanism, parameters: Mapping[str, object]) -> Mechanism:
    """Replace the ten inertial parameters of the given links."""
    for name in parameters:
        mechanism.link_number(name)
    links = [
        replace(link, inertia=_as_array(parameters[link.name], (10,), f"link {link.name}"), inertia_given=True)
        if link.name in parameters
        else link
        for link in mechanism.links
    ]
    return rebuilt(mechanism, links=links)


def with_gravity(mechanism: Mechanism, gravity: ArrayLike) -> Mechanism:
    """Replace the gravity vector, the acceleration of free fall in world axes, m/s²."""
    return rebuilt(mechanism, gravity=_as_array(gravity, (3,), "gravity"))


def scaled(mechanism: Mechanism, length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """Scale all lengths by `length` and all masses by `mass`, inertias accordingly; drives and gravity stay."""
    for quantity, factor in (("length", length), ("mass", mass)):
        if not (np.isfinite(factor) and factor > 0):
            raise ModelError(f"the {quantity} scale must be a positive number, got {factor}")
    factors = mass * np.array([1.0] + [length] * 3 + [length**2] * 6)

    def at(T):
        return transform(T[:3, :3], length * T[:3, 3])

    return rebuilt(
        mechanism,
        links=[replace(link, inertia=factors * link.inertia) for link in mechanism.links],
        joints=[
            replace(
                joint,
                type=joint.type.scaled(length),
                T_parent_joint=at(joint.T_parent_joint),
                T_joint_child=at(joint.T_joint_child),
                limits=_scale_limits(joint, length),
                spring=_scale_spring(joint, length),
                mimic=_scale_mimic(mechanism, joint, length),
            )
            for joint in mechanism.joints
        ],
        frames=[replace(frame, T_link_frame=at(frame.T_link_frame)) for frame in mechanism.frames],
        reference=_scale_reference(mechanism, length),
        extras=() if length != 1.0 else mechanism.extras,
        notes=mechanism.notes + ((_NO_SHAPES,) if length != 1.0 and mechanism.extras else ()),
    )


def _prefix_extra(extra: Extra, prefix: str) -> Extra:
    return replace(extra, link=extra.link and prefix + extra.link, joint=extra.joint and prefix + extra.joint)


def _lock(joint: Joint, q) -> Joint:
    return replace(
        joint,
        type=Fixed(),
        T_parent_joint=joint.T_parent_joint @ joint.type.motion(q),
        limits=Limits(),
        drive=None,
        mimic=None,
        spring=None,
    )


def _subtree_names(mechanism: Mechanism, link: str) -> list[str]:
    return [mechanism.link_names[i] for i in mechanism.tree.subtree(mechanism.link_number(link))]


def _restrict(mechanism: Mechanism, names: list[str]) -> Mechanism:
    """Keep only the named links, which must be connected."""
    kept = set(names)
    joints = [joint for joint in mechanism.joints if joint.child in kept and joint.parent in kept]
    moving = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in moving:
            raise ModelError(
                f"it mimics joint {joint.mimic.joint!r}, which would be cut off",
                element=f"joint {joint.name}",
                remedy="Fix one of the two first",
            )
    keep = [k for joint in joints if joint.mimic is None for k in _indices(mechanism.v_slices[joint.name])]
    transmission = None if mechanism.transmission is None else mechanism.transmission[np.ix_(keep, keep)]
    whole = [loop for loop in mechanism.loops if kept.issuperset(mechanism.loop_links(loop))]
    opened = tuple(f"{loop.label}: opened, one end was cut off" for loop in mechanism.loops if loop not in whole)
    return rebuilt(
        mechanism,
        links=[link for link in mechanism.links if link.name in kept],
        joints=joints,
        frames=[frame for frame in mechanism.frames if frame.link in kept],
        transmission=transmission,
        loops=whole,
        extras=[x for x in mechanism.extras if x.link in {"", *kept} and x.joint in {"", *moving}],
        notes=mechanism.notes + opened,
    )


def _indices(part: slice) -> range:
    return range(part.start, part.stop)


def _join_driving(mechanism: Mechanism, other: Mechanism, prefix: str):
    """Motors and reference of two joined mechanisms; where one names no motors, all its joints are driven."""
    carried, mounted = driving(mechanism, mechanism.joint_names), driving(other, other.joint_names, prefix)
    motors = references = None
    if carried[0] is not None or mounted[0] is not None:
        motors = mechanism.joint_names if carried[0] is None else carried[0]
        motors += tuple(prefix + name for name in other.joint_names) if mounted[0] is None else mounted[0]
    if carried[1] is not None or mounted[1] is not None:
        references = (carried[1] or {}) | (mounted[1] or {})
    return motors, references


def _join_transmissions(mechanism: Mechanism, other: Mechanism, mount: Joint):
    """Block-diagonal transmission matrix in the joint order of the joined mechanism."""
    if mechanism.transmission is None and other.transmission is None:
        return None
    carried = mechanism.tree.subtree(mechanism.link_number(mount.parent))[-1]
    before = sum(joint.type.n_v for joint in mechanism.joints[:carried] if joint.mimic is None)
    N, inner = mechanism.transmission_matrix, other.transmission_matrix
    n = mount.type.n_v + other.n_v
    total = np.eye(mechanism.n_v + n)
    old = [*range(before), *range(before + n, mechanism.n_v + n)]
    new = range(before + mount.type.n_v, before + n)
    total[np.ix_(old, old)] = N
    total[np.ix_(new, new)] = inner
    return total


def _scale_limits(joint: Joint, length: float) -> Limits:
    # Only lengths scale. Angle limits stay, and so do their velocity and effort limits.
    if len(joint.type.units) != joint.type.n_q:
        return joint.limits
    factors = np.array([length if unit == "m" else 1.0 for unit in joint.type.units])
    return Limits(
        joint.limits.lower * factors,
        joint.limits.upper * factors,
        joint.limits.velocity * factors,
        joint.limits.effort,
    )


def _scale_spring(joint: Joint, length: float) -> Spring | None:
    if joint.spring is None or len(joint.type.units) != joint.type.n_q:
        return joint.spring
    factors = np.array([length if unit == "m" else 1.0 for unit in joint.type.units])
    return replace(joint.spring, rest=joint.spring.rest * factors)


def _scale_reference(mechanism: Mechanism, length: float) -> dict[str, object] | None:
    if mechanism.reference is None:
        return None
    scaled = {}
    for name, value in mechanism.unpack(mechanism.reference).items():
        units = mechanism.joint(name).type.units
        scales = [length if unit == "m" else 1.0 for unit in units]
        scaled[name] = value * np.array(scales) if len(units) == np.size(value) else value
    return scaled


def _scale_mimic(mechanism: Mechanism, joint: Joint, length: float):
    if joint.mimic is None:
        return None
    scale, leader_scale = (
        length if coupled.type.units == ("m",) else 1.0 for coupled in (joint, mechanism.joint(joint.mimic.joint))
    )
    return replace(
        joint.mimic, multiplier=joint.mimic.multiplier * scale / leader_scale, offset=joint.mimic.offset * scale
    )


def _as_transform(T, name: str) -> np.ndarray:
    if T is None:
        return np.eye(4)
    T = _as_array(T, (4, 4), name)
    if not is_transform(T, ROTATION_TOLERANCE):
        raise ModelError(
            "must be a rigid transform", element=name, remedy="The rotation must be orthonormal, det +1"
        )
    return T


def _as_array(value, shape: tuple[int, ...], name: str) -> np.ndarray:
    try:
        array = np.zeros(shape) if value is None else real_array(value)
    except (TypeError, ValueError):
        raise ShapeError("must be an array of real numbers", element=name) from None
    if array.shape != shape:
        raise ShapeError(f"must have shape {shape}, got {array.shape}", element=name)
    if not np.isfinite(array).all():
        raise ModelError("must be finite", element=name)
    return array

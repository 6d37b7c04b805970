"""Joints of a URDF: type and axes, limits, drive, mimic relation."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..errors import ModelError
from ..mechanism import JOINT_TYPES, Drive, Joint, JointType, Limits, Mimic
from ..mechanism.joints import unit_axis
from .near_exact import snapped_axis
from .urdf_reading import Reading, number, numbers, where
from .urdf_transmissions import Gear
from .xml import Element

JOINT_KINDS = {"floating" if kind == "free" else kind: kind for kind in JOINT_TYPES}
"""Joint kinds by URDF's names of joint types."""
DEFAULT_AXIS = "1 0 0"
UNLIMITED = 1e300
"""Smallest value of a limit that stands for no limit."""


def axis_tag(parameter: str) -> str:
    """Return the element that holds an axis of a joint type (`axis`, `normal`, `first`, `second`)."""
    return "axis2" if parameter == "second" else "axis"


def read_joint(reading: Reading, element: Element, gears: dict[str, Gear]) -> Joint:
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


def _joint_type(reading: Reading, element: Element, kind: str, owner: str) -> tuple[JointType, list[str]]:
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


def _axis(reading: Reading, element: Element, tag: str, owner: str) -> np.ndarray:
    axis = element.only(tag, owner) or Element(tag, {"xyz": DEFAULT_AXIS} if tag == "axis" else {}, element.line)
    given = numbers(axis, "xyz", owner, counts=(3,))
    try:
        unit = unit_axis(given)
    except ModelError as error:
        raise error.located(element=where(axis, "xyz", owner)) from None
    length = float(np.linalg.norm(given))
    if abs(length - 1.0) > 1e-3:
        reading.note(f"{tag} of length {length:.4g}, scaled to 1", owner)
    return unit


def _limits(reading: Reading, element: Element, joint_type: JointType, owner: str) -> Limits:
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
        values[name] = np.where(abs(given) >= UNLIMITED, unlimited, given)
    if bounded:
        _complete(reading, values, owner)
    return Limits(**values)


def _complete(reading: Reading, values: dict, owner: str):
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
    reading: Reading, element: Element, joint_type: JointType, owner: str, gear: Gear | None
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


def _mimic(reading: Reading, element: Element, joint_type: JointType, owner: str) -> Mimic | None:
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

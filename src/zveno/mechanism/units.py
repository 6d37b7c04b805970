"""Units of coordinates, and names of velocities."""

from __future__ import annotations

from .mechanism import Mechanism
from .parts import Joint


def joint_units(joint: Joint) -> tuple[str, ...]:
    """Unit of every coordinate of a joint: "rad", "m", or "" for the parts of a quaternion."""
    if joint.type.n_q == joint.type.n_v:
        return joint.type.units
    return ("m",) * (joint.type.n_q - 4) + ("",) * 4


def coordinate_units(mechanism: Mechanism) -> tuple[str, ...]:
    """Unit of every coordinate of q, as in `joint_units`."""
    return tuple(unit for name in mechanism.joint_names for unit in joint_units(mechanism.joint(name)))


def velocity_units(mechanism: Mechanism) -> tuple[str, ...]:
    """Units of v, a second: "rad" or "m", in the order of velocities."""
    return tuple(unit for name in mechanism.joint_names for unit in mechanism.joint(name).type.units)


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every velocity: the coordinate's, or the joint's with vx … wz where a quaternion turns it."""
    names: list[str] = []
    for joint in (mechanism.joint(name) for name in mechanism.joint_names):
        if joint.type.n_q == joint.type.n_v:
            names += mechanism.coordinate_names[mechanism.q_slices[joint.name]]
        else:
            names += [f"{joint.name}.{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")[-joint.type.n_v :]]
    return tuple(names)


def with_unit(name: str, unit: str) -> str:
    """The header of a column: `joint1 (rad)`."""
    return f"{name} ({unit})" if unit else name

"""Units of coordinates, and names of velocities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ShapeError
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
    """Units of v without "per second": "rad" or "m", in the order of velocities."""
    return tuple(unit for name in mechanism.joint_names for unit in mechanism.joint(name).type.units)


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of the velocities: coordinate names, or the joint's name with vx … wz for joints with a quaternion."""
    names: list[str] = []
    for joint in (mechanism.joint(name) for name in mechanism.joint_names):
        if joint.type.n_q == joint.type.n_v:
            names += mechanism.coordinate_names[mechanism.q_slices[joint.name]]
        else:
            names += [f"{joint.name}.{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")[-joint.type.n_v :]]
    return tuple(names)


def with_unit(name: str, unit: str) -> str:
    """Column header with a unit: `joint1 (rad)`."""
    return f"{name} ({unit})" if unit else name


def by_name(mechanism: Mechanism, array: Any) -> Any:
    """The columns of a DataFrame, or the entries of a series, in the order of q or v; anything else as it is.

    Raises:
        ShapeError: its names are not those of the mechanism; a position alone would not say which joint is meant.
    """
    names = getattr(array, "columns", getattr(array, "index", None) if hasattr(array, "iloc") else None)
    if names is None:
        return array
    given = [str(name) for name in names]
    known = mechanism.coordinate_names, velocity_names(mechanism), mechanism.joint_names
    for wanted in known:
        if sorted(given) == sorted(wanted):
            order = [given.index(name) for name in wanted]
            values = array.to_numpy()
            return np.ascontiguousarray(values[..., order])
    raise ShapeError(
        f"its columns are {', '.join(given)}",
        element="table",
        remedy=f"Name them {', '.join(known[0])}, or give an array in this order: .to_numpy()",
    )

"""Joint values from the words of a command line."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import ModelError, ShapeError, unknown_name
from ..io.text import Place, quantity
from ..io.units import Units
from ..mechanism import Mechanism
from ..mechanism.joints import QUATERNION_TOLERANCE
from ..mechanism.units import coordinate_units


def parsed_q(mechanism: Mechanism, words: Sequence[str], degrees: bool = False) -> np.ndarray:
    """q (n_q,) from numbers in order, or from `name=value` pairs with the other joints at neutral.

    A joint with several coordinates takes `name=1,0,0,0`, or its coordinates by name: `base.x=0.3`. Nothing at all
    is the neutral configuration. Quaternions are normalised, and refused if they are not nearly of unit length.
    """
    named = [word for word in words if "=" in word]
    if named and len(named) < len(words):
        mixed = next(word for word in words if "=" not in word)
        raise ShapeError(
            f"{mixed!r} stands among name=value pairs", element="q", remedy="Give numbers only, or pairs only"
        )
    units = coordinate_units(mechanism)
    if named:
        q = _from_pairs(mechanism, named, units, degrees)
    elif words:
        by_place = units if len(words) == len(units) else [""] * len(words)
        values = [number(word, "q", unit, degrees) for word, unit in zip(words, by_place, strict=True)]
        q = mechanism.checked_q(values)
    else:
        q = mechanism.neutral()
    _check_quaternions(mechanism, q)
    return mechanism.normalized(q)


def outside_limits(mechanism: Mechanism, q: np.ndarray) -> list[str]:
    """Names of the coordinates that are outside their limits."""
    slack = 1e-9
    outside = (q < mechanism.lower - slack) | (q > mechanism.upper + slack)
    return [name for name, is_outside in zip(mechanism.coordinate_names, outside, strict=True) if is_outside]


def _from_pairs(mechanism: Mechanism, pairs: Sequence[str], units: Sequence[str], degrees: bool) -> np.ndarray:
    q = mechanism.neutral()
    coordinates = {name: slice(k, k + 1) for k, name in enumerate(mechanism.coordinate_names)}
    places = coordinates | {name: mechanism.q_slices[name] for name in mechanism.joint_names}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        if name not in places:
            raise unknown_name("joint with coordinates", name, mechanism.joint_names)
        words, own = value.split(","), places[name]
        if len(words) != own.stop - own.start:
            raise ShapeError(
                f"{len(words)} number(s) given for {own.stop - own.start} coordinate(s)",
                element=name,
                remedy="Order: " + ", ".join(mechanism.coordinate_names[own]),
            )
        q[own] = [number(word, name, unit, degrees) for word, unit in zip(words, units[own], strict=True)]
    return q


def number(word: str, element: str, unit: str = "", degrees: bool = False) -> float:
    """A finite number in SI units from a word of the command line; a typographic minus will do.

    Args:
        word: a number; where there is a unit also "20deg", "0.3rad", "pi/2", "450mm" or "0.2m".
        element: what it stands for, for error messages.
        unit: "rad" or "m" where the number has one, else "".
        degrees: whether angles without a unit are in degrees.
    """
    dimension = {"rad": "angle", "m": "length"}.get(unit)
    try:
        value = float(word.replace("−", "-"))
    except ValueError:
        value = _quantity(word, element, dimension, degrees)
    else:
        value = math.radians(value) if degrees and dimension == "angle" else value
    if not math.isfinite(value):
        raise ShapeError(f"{word} is not a finite number", element=element, remedy="Give a number")
    return value


def _quantity(word: str, element: str, dimension: str | None, degrees: bool) -> float:
    try:
        if dimension is not None:
            return quantity(word, dimension, Units(angle="deg" if degrees else "rad"), Place(element=element))
    except ModelError as error:
        why = f" ({error.problem})" if word.strip() else ""
        raise ShapeError(
            f"{word!r} is not a number{why}", element=element, remedy="Write 0.5, -1e-3, 20deg, pi/2 or name=0.5"
        ) from None
    raise ShapeError(f"{word!r} is not a number", element=element, remedy="Write 0.5, -1e-3 or name=0.5") from None


def _coordinate_joints(mechanism: Mechanism):
    return [mechanism.joint(name) for name in mechanism.joint_names]


def _check_quaternions(mechanism: Mechanism, q: np.ndarray):
    for joint in _coordinate_joints(mechanism):
        error = float(joint.type.quaternion_error(q[mechanism.q_slices[joint.name]]))
        if error > QUATERNION_TOLERANCE:
            raise ShapeError(
                f"its quaternion (wxyz) has a norm that is off 1 by {error:.2g}",
                element=f"joint {joint.name}",
                remedy="Give a unit quaternion, for example 1,0,0,0",
            )

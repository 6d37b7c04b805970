"""Parsing of joint values from command line arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ModelError, ShapeError, unknown_name
from ..io.expressions import Place, Units, quantity
from ..mechanism import Mechanism
from ..mechanism.joints import QUATERNION_TOLERANCE
from ..mechanism.units import coordinate_units, velocity_names, velocity_units


def parsed_q(mechanism: Mechanism, words: Sequence[str], degrees: bool = False) -> np.ndarray:
    """Parse q (n_q,) from numbers in order, or from `name=value` pairs with the other joints at neutral.

    A joint with several coordinates takes `name=1,0,0,0`, or its coordinates by name: `base.x=0.3`. Without
    arguments, q is neutral. Quaternions are normalised, and rejected if they are not nearly of unit length.
    """
    names, units = mechanism.coordinate_names, coordinate_units(mechanism)
    if _are_pairs(words, "q"):
        places = _one_by_one(names) | {name: mechanism.q_slices[name] for name in mechanism.joint_names}
        q = mechanism.neutral()
        _set_pairs(q, words, places, names, units, degrees, "joint with coordinates", mechanism.joint_names)
    elif words:
        by_place = units if len(words) == len(units) else [""] * len(words)
        q = mechanism.checked_q(
            [number(word, "q", unit, degrees) for word, unit in zip(words, by_place, strict=True)]
        )
    else:
        q = mechanism.neutral()
    _check_quaternions(mechanism, q)
    return mechanism.normalized(q)


def parsed_velocities(mechanism: Mechanism, words: Sequence[str], label: str, degrees: bool = False) -> np.ndarray:
    """Parse velocities, accelerations or torques ("tau"), (n_v,), in order or as pairs with zero for the others."""
    names, values = velocity_names(mechanism), np.zeros(mechanism.n_v)
    units = [""] * mechanism.n_v if label == "tau" else velocity_units(mechanism)
    if _are_pairs(words, label):
        _set_pairs(values, words, _one_by_one(names), names, units, degrees, "velocity", names)
    elif words:
        if len(words) != mechanism.n_v:
            raise ShapeError(
                f"{len(words)} numbers given where {mechanism.name} has {mechanism.n_v} velocities",
                element=label,
                remedy="Order: " + (", ".join(names) or "none"),
            )
        values[:] = [number(word, label, unit, degrees) for word, unit in zip(words, units, strict=True)]
    return values


def parsed_limits(
    mechanism: Mechanism, words: Sequence[str], degrees: bool = False
) -> dict[str, tuple[float, float]]:
    """Parse limits of joints with one coordinate from `name=lower,upper` words."""
    units = dict(zip(mechanism.coordinate_names, coordinate_units(mechanism), strict=True))
    limits = {}
    for word in words:
        name, _, text = word.rpartition("=")
        pair = text.split(",")
        if name not in units:
            raise unknown_name("coordinate", name or word, list(units))
        if len(pair) != 2:
            raise ShapeError(f"{word!r} is not a range", element="--limits", remedy=f"Write {name}=-0.5,0.5")
        lower, upper = (number(part, name, units[name], degrees) for part in pair)
        if lower > upper:
            raise ShapeError(f"{lower:g} … {upper:g} is empty", element=name, remedy="Give lower,upper")
        limits[name] = lower, upper
    return limits


def parsed_wrenches(mechanism: Mechanism, words: Sequence[str]) -> dict[str, np.ndarray]:
    """Parse wrenches on frames, (6,) each: force and moment in world axes, from `frame=fx,fy,fz[,mx,my,mz]`."""
    wrenches: dict[str, np.ndarray] = {}
    for word in words:
        frame, _, text = word.rpartition("=")
        numbers = text.split(",")
        if frame not in mechanism.frame_names:
            raise unknown_name("frame", frame or word, mechanism.frame_names)
        if len(numbers) not in (3, 6):
            raise ShapeError(
                f"{len(numbers)} numbers given",
                element=f"--wrench {frame}",
                remedy="Give fx,fy,fz or also mx,my,mz",
            )
        values = np.zeros(6)
        values[: len(numbers)] = [number(part, f"--wrench {frame}") for part in numbers]
        wrenches[frame] = wrenches.get(frame, np.zeros(6)) + values
    return wrenches


def outside_limits(mechanism: Mechanism, q: np.ndarray) -> list[str]:
    """Names of the coordinates outside their limits."""
    slack = 1e-9
    outside = (q < mechanism.lower - slack) | (q > mechanism.upper + slack)
    return [name for name, is_outside in zip(mechanism.coordinate_names, outside, strict=True) if is_outside]


def _are_pairs(words: Sequence[str], label: str) -> bool:
    """Return True if arguments are name=value pairs; raise if only some of them are."""
    single = [word for word in words if "=" not in word]
    if single and len(single) < len(words):
        raise ShapeError(
            f"{single[0]!r} stands among name=value pairs", element=label, remedy="Give numbers only, or pairs only"
        )
    return bool(words) and not single


def _one_by_one(names: Sequence[str]) -> dict[str, slice]:
    return {name: slice(k, k + 1) for k, name in enumerate(names)}


def _set_pairs(
    values: np.ndarray,
    pairs: Sequence[str],
    places: Mapping[str, slice],
    names: Sequence[str],
    units: Sequence[str],
    degrees: bool,
    kind: str,
    known: Sequence[str],
) -> None:
    """Write name=value pairs into `values` with `names` and `units`; an unknown name is reported as `kind`."""
    taken: dict[int, str] = {}
    for pair in pairs:
        name, _, text = pair.rpartition("=")
        if name not in places:
            raise unknown_name(kind, name, known)
        words, place = text.split(","), places[name]
        for k in range(place.start, place.stop):
            if k in taken:
                raise ShapeError(f"{names[k]} is given twice", element=name, remedy="Give every value once")
            taken[k] = name
        if len(words) != place.stop - place.start:
            raise ShapeError(
                f"{len(words)} number(s) given for {place.stop - place.start} coordinate(s)",
                element=name,
                remedy="Order: " + ", ".join(names[place]),
            )
        values[place] = [number(word, name, unit, degrees) for word, unit in zip(words, units[place], strict=True)]


def number(word: str, element: str, unit: str = "", degrees: bool = False) -> float:
    """Parse a finite number in SI units; a typographic minus is allowed.

    Args:
        word: a number; with a unit also "20deg", "0.3rad", "pi/2", "450mm" or "0.2m".
        element: name of the value in error messages.
        unit: "rad" or "m" if the number has a unit, else "".
        degrees: True if angles without a unit are in degrees.
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


def _check_quaternions(mechanism: Mechanism, q: np.ndarray):
    for joint in map(mechanism.joint, mechanism.joint_names):
        error = float(joint.type.quaternion_error(q[mechanism.q_slices[joint.name]]))
        if error > QUATERNION_TOLERANCE:
            raise ShapeError(
                f"its quaternion (wxyz) must have unit length, but its norm differs from 1 by {error:.2g}",
                element=f"joint {joint.name}",
                remedy="Give a unit quaternion, for example 1,0,0,0",
            )

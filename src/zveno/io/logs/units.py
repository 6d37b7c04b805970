"""Units of logs: factors to SI units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import ModelError
from ..units import nearest_of

DEGREE = np.pi / 180.0
_TURN = 2.0 * np.pi
_BY_KIND = {
    "time": {"s": 1.0, "sec": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "µs": 1e-6, "usec": 1e-6, "ns": 1e-9}
    | {"nsec": 1e-9},
    "angle": {"rad": 1.0, "mrad": 1e-3, "deg": DEGREE, "rev": _TURN, "turns": _TURN}
    | {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": DEGREE, "rpm": _TURN / 60.0, "rev/s": _TURN},
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254, "m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2},
    "torque": {"nm": 1.0, "n*m": 1.0, "n·m": 1.0, "n.m": 1.0, "mnm": 1e-3, "nmm": 1e-3, "ncm": 1e-2, "knm": 1e3},
    "force": {"n": 1.0, "kn": 1e3},
    "current": {"a": 1.0, "ma": 1e-3},
}
_IN_WORDS = (
    {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    | {"deg": "degrees", "rev": "turns", "mrad": "milliradians", "mm": "millimetres", "cm": "centimetres"}
    | {"um": "micrometres", "in": "inches", "nm": "N·m", "mnm": "mN·m", "ncm": "N·cm", "knm": "kN·m"}
    | {"n": "N", "kn": "kN", "a": "A", "ma": "mA"}
)
"""Names of units in messages; others keep their names."""
UNITS = {name: (kind, factor) for kind, units in _BY_KIND.items() for name, factor in units.items()}
"""Units in lower case: their quantity, and their factor to SI units."""
RATES = frozenset(unit for unit in UNITS if unit.endswith("/s")) | {"rpm"}
"""Units of velocities only."""
SUITABLE: dict[str, tuple[str, ...]] = {
    "time": ("time",),
    "position": ("angle", "length"),
    "velocity": ("angle", "length"),
    "torque": ("torque", "force"),
    "current": ("current",),
}
"""Quantities that a role may have."""
UnitsOf = Mapping[str, "str | float | Sequence[str]"]
"""Argument: units by role, as names, factors to SI units, or one name for turning and one for sliding joints."""


def checked_units(units: UnitsOf | None) -> dict[str, tuple[str, ...] | float]:
    """Return units by role, with known names that suit the role."""
    checked: dict[str, tuple[str, ...] | float] = {}
    for role, said in (units or {}).items():
        if role not in SUITABLE:
            raise ModelError(f"{role!r} has no unit", element="units", remedy=nearest_of(role, SUITABLE))
        if isinstance(said, (int, float)):
            if not np.isfinite(said) or said == 0.0:
                raise ModelError(f"{said} is not a factor", element=f"units, {role}", remedy="Give a finite number")
            checked[role] = float(said)
            continue
        names = (said,) if isinstance(said, str) else tuple(said)
        for name in names:
            key = str(name).lower()
            if key not in UNITS or UNITS[key][0] not in SUITABLE[role] or (key in RATES and role != "velocity"):
                fitting = [unit for unit, (what, _) in UNITS.items() if what in SUITABLE[role]]
                raise ModelError(
                    f"{name!r} is not a unit of a {role}", element="units", remedy=nearest_of(name, fitting)
                )
        checked[role] = tuple(str(name).lower() for name in names)
    return checked


def unit_factor(role: str, slides: bool, *said: str | float | Sequence[str] | None) -> float:
    """Return the factor to SI units of the first given unit that suits role and joint; 1 without one.

    Args:
        role: time, position, velocity, torque or current.
        slides: True for a prismatic joint: metres and newtons.
        said: names of units or factors, most important first; None or "" if not given.
    """
    for each in said:
        if isinstance(each, (int, float)):
            return float(each)
        for name in (each,) if isinstance(each, str) else each or ():
            what, factor = UNITS.get(name, ("", 1.0))
            if what in SUITABLE[role] and (what not in ("angle", "length") or slides == (what == "length")):
                return factor
    return 1.0


def unit_words(factor: float, slides: bool, role: str) -> str:
    """Return the name of a factor to SI units: "degrees", "milliseconds", "rpm"; "× 0.5" for an unknown unit."""
    rate = role == "velocity"
    for name, (what, known) in UNITS.items():
        fitting = what in SUITABLE[role] and (what not in ("angle", "length") or slides == (what == "length"))
        if fitting and known == factor and (rate or name not in RATES):
            word = _IN_WORDS.get(name, name)
            return f"{word} a second" if rate and name not in RATES else word
    return f"× {factor:.6g}"


def time_factor(first: float) -> float:
    """Return seconds per unit of a clock without a unit: stamps since 1970 are recognized by size, others are s."""
    for least, factor in ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3)):
        if first >= least:
            return factor
    return 1.0

"""Units of logs, and conversion of drive data to the joints: gears, couplings, current gains, encoder offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ModelError, ShapeError
from ...mechanism import Mechanism
from ..expressions import nearest_of

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
                fitting = [unit for unit, (quantity, _) in UNITS.items() if quantity in SUITABLE[role]]
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
            quantity, factor = UNITS.get(name, ("", 1.0))
            if quantity in SUITABLE[role] and (
                quantity not in ("angle", "length") or slides == (quantity == "length")
            ):
                return factor
    return 1.0


def unit_words(factor: float, slides: bool, role: str) -> str:
    """Return the name of a factor to SI units: "degrees", "milliseconds", "rpm"; "× 0.5" for an unknown unit."""
    rate = role == "velocity"
    for name, (quantity, known) in UNITS.items():
        fitting = quantity in SUITABLE[role] and (
            quantity not in ("angle", "length") or slides == (quantity == "length")
        )
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


PerJoint = "float | Sequence[float] | Mapping[str, float]"
SIDES = ("joint", "motor")


@dataclass(frozen=True, eq=False)
class JointSide:
    """Conversion of recorded columns to those of the joints.

    Motor velocities are N q̇, so that q = N⁻¹ q_motor + offsets and, by the power, τ = Nᵀ (gains · recorded).

    Attributes:
        to_joint: N⁻¹ (n, n), or None where joints were recorded.
        torque: Nᵀ diag(gains) (n, n), or the gains (n,).
        offsets: (n,) added to positions, rad and m.
    """

    to_joint: np.ndarray | None
    torque: np.ndarray
    offsets: np.ndarray

    def position(self, q: np.ndarray) -> np.ndarray:
        """Return (m, n) positions of the joints."""
        q = self.velocity(q)
        return q + self.offsets if self.offsets.any() else q

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Return (m, n) velocities of the joints."""
        return v if self.to_joint is None else _applied(self.to_joint, v)

    def torques(self, recorded: np.ndarray) -> np.ndarray:
        """Return (m, n) torques of the joints from recorded torques or currents."""
        if self.torque.ndim == 2:
            return _applied(self.torque, recorded)
        return recorded if (self.torque == 1.0).all() else recorded * self.torque


def _applied(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return x Aᵀ with NaN for overflow; a NaN affects only the values that depend on it."""
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.zeros_like(x)
        for i, k in zip(*np.nonzero(A), strict=True):
            y[:, i] += A[i, k] * x[:, k]
    return y


def joint_side(
    mechanism: Mechanism,
    joint_names: Sequence[str],
    side: str,
    gains: object = None,
    offsets: object = None,
    gears: object = None,
) -> JointSide:
    """Return the conversion of the recorded columns to those of the joints.

    Args:
        mechanism: its transmission is used.
        joint_names: joints of the columns.
        side: "joint" or "motor": where positions, velocities and torques were recorded.
        gains: torque per recorded value, on that side: N·m/A for currents.
        offsets: added to positions of the joints, rad and m.
        gears: velocity of a motor over that of its joint, where the mechanism has no transmission.
    """
    if side not in SIDES:
        raise ModelError(f"there is no side {side!r}", element="side", remedy=nearest_of(side, SIDES))
    factors = per_joint(gains, joint_names, "gains", 1.0)
    added = per_joint(offsets, joint_names, "offsets", 0.0)
    if gears is not None and side == "joint":
        raise ModelError(
            "are given for a recording at the joints",
            element="gears",
            remedy="Say side='motor' (--side motor) if motors were recorded",
        )
    if side == "joint":
        return JointSide(None, factors, added)
    at = [mechanism.v_slices[name].start for name in joint_names]
    N = mechanism.transmission_matrix
    inside = N[np.ix_(at, at)]
    outside = np.delete(N[at], at, axis=1)
    if np.any(outside) or np.any(np.delete(N[:, at], at, axis=0)):
        raise ModelError(
            "the transmission couples recorded joints with others that are not",
            element=mechanism.name,
            remedy="Record all of them, or give the recording at the joints",
        )
    plain = np.array_equal(inside, np.eye(len(at)))
    if gears is not None:
        ratios = per_joint(gears, joint_names, "gears", 1.0)
        if not plain or not ratios.all():
            raise ModelError(
                "are zero" if plain else f"are given, and {mechanism.name} has a transmission of its own",
                element="gears",
                remedy="Give motor turns per joint turn" if plain else "Leave them out",
            )
        inside = np.diag(ratios)
    elif plain:
        raise ModelError(
            "has no gear ratios, so that motors and joints turn alike",
            element=mechanism.name,
            remedy="Give gears=… (--gears), or the model its gear ratios (in a URDF a transmission with "
            "mechanicalReduction), or say side='joint'",
        )
    if np.linalg.matrix_rank(inside) < len(at):
        raise ModelError(
            "its transmission is singular",
            element=mechanism.name,
            remedy='Correct the matrix, or record joint positions (side="joint")',
        )
    return JointSide(np.linalg.inv(inside), inside.T * factors, added)


def per_joint(value: object, joint_names: Sequence[str], word: str, default: float) -> np.ndarray:
    """Return (n,) from a scalar for all joints, one value per joint, or values by name; others get the default."""
    n = len(joint_names)
    if value is None:
        return np.full(n, default)
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in joint_names]
        if unknown:
            raise ModelError(
                f"no joint {unknown[0]!r} was recorded", element=word, remedy=nearest_of(unknown[0], joint_names)
            )
        value = [value.get(name, default) for name in joint_names]
    try:
        numbers = np.array(value, dtype=float)
        numbers = np.broadcast_to(numbers, (n,)).copy()
    except (TypeError, ValueError):
        raise ShapeError(
            f"{word} are {str(value)[:80]}", remedy=f"Give one number, or one for each of {', '.join(joint_names)}"
        ) from None
    if not np.isfinite(numbers).all():
        raise ShapeError(f"{word} are not finite", remedy="Give finite numbers")
    return numbers

"""Conversion of drive data to the joints: gears and couplings, current gains, encoder offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ModelError, ShapeError
from ...mechanism import Mechanism
from ..units import nearest_of

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
        raise ModelError("its transmission is singular", element=mechanism.name)
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

"""Placements from MuJoCo's compiled numbers: rounding removed, angles meant to be exact found."""

from __future__ import annotations

import math

import numpy as np

from ..mechanism.joints import unit_axis
from ..spatial import rotations
from ..spatial.angles import REPORT_TOLERANCE, is_near_exact, snapped
from ..spatial.transforms import transform
from .near_exact import MOST_NOTES, snapped_axis

_ROUNDING = 4 * np.finfo(float).eps
_COMPILED = 1e-13
"""What the compiler's quaternions can add to an angle, rad."""


class AngleKeeper:
    """Makes placements and axes, and remembers (with `snap`: corrects) those near a multiple of 15°."""

    def __init__(self, snap: bool):
        self.snap = snap
        self._near: list[tuple[str, str]] = []

    def placement(self, position, quaternion, what: str) -> np.ndarray:
        """(4, 4) transform from a position (3,) and a quaternion wxyz (4,); `what` names it in notes."""
        return transform(self.rotation(quaternion, what), tidy_vector(position))

    def rotation(self, quaternion, what: str) -> np.ndarray:
        """(3, 3) rotation of a quaternion wxyz."""
        R = tidy_rotation(rotations.from_quaternion(quaternion))
        read = _angles(R)
        meant = [snapped(angle, REPORT_TOLERANCE) for angle in read]
        exact = rotations.from_rpy(meant)
        if np.linalg.norm(rotations.log(R.T @ exact)) <= _COMPILED:
            return R
        self._near.append((what, f"roll, pitch, yaw {_degrees(read)} near {_degrees(meant)}"))
        return exact if self.snap else R

    def axis(self, axis, what: str) -> np.ndarray:
        """(3,) unit axis."""
        read = unit_axis(tidy_vector(axis))
        meant, words = snapped_axis(read)
        self._near.extend((what, word) for word in words)
        return meant if self.snap else read

    def angle(self, angle: float, what: str) -> float:
        """An angle that stands by itself, rad."""
        if not is_near_exact(angle):
            return angle
        meant = snapped(angle, REPORT_TOLERANCE)
        self._near.append((what, f"angle {_degrees([angle])} near {_degrees([meant])}"))
        return meant if self.snap else angle

    def notes(self) -> list[str]:
        """What was snapped, or what could be."""
        action = "made exact" if self.snap else "kept (snap=True makes it exact)"
        if len(self._near) > MOST_NOTES and not self.snap:
            names = list(dict.fromkeys(what for what, _ in self._near))
            return [f"near-exact angles or axes {action} at {len(names)} places: " + ", ".join(names)]
        return [f"near-exact, {action}: {what}, {words}" for what, words in self._near]


def _degrees(angles) -> str:
    return ", ".join(f"{math.degrees(angle) + 0.0:.9g}°" for angle in angles)


def tidy_rotation(R) -> np.ndarray:
    """The rotation with entries that are 0 or ±1 but for rounding made exactly so."""
    whole = np.round(R)
    return np.where(abs(R - whole) <= _ROUNDING, whole, R) + 0.0


def tidy_vector(vector) -> np.ndarray:
    """The vector with components that are rounding beside its largest one made exactly zero."""
    vector = np.array(vector, dtype=float)
    vector[abs(vector) <= _ROUNDING * abs(vector).max()] = 0.0
    return vector


def _angles(R) -> np.ndarray:
    """Roll, pitch and yaw; with the pitch near ±90° the roll, which is then the yaw's, is set to zero."""
    rpy = rotations.to_rpy(R)
    if abs(abs(rpy[1]) - math.pi / 2) <= REPORT_TOLERANCE:
        rpy[0], rpy[2] = 0.0, math.atan2(-R[0, 1], R[1, 1])
    return rpy

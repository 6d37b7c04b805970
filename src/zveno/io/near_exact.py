"""Rounded values of a model file that are nearly exact: rpy="1.5708 0 0", rounded quaternions."""

from __future__ import annotations

import math

import numpy as np

from ..mechanism.joints import unit_axis
from ..spatial import rotations
from ..spatial.angles import REPORT_TOLERANCE, is_near_exact, nearest_multiple, off_exact, snapped
from ..spatial.transforms import transform

SNAP_ON_REQUEST = REPORT_TOLERANCE
"""Largest change of angles and axes by readers with `snap=True`, rad: that of reported ones."""
_ROUNDING = 1e-15
_COMPONENT = 4 * np.finfo(float).eps
"""Largest rounding error of a component that is 0 or ±1."""
_COMPILED = 1e-13
"""Largest angle error of quaternions computed by a model compiler, rad."""


def snapped_rpy(rpy: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return roll, pitch and yaw at the nearby multiples of 15°, and texts about them."""
    words = [
        f"{name} {angle!r} is {off_exact(angle):.1e} rad from {_degrees([nearest_multiple(angle)])}"
        for name, angle in zip(("roll", "pitch", "yaw"), rpy, strict=True)
        if is_near_exact(angle)
    ]
    return np.array([snapped(angle, SNAP_ON_REQUEST) if is_near_exact(angle) else angle for angle in rpy]), words


def snapped_axis(axis: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return a unit axis moved to the nearby multiple of 15° in a coordinate plane, and texts about it."""
    across = int(np.argmin(abs(axis)))
    a, b = [k for k in range(3) if k != across]
    angle = nearest_multiple(math.atan2(axis[b], axis[a]))
    meant = np.zeros(3)
    meant[a], meant[b] = rotations.cos_sin(angle)
    off = float(np.linalg.norm(axis - meant))
    if not _ROUNDING < off <= SNAP_ON_REQUEST:
        return np.asarray(axis), []
    named = " ".join(f"{x:.6g}" for x in meant)
    return meant, [f"axis ({', '.join(f'{x:.9g}' for x in axis)}) is {off:.1e} rad from ({named})"]


def near_exact_notes(near: dict[str, list[str]], snap: bool) -> list[str]:
    """Return one note, or none, on near-exact angles by place ("joint elbow"), which were kept or snapped."""
    if not near:
        return []
    first, words = next(iter(near.items()))
    if len(near) == 1:
        text = "; ".join(words)
        kept = f"near-exact angle kept at {first} (snap=True makes it exact)"
        return [f"{f'snapped at {first}' if snap else kept}: {text}"]
    done = "snapped" if snap else "kept (snap=True makes them exact)"
    places = f"near-exact angles or axes at {len(near)} places were {done}: {', '.join(near)}"
    return [f"{places}; for example at {first}, {words[0]}"]


class AngleKeeper:
    """Builder of placements and axes that records (with `snap`: corrects) those near a multiple of 15°."""

    def __init__(self, snap: bool):
        self.snap = snap
        self._near: dict[str, list[str]] = {}

    def placement(self, position: np.ndarray, quaternion: np.ndarray, label: str) -> np.ndarray:
        """Return the (4, 4) transform of a position (3,) and a quaternion wxyz (4,); `what` names it in notes."""
        return transform(self.rotation(quaternion, label), tidy_vector(position))

    def rotation(self, quaternion: np.ndarray, label: str) -> np.ndarray:
        """Return the (3, 3) rotation of a quaternion wxyz."""
        R = tidy_rotation(rotations.from_quaternion(quaternion))
        read = _angles(R)
        meant = [snapped(angle, REPORT_TOLERANCE) for angle in read]
        exact = rotations.from_rpy(meant)
        if np.linalg.norm(rotations.log(R.T @ exact)) <= _COMPILED:
            return R
        self._remember(label, [f"roll, pitch, yaw {_degrees(read)} near {_degrees(meant)}"])
        return exact if self.snap else R

    def axis(self, axis: np.ndarray, label: str) -> np.ndarray:
        """Return the (3,) unit axis."""
        read = unit_axis(tidy_vector(axis))
        meant, words = snapped_axis(read)
        self._remember(label, words)
        return meant if self.snap else read

    def angle(self, angle: float, label: str) -> float:
        """Return a single angle, rad."""
        if not is_near_exact(angle):
            return angle
        meant = snapped(angle, REPORT_TOLERANCE)
        self._remember(label, [f"angle {_degrees([angle])} near {_degrees([meant])}"])
        return meant if self.snap else angle

    def notes(self) -> list[str]:
        """Return notes on the angles that were snapped, or could be."""
        return near_exact_notes(self._near, self.snap)

    def _remember(self, label: str, words: list[str]):
        if words:
            self._near.setdefault(label, []).extend(words)


def _degrees(angles) -> str:
    return ", ".join(f"{math.degrees(angle) + 0.0:.9g}°" for angle in angles)


def tidy_rotation(R: np.ndarray) -> np.ndarray:
    """Return the rotation with entries within rounding of 0 or ±1 made exact."""
    whole = np.round(R)
    return np.where(abs(R - whole) <= _COMPONENT, whole, R) + 0.0


def tidy_vector(vector: np.ndarray) -> np.ndarray:
    """Return the vector with components that are rounding beside its largest one set to zero."""
    vector = np.array(vector, dtype=float)
    vector[abs(vector) <= _COMPONENT * abs(vector).max()] = 0.0
    return vector


def _angles(R) -> np.ndarray:
    """Return roll, pitch and yaw; for a pitch near ±90° the roll, which is then redundant, is zero."""
    rpy = rotations.to_rpy(R)
    if abs(abs(rpy[1]) - math.pi / 2) <= REPORT_TOLERANCE:
        rpy[0], rpy[2] = 0.0, math.atan2(-R[0, 1], R[1, 1])
    return rpy

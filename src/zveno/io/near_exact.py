"""Angles and axes of a model file that were probably meant to be exact, such as rpy="1.5708 0 0"."""

from __future__ import annotations

import math

import numpy as np

from ..spatial.angles import REPORT_TOLERANCE, is_near_exact, nearest_multiple, snapped
from ..spatial.rotations import cos_sin

SNAP_ON_REQUEST = REPORT_TOLERANCE
"""With `snap=True`, readers move angles and axes by at most this, rad: what they would have reported."""
MOST_NOTES = 10
"""Near-exact angles of more joints than this are put into one note."""
_ROUNDING = 1e-15


def snapped_rpy(rpy) -> tuple[np.ndarray, list[str]]:
    """Roll, pitch and yaw at the multiples of 15° they are near to, and what is near in words."""
    words = [
        f"{name} {angle!r} is {abs(angle - nearest_multiple(angle)):.1e} rad from {_degrees(angle)}°"
        for name, angle in zip(("roll", "pitch", "yaw"), rpy, strict=True)
        if is_near_exact(angle)
    ]
    return np.array([snapped(angle, SNAP_ON_REQUEST) if is_near_exact(angle) else angle for angle in rpy]), words


def snapped_axis(axis) -> tuple[np.ndarray, list[str]]:
    """A unit axis moved into the coordinate plane, to the multiple of 15° there, that it is near to; and words."""
    across = int(np.argmin(abs(axis)))
    a, b = [k for k in range(3) if k != across]
    angle = nearest_multiple(math.atan2(axis[b], axis[a]))
    meant = np.zeros(3)
    meant[a], meant[b] = cos_sin(angle)
    off = float(np.linalg.norm(axis - meant))
    if not _ROUNDING < off <= SNAP_ON_REQUEST:
        return np.asarray(axis), []
    named = " ".join(f"{x:.6g}" for x in meant)
    return meant, [f"axis ({', '.join(f'{x:.9g}' for x in axis)}) is {off:.1e} rad from ({named})"]


def near_exact_notes(near: dict[str, list[str]], snap: bool) -> list[str]:
    """Notes for a mechanism from the near-exact angles by joint name: what was snapped, or what could be."""
    if snap:
        return [f"snapped at joint {name}: {'; '.join(words)}" for name, words in near.items()]
    if len(near) > MOST_NOTES:
        return [
            f"near-exact angles or axes at {len(near)} joints were kept as they are (snap=True makes them exact): "
            + ", ".join(near)
        ]
    return [
        f"near-exact angle kept at joint {name} (snap=True makes it exact): {'; '.join(words)}"
        for name, words in near.items()
    ]


def _degrees(angle: float) -> int:
    return round(math.degrees(nearest_multiple(angle)))

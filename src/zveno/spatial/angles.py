"""Angles that were meant to be exact: 1.5708 for 90°, and what to do about them."""

from __future__ import annotations

import math

STEP = math.pi / 12
"""Angles meant to be exact are taken to be multiples of 15°."""
SNAP_TOLERANCE = 1e-5
"""Readers of tables typed by hand snap within this, rad."""
REPORT_TOLERANCE = 1e-4
"""Readers of other files report angles within this of a multiple of 15°, rad."""
_ROUNDING = 1e-15


def nearest_multiple(angle: float) -> float:
    """The multiple of 15° nearest to `angle`, as the double nearest to it."""
    return round(angle / STEP) * math.pi / 12


def off_exact(angle: float) -> float:
    """How far `angle` is from the nearest multiple of 15°, rad; zero where the difference is rounding."""
    distance = abs(angle - nearest_multiple(angle))
    return 0.0 if distance <= _ROUNDING * max(1.0, abs(angle)) else distance


def is_near_exact(angle: float, tolerance: float = REPORT_TOLERANCE) -> bool:
    """Whether `angle` is near a multiple of 15° without being one."""
    return 0.0 < off_exact(angle) <= tolerance


def snapped(angle: float, tolerance: float = SNAP_TOLERANCE) -> float:
    """The multiple of 15° meant, if there is one within `tolerance`; otherwise the angle itself."""
    return nearest_multiple(angle) if off_exact(angle) <= tolerance else angle

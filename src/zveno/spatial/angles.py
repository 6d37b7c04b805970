"""Detection and correction of rounded angles, such as 1.5708 for 90°."""

from __future__ import annotations

import math

STEP = math.pi / 12
"""Spacing of the angles that count as exact: 15°."""
SNAP_TOLERANCE = 1e-5
"""Tolerance for snapping angles of hand-typed tables, rad."""
REPORT_TOLERANCE = 1e-4
"""Tolerance for reporting angles near a multiple of 15° in other files, rad."""
_ROUNDING = 1e-15


def nearest_multiple(angle: float) -> float:
    """Return the multiple of 15° nearest to `angle`, rounded to a double."""
    return round(angle / STEP) * math.pi / 12


def off_exact(angle: float) -> float:
    """Distance of `angle` from the nearest multiple of 15°, rad; zero if the difference is rounding."""
    distance = abs(angle - nearest_multiple(angle))
    return 0.0 if distance <= _ROUNDING * max(1.0, abs(angle)) else distance


def is_near_exact(angle: float, tolerance: float = REPORT_TOLERANCE) -> bool:
    """Return True if `angle` is near a multiple of 15° without being one."""
    return 0.0 < off_exact(angle) <= tolerance


def snapped(angle: float, tolerance: float = SNAP_TOLERANCE) -> float:
    """Return the multiple of 15° within `tolerance`, or the angle itself if there is none."""
    return nearest_multiple(angle) if off_exact(angle) <= tolerance else angle

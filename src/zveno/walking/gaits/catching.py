"""Balance recovery: admissible footholds, and the contribution of the pressure in the soles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..feet import Foot
from ..support import stability_margin, support_polygon

SOLES_APART = 0.02
"""Smallest distance between the soles of two feet, m."""
BESIDE = 1e-6
"""Distance across, m, below which feet do not stand side by side."""


def widest(feet: Sequence[Foot], attitudes: np.ndarray, ahead: np.ndarray) -> float:
    """Return the width of the widest sole across a heading (2, 2), m."""
    across = [(foot.points @ R.T)[:, :2] @ ahead[:, 1] for foot, R in zip(feet, attitudes, strict=True)]
    return max(float(np.ptp(one)) for one in across)


def allowed(
    by: np.ndarray, way: np.ndarray, ahead: np.ndarray, limits: tuple[float, float, float], width: float
) -> np.ndarray:
    """Clip a foothold change (2,) along and across a heading (2, 2) to (along, outwards, inwards).

    `way` (2,) is the vector from the standing feet to the foothold; soles of that width stay `SOLES_APART`.
    """
    along, outwards, inwards = limits
    by, beside = by @ ahead, float(way @ ahead[:, 1])
    if abs(beside) < BESIDE:
        return ahead @ np.clip(by, -along, along)
    inwards = min(inwards, abs(beside) - width - SOLES_APART)
    low, high = (-inwards, outwards) if beside > 0 else (-outwards, inwards)
    return ahead @ np.array([np.clip(by[0], -along, along), np.clip(by[1], low, high)])


def left_over(beyond: np.ndarray, growth: float, pose: np.ndarray, extents: tuple[Any, Any]) -> float:
    """Return the error (2,) of ξ that remains at the end of a step with the best pressure in a sole, m.

    Pressure at p instead of the foot's origin takes (growth − 1) p from ξ there.
    """
    most = growth - 1.0
    local = beyond @ pose[:2, :2]
    return float(np.linalg.norm(local - most * np.clip(local / most, *extents)))


def beyond_all(feet: Sequence[Foot], poses: np.ndarray, place: np.ndarray) -> bool:
    """Return True if a point (2,) is outside the support of all feet, where no pressure brings ξ back."""
    soles = [(foot.points @ T[:3, :3].T + T[:3, 3])[:, :2] for foot, T in zip(feet, poses, strict=True)]
    return bool(stability_margin(support_polygon(np.concatenate(soles)), place) < 0.0)


def reachable(
    pressure: np.ndarray, standing: np.ndarray, feet: Sequence[Foot], poses: np.ndarray, extents: Sequence[Any]
) -> np.ndarray:
    """Return the nearest point (2,) that the standing feet can press on, if they are one sole or two points."""
    which = [k for k, stands in enumerate(standing.tolist()) if stands]
    if len(which) == 1 and not feet[which[0]].is_point:
        (a, b, _, x), (c, d, _, y), *_ = poses[which[0]].tolist()
        dx, dy = pressure[0] - x, pressure[1] - y
        low, high = extents[which[0]]
        along = min(max(a * dx + c * dy, low[0]), high[0])
        across = min(max(b * dx + d * dy, low[1]), high[1])
        return np.array([x + a * along + b * across, y + c * along + d * across])
    if len(which) == 2 and feet[which[0]].is_point:
        a, b = poses[which, :2, 3]
        return a + (b - a) * min(max((pressure - a) @ (b - a) / ((b - a) @ (b - a)), 0.0), 1.0)
    return pressure

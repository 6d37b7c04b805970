"""What feet can still make up for: where footholds may go, and what pressure in the soles adds to that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..feet import Foot
from ..support import stability_margin, support_polygon

SOLES_APART = 0.02
"""m, between the soles of two feet at least."""
BESIDE = 1e-6
"""m; feet whose distance across is less do not stand side by side."""


def room_between(feet: Sequence[Foot], distance: float) -> float:
    """How far a foot may come nearer to one beside it at a distance, m."""
    width = max(float(np.ptp(foot.points[:, 1])) for foot in feet)
    return max(abs(distance) - width - SOLES_APART, 0.0)


def allowed(by: np.ndarray, beside: float, limits: tuple[float, float, float]) -> np.ndarray:
    """A change (2,) of a foothold cut at (along, outwards, inwards); `beside`: how far left of the other it is."""
    along, outwards, inwards = limits
    if abs(beside) < BESIDE:
        return np.clip(by, -along, along)
    low, high = (-inwards, outwards) if beside > 0 else (-outwards, inwards)
    return np.array([np.clip(by[0], -along, along), np.clip(by[1], low, high)])


def left_over(beyond: np.ndarray, growth: float, pose: np.ndarray, extents: tuple[Any, Any]) -> float:
    """What is left of an error (2,) of ξ at the end of a step by the best pressure in a sole, m.

    Pressure at p instead of the foot's origin takes (growth − 1) p from ξ there.
    """
    most = growth - 1.0
    local = beyond @ pose[:2, :2]
    return float(np.linalg.norm(local - most * np.clip(local / most, *extents)))


def beyond_all(feet: Sequence[Foot], poses: np.ndarray, place: np.ndarray) -> bool:
    """Whether a place (2,) is outside the support of all feet, where no pressure brings ξ back."""
    soles = [(foot.points @ T[:3, :3].T + T[:3, 3])[:, :2] for foot, T in zip(feet, poses, strict=True)]
    return bool(stability_margin(support_polygon(np.concatenate(soles)), place) < 0.0)


def reachable(
    pressure: np.ndarray, standing: np.ndarray, feet: Sequence[Foot], poses: np.ndarray, extents: Sequence[Any]
) -> np.ndarray:
    """The nearest point (2,) that the standing feet can press on, if they are one sole or two points."""
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

"""Recognition of the closed form that fits an arm of six revolute joints, by the geometry of its axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .axis_geometry import across, axes, meeting_point, parallel
from .revolute_arms import REGIONAL, spherical_wrist, three_parallel


def fitting(links: np.ndarray) -> tuple[Any, ...] | None:
    """Return name, function and options of the form that fits links (6, 4, 4), and axes h, a, e; or None."""
    h, a = axes(links)
    fit = _fitting(h, a)
    if fit is None:
        return None
    name, function, options, a = fit
    return name, function, options, h, a, np.array([across(axis) for axis in h])


def _fitting(h, a) -> tuple[str, Callable, tuple[tuple[str, str], ...], np.ndarray] | None:
    """Return name, function, options, and points on the axes; axes that meet share one point."""
    wrist = meeting_point([3, 4, 5], h, a)
    if wrist is not None and not parallel(h[3], h[4]) and not parallel(h[4], h[5]):
        a = np.concatenate([a[:3], [wrist] * 3])
        for name in REGIONAL:
            points = _regional(name, h, a)
            if points is not None:
                return f"spherical wrist, {name}", spherical_wrist, (("regional", name),), points
    meeting = meeting_point([4, 5], h, a)
    alongside = [parallel(h[i], h[i + 1]) for i in range(5)]
    if meeting is not None and alongside == [False, True, True, False, False]:
        return "three parallel axes", three_parallel, (), np.concatenate([a[:4], [meeting] * 2])
    return None


def _regional(name: str, h, a):
    """Return points on the axes if the first three fit a regional structure, None if not."""
    i, j = (0, 1) if name.startswith("first") else (1, 2)
    if name.endswith("parallel"):
        other = 2 if i == 0 else 0
        return a if parallel(h[i], h[j]) and not parallel(h[i], h[other]) else None
    point = meeting_point([i, j], h, a)
    if point is None or parallel(h[i], h[j]):
        return None
    a = a.copy()
    a[i] = a[j] = point
    return a

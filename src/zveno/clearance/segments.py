"""Shortest distance between two segments without branches, for arrays and traced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.ops import less_equal, maximum, minimum, sqrt, where

PARALLEL = 1e-12
"""Squared sine below which segments count as parallel; the first end of one is then used."""
NO_LENGTH = 1e-300
"""Minimum squared length, which avoids division by zero for points."""


def segment_distance(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """Shortest distance between segments a0–a1 and b0–b1, (...,) for points (..., 3)."""
    a, b = closest_points(a0, a1, b0, b1)
    return sqrt(_dot(a - b, a - b))


def closest_points(a0: Any, a1: Any, b0: Any, b1: Any) -> tuple[Any, Any]:
    """Closest points of the segments a0–a1 and b0–b1, (..., 3) each."""
    s, t = closest_shares(a0, a1, b0, b1)
    return a0 + np.expand_dims(s, -1) * (a1 - a0), b0 + np.expand_dims(t, -1) * (b1 - b0)


def closest_shares(a0: Any, a1: Any, b0: Any, b1: Any) -> tuple[Any, Any]:
    """Parameters s, t in [0, 1], (...), of the closest points of the segments a0–a1 and b0–b1."""
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    uw, vw = _dot(u, w), _dot(v, w)
    determinant = uu * vv - uv * uv
    parallel = less_equal(determinant, PARALLEL * uu * vv)
    s = where(parallel, 0.0, _within((uv * vw - vv * uw) / where(parallel, 1.0, determinant)))
    # The best t for this s, then the best s for the clamped t: sufficient, since the distance is convex in (s, t).
    t = _within((uv * s + vw) / maximum(vv, NO_LENGTH))
    return _within((uv * t - uw) / maximum(uu, NO_LENGTH)), t


def _within(share: Any) -> Any:
    return minimum(maximum(share, 0.0), 1.0)


def _dot(a: Any, b: Any) -> Any:
    return (a * b).sum(-1)

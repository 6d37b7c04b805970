"""Kinds of measurement, one small class each."""

from __future__ import annotations

from ...errors import ZvenoError, unknown_name
from .base import Measurement as Measurement
from .directions import AxisDirection as AxisDirection
from .points import Distance as Distance
from .points import FixedPoint as FixedPoint
from .points import Plane as Plane
from .points import Position as Position
from .points import RelativePosition as RelativePosition
from .points import Sockets as Sockets
from .poses import Camera as Camera
from .poses import Pose as Pose
from .poses import RelativePose as RelativePose

KINDS: dict[str, type[Measurement]] = {
    cls.kind: cls
    for cls in (
        Pose,
        RelativePose,
        Position,
        RelativePosition,
        Distance,
        Plane,
        FixedPoint,
        Sockets,
        AxisDirection,
        Camera,
    )
}
"""Every kind by name."""


def measurement(kind: str | Measurement) -> Measurement:
    """A measurement, or the one of that name with its standard options."""
    if isinstance(kind, Measurement):
        return kind
    if not isinstance(kind, str):
        raise ZvenoError(f"{kind!r} is not a measurement", remedy=f"Give one of {', '.join(KINDS)}")
    if kind not in KINDS:
        raise unknown_name("kind of measurement", kind, KINDS)
    return KINDS[kind]()

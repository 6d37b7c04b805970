"""Kinds of measurement, data sets of them, and their rows.

`KINDS` has every kind by name. Each is a class in a file of `kinds`, beside its variants. All are imported here,
so that a new one is found without registration.
"""

from __future__ import annotations

import importlib
import pkgutil

from ...errors import ZvenoError, unknown_name
from . import kinds
from .base import KINDS as KINDS
from .base import Measurement as Measurement
from .kinds.ball_bar import BallBar as BallBar
from .kinds.direction import AxisDirection as AxisDirection
from .kinds.direction import Tilt as Tilt
from .kinds.distance import Distance as Distance
from .kinds.fixed_point import FixedPoint as FixedPoint
from .kinds.fixed_point import SelfTouch as SelfTouch
from .kinds.fixed_point import Sockets as Sockets
from .kinds.line import Line as Line
from .kinds.pixels import Pixels as Pixels
from .kinds.plane import Plane as Plane
from .kinds.pose import Camera as Camera
from .kinds.pose import Pose as Pose
from .kinds.pose import RelativePose as RelativePose
from .kinds.position import Position as Position
from .kinds.position import RelativePosition as RelativePosition

for _module in pkgutil.iter_modules(kinds.__path__):
    importlib.import_module(f"{kinds.__name__}.{_module.name}")


def measurement(kind: str | Measurement) -> Measurement:
    """Return a measurement, or the one of that name with its standard options."""
    if isinstance(kind, Measurement):
        return kind
    if not isinstance(kind, str):
        raise ZvenoError(f"{kind!r} is not a measurement", remedy=f"Give one of {', '.join(KINDS)}")
    if kind not in KINDS:
        raise unknown_name("kind of measurement", kind, KINDS)
    return KINDS[kind]()

"""Checks of the arguments of walks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ShapeError, ZvenoError
from ..mechanism import Mechanism


def check_number(value: Any, name: str, remedy: str, above: float = -math.inf, least: float = -math.inf) -> None:
    """Raise an error unless the value is a finite number > `above` and ≥ `least`."""
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool | complex)
    if not (real and math.isfinite(value) and value > above and value >= least):
        raise ZvenoError(f"is {value!r}", element=name, remedy=remedy)


def check_count(value: Any, name: str, least: int) -> None:
    """Raise an error unless the value is an integer ≥ `least`."""
    if not (isinstance(value, int | np.integer) and value >= least):
        raise ZvenoError(f"is {value!r}", element=name, remedy=f"Give a whole number, {least} or more")


def check_friction(value: Any) -> None:
    """Raise an error unless the value is a coefficient of friction."""
    check_number(value, "friction", "Give the coefficient of the feet on the ground, above 0", above=0.0)


def checked_stride(stride: Any) -> np.ndarray:
    """Return x and y, (2,), m."""
    try:
        step = np.asarray(stride, dtype=float)
    except (TypeError, ValueError):
        step = np.zeros(0)
    if step.shape != (2,) or not np.isfinite(step).all():
        raise ShapeError(f"is {stride!r}", element="stride", remedy="Give x and y in metres")
    return step


def checked_start(mechanism: Mechanism, start: Any) -> np.ndarray:
    """Return q (n_q,) of a standing robot."""
    q = mechanism.checked_q(start, "q0")
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ShapeError("is not one finite configuration", element="q0", remedy="Give q of shape (n_q,)")
    return q

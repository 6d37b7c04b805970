"""Limits of position, velocity and acceleration as users give them, one number per velocity."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from ...mechanism import Mechanism
from ...mechanism.unit_quaternions import ball_angle, limited_balls
from ..ik_problem import given_limits
from .tasks import plain_velocities


def coordinate_limits(mechanism: Mechanism, limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return (lower, upper) of q, (n_q,), infinite where there is none; of ball joints see `limited_balls`."""
    if limits is False:
        return np.full(mechanism.n_q, -np.inf), np.full(mechanism.n_q, np.inf)
    low, high = (own.copy() for own in _own_limits(mechanism))
    if limits is True:
        return low, high
    plain = list(plain_velocities(mechanism).values())
    below, above = given_limits(mechanism, limits)
    low[plain], high[plain] = np.maximum(low, below)[plain], np.minimum(high, above)[plain]
    for i in np.flatnonzero(low > high):
        raise ZvenoError(
            f"its limits are empty: {low[i]:g} > {high[i]:g}",
            element=f"joint {mechanism.coordinate_names[i]}",
            remedy="Give a lower limit that is not above the upper one, inside the model's limits",
        )
    return low, high


@lru_cache(maxsize=64)
def _own_limits(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return the model's limits of q."""
    return mechanism.lower, mechanism.upper


def position_limits(mechanism: Mechanism, limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return (lower, upper) of the coordinates behind velocities, (n_v,)."""
    of_q = coordinate_limits(mechanism, limits)
    low, high = np.full(mechanism.n_v, -np.inf), np.full(mechanism.n_v, np.inf)
    for i, place in plain_velocities(mechanism).items():
        low[i], high[i] = of_q[0][place], of_q[1][place]
    return low, high


def velocity_limits(mechanism: Mechanism, velocity: Any) -> np.ndarray:
    """Return the largest velocities (n_v,)."""
    if velocity is False:
        return np.full(mechanism.n_v, np.inf)
    if velocity is not True:
        return _positive(mechanism, velocity, "velocity")
    return model_velocities(mechanism)


def model_velocities(mechanism: Mechanism) -> np.ndarray:
    """Return the largest velocities (n_v,) at which every joint, also a mimic joint, keeps the model's limit."""
    velocity = np.full(mechanism.n_v, np.inf)
    for joint in mechanism.joints:
        if joint.type.n_v:
            leader, factor = (
                (joint.name, 1.0) if joint.mimic is None else (joint.mimic.joint, joint.mimic.multiplier)
            )
            own = mechanism.v_slices[leader]
            if factor:
                velocity[own] = np.minimum(velocity[own], np.ravel(joint.limits.velocity) / abs(factor))
    return velocity


def limits_kept(mechanism: Mechanism, limits: Any, q: np.ndarray, slack: float = 1e-9) -> np.ndarray:
    """Return True (...) if configurations (..., n_q) keep all limits, of balls too unless limits is False."""
    low, high = coordinate_limits(mechanism, limits)
    kept = ((q >= low - slack) & (q <= high + slack)).all(axis=-1)
    for place, most in () if limits is False else limited_balls(mechanism):
        kept &= ball_angle(q[..., place]) <= most + slack
    return np.asarray(kept)


def acceleration_limits(mechanism: Mechanism, acceleration: Any) -> np.ndarray:
    """Return the largest accelerations (n_v,)."""
    if acceleration is None:
        return np.full(mechanism.n_v, np.inf)
    return _positive(mechanism, acceleration, "acceleration")


def _positive(mechanism: Mechanism, values: Any, name: str) -> np.ndarray:
    try:
        array = np.broadcast_to(np.asarray(values, dtype=float), (mechanism.n_v,)).copy()
    except (TypeError, ValueError):
        raise ShapeError(
            f"{values!r} is not one number or {mechanism.n_v} of them", element=name, remedy="Give positive numbers"
        ) from None
    if not (array > 0).all():
        raise ZvenoError("must be positive", element=name, remedy="Give numbers above 0; inf for no limit")
    return array

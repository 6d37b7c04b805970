"""What a motion must keep to: ranges, velocities, accelerations, jerks and torques of every moving joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError, unknown_name
from ...io.results import registered
from ...mechanism import Mechanism
from ...mechanism.joints.joint_type import finite_range
from ...robot_functions import RobotFunctions
from ..candidates import joint_ranges

Bound = ArrayLike | Mapping[str, float] | None
"""Argument: a limit for all joints, one a joint, or by joint name where it differs from the model's."""

USUAL_VELOCITY = 1.0
"""rad/s or m/s where neither the model nor the user says more."""
FULL_SPEED_WITHIN = 0.25
"""s: accelerations without a limit reach the velocity limit in this time."""


@registered
@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of the moving joints, (n,) each; infinite where there is none.

    Attributes:
        lower, upper: of the coordinates, rad or m.
        velocity, acceleration, jerk: largest sizes, rad or m over s, s², s³.
        torque: largest size of the nominal torque, N·m or N, margin taken off.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    torque: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        """(n,) of the ranges."""
        return 0.5 * (self.lower + self.upper)

    def sizes(self, order: int) -> np.ndarray:
        """(n,) largest size of a derivative; for order 0 half the range, which is about `middle`."""
        return (0.5 * (self.upper - self.lower), self.velocity, self.acceleration, self.jerk)[order]


def motion_limits(
    robot: RobotFunctions,
    limits: Mapping[str, tuple[float, float]] | None,
    margin: float,
    velocity: Bound,
    acceleration: Bound,
    jerk: Bound,
    torque: Bound,
    torque_margin: float,
) -> tuple[MotionLimits, tuple[str, ...]]:
    """Limits of a robot whose coordinates are plain, and sentences about those that were assumed."""
    mechanism = robot.mechanism
    if not 0.0 <= torque_margin < 1.0:
        raise ZvenoError(
            f"a margin of {torque_margin} leaves no torque", element="torque_margin", remedy="Give a share below 1"
        )
    lower, upper = finite_range(*joint_ranges(robot, limits or {}, margin), np.pi)
    notes = []
    endless = [n for n in mechanism.coordinate_names if not _limited(mechanism, n) and n not in (limits or {})]
    if endless:
        notes.append(f"{', '.join(endless)}: no limits, kept within ±180° or ±1 m")
    v = bound_of(mechanism, velocity, model_limits(mechanism, "velocity"), "velocity")
    unknown = ~np.isfinite(v)
    if unknown.any():
        notes.append(f"{_named(mechanism, unknown)}: no velocity limit, {USUAL_VELOCITY:g} rad/s or m/s assumed")
        v = np.where(unknown, USUAL_VELOCITY, v)
    a = bound_of(mechanism, acceleration, np.full(mechanism.n_v, np.inf), "acceleration")
    unknown = ~np.isfinite(a)
    if unknown.any():
        notes.append(
            f"{_named(mechanism, unknown)}: no acceleration limit, full speed in {FULL_SPEED_WITHIN:g} s assumed"
        )
        a = np.where(unknown, v / FULL_SPEED_WITHIN, a)
    j = bound_of(mechanism, jerk, np.full(mechanism.n_v, np.inf), "jerk")
    tau = bound_of(mechanism, torque, model_limits(mechanism, "effort"), "torque")
    if not np.isfinite(tau).all():
        notes.append(f"{_named(mechanism, ~np.isfinite(tau))}: no torque limit, torques are not looked at")
    return MotionLimits(lower, upper, v, a, j, tau * (1.0 - torque_margin)), tuple(notes)


def bound_of(mechanism: Mechanism, given: Bound, usual: np.ndarray, what: str) -> np.ndarray:
    """(n_v,) a limit of all joints, as given or else as `usual`; `what` it is of, for errors."""
    if given is None:
        return usual
    bound = usual.copy()
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in mechanism.joint_names:
                raise unknown_name("joint", name, mechanism.joint_names)
            bound[mechanism.v_slices[name]] = value
    else:
        try:
            bound[:] = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError(
                f"does not fit {mechanism.n_v} joints", element=what, remedy="Give one number, or one a joint"
            ) from None
    if not (bound > 0.0).all():
        raise ZvenoError(
            f"the limit of {_named(mechanism, ~(bound > 0.0))} is not positive",
            element=what,
            remedy="Hold a joint that must not move with `hold`",
        )
    return bound


def model_limits(mechanism: Mechanism, name: str) -> np.ndarray:
    """(n_v,) limits of the model; infinite where there is none or a zero stands for none."""
    bound = np.full(mechanism.n_v, np.inf)
    for joint in mechanism.joints:
        if joint.mimic is None:
            bound[mechanism.v_slices[joint.name]] = getattr(joint.limits, name)
    return np.where(bound > 0.0, bound, np.inf)


def _limited(mechanism: Mechanism, coordinate: str) -> bool:
    k = mechanism.coordinate_names.index(coordinate)
    return bool(np.isfinite(mechanism.lower[k]) and np.isfinite(mechanism.upper[k]))


def _named(mechanism: Mechanism, which: np.ndarray) -> str:
    return ", ".join(name for name, chosen in zip(mechanism.coordinate_names, which, strict=True) if chosen)

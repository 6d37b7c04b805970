"""Motion limits: ranges, velocities, accelerations, jerks and torques of the moving joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .errors import ShapeError, ZvenoError, unknown_name
from .io.results import registered
from .mechanism import Mechanism
from .mechanism.joints.joint_type import finite_range
from .robot_functions import RobotFunctions
from .spatial.vectors import real_array

Bound = ArrayLike | Mapping[str, float] | None
"""Limit argument: one for all joints, one per joint, or by joint name where it differs from the model's."""

USUAL_VELOCITY = 1.0
"""Default velocity limit, rad/s or m/s, if neither the model nor the user gives one."""
MARGIN, TORQUE_MARGIN = 0.02, 0.1
"""Margins: shares of every range, at both ends, and of every torque limit that are kept free."""
FULL_SPEED_WITHIN = 0.25
"""Time, s, in which accelerations without a limit reach the velocity limit."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of a motion: each a number for all joints, one per joint, or by joint name.

    Attributes:
        velocity: rad/s or m/s; the model's if None, as for joints without a name.
        acceleration: rad/s² or m/s².
        jerk: rad/s³ or m/s³.
        torque: N·m or N; the model's if None.
    """

    velocity: Bound = None
    acceleration: Bound = None
    jerk: Bound = None
    torque: Bound = None


@registered
@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Limits of the moving joints as arrays, (n,) each; infinite where there is none.

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
        """Middle of the ranges, (n,)."""
        return 0.5 * (self.lower + self.upper)

    def sizes(self, order: int) -> np.ndarray:
        """Return the largest size (n,) of a derivative; for order 0 half the range, which is about `middle`."""
        return (0.5 * (self.upper - self.lower), self.velocity, self.acceleration, self.jerk)[order]


def joint_ranges(
    robot: RobotFunctions, limits: Mapping[str, tuple[float, float]], margin: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends of every coordinate, finite."""
    mechanism = robot.mechanism
    lower, upper = mechanism.lower.copy(), mechanism.upper.copy()
    for name in robot.joint_names:
        place = mechanism.q_slices[name]
        kind = mechanism.joint(name).type
        if kind.n_q == kind.n_v:  # quaternions are drawn, not ranged
            width = np.where([unit == "m" for unit in kind.units], 1.0, np.pi)
            lower[place] = np.where(np.isfinite(lower[place]), lower[place], -width)
            upper[place] = np.where(np.isfinite(upper[place]), upper[place], width)
    for name, ends in limits.items():
        if name not in robot.joint_names:
            raise unknown_name("joint", name, robot.joint_names)
        place = mechanism.q_slices[name]
        low, high = (float(x) for x in ends)
        bounded = np.isfinite(mechanism.lower[place]) & np.isfinite(mechanism.upper[place])
        lower[place] = np.where(bounded, np.maximum(lower[place], low), low)
        upper[place] = np.where(bounded, np.minimum(upper[place], high), high)
        if not np.all(lower[place] <= upper[place]):
            raise ZvenoError(
                f"nothing is left of its range between {low:g} and {high:g}",
                element=f"joint {name}",
                remedy=f"Its limits are {mechanism.lower[place][0]:g} … {mechanism.upper[place][0]:g}",
            )
    if not 0.0 <= margin < 0.5:
        raise ZvenoError(f"the margin is {margin}", remedy="Give a share of the range, 0 … 0.5")
    inside = margin * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    return lower + inside, upper - inside


def motion_bounds(
    robot: RobotFunctions, limits: Mapping[str, tuple[float, float]] | None, motion: MotionLimits
) -> tuple[MotionBounds, tuple[str, ...]]:
    """Return the limits of a robot with plain coordinates, and notes about those that were assumed."""
    mechanism = robot.mechanism
    lower, upper = finite_range(*joint_ranges(robot, limits or {}, MARGIN), np.pi)
    notes = []
    endless = [n for n in mechanism.coordinate_names if not _limited(mechanism, n) and n not in (limits or {})]
    if endless:
        notes.append(f"{', '.join(endless)}: no limits, kept within ±180° or ±1 m")
    v = bound_of(mechanism, motion.velocity, model_limits(mechanism, "velocity"), "velocity")
    unknown = ~np.isfinite(v)
    if unknown.any():
        notes.append(f"{_named(mechanism, unknown)}: no velocity limit, {USUAL_VELOCITY:g} rad/s or m/s assumed")
        v = np.where(unknown, USUAL_VELOCITY, v)
    a = bound_of(mechanism, motion.acceleration, np.full(mechanism.n_v, np.inf), "acceleration")
    unknown = ~np.isfinite(a)
    if unknown.any():
        notes.append(
            f"{_named(mechanism, unknown)}: no acceleration limit, full speed in {FULL_SPEED_WITHIN:g} s assumed"
        )
        a = np.where(unknown, v / FULL_SPEED_WITHIN, a)
    j = bound_of(mechanism, motion.jerk, np.full(mechanism.n_v, np.inf), "jerk")
    tau = bound_of(mechanism, motion.torque, model_limits(mechanism, "effort"), "torque")
    if not np.isfinite(tau).all():
        notes.append(f"{_named(mechanism, ~np.isfinite(tau))}: no torque limit, torques are not looked at")
    return MotionBounds(lower, upper, v, a, j, tau * (1.0 - TORQUE_MARGIN)), tuple(notes)


def bound_of(mechanism: Mechanism, given: Bound, usual: np.ndarray, quantity: str) -> np.ndarray:
    """Return a limit (n_v,) of all joints, as given or else as `usual`; `quantity` names it in errors."""
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
            bound[:] = real_array(given)
        except (TypeError, ValueError):
            raise ShapeError(
                f"does not fit {mechanism.n_v} joints", element=quantity, remedy="Give one number, or one per joint"
            ) from None
    if not (bound > 0.0).all():
        raise ZvenoError(
            f"the limit of {_named(mechanism, ~(bound > 0.0))} is not positive",
            element=quantity,
            remedy="Give positive numbers; a joint that must not move is named in `fixed`",
        )
    return bound


def model_limits(mechanism: Mechanism, name: str) -> np.ndarray:
    """Return the limits (n_v,) of the model; infinite where there is none or a zero stands for none."""
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

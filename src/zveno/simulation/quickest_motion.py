"""Minimum-time motion between two configurations under velocity, acceleration and jerk limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError, refuse_other
from ..io.results import hash_of
from ..mechanism import Mechanism
from ..mechanism.loops import for_trees
from ..mechanism.units import coordinate_units, velocity_units
from ..motion_limits import MotionLimits, bound_of, model_limits
from ..robot_functions import RobotFunctions
from .trajectory import Trajectory

ROUNDING = 1e-9
"""Excess over a range, rad or m, that counts as within."""
MAX_SAMPLES = 1_000_000
"""Largest number of samples of a path."""


@for_trees
def point_to_point(
    robot: RobotFunctions,
    q0: ArrayLike,
    q1: ArrayLike,
    motion: MotionLimits,
    *,
    straight: bool = False,
    rate: float = 1000.0,
) -> Trajectory:
    """Compute the minimum-time motion from rest at q0 to rest at q1; all joints start and end together.

    The slowest joint is always at a limit of its velocity, acceleration or jerk; the others move in the same way,
    slowed down to the same duration. Only these limits are kept; joints that begin or end outside their ranges are
    named in `notes`, and `robot.plot(motion.q)` shows the path.

    Args:
        robot: the robot.
        q0, q1: (n_q,).
        motion: limits. Models have no acceleration limit, so it must be given; torques cannot be limited.
        straight: True to keep the joints in proportion, so that q moves on a line; this may take longer.
        rate: minimum sampling rate, Hz.
    """
    mechanism = robot.mechanism
    refuse_other(motion, MotionLimits, "motion", "zveno.MotionLimits(acceleration=…)")
    q0, q1 = (_checked(mechanism, q, name) for q, name in ((q0, "q0"), (q1, "q1")))
    if not (np.isfinite(rate) and rate > 0.0):
        raise ZvenoError(f"is {rate}", element="rate", remedy="Give samples per second, above zero")
    distance = np.array(mechanism.difference(q0, q1), dtype=float)
    limits = _limits(mechanism, distance, motion)
    profiles = [quickest(*(limit[slice_].min() for limit in limits)) for slice_ in _together(mechanism, straight)]
    duration = max((profile.duration for profile in profiles), default=0.0)
    if duration * rate > MAX_SAMPLES:
        raise ZvenoError(
            f"a motion of {duration:.4g} s has more than {MAX_SAMPLES} samples",
            element="rate",
            remedy="Give a lower rate",
        )
    t = np.linspace(0.0, duration, max(2, int(np.ceil(duration * rate - 1e-9)) + 1))
    shares = np.empty((3, len(t), mechanism.n_v))
    for profile, slice_ in zip(profiles, _together(mechanism, straight), strict=True):
        shares[:, :, slice_] = profile.stretched(t, duration)[:, :, None]
    q = np.array([mechanism.integrate(q0, step) for step in shares[0] * distance])
    q[0], q[-1] = q0, q1  # to the last digit
    made = _trajectory(robot, t, q, shares[1] * distance, shares[2] * distance, motion)
    return replace(made, notes=_outside(mechanism, q0, "q0") + _outside(mechanism, q1, "q1"))


@dataclass(frozen=True)
class Profile:
    """Path of length 1 from rest to rest, in segments of constant jerk.

    Attributes:
        t: (8,) start times of the segments, and the end time, s.
        state: (7, 4) path share, its first two derivatives and its jerk at the start of each segment.
    """

    t: np.ndarray
    state: np.ndarray

    @property
    def duration(self) -> float:
        """s."""
        return float(self.t[-1])

    def stretched(self, t: np.ndarray, duration: float) -> np.ndarray:
        """Return path share and its two derivatives, (3, n), at times t of a motion slowed to `duration`."""
        slower = self.duration / duration if duration > 0.0 else 1.0
        if self.duration == 0.0:
            return np.zeros((3, len(t)))
        profile_time = np.minimum(t * slower, self.duration)
        piece = np.clip(np.searchsorted(self.t, profile_time, side="right") - 1, 0, 6)
        x, v, a, j = self.state[piece].T
        h = profile_time - self.t[piece]
        return np.stack(
            [
                x + h * (v + h * (a / 2.0 + h * j / 6.0)),
                slower * (v + h * (a + h * j / 2.0)),
                slower**2 * (a + h * j),
            ]
        )


def quickest(velocity: float, acceleration: float, jerk: float) -> Profile:
    """Compute the fastest profile of length 1 from rest to rest: the double S of Biagiotti and Melchiorri,
    Trajectory Planning for Automatic Machines and Robots (2008), section 3.4; the trapezoid for infinite jerk.

    Args:
        velocity, acceleration, jerk: limits as shares of the path per second (², ³); infinite velocity: no motion.
    """
    if np.isinf(velocity):
        return Profile(np.zeros(8), np.zeros((7, 4)))
    ramp = acceleration / jerk
    if velocity * jerk < acceleration**2:  # the velocity is reached before the acceleration
        ramp = np.sqrt(velocity / jerk)
    rise = max(2.0 * ramp, ramp + velocity / acceleration)
    cruise = 1.0 / velocity - rise
    if cruise < 0.0:  # the velocity is not reached
        cruise = 0.0
        ramp = min(acceleration / jerk, np.cbrt(0.5 / jerk))
        rise = max(2.0 * ramp, 0.5 * (ramp + np.sqrt(ramp**2 + 4.0 / acceleration)))
    peak = 1.0 / ((rise + cruise) * (rise - ramp))  # so that the length is 1 to the last digit
    steep = peak / ramp if ramp > 0.0 else 0.0
    pieces = np.array([ramp, rise - 2.0 * ramp, ramp, cruise, ramp, rise - 2.0 * ramp, ramp])
    begins = peak * np.array([0.0 if ramp > 0.0 else 1.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0])
    jerks = steep * np.array([1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0])
    state, x, v = [], 0.0, 0.0
    for h, a, j in zip(pieces, begins, jerks, strict=True):
        state.append((x, v, a, j))
        x += h * (v + h * (a / 2.0 + h * j / 6.0))
        v += h * (a + h * j / 2.0)
    return Profile(np.concatenate([[0.0], np.cumsum(pieces)]), np.array(state))


def _limits(
    mechanism: Mechanism, distance: np.ndarray, motion: MotionLimits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return velocity, acceleration and jerk limits as shares of a joint's path; infinite if it does not move."""
    if motion.torque is not None:
        raise ZvenoError(
            "motion.torque cannot be limited here",
            element="motion",
            remedy="Leave torque out; the torques of the motion are in `tau`",
        )
    endless = np.full(mechanism.n_v, np.inf)
    bounds = (
        bound_of(mechanism, motion.velocity, model_limits(mechanism, "velocity"), "velocity"),
        bound_of(mechanism, motion.acceleration, endless, "acceleration"),
        bound_of(mechanism, motion.jerk, endless, "jerk"),
    )
    moving = distance != 0.0
    for name, bound in zip(("velocity", "acceleration"), bounds, strict=False):
        missing = [
            joint
            for joint in mechanism.joint_names
            if np.any(moving[mechanism.v_slices[joint]] & ~np.isfinite(bound[mechanism.v_slices[joint]]))
        ]
        if missing:
            raise ZvenoError(
                f"there is no limit of {name} for {', '.join(missing)}",
                element=name,
                remedy=f"Give MotionLimits({name}=…), one number or one per joint",
            )
    with np.errstate(divide="ignore"):
        ways = [np.where(moving, bound / np.where(moving, abs(distance), 1.0), np.inf) for bound in bounds]
    return ways[0], ways[1], ways[2]


def _together(mechanism: Mechanism, straight: bool) -> list[slice]:
    """Return the velocities that stay in proportion: those of a joint, or all."""
    if straight:
        return [slice(0, mechanism.n_v)] if mechanism.n_v else []
    return [mechanism.v_slices[name] for name in mechanism.joint_names]


def _checked(mechanism: Mechanism, q: ArrayLike, name: str) -> np.ndarray:
    q = mechanism.checked_q(q)
    if q.ndim != 1:
        raise ShapeError(f"has shape {q.shape}", element=name, remedy=f"Give one configuration, ({mechanism.n_q},)")
    if not np.isfinite(q).all():
        raise ShapeError("is not finite", element=name, remedy="Give numbers")
    return np.array(mechanism.normalized(q), dtype=float)


def _outside(mechanism: Mechanism, q: np.ndarray, name: str) -> tuple[str, ...]:
    """Return a note about the coordinates of q (n_q,) outside their ranges: joints move from end to end."""
    outside = (q < mechanism.lower - ROUNDING) | (q > mechanism.upper + ROUNDING)
    names = [mechanism.coordinate_names[k] for k in np.flatnonzero(outside)]
    return (f"{name} is outside the range of {', '.join(names)}",) if names else ()


def _trajectory(
    robot: RobotFunctions, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, motion: MotionLimits
) -> Trajectory:
    mechanism, n = robot.mechanism, len(t)
    energy = robot.energy(q, v)
    kinetic, potential = np.asarray(energy[0]), np.asarray(energy[1])
    tau = robot.inverse_dynamics(q, v, a)
    power = np.sum(tau * v, axis=-1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
    return Trajectory(
        robot_name=mechanism.name,
        coordinate_names=mechanism.coordinate_names,
        coordinate_units=coordinate_units(mechanism),
        joint_names=mechanism.joint_names,
        velocity_units=velocity_units(mechanism),
        t=t,
        q=q,
        v=v,
        a=a,
        tau=tau,
        reactions=np.zeros((n, 0)),
        reaction_names=(),
        kinetic=kinetic,
        potential=potential,
        work=work,
        violation=np.zeros(n),
        violation_rate=np.zeros(n),
        method="the quickest motion within limits",
        inputs_hash=hash_of(
            mechanism.fingerprint,
            q[0],
            q[-1],
            *map(repr, (motion.velocity, motion.acceleration, motion.jerk)),
        ),
        mechanism=mechanism,
    )

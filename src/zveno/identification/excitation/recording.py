"""Simulated recordings: a controlled robot along an exciting trajectory, in the format of `identify`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ZvenoError
from ...io.logs.log import Log
from ...mechanism.loops import for_trees
from ...robot_functions import RobotFunctions
from ...simulation.integrators import RK4
from ...simulation.simulate import simulate
from .plan_excitation import moving_part
from .result import Excitation

BANDWIDTH = 2.0 * math.pi * 6.0
"""Bandwidth of the position loop of every joint, rad/s."""


@for_trees
def simulate_log(
    robot: RobotFunctions,
    motion: Excitation,
    *,
    rate: float = 500.0,
    periods: int = 1,
    torque_sigma: ArrayLike = 0.0,
    resolution: ArrayLike = 0.0,
    rng: np.random.Generator | int | None = 0,
) -> Log:
    """Simulate the log of a robot that follows a motion: a dress rehearsal for the recording and the
    identification.

    The controller adds the model's torques for the motion and those of a proportional and derivative loop for every
    joint, of 6 Hz where the inertia of the joint is least, so that it is stable everywhere at the rate of the log.
    The robot has its friction.

    Args:
        robot: the robot, with the joints that the motion moves; those it holds are held.
        motion: trajectory to follow.
        rate: samples per second.
        periods: number of repetitions of the motion.
        torque_sigma: standard deviation of a recorded torque, a scalar or one per joint, N·m or N.
        resolution: step of the encoders, a scalar or one per joint, rad or m.
        rng: generator or seed of the noise.
    """
    part, _, _ = moving_part(robot, motion.held)
    names = tuple(part.mechanism.coordinate_names)
    if names != motion.joint_names:
        raise ZvenoError(
            f"moves {', '.join(motion.joint_names)}, and {robot.name} has {', '.join(names)}",
            element="motion",
            remedy="Give the robot that it was planned for",
        )
    t, q, v, a = motion.sample(rate, periods)
    inertia = np.diagonal(part.mass_matrix(q[: len(q) // periods]), axis1=1, axis2=2).min(axis=0)
    stiffness, damping = BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia
    leading = part.inverse_dynamics(q, v, a, joint_friction=True)

    def control(now: float, q_now: np.ndarray, v_now: np.ndarray) -> np.ndarray:
        k = min(int(now * rate + 1e-6), len(t) - 1)  # the controller works at the rate of the recording
        return leading[k] + stiffness * (q[k] - q_now) + damping * (v[k] - v_now)

    run = simulate(
        part, q[0], v[0], float(t[-1]), control=control, integrator=RK4(1.0 / (2.0 * rate)),
        sample_time=1.0 / rate, joint_friction=True,
    )  # fmt: skip
    if not run.finished:
        raise ZvenoError(
            f"the simulated robot did not follow the motion: {run.reason}",
            remedy="Give a slower motion, or more torque",
        )
    noise = np.random.default_rng(rng)
    tau = run.tau + noise.normal(size=run.tau.shape) * np.asarray(torque_sigma, dtype=float)
    step = np.broadcast_to(np.asarray(resolution, dtype=float), (len(names),))
    seen = np.where(step > 0.0, np.round(run.q / np.where(step > 0.0, step, 1.0)) * step, run.q)
    return Log.of(part.mechanism, run.t, seen, tau, source=f"simulated {motion.robot_name}")

"""Recordings of the motors of machines with closed loops, computed from their inverse dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import zveno
from zveno.mechanism.edit import rebuilt


def fourier(n: int, t: np.ndarray, size: float, rng) -> tuple[np.ndarray, ...]:
    """Positions from zero, velocities and accelerations (m, n) of a periodic motion."""
    k = 2 * np.pi * 0.15 * np.arange(1, 6)
    phase, (a, b) = np.outer(t, k), rng.normal(size=(2, 5, n))
    u = np.sin(phase) @ a + (np.cos(phase) - 1) @ b
    scale = size / abs(u).max(axis=0)
    v = (np.cos(phase) * k) @ a - (np.sin(phase) * k) @ b
    rates = -(np.sin(phase) * k**2) @ a - (np.cos(phase) * k**2) @ b
    return u * scale, v * scale, rates * scale


def closed_motion(robot: zveno.Robot, q0=None, seconds=20.0, rate=100.0, size=0.4, seed=0):
    """The robot in independent velocities, with t, closed q (m, n_q), v and a (m, n) of a motion of its motors."""
    closed = zveno.loops.ClosedRobot(robot, q0)
    t = np.arange(0, seconds, 1 / rate)
    u, v, a = fourier(closed.n_v, t, size, np.random.default_rng(seed))
    result = zveno.loops.close(robot, u + motors_of(closed, closed.q), q0=closed.q)
    assert result.closed.all()
    return closed, t, result.q, v, a


def motors_of(closed: zveno.loops.ClosedRobot, q: np.ndarray) -> np.ndarray:
    return q[..., [closed.mechanism.q_slices[name].start for name in closed.velocity_names]]


def log_of(robot: zveno.Robot, noise=0.0, seed=0, everything=False, **motion) -> zveno.identification.Log:
    """A log of the motors with their friction; with `everything`, of all joints, passive ones without torque."""
    closed, t, q, v, a = closed_motion(robot, seed=seed, **motion)
    tau = closed.inverse_dynamics(q, v, a, joint_friction=True)
    tau += noise * np.random.default_rng(seed).normal(size=tau.shape)
    if not everything:
        names = closed.velocity_names
        return zveno.identification.Log.of(robot, t, motors_of(closed, q), tau, joint_names=names)
    whole = np.zeros_like(q)
    whole[:, list(closed.division.torques)] = tau
    return zveno.identification.Log.of(robot, t, q, whole)


def with_other_masses(robot: zveno.Robot, rng, size=0.3) -> zveno.Robot:
    """The same machine with heavier and lighter links of the same shapes, and friction in its motors."""
    mechanism = robot.mechanism
    links = [replace(link, inertia=link.inertia * np.exp(size * rng.normal())) for link in mechanism.links]
    drive = zveno.Drive(rotor_inertia=0.02, viscous=0.6, coulomb=0.8)
    motors = mechanism.motors or ()
    joints = [replace(joint, drive=drive) if joint.name in motors else joint for joint in mechanism.joints]
    return zveno.Robot(rebuilt(mechanism, links=links, joints=joints))

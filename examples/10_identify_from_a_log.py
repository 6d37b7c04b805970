"""From a recorded motion to the true dynamics, and to a collision that only torques show.

A UR5 has links that are heavier than its data sheet says, and friction that no data sheet has. Its joint angles
and torques are recorded along a motion, with the resolution of encoders and noise, and written to a CSV file as a
controller would. `read_log` says what the columns were taken for, `identify` finds inertia and friction and says
how far to trust them. Then the arm moves again and is pushed: the residual leaves its band, and nothing else does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import zveno

RATE = 250.0
rng = np.random.default_rng(7)


def motion(seconds: float, period: float = 10.0) -> tuple[np.ndarray, ...]:
    """A Fourier series of five harmonics for every joint: t, q, v, a."""
    t = np.arange(round(seconds * RATE)) / RATE
    w = 2.0 * np.pi / period * np.arange(1, 6)
    A = rng.uniform(-0.5, 0.5, (2, 5, 6)) / np.arange(1, 6)[:, None] ** 1.2
    sin, cos = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    W = w[:, None]
    q = [0.0, -1.2, 1.0, -1.0, 0.5, 0.0] + sin @ A[0] + cos @ A[1]
    return t, q, cos @ (W * A[0]) - sin @ (W * A[1]), -sin @ (W**2 * A[0]) - cos @ (W**2 * A[1])


def true_robot(nominal: zveno.Robot) -> zveno.Robot:
    """The arm as it is: links 10 to 30 % heavier, and drives with friction."""
    mechanism = nominal.mechanism
    moving = [joint.child for joint in mechanism.joints]
    heavier = {link.name: link.inertia * rng.uniform(1.1, 1.3) for link in mechanism.links if link.name in moving}
    return zveno.Robot(zveno.edit.with_inertia(mechanism, heavier))


def friction(v: np.ndarray) -> np.ndarray:
    """Viscous and Coulomb friction of every joint, N·m."""
    return np.array([8.0, 8.0, 5.0, 2.0, 2.0, 1.5]) * v + np.array([6.0, 6.0, 4.0, 1.5, 1.5, 1.0]) * np.tanh(
        v / 0.005
    )


def recorded(robot: zveno.Robot, seconds: float, push: tuple[float, float] | None = None) -> tuple[np.ndarray, ...]:
    """t, q, v, a, and torques with noise; between two times somebody leans on joint 2 with 15 N·m."""
    t, q, v, a = motion(seconds)
    tau = robot.inverse_dynamics(q, v, a) + friction(v)
    if push is not None:
        tau[:, 1] += np.where((t >= push[0]) & (t < push[1]), 15.0, 0.0)
    return t, q, v, a, tau + rng.normal(size=tau.shape) * [1.0, 1.0, 0.7, 0.3, 0.3, 0.2]


def main() -> None:
    nominal = zveno.load("ur5")
    truth = true_robot(nominal)
    t, q, _, _, tau = recorded(truth, 20.0)
    angles = np.round(np.degrees(q), 4)  # what the encoders resolve
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "motion.csv"
        names = ["time", *(f"q_{k} [deg]" for k in range(1, 7)), *(f"torque_{k} [Nm]" for k in range(1, 7))]
        np.savetxt(file, np.column_stack([t, angles, tau]), "%.7g", ",", header=",".join(names), comments="")
        log = zveno.identification.read_log(file, nominal)
    print(log, end="\n\n")

    found = nominal.identify(log, friction_terms="basic")
    print(found.verdict)
    errors = found.validation.errors
    for j, name in enumerate(found.joint_names):
        print(
            f"{name:14s} held-out error {errors['identified'][j]:5.1%}, nominal model {errors['nominal'][j]:5.1%}"
        )
    assert found.status == "usable"

    check = np.random.default_rng(1).uniform(-1, 1, (3, 200, 6))
    expected = truth.inverse_dynamics(*check) + friction(check[1])
    off = found.predict(*check).tau - expected
    print(f"\ntorques of 200 other states: off by {np.linalg.norm(off) / np.linalg.norm(expected):.1%}")

    t, q, v, a, tau = recorded(truth, 10.0, push=(6.0, 6.5))
    residual = tau - found.predict(q, v, a).tau
    window = round(0.1 * RATE)  # means over 0.1 s: noise falls, a push does not
    means = np.stack([np.convolve(column, np.ones(window) / window, "same") for column in residual.T], axis=1)
    beyond = (abs(means) > 10.0 * found.validation.rms).any(axis=1)
    alarms = t[beyond]
    print(f"push from 6.0 to 6.5 s: residual beyond its band from {alarms.min():.2f} to {alarms.max():.2f} s")
    assert alarms.min() > 5.9
    assert alarms.max() < 6.6


if __name__ == "__main__":
    main()

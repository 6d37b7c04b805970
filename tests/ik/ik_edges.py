"""Poses at which solvers are in doubt: singular, at limits, at half turns, at the edge of the workspace, beyond."""

from __future__ import annotations

import numpy as np

from zveno import Robot


def edge_poses(robot: Robot, n: int, seed: int = 0) -> np.ndarray:
    """About n poses (k, 4, 4) of each kind for an arm of revolute joints."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.where(np.isfinite(b), b, s * np.pi) for b, s in ((robot.lower, -1), (robot.upper, 1)))
    kinds = [rng.uniform(lower, upper, (n, robot.n_q))]
    for joint in range(robot.n_q):
        q = rng.uniform(lower, upper, (n, robot.n_q))
        # Every joint near a multiple of a right angle: wrists and elbows are stretched at some of them.
        q[:, joint] = rng.integers(-2, 3, n) * (np.pi / 2) + rng.choice([-1, 1], n) * 10.0 ** rng.uniform(
            -12, -1, n
        )
        kinds.append(q)
        q = rng.uniform(lower, upper, (n, robot.n_q))
        limit = np.where(rng.random(n) < 0.5, lower[joint], upper[joint])
        q[:, joint] = limit + rng.choice([-1, 0, 1], n) * 10.0 ** rng.uniform(-12, -6, n)
        kinds.append(q)
    kinds.append(rng.integers(-2, 3, (n, robot.n_q)) * (np.pi / 2))
    T = robot.forward_kinematics(np.concatenate(kinds))
    far = T[:n].copy()
    far[:, :3, 3] *= rng.uniform(0.0, 3.0, (n, 1))
    return np.concatenate([T, far])

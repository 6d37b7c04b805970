"""Gravity that does not point where the model says: the base stands askew."""

from __future__ import annotations

import numpy as np

from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ..estimate import solve
from .fault import Fault
from .samples import Samples, misfit

WORTH = 0.05
"""Fall of the mean log of relative squared residuals from which a tilt is named."""
LEAST = np.radians(1.0)


def gravity_faults(samples: Samples, mechanism: Mechanism, parameters: np.ndarray) -> list[Fault]:
    """The tilt of gravity, if the torques show one.

    Torques of gravity along two more axes are columns beside the model's; their factors turn gravity.

    Args:
        samples: states and torques.
        mechanism: with the recorded joints only.
        parameters: all that were found, ten of every link first.
    """
    g = np.asarray(mechanism.gravity, dtype=float)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        return []
    down = g / size
    sides = np.linalg.svd(down[None])[2][1:]
    n = len(mechanism.joints)
    inertia = np.concatenate([mechanism.links[0].inertia[None], parameters[: 10 * n].reshape(n, 10)])
    robot = RobotFunctions(mechanism)
    columns = [robot.gravity_torque(samples.q, gravity=side, inertia=inertia) for side in sides]
    tilted = samples.normal(np.stack(columns, axis=2))
    worth = misfit(tilted.columns(np.arange(tilted.H.shape[1] - 2))) - misfit(tilted)
    factors = solve(tilted, iterations=4).x[-2:]
    angle = float(np.arctan2(np.linalg.norm(factors), size))
    if worth < WORTH or angle < LEAST:
        return []
    direction = size * down + factors @ sides
    direction *= size / np.linalg.norm(direction)
    shown = ", ".join(f"{x:.2f}" for x in direction)
    text = f"gravity points {np.degrees(angle):.2g}° away from the model's, along ({shown}) m/s²"
    return [Fault("gravity", (), angle, f"{text}. Is the base level? robot.with_gravity(…) sets it", worth)]

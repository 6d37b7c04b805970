"""An exciting trajectory by figaroh 1.0: way-points of splines for the condition number of its base regressor.

Its class is abstract; the subclass adds what its own examples add. Three numbers are not its defaults, or it does
not end: 8 samples a second instead of 100 (IPOPT with 2442 constraints did not end in 700 s), 30 iterations instead
of 200 (which did not end in 900 s), and margins of 10 % instead of 5 (starts are clipped as cubics, but have no
acceleration at way-points, and pass the limits of velocity by 1 %: none of 1000 is feasible).
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

WAYPOINTS, INTERVAL, RATE = 6, 2.0, 8
"""Way-points, s between them, and samples a second of objective and limits."""
MARGIN, ITERATIONS = 0.1, 30
FINE = 100
"""Samples a second of the result."""


def planned(
    urdf: Path, velocity: np.ndarray, torque: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray] | None:
    """(CPU seconds, q, v and a, each (m, n), at 100 samples a second); None where figaroh is not installed.

    Args:
        urdf: the model.
        velocity, torque: (n,) limits.
    """
    try:
        import pinocchio as pin
        from figaroh.optimal.base_optimal_trajectory import BaseOptimalTrajectory, BaseTrajectoryIPOPTProblem
    except ImportError:
        return None
    model = pin.buildModelFromUrdf(str(urdf))
    model.velocityLimit, model.effortLimit = np.asarray(velocity, dtype=float), np.asarray(torque, dtype=float)
    robot = SimpleNamespace(
        model=model, data=model.createData(), q0=pin.neutral(model), v0=np.zeros(model.nv), geom_model=None
    )
    robot.collision_model = robot.visual_model = None

    class Trajectory(BaseOptimalTrajectory):
        def __init__(self) -> None:
            self.robot, self.model, self.active_joints = robot, model, list(model.names)[1:]
            self.logger = logging.getLogger("figaroh")
            self.trajectory_config = {
                "n_wps": WAYPOINTS,
                "freq": RATE,
                "t_s": INTERVAL,
                "soft_lim": MARGIN,
                "max_attempts": 1000,
                "max_iterations": ITERATIONS,
                "segment_attempts": 1,
            }
            self.identif_config = {
                "has_friction": True,
                "has_actuator_inertia": True,
                "has_joint_offset": True,
                "is_joint_torques": True,
                "act_idxv": list(range(model.nv)),
            }
            self.results = {"T_F": [], "P_F": [], "V_F": [], "A_F": [], "iteration_data": []}

        def create_ipopt_problem(self, *arguments):
            return BaseTrajectoryIPOPTProblem(self, *arguments)

    np.random.seed(0)  # noqa: NPY002  (its own generator)
    start = time.process_time()
    trajectory = Trajectory()
    trajectory.initialize()
    trajectory.solve(stack_reps=1)
    seconds = time.process_time() - start
    if not trajectory.results["P_F"]:
        raise RuntimeError(f"figaroh found no trajectory in {seconds:.0f} s")
    every = int(RATE * INTERVAL)
    waypoints = np.asarray(trajectory.results["P_F"][0])[::every].T
    still = np.zeros_like(waypoints)
    times = np.matrix(INTERVAL * np.arange(WAYPOINTS)).T
    _, q, v, a = trajectory.CB.get_full_config(FINE, times, waypoints, still, still)
    return seconds, q, v, a

"""Joint values that bring the true robot where the nominal one would be."""

from __future__ import annotations

import numpy as np

from ...algorithms import linear
from ...algorithms.forward_kinematics import frame_pose
from ...algorithms.inverse_dynamics import gravity_torque
from ...kernels.export_c import CSource, export_c
from ...kernels.kernel import Kernel
from ...kernels.kernel import compile as compile_kernel
from ...kernels.program import Program
from ...kernels.trace import trace
from ...spatial.transforms import inverse
from ..model.kinematics import frame_motion
from ..model.loads import loaded
from ..model.models import Model

STEPS = 4
"""Newton steps: calibration errors are small, each step squares what is left."""
DAMPING = 1e-6
"""Added to J Jᵀ, m² and rad²: directions in which a metre or radian of joint motion moves the frame by less than a
millimetre or milliradian are left alone."""


def compensation_program(model: Model, frame: str, values: np.ndarray) -> Program:
    """q desired → q to command, as a program of fixed length: for kernels and controllers alike.

    Newton steps on the pose error in the frame's axes, damped so that a singular posture stays where it is; the
    smallest change for redundant arms, the least error for arms with fewer joints.
    """
    mechanism = model.mechanism
    n = mechanism.n_q
    soft = any(values[k] for k, term in enumerate(model.terms) if term.role == "compliance")
    heavy = loaded(mechanism) if soft else mechanism
    own = [(move.velocity.start, move.own, move.multiplier) for move in model.moves if move.sigma is not None]

    def compensated(q):
        target = frame_pose(mechanism, q, frame)
        now = q
        for _ in range(STEPS):
            tau = gravity_torque(heavy, now) if soft else np.zeros(mechanism.n_v)
            T, by_values = frame_motion(model, frame, now, values, tau)
            E = inverse(T) @ target
            error = np.array(
                [*E[:3, 3], *(0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]))]
            )
            J = np.full((6, len(own)), 0.0, dtype=object)
            for k, (_, column, factor) in enumerate(own):
                J[:, k] = factor * by_values[:, column]
            if len(own) >= 6:
                step = J.T @ linear.solve(J @ J.T + DAMPING * np.eye(6), error)
            else:
                step = linear.solve(J.T @ J + DAMPING * np.eye(len(own)), J.T @ error)
            moved = list(now)
            for k, (place, _, _) in enumerate(own):
                moved[place] = moved[place] + step[k]
            now = np.array(moved)
        return now

    return trace(compensated, {"q_desired": (n,)}, name="compensate", outputs=("q_command",))


def compensation_kernel(model: Model, frame: str, values: np.ndarray) -> Kernel:
    """The same compiled for batches."""
    return compile_kernel(compensation_program(model, frame, values))


def compensation_c(model: Model, frame: str, values: np.ndarray, name: str = "compensate") -> CSource:
    """The same as C99, without allocation."""
    return export_c(compensation_program(model, frame, values), name=name)

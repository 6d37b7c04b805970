"""The step of a tracker whose chain moves closed loops: Gauss–Newton steps of `DifferentialIK` in one period."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...errors import ZvenoError
from ...fit.quadratic.steps import SOLVED
from ...robot_functions import RobotFunctions
from .._whole_body.box_limits import position_limits, velocity_limits
from .._whole_body.closing import SHORTENED
from .._whole_body.postures import misses_kernel
from .._whole_body.tasks import FrameTask, plain_velocities
from .._whole_body.velocity_ik import DifferentialIK
from ..hybrid import Hybrid
from ..native.bounds import DOUBLE
from ..task import TASKS
from .program import CLOSE, GAIN, HELD, LIMITED, LONGEST, MOST_STEPS, TRACKED

DAMPING = 1e-9
"""Weight of a small step beside the squared error."""


class ClosedTracking:
    """Steps from q towards poses, with loops closed to 1e-12 in every answer."""

    def __init__(self, robot: RobotFunctions, hybrid: Hybrid, limits: Any, velocity: Any):
        mechanism = robot.mechanism
        kinds = {task: kind for kind, task in TASKS.items()}
        kind = kinds.get(hybrid.chain.task)
        if kind is None:
            raise ZvenoError(
                "parts of a pose are not tracked where the chain moves closed loops",
                element="task",
                remedy="Use " + ", ".join(TASKS),
            )
        self.robot = robot
        self.box: tuple[np.ndarray, np.ndarray] = position_limits(mechanism, limits)
        self.speed: np.ndarray = velocity_limits(mechanism, velocity)
        motors = list(mechanism.driven_velocities)
        if not np.isfinite(self.speed[motors]).all():
            raise ZvenoError(
                "there is no velocity limit of a motor",
                element="velocity",
                remedy="Give finite velocity limits: one number, or one per velocity of the robot",
            )
        self.scale: np.ndarray = np.array([1.0 / hybrid.chain.length, 1.0])
        task = FrameTask(
            hybrid.chain.frame, kind=kind, weight=tuple(self.scale.tolist()), relative_to=hybrid.chain.reference
        )
        self.solver: DifferentialIK = DifferentialIK(
            robot, [task], 1.0, limits=False, velocity=False, limit_gain=1.0, damping=DAMPING
        )
        self.misses = misses_kernel(mechanism, (task,))
        plain = plain_velocities(mechanism)
        self.plain, self.places = list(plain), list(plain.values())

    def __call__(self, q: np.ndarray, T: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q at the end of the period, errors (..., 2) in m and rad, and codes, for poses (..., 4, 4)."""
        T = np.asarray(T, dtype=float)
        shape = np.broadcast_shapes(q.shape[:-1], T.shape[:-2])
        q = np.broadcast_to(q, (*shape, q.shape[-1])).astype(float)
        numbers = np.broadcast_to(T[..., :3, :].reshape(*T.shape[:-2], 12), (*shape, 12))
        limits, miss = self._limits(q, dt), partial(self._missed, numbers=numbers)
        sound = np.isfinite(q).all(axis=-1) & np.isfinite(T).all(axis=(-2, -1))
        with np.errstate(invalid="ignore"):
            x, error = q, miss(q)
            first = size = self._size(error)
            going = np.broadcast_to(sound, shape)
            for _ in range(MOST_STEPS):
                step = self.solver.for_many(x, np.zeros(self.robot.n_v), numbers, *self._rest(limits))
                onward, codes = step[1], step[-2]
                after = miss(onward)
                better = going & ((codes == SOLVED) | (codes == SHORTENED)) & (self._size(after) < size)
                falls = self._size(after) < GAIN * size
                x, error = np.where(better[..., None], onward, x), np.where(better[..., None], after, error)
                size = self._size(error)
                going = better & (falls | (codes == SHORTENED)) & (size > CLOSE * DOUBLE.exact)
                if not going.any():
                    break
            reached = sound & (error.max(axis=-1) <= DOUBLE.exact)
            status = np.where(reached, TRACKED, np.where(size < first, LIMITED, HELD))
        return x, error, status

    def _size(self, error: np.ndarray) -> np.ndarray:
        return np.linalg.norm(error * self.scale, axis=-1)

    def _missed(self, q: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return self.misses(q, numbers)[..., 0, :]

    def _limits(self, q: np.ndarray, dt: float) -> np.ndarray:
        """Return limits (..., 4 n_v) of every Gauss–Newton step: what the joints reach within the period."""
        lower, upper = self.box
        n, reach = len(lower), self.speed * min(dt, LONGEST)
        rows = np.full((*q.shape[:-1], 4, n), np.inf)
        rows[..., 0, :] = -np.inf
        at, room = q[..., self.places], reach[self.plain]
        rows[..., 0, self.plain] = np.clip(lower[self.plain], at - room, at + room)
        rows[..., 1, self.plain] = np.clip(upper[self.plain], at - room, at + room)
        others = np.setdiff1d(np.arange(n), self.plain)
        rows[..., 2, others] = reach[others]
        return rows.reshape(*q.shape[:-1], 4 * n)

    def _rest(self, limits: np.ndarray) -> tuple[Any, ...]:
        solver = self.solver
        still = np.zeros(self.robot.n_v)
        return solver._weights, limits, solver._flat_corners, solver._settings, still, still

"""Starts for a posture: random ones whose frames stand to each other as the targets do, the nearest first."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ...spatial.rotations import quaternion_product, to_quaternion
from ...spatial.transforms import inverse
from .posture_program import PostureProblem
from .task_rows import quaternion_of
from .tasks import CenterOfMassTask, FrameTask, Task

POOL = 3000
"""Random postures that are compared with the targets."""
ARM = 0.3
"""A rotation counts as what it moves at this distance, m."""


class Starts:
    """Random postures of a robot for some tasks, with where they put frames and centre of mass.

    On a free base, only how these stand to the first frame that has a pose is compared, and the base follows from
    that frame's target.
    """

    def __init__(self, robot: RobotFunctions, tasks: tuple[Task, ...]):
        mechanism = robot.mechanism
        self.robot: RobotFunctions = robot
        self.base: slice | None = free_base(mechanism)
        anchors = [
            k
            for k, task in enumerate(tasks)
            if isinstance(task, FrameTask) and (task.kind, task.relative_to) == ("pose", None)
        ]
        anchor = anchors[0] if anchors and self.base is not None else None
        self.pool: np.ndarray = robot.random(POOL, 0)
        if anchor is not None:
            self.pool[:, self.base] = robot.neutral()[self.base]
        problem = PostureProblem(mechanism, tasks)
        targets = np.concatenate([self._seen(task) for task in tasks], axis=1)
        inputs, number = {"targets": (problem.n_targets,)}, -1 if anchor is None else anchor
        self._features = compiled(start_features, inputs, constants=(problem, number), outputs=("features",))
        # Single precision fits into the caches, and a start need not be the very nearest.
        self.features: np.ndarray = self._features(targets).astype(np.float32)
        self._squares = np.square(self.features).sum(axis=1)
        self._anchor: slice | None = None
        if anchor is not None:
            first = sum(task.target_size(mechanism) for task in tasks[:anchor])
            self._anchor = slice(first, first + 12)
            self._from_anchor = self._bases(targets[:, self._anchor])
            sizes = {"place": (3,), "turn": (4,), "target": (12,)}
            self._placed_base = compiled(placed_base, sizes, constants=(mechanism,), outputs=("base",))

    def nearest(self, targets: np.ndarray, n: int) -> Callable[[int, int], np.ndarray]:
        """Find the n starts nearest to the numbers of all targets, as a function of a range (first, last)."""
        wanted = self._features(targets).astype(np.float32)
        distance = self._squares - 2.0 * (self.features @ wanted)
        n = min(n, POOL)
        chosen = np.argpartition(distance, n - 1)[:n]
        order = chosen[np.argsort(distance[chosen])]
        return lambda first, last: self._placed(order[first:last], targets)

    def _seen(self, task: Task) -> np.ndarray:
        """Return targets (pool, size) of a task that the postures of the pool reach."""
        if isinstance(task, CenterOfMassTask):
            return self.robot.center_of_mass(self.pool)
        if not isinstance(task, FrameTask) or task.relative_to is not None:
            return np.zeros((POOL, task.target_size(self.robot.mechanism)))
        return self.robot.forward_kinematics(self.pool, frame=task.name)[:, :3].reshape(POOL, 12)

    def _bases(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return place (pool, 3) and quaternion (pool, 4) of the base in the anchor, per posture of the pool."""
        T_parent_joint = self.robot.mechanism.joints[0].T_parent_joint
        last = np.array([[0.0, 0.0, 0.0, 1.0]])
        T = [inverse(np.concatenate([place.reshape(3, 4), last])) @ T_parent_joint for place in places]
        return np.array([part[:3, 3] for part in T]), np.array([to_quaternion(part[:3, :3]) for part in T])

    def _placed(self, numbers: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return configurations of the pool, with the base placed so that the anchor is at its target."""
        q = self.pool[numbers]
        if self._anchor is not None:
            place, turn = self._from_anchor
            q[:, self.base] = self._placed_base(place[numbers], turn[numbers], targets[self._anchor])
        return q


def start_features(problem: PostureProblem, anchor: int, targets: Any) -> Any:
    """Return features that are close for close targets: positions, m, and axes of frames, as the anchor sees them.

    As the world sees them if the anchor is −1; of the centre of mass its place.
    """
    places, first = [], 0
    for task in problem.tasks:
        size = task.target_size(problem.mechanism)
        numbers = targets[first : first + size]
        places.append(_rotation_and_place(numbers) if isinstance(task, FrameTask) else (np.eye(3), numbers))
        first += size
    R_anchor, p_anchor = (np.eye(3), np.zeros(3)) if anchor < 0 else places[anchor]
    parts = []
    for k, (task, (R, p)) in enumerate(zip(problem.tasks, places, strict=True)):
        kind = getattr(task, "kind", "position")
        if k == anchor or not isinstance(task, FrameTask | CenterOfMassTask) or getattr(task, "relative_to", None):
            continue  # tasks of users say nothing about a start
        if kind != "rotation":
            parts.append(R_anchor.T @ (p - p_anchor))
        if kind in ("pose", "rotation"):
            parts.append(ARM * (R_anchor.T @ R).reshape(9))
        elif kind == "position+axis":
            parts.append(ARM * (R_anchor.T @ R[:, 2]))
    return np.concatenate(parts) if parts else np.zeros(1)


def placed_base(mechanism: Mechanism, place: Any, turn: Any, target: Any) -> Any:
    """Return coordinates (7,) of a base that a frame at its target sees at a place and a quaternion."""
    back = inverse(mechanism.joints[0].T_parent_joint)
    R, p = _rotation_and_place(target)
    R, p = back[:3, :3] @ R, back[:3, :3] @ p + back[:3, 3]
    return np.concatenate([R @ place + p, quaternion_product(quaternion_of(R), turn)])


def _rotation_and_place(numbers: Any) -> tuple[Any, Any]:
    T = numbers.reshape(3, 4)
    return T[:, :3], T[:, 3]


@lru_cache(maxsize=16)
def starts_of(robot: RobotFunctions, tasks: tuple[Task, ...]) -> Starts:
    """Return the starts, made once for a robot and its tasks."""
    return Starts(robot, tasks)


def free_base(mechanism: Mechanism) -> slice | None:
    """Return the slice of q that holds the coordinates of a free base."""
    first = mechanism.joints[0] if mechanism.joints else None
    if first is None or first.type.n_v != 6 or first.type.n_q != 7 or mechanism.link_number(first.parent) != 0:
        return None
    return mechanism.q_slices[first.name]

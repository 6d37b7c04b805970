"""Starts for a posture: random ones whose frames stand to each other as the targets do, the nearest first."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ...spatial.rotations import to_quaternion
from ...spatial.transforms import inverse
from .tasks import CENTER_OF_MASS, FrameTask, Task

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
        self.robot: RobotFunctions = robot
        self.tasks: tuple[Task, ...] = tasks
        self.base: slice | None = free_base(robot.mechanism)
        anchors = [k for k, task in enumerate(tasks) if isinstance(task, FrameTask) and task.kind == "pose"]
        self.anchor: int | None = anchors[0] if anchors and self.base is not None else None
        self.pool: np.ndarray = robot.random(POOL, 0)
        if self.anchor is not None:
            self.pool[:, self.base] = robot.neutral()[self.base]
        places = np.stack([self._places(task) for task in tasks], axis=1)
        self.features: np.ndarray = self._features(places)
        self._squares: np.ndarray = np.square(self.features).sum(axis=1)
        if self.anchor is not None:
            self._from_base = self._anchored(places[:, self.anchor])

    def nearest(self, targets: list[np.ndarray], n: int) -> Callable[[int, int], np.ndarray]:
        """The n starts nearest to targets (3, 4) each: a function of (first, last) that gives some of them."""
        wanted = self._features(np.stack(targets)[None])[0]
        distance = self._squares - 2.0 * (self.features @ wanted)
        n = min(n, POOL)
        chosen = np.argpartition(distance, n - 1)[:n]
        order = chosen[np.argsort(distance[chosen])]
        return lambda first, last: self._placed(order[first:last], targets)

    def _places(self, task: Task) -> np.ndarray:
        """Where a task's frame is, (pool, 3, 4); the centre of mass has no axes."""
        places = np.zeros((POOL, 3, 4))
        if task.name == CENTER_OF_MASS:
            places[:, :, 3] = self.robot.center_of_mass(self.pool)
        else:
            places[:] = self.robot.forward_kinematics(self.pool, frame=task.name)[:, :3]
        return places

    def _features(self, places: np.ndarray) -> np.ndarray:
        """(n, features) of places (n, tasks, 3, 4)."""
        R, p = places[..., :3], places[..., 3]
        if self.anchor is not None:
            R_anchor = np.swapaxes(R[:, self.anchor], -1, -2)
            p = np.einsum("nij,nkj->nki", R_anchor, p - p[:, self.anchor, None])
            R = np.einsum("nij,nkjl->nkil", R_anchor, R)
        parts = []
        for k, task in enumerate(self.tasks):
            if getattr(task, "kind", "position") != "rotation":
                parts.append(p[:, k])
            if getattr(task, "kind", "position") in ("pose", "rotation"):
                parts.append(ARM * R[:, k].reshape(len(R), 9))
            elif getattr(task, "kind", "position") == "position+axis":
                parts.append(ARM * R[:, k, :, 2])
        return np.concatenate(parts, axis=1)

    def _anchored(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The base as the anchor sees it in every posture of the pool: place (pool, 3) and quaternion (pool, 4)."""
        T_parent_joint = self.robot.mechanism.joints[0].T_parent_joint
        last = np.array([[0.0, 0.0, 0.0, 1.0]])
        T = [inverse(np.concatenate([place, last])) @ T_parent_joint for place in places]
        return np.array([part[:3, 3] for part in T]), np.array([to_quaternion(part[:3, :3]) for part in T])

    def _placed(self, numbers: np.ndarray, targets: list[np.ndarray]) -> np.ndarray:
        """Postures of the pool, with the base where it puts the anchor at its target."""
        q = self.pool[numbers]
        if self.anchor is None or self.base is None:
            return q
        back = inverse(self.robot.mechanism.joints[0].T_parent_joint)
        R, p = back[:3, :3] @ targets[self.anchor][:, :3], back[:3] @ np.append(targets[self.anchor][:, 3], 1.0)
        place, turn = self._from_base[0][numbers], self._from_base[1][numbers]
        w, x, y, z = to_quaternion(R)
        product = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
        q[:, self.base] = np.concatenate([place @ R.T + p, turn @ product.T], axis=1)
        return q


@lru_cache(maxsize=16)
def starts_of(robot: RobotFunctions, tasks: tuple[Task, ...]) -> Starts:
    """The starts, made once for a robot and its tasks."""
    return Starts(robot, tasks)


def free_base(mechanism: Mechanism) -> slice | None:
    """Where the coordinates of a free base stand in q."""
    first = mechanism.joints[0] if mechanism.joints else None
    if first is None or first.type.n_v != 6 or first.type.n_q != 7 or mechanism.link_number(first.parent) != 0:
        return None
    return mechanism.q_slices[first.name]


def base_coordinates(mechanism: Mechanism, T_world_base: np.ndarray) -> np.ndarray:
    """Coordinates (7,) of a free base whose link stands at a pose."""
    joint = mechanism.joints[0]
    motion = inverse(joint.T_parent_joint) @ T_world_base @ inverse(joint.T_joint_child)
    return np.concatenate([motion[:3, 3], to_quaternion(motion[:3, :3])])

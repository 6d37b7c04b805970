"""Targets that no posture can reach together, since their frames are parts of one rigid body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...errors import ZvenoError
from ...mechanism import Mechanism
from ...spatial.rotations import log
from ...spatial.transforms import inverse
from .tasks import FrameTask, Task

PLACED, TURNED = ("pose", "position", "position+axis"), ("pose", "rotation")
"""Kinds of targets that fix a frame's point, and all of its axes."""


def refuse_contradictions(
    mechanism: Mechanism, tasks: tuple[Task, ...], numbers: Sequence[np.ndarray], within: np.ndarray
) -> None:
    """An error where two frames of one body are asked for places or rotations that the body cannot have at once.

    `within` are the tolerances (tasks, 2), m and rad: what both together allow is no contradiction.
    """
    for i, j, T in rigid_pairs(mechanism, tasks):
        room = np.broadcast_to(within, (len(tasks), 2))[[i, j]].sum(axis=0)
        first, second = numbers[i].reshape(3, 4), numbers[j].reshape(3, 4)
        metres, radians = _apart(_kind(tasks[i]), first, _kind(tasks[j]), second, T)
        lever = float(np.linalg.norm(T[:3, 3]))
        if radians > room[1] or metres > room[0] + lever * room[1]:
            raise ZvenoError(
                f"{tasks[i].name!r} and {tasks[j].name!r} are parts of one rigid body, and their targets "
                f"contradict each other by {1e3 * metres:.3g} mm and {1e3 * radians:.3g} mrad",
                element="targets",
                remedy="Leave one of them out, or give a tolerance",
            )


@lru_cache(maxsize=256)
def rigid_pairs(mechanism: Mechanism, tasks: tuple[Task, ...]) -> tuple[tuple[int, int, np.ndarray], ...]:
    """(i, j, pose of frame j in frame i) of the tasks whose frames no joint moves against each other."""
    bodies = [0]
    for link, parent, joint in mechanism.outward():
        bodies.append(bodies[parent] if joint.type.n_v == 0 else link)
    poses = link_poses(mechanism, mechanism.neutral())
    frames = [(k, mechanism.frame(task.frame)) for k, task in enumerate(tasks) if isinstance(task, FrameTask)]
    placed = []
    for k, frame in frames:
        link = mechanism.link_number(frame.link)
        placed.append((k, bodies[link], poses[link] @ frame.T_link_frame))
    return tuple((i, j, inverse(A) @ B) for (i, a, A), (j, b, B) in combinations(placed, 2) if a == b)


def _kind(task: Task) -> str:
    assert isinstance(task, FrameTask)
    return task.kind


def _apart(a: str, A: np.ndarray, b: str, B: np.ndarray, T: np.ndarray) -> tuple[float, float]:
    """By how many metres and radians targets (3, 4) differ from what the pose T of the second in the first says."""
    metres = radians = 0.0
    if a in TURNED and b in TURNED:
        radians = float(np.linalg.norm(log((A[:, :3] @ T[:3, :3]).T @ B[:, :3])))
    if a in PLACED and b in PLACED:
        between = B[:, 3] - A[:, 3]
        if a in TURNED:
            metres = float(np.linalg.norm(between - A[:, :3] @ T[:3, 3]))
        elif b in TURNED:
            metres = float(np.linalg.norm(between - B[:, :3] @ T[:3, :3].T @ T[:3, 3]))
        else:
            metres = abs(float(np.linalg.norm(between) - np.linalg.norm(T[:3, 3])))
    return metres, radians

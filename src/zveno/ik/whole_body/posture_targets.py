"""What a call of `solve_postures` asks for: tasks, made once for the frames and kinds of targets, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...kernels.door import compiled
from ...kernels.kernel import Kernel
from ...mechanism import Mechanism
from .task_rows import rigid_error
from .tasks import LAST_ROW, RIGID, CenterOfMassTask, FrameTask, Task, checked_tasks, target_numbers

KINDS = {(4, 4): "pose", (3,): "position", (3, 3): "rotation"}
"""Of a target by its shape."""


def tasks_and_numbers(
    mechanism: Mechanism, targets: Mapping[str, Any], center_of_mass: ArrayLike | None
) -> tuple[tuple[Task, ...], list[np.ndarray]]:
    """Tasks and the numbers of their targets."""
    if not isinstance(targets, Mapping):
        raise ZvenoError(f"are {targets!r:.100}", element="targets", remedy="Give {frame: target}")
    kinds = tuple(_kind_of(name, target) for name, target in targets.items())
    tasks = _tasks(mechanism, tuple(targets), kinds, center_of_mass is not None)
    numbers = _plain_poses(targets) if kinds.count("pose") == len(kinds) else None
    if numbers is None:
        numbers = [target_numbers(mechanism, task, targets[task.name]) for task in tasks[: len(targets)]]
    if center_of_mass is not None:
        numbers.append(target_numbers(mechanism, tasks[-1], center_of_mass))
    for task, given in zip(tasks, numbers, strict=True):
        if given.ndim != 1:
            raise ShapeError("is a batch", element=f"target {task.name}", remedy="Give one set of targets a call")
    return tasks, numbers


@lru_cache(maxsize=256)
def _tasks(
    mechanism: Mechanism, frames: tuple[str, ...], kinds: tuple[str, ...], with_center: bool
) -> tuple[Task, ...]:
    tasks: list[Task] = [FrameTask(name, kind=kind) for name, kind in zip(frames, kinds, strict=True)]
    if with_center:
        tasks.append(CenterOfMassTask())
    return checked_tasks(mechanism, tasks)


def _plain_poses(targets: Mapping[str, Any]) -> list[np.ndarray] | None:
    """The numbers of poses that are rigid arrays (4, 4); None where one is not, so that it is named."""
    poses = list(targets.values())
    if not poses or not all(type(pose) is np.ndarray and pose.dtype == np.float64 for pose in poses):
        return None
    T = np.array(poses)
    numbers = T[:, :3].reshape(len(T), 12)
    if not ((T[:, 3] == LAST_ROW).all() and np.isfinite(numbers).all() and (_rigid()(numbers) <= RIGID).all()):
        return None
    return list(numbers)


@cache
def _rigid() -> Kernel:
    return compiled(_off_rigid, {"target": (12,)}, outputs=("off",))


def _off_rigid(target: Any) -> Any:
    return rigid_error(target.reshape(3, 4)[:, :3])


def _kind_of(name: str, target: Any) -> str:
    if isinstance(target, tuple | list) and len(target) == 2 and all(np.shape(part) == (3,) for part in target):
        return "position+axis"
    try:
        shape = np.shape(target)
    except ValueError:
        shape = ()
    if shape not in KINDS:
        raise ShapeError(
            f"has shape {shape}",
            element=f"target {name}",
            remedy="Give a pose (4, 4), a point (3,), a rotation (3, 3), or (point, axis)",
        )
    return KINDS[shape]

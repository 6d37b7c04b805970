"""Request of a call of `whole_body`: tasks, made once for the frames and types of targets, and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError, unknown_name
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...mechanism import Mechanism
from .task_rows import rigid_error
from .tasks import CENTER_OF_MASS, LAST_ROW, RIGID, CenterOfMassTask, FrameTask, Task, checked_tasks, zones_of

KINDS: dict[tuple[int, ...], str] = {(4, 4): "pose", (3,): "position", (3, 3): "rotation"}
"""Type of a target by its shape."""
_AS_USUAL = np.array([1e-6, 1e-6])
"""A target is reached within as many metres and radians, if nothing else is asked for."""
USED = 0.9
"""The share of a target's own tolerance beyond which it pulls."""


Tolerances = tuple[float, float] | Mapping[str, tuple[float, float]] | None


def checked_targets(
    mechanism: Mechanism,
    targets: Mapping[str, Any],
    center_of_mass: ArrayLike | None,
    tolerance: Tolerances,
    given: Sequence[Task] | None = None,
) -> tuple[tuple[Task, ...], list[np.ndarray], np.ndarray, np.ndarray]:
    """Return tasks, the numbers of their targets, tolerances (tasks, 2), and the slack (2 tasks,)."""
    if given is None:
        tasks, numbers = tasks_and_numbers(mechanism, targets, center_of_mass)
    else:
        tasks = checked_tasks(mechanism, given)
        numbers = _numbers_of(mechanism, tasks, dict(targets), center_of_mass)
    within = _tolerances(tasks, tolerance)
    slack = np.zeros(2 * len(tasks))
    if given is not None:
        within = np.maximum(within, np.array([zones_of(task) for task in tasks]))
    if isinstance(tolerance, Mapping) or given is not None:
        slack = np.where(within > _AS_USUAL, USED * within, 0.0).ravel()
    return tasks, numbers, within, slack


def _numbers_of(
    mechanism: Mechanism, tasks: tuple[Task, ...], targets: dict[str, Any], center_of_mass: ArrayLike | None
) -> list[np.ndarray]:
    """Return the numbers of the targets of tasks that a user gave."""
    if center_of_mass is not None:
        targets[CENTER_OF_MASS] = center_of_mass
    names = [task.name for task in tasks]
    for name in targets:
        if name not in names:
            raise unknown_name("task", name, names)
    numbers = []
    for task in tasks:
        values = task.numbers(mechanism, targets[task.name]) if task.name in targets else task.default(mechanism)
        if values is None:
            raise ZvenoError(f"is missing for {task.name}", element="targets", remedy="Give it by name")
        if values.ndim != 1:
            raise ShapeError("is a batch", element=f"target {task.name}", remedy="Give one set of targets a call")
        numbers.append(values)
    return numbers


def tasks_and_numbers(
    mechanism: Mechanism, targets: Mapping[str, Any], center_of_mass: ArrayLike | None
) -> tuple[tuple[Task, ...], list[np.ndarray]]:
    """Return tasks and the numbers of their targets."""
    if not isinstance(targets, Mapping):
        raise ZvenoError(f"are {targets!r:.100}", element="targets", remedy="Give {frame: target}")
    kinds = tuple(_kind_of(name, target) for name, target in targets.items())
    tasks = _tasks(mechanism, tuple(targets), kinds, center_of_mass is not None)
    numbers = _plain_poses(targets) if kinds.count("pose") == len(kinds) else None
    if numbers is None:
        numbers = [task.numbers(mechanism, targets[task.name]) for task in tasks[: len(targets)]]
    if center_of_mass is not None:
        numbers.append(tasks[-1].numbers(mechanism, center_of_mass))
    for task, given in zip(tasks, numbers, strict=True):
        if given.ndim != 1:
            raise ShapeError("is a batch", element=f"target {task.name}", remedy="Give one set of targets a call")
    return tasks, numbers


def _tolerances(tasks: tuple[Task, ...], tolerance: Tolerances) -> np.ndarray:
    """Return tolerances (tasks, 2): metres and radians within which each target is reached."""
    if tolerance is None:
        return _AS_USUAL
    if not isinstance(tolerance, Mapping):
        return _metres_and_radians(tolerance, "tolerance")
    names = [task.name for task in tasks]
    within = np.tile(_AS_USUAL, (len(tasks), 1))
    for name, values in tolerance.items():
        if name not in names:
            raise unknown_name("target", name, names)
        within[names.index(name)] = _metres_and_radians(values, f"tolerance of {name}")
    return within


def _metres_and_radians(values: Any, element: str) -> np.ndarray:
    try:
        pair = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        pair = np.zeros(0)
    if pair.shape != (2,) or not (pair > 0).all():
        raise ZvenoError(f"is {values!r}", element=element, remedy="Give (metres, radians), above 0")
    return pair


@lru_cache(maxsize=256)
def _tasks(
    mechanism: Mechanism, frames: tuple[str, ...], kinds: tuple[str, ...], with_center: bool
) -> tuple[Task, ...]:
    tasks: list[Task] = [FrameTask(name, kind=kind) for name, kind in zip(frames, kinds, strict=True)]
    if with_center:
        tasks.append(CenterOfMassTask())
    return checked_tasks(mechanism, tasks)


def _plain_poses(targets: Mapping[str, Any]) -> list[np.ndarray] | None:
    """Return the numbers of poses that are rigid arrays (4, 4); None if one is not, so that it can be named."""
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

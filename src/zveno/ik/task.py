"""Tasks of inverse kinematics: the requested components of a pose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..errors import ShapeError, unknown_name
from ..io.results import registered


@registered
@dataclass(frozen=True)
class Task:
    """Requested components of a pose.

    Attributes:
        position: indices of x, y, z, in the target's axes.
        rotation: indices of the rotation vector, in the target's axes; () where `axis` is set.
        axis: True if the direction of the frame's z axis is requested instead of a rotation.
    """

    position: tuple[int, ...] = (0, 1, 2)
    rotation: tuple[int, ...] = (0, 1, 2)
    axis: bool = False

    @property
    def n_rows(self) -> int:
        """Number of equations."""
        return len(self.position) + (2 if self.axis else len(self.rotation))

    @property
    def is_pose(self) -> bool:
        """True if the whole pose is requested."""
        return self.n_rows == 6


@registered
@dataclass(frozen=True, eq=False)
class Question:
    """Request to a robot beside the frame and the poses; the fields are those of `IkProblem`.

    `others` are, for mechanisms with closed loops, the turning coordinates beside the chain: places in q, lower and
    upper limits, (3, k).
    """

    reference: str | None
    task: Task
    lower: np.ndarray
    upper: np.ndarray
    held: np.ndarray
    others: np.ndarray = field(default_factory=lambda: np.zeros((3, 0)))


PoseTask = Literal["pose", "position", "position+axis", "rotation"]
TASKS = {
    "pose": Task(),
    "position": Task(rotation=()),
    "position+axis": Task(rotation=(), axis=True),
    "rotation": Task(position=()),
}


def task_named(task: Any) -> Task:
    """Make a task from its name, or a mask of six: x, y, z and the rotation about x, y, z in the target's axes."""
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        return TASKS[task]
    try:
        return _masked(tuple(task.tolist() if isinstance(task, np.ndarray) else task))
    except TypeError:  # no sequence, or one of sequences
        raise _no_mask(task) from None


@lru_cache(maxsize=64)
def _masked(task: tuple[Any, ...]) -> Task:
    """Make a task from a mask."""
    mask = np.asarray(task)
    if mask.shape != (6,) or not np.isin(mask, (0, 1)).all() or not mask.any():
        raise _no_mask(task)
    position, rotation = (tuple(np.flatnonzero(part).tolist()) for part in (mask[:3], mask[3:]))
    return Task(position, (), True) if rotation == (0, 1) else Task(position, rotation)


def _no_mask(task: Any) -> ShapeError:
    return ShapeError(
        f"{task!r} is not a mask",
        element="task",
        remedy="Give one of " + ", ".join(TASKS) + ", or six zeros and ones: x y z and rotation about x y z",
    )

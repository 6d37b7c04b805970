"""What of a pose is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ShapeError, unknown_name
from ..io.results import registered


@registered
@dataclass(frozen=True)
class Task:
    """What of the pose is asked for.

    Attributes:
        position: which of x, y, z, in the target's axes.
        rotation: which components of the rotation vector, in the target's axes; () where `axis` is set.
        axis: whether the direction of the frame's z axis is asked for instead of a rotation.
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
        """Whether the whole pose is asked for."""
        return self.n_rows == 6


@registered
@dataclass(frozen=True, eq=False)
class Question:
    """What was asked of a robot beside the frame and the poses; the fields are those of `IkProblem`."""

    reference: str | None
    task: Task
    lower: np.ndarray
    upper: np.ndarray
    held: np.ndarray


TASKS = {
    "pose": Task(),
    "position": Task(rotation=()),
    "position+axis": Task(rotation=(), axis=True),
    "rotation": Task(position=()),
}


def task_named(task: Any) -> Task:
    """A task from its name, or from a mask of six: x, y, z and the rotation about x, y, z in the target's axes."""
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        return TASKS[task]
    mask = np.asarray(task)
    if mask.shape != (6,) or not np.isin(mask, (0, 1)).all() or not mask.any():
        raise ShapeError(
            f"{task!r} is not a mask",
            element="task",
            remedy="Give one of " + ", ".join(TASKS) + ", or six zeros and ones: x y z and rotation about x y z",
        )
    position, rotation = (tuple(np.flatnonzero(part).tolist()) for part in (mask[:3], mask[3:]))
    return Task(position, (), True) if rotation == (0, 1) else Task(position, rotation)

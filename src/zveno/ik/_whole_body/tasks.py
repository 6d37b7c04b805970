"""Tasks of a whole body: frames, the centre of mass, momentum, a posture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError, ShapeError, ZvenoError, unknown_name
from ...mechanism import Mechanism
from ...spatial.rotations import z_to
from ...spatial.transforms import is_transform

CENTER_OF_MASS, POSTURE, MOMENTUM = "center_of_mass", "posture", "momentum"
"""Names of the targets that are not frames."""
KINDS = {"pose": 6, "position": 3, "rotation": 3, "position+axis": 5}
"""Tasks of a frame, and their numbers of equations."""
SHAPES = {"pose": "(4, 4)", "position": "(3,)", "rotation": "(3, 3)", "position+axis": "a point and an axis"}
LAST_ROW = [0.0, 0.0, 0.0, 1.0]
"""Last row of every rigid transform."""
RIGID = 1e-6
"""Targets may be off a rigid transform by as much."""


@dataclass(frozen=True)
class FrameTask:
    """A frame is to be somewhere: its pose, point, point and z axis, or rotation.

    Attributes:
        frame: name of the frame; also the name of its target.
        weight: of position, 1/m, and rotation, 1/rad, or one number for both; `math.inf` is a strict task, which
            others never disturb.
        gain: share of the error that one step removes.
        relative_to: the frame in which the target is given; the world if None.
        kind: "pose", "position", "position+axis" (the frame's z axis) or "rotation".
    """

    frame: str
    weight: float | tuple[float, float] = 1.0
    gain: float = 1.0
    relative_to: str | None = None
    kind: str = "pose"

    @property
    def name(self) -> str:
        """Name of its target."""
        return self.frame

    @property
    def n_rows(self) -> int:
        """Equations."""
        return KINDS[self.kind]


@dataclass(frozen=True)
class CenterOfMassTask:
    """The centre of mass is to be at a point of the world; weight in 1/m."""

    weight: float = 1.0
    gain: float = 1.0
    name: str = CENTER_OF_MASS
    n_rows: int = 3


@dataclass(frozen=True)
class MomentumTask:
    """Momentum and angular momentum about the centre of mass, in world axes; weight in s/(kg m) and s/(kg m²)."""

    weight: float | tuple[float, float] = 1.0
    name: str = MOMENTUM
    n_rows: int = 6
    gain: float = 1.0


@dataclass(frozen=True)
class PostureTask:
    """Joints are to be near a posture; weight in 1/rad or 1/m. The base of a floating robot is left free."""

    weight: float = 1e-2
    gain: float = 1.0
    name: str = POSTURE
    n_rows: int = 0


Task = FrameTask | CenterOfMassTask | MomentumTask | PostureTask


def checked_tasks(mechanism: Mechanism, tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Check the tasks; refuse those that do not fit the robot or each other."""
    tasks = tuple(tasks) if isinstance(tasks, Iterable) else (tasks,)
    if not tasks:
        raise ZvenoError("there is nothing to do", element="tasks", remedy="Give at least one task")
    names: list[str] = []
    for task in tasks:
        if not isinstance(task, Task):
            raise ZvenoError(
                f"{task!r} is not a task",
                element="tasks",
                remedy="Give FrameTask, CenterOfMassTask, MomentumTask or PostureTask",
            )
        if task.name in names:
            raise ZvenoError(
                f"{task.name!r} is asked for twice", element="tasks", remedy="Give one task for each frame"
            )
        names.append(task.name)
        if isinstance(task, FrameTask):
            _check_frame(mechanism, task)
        elif not isinstance(task, PostureTask) and not sum(link.inertia[0] for link in mechanism.links):
            raise ModelError(
                "the mechanism has no mass, so no centre of mass and no momentum",
                element=mechanism.name,
                remedy="Give at least one link a mass, or leave the task out",
            )
        _check_weight(task)
    return tasks


def _check_frame(mechanism: Mechanism, task: FrameTask) -> None:
    mechanism.frame(task.frame)
    if task.kind not in KINDS:
        raise unknown_name("kind of task", task.kind, KINDS)
    if task.relative_to is None:
        return
    mechanism.frame(task.relative_to)
    if task.relative_to == task.frame:
        raise ZvenoError("is placed relative to itself", element=f"frame {task.frame}", remedy="Name another frame")


def _check_weight(task: Task) -> None:
    parts = task.weight if isinstance(task.weight, tuple | list) else (task.weight,)
    pair = isinstance(task, FrameTask | MomentumTask)
    fits = len(parts) in ((1, 2) if pair else (1,))
    good = fits and all(isinstance(x, int | float | np.number) and x >= 0 for x in parts)
    if good and any(math.isinf(x) for x in parts):
        good = not isinstance(task, PostureTask) and all(math.isinf(x) for x in parts)
    if not good:
        raise ZvenoError(
            f"the weight is {task.weight!r}",
            element=f"task {task.name}",
            remedy="Give a number, 0 or more, or inf for a strict task; a frame may have two, both inf or none",
        )
    if not (isinstance(task.gain, int | float | np.number) and 0 < task.gain <= 1):
        raise ZvenoError(f"the gain is {task.gain!r}", element=f"task {task.name}", remedy="Give a share in (0, 1]")


def is_strict(task: Task) -> bool:
    """Return True if other tasks may not disturb it."""
    return math.isinf(max(weights_of(task)))


def weights_of(task: Task) -> tuple[float, float]:
    """Return weights of the first three and of the other equations."""
    if isinstance(task.weight, tuple | list):
        first, second = task.weight
        return float(first), float(second)
    return float(task.weight), float(task.weight)


def target_size(mechanism: Mechanism, task: Task) -> int:
    """Return the size of its target in kernels."""
    if isinstance(task, FrameTask):
        return 12
    return mechanism.n_q if isinstance(task, PostureTask) else task.n_rows


def target_numbers(mechanism: Mechanism, task: Task, target: Any) -> np.ndarray:
    """Convert a target as users give it to numbers (..., size)."""
    element = f"target {task.name}"
    if not isinstance(task, FrameTask):
        values = _array(target, element)
        if isinstance(task, PostureTask):
            values = mechanism.checked_q(values, element)
        elif values.shape[-1:] != (task.n_rows,):
            raise ShapeError(f"has shape {values.shape}", element=element, remedy=f"Give {task.n_rows} numbers")
        return values
    if task.kind == "position+axis":
        try:
            point, axis = (_array(part, element) for part in target)
        except (TypeError, ValueError):
            raise ShapeError("is not a point and an axis", element=element, remedy="Give (point, axis)") from None
        return _placed(point, _turned(axis, element), element)
    values = _array(target, element)
    if task.kind == "pose" and values.shape[-2:] == (4, 4):
        if not all(is_transform(T, RIGID) for T in values.reshape(-1, 4, 4)):
            raise ShapeError("is not a rigid transform", element=element)
        return values[..., :3, :].reshape(*values.shape[:-2], 12)
    if task.kind == "position" and values.shape[-1:] == (3,):
        return _placed(values, np.eye(3), element)
    if task.kind == "rotation" and values.shape[-2:] == (3, 3):
        poses = np.zeros((*values.shape[:-2], 4, 4))
        poses[..., :3, :3], poses[..., 3, 3] = values, 1.0
        if not all(is_transform(T, RIGID) for T in poses.reshape(-1, 4, 4)):
            raise ShapeError("is not a rotation", element=element)
        return poses[..., :3, :].reshape(*values.shape[:-2], 12)
    raise ShapeError(f"has shape {values.shape}", element=element, remedy=f"A {task.kind} is {SHAPES[task.kind]}")


def _array(target: Any, element: str) -> np.ndarray:
    try:
        values = np.asarray(target, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element=element) from None
    if not np.isfinite(values).all():
        raise ShapeError("holds NaN or infinity", element=element, remedy="Give finite numbers")
    return values


def _turned(axis: np.ndarray, element: str) -> np.ndarray:
    if axis.shape != (3,) or not np.linalg.norm(axis) > 0:
        raise ShapeError(f"has the axis {axis}", element=element, remedy="Give three numbers, not all zero")
    return z_to(axis / np.linalg.norm(axis))


def _placed(point: np.ndarray, R: np.ndarray, element: str) -> np.ndarray:
    if point.shape[-1:] != (3,):
        raise ShapeError(f"has a point of shape {point.shape}", element=element, remedy="Give three numbers")
    poses = np.zeros((*point.shape[:-1], 3, 4))
    poses[..., :3], poses[..., 3] = R, point
    return poses.reshape(*point.shape[:-1], 12)

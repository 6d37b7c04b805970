"""Tasks of a whole body: frames, the centre of mass, momentum, a posture."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...algorithms.loop_rows import loop_rows, row_names
from ...errors import ModelError, ShapeError, ZvenoError, unknown_name
from ...loops.selection import selection
from ...mechanism import Mechanism
from ...spatial.rotations import z_to
from ...spatial.transforms import is_transform
from .task_rows import BodyState, TaskRows, frame_rows, rigid_error

CENTER_OF_MASS, POSTURE, MOMENTUM = "center_of_mass", "posture", "momentum"
"""Names of the targets that are not frames."""
KINDS = {"pose": 6, "position": 3, "rotation": 3, "position+axis": 5}
"""Tasks of a frame, and their numbers of equations."""
SHAPES = {"pose": "(4, 4)", "position": "(3,)", "rotation": "(3, 3)", "position+axis": "a point and an axis"}
LAST_ROW = [0.0, 0.0, 0.0, 1.0]
"""Last row of every rigid transform."""
RIGID = 1e-6
"""Targets may be off a rigid transform by as much."""


class Task(ABC):
    """Base class of tasks: an error that a step or a configuration is to make zero.

    Write your own: give `name` and `n_rows`, and the methods `error` and `jacobian`. Both are traced into the
    compiled program, so they use `zveno.ops` for elementary functions and branches. A subclass must be hashable;
    a frozen dataclass is.

    Attributes:
        name: name of the task and of its target.
        n_rows: number of equations.
        weight: of an error, or of the first `n_first` rows and of the others; `math.inf` is a strict task.
        gain: share of the error that one step removes.
        dead_zone: length of an error that counts as none, or of the first `n_first` rows and of the others.
    """

    name: str
    n_rows: int
    weight: float | tuple[float, float] = 1.0
    gain: float = 1.0
    dead_zone: float | tuple[float, float] = 0.0

    @abstractmethod
    def error(self, state: BodyState, target: Any) -> Any:
        """Return the error (m,) of a state from the numbers of the target, traced."""

    @abstractmethod
    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return the matrix J (m, n_v), traced: the error falls by J δ in a small step δ."""

    def numbers(self, mechanism: Mechanism, target: Any) -> np.ndarray:
        """Convert a target as users give it to numbers (..., size); `n_rows` of them by default."""
        return _numbers_of(target, f"target {self.name}", self.n_rows)

    def target_size(self, mechanism: Mechanism) -> int:
        """Return how many numbers a target has; `n_rows` by default."""
        return self.n_rows

    def default(self, mechanism: Mechanism) -> np.ndarray | None:
        """Return the target where none is given; None if it must be."""
        return None

    def check(self, mechanism: Mechanism) -> None:
        """Raise if the task does not fit a mechanism; by default, if it does not say how many equations it has."""
        if not isinstance(getattr(self, "n_rows", None), int):
            raise ZvenoError("has no number of equations", element=f"task {self.name}", remedy="Give it n_rows")

    @property
    def n_first(self) -> int:
        """Number of equations with the first weight and the first dead zone: positions; others are rotations."""
        return self.n_rows

    def rows(self, state: BodyState, target: Any) -> TaskRows:
        """Return error and Jacobian."""
        return TaskRows(self.error(state, target), self.jacobian(state, target))

    def target_error(self, target: Any) -> Any:
        """Return the deviation of a target's numbers from what the task takes, traced; 0 if any will do."""
        return 0.0

    def plain_shape(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return the shape of a target that needs no conversion; () if there is none."""
        return ()


@dataclass(frozen=True)
class FrameTask(Task):
    """A frame is to be somewhere: its pose, point, point and z axis, or rotation.

    Attributes:
        frame: name of the frame; also the name of its target.
        weight: of position, 1/m, and rotation, 1/rad, or one number for both; `math.inf` is a strict task, which
            others never disturb.
        gain: share of the error that one step removes.
        relative_to: the frame in which the target is given; the world if None.
        kind: "pose", "position", "position+axis" (the frame's z axis) or "rotation".
        dead_zone: distance, m, and angle, rad, within which the target pulls no more, or one number for both.
    """

    frame: str
    weight: float | tuple[float, float] = 1.0
    gain: float = 1.0
    relative_to: str | None = None
    kind: str = "pose"
    dead_zone: float | tuple[float, float] = 0.0

    @property
    def name(self) -> str:
        """Name of its target."""
        return self.frame

    @property
    def n_rows(self) -> int:
        """Equations."""
        return KINDS[self.kind]

    @property
    def n_first(self) -> int:
        """Equations of the position."""
        return 0 if self.kind == "rotation" else 3

    def rows(self, state: BodyState, target: Any) -> TaskRows:
        """Return error and Jacobian, in the frame's own axes."""
        return frame_rows(state, self.frame, self.relative_to, self.kind, target.reshape(3, 4))

    def error(self, state: BodyState, target: Any) -> Any:
        """Return the error (m,) in the frame's own axes."""
        return self.rows(state, target).e

    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return the frame's Jacobian in its own axes."""
        return self.rows(state, target).J

    def numbers(self, mechanism: Mechanism, target: Any) -> np.ndarray:
        """Return the pose (..., 12) of a target."""
        return _frame_numbers(self, target)

    def target_size(self, mechanism: Mechanism) -> int:
        """Return 12: rotation and position by rows."""
        return 12

    def check(self, mechanism: Mechanism) -> None:
        """Raise for unknown frames and kinds."""
        _check_frame(mechanism, self)

    def target_error(self, target: Any) -> Any:
        """Return the deviation of the target's rotation from one."""
        return rigid_error(target.reshape(3, 4)[:, :3])

    def plain_shape(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return (4, 4) for poses."""
        return (4, 4) if self.kind == "pose" else ()


@dataclass(frozen=True)
class CenterOfMassTask(Task):
    """The centre of mass is to be at a point of the world; weight in 1/m, dead zone in m."""

    weight: float = 1.0
    gain: float = 1.0
    name: str = CENTER_OF_MASS
    n_rows: int = 3
    dead_zone: float = 0.0

    def error(self, state: BodyState, target: Any) -> Any:
        """Return the way (3,) to the target."""
        return target - state.center_of_mass

    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return the Jacobian of the centre of mass."""
        return state.center_of_mass_jacobian

    def check(self, mechanism: Mechanism) -> None:
        """Raise for a mechanism without mass."""
        _check_mass(mechanism)

    def plain_shape(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return (3,)."""
        return (3,)


@dataclass(frozen=True)
class MomentumTask(Task):
    """Momentum and angular momentum about the centre of mass, in world axes; weight in s/(kg m) and s/(kg m²).

    Its error is the whole momentum of the step, not a difference from the present one.
    """

    weight: float | tuple[float, float] = 1.0
    name: str = MOMENTUM
    n_rows: int = 6
    gain: float = 1.0
    dead_zone: float | tuple[float, float] = 0.0

    @property
    def n_first(self) -> int:
        """Equations of linear momentum."""
        return 3

    def error(self, state: BodyState, target: Any) -> Any:
        """Return the momentum (6,) times the step."""
        return target * state.dt

    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return the centroidal matrix."""
        return state.centroidal_matrix

    def default(self, mechanism: Mechanism) -> np.ndarray:
        """Return zero."""
        return np.zeros(6)

    def check(self, mechanism: Mechanism) -> None:
        """Raise for a mechanism without mass."""
        _check_mass(mechanism)

    def plain_shape(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return (6,)."""
        return (6,)


@dataclass(frozen=True)
class PostureTask(Task):
    """Joints are to be near a posture; weight in 1/rad or 1/m. The base of a floating robot is left free."""

    weight: float = 1e-2
    gain: float = 1.0
    name: str = POSTURE
    n_rows: int = 0
    dead_zone: float = 0.0

    def error(self, state: BodyState, target: Any) -> Any:
        """Return the way (m,) to the posture in coordinates that are plain numbers."""
        return state.mechanism.difference(state.q, target)[list(plain_velocities(state.mechanism))]

    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return rows of the identity."""
        return np.eye(state.mechanism.n_v)[list(plain_velocities(state.mechanism))]

    def numbers(self, mechanism: Mechanism, target: Any) -> np.ndarray:
        """Return a configuration (..., n_q)."""
        element = f"target {self.name}"
        return mechanism.checked_q(_array(target, element), element)

    def target_size(self, mechanism: Mechanism) -> int:
        """Return n_q."""
        return mechanism.n_q

    def default(self, mechanism: Mechanism) -> np.ndarray:
        """Return the neutral configuration."""
        return mechanism.neutral()

    def plain_shape(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return (n_q,)."""
        return (mechanism.n_q,)


@dataclass(frozen=True)
class ClosedLoops(Task):
    """The independent rows of a mechanism's loops are zero; a task without a target, of `whole_body` itself."""

    mechanism: Mechanism = field(repr=False)
    fingerprint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", f"loops of {self.mechanism.fingerprint}")

    @property
    def name(self) -> str:
        """Name of its misses."""
        return "closed loops"

    @property
    def chosen(self) -> tuple[int, ...]:
        """Rows: those in metres first."""
        names = row_names(self.mechanism)
        rows = selection(self.mechanism).rows.tolist()
        return tuple(sorted(rows, key=lambda row: (names[row][-2] == "r", row)))

    @property
    def n_rows(self) -> int:
        """Equations."""
        return len(self.chosen)

    @property
    def n_first(self) -> int:
        """Equations in metres."""
        names = row_names(self.mechanism)
        return sum(names[row][-2] != "r" for row in self.chosen)

    def rows(self, state: BodyState, target: Any) -> TaskRows:
        """Return −φ and J."""
        loops, chosen = loop_rows(self.mechanism, state.q, np.zeros(self.mechanism.n_v)), list(self.chosen)
        return TaskRows(-loops.value[chosen], loops.J[chosen])

    def error(self, state: BodyState, target: Any) -> Any:
        """Return −φ."""
        return self.rows(state, target).e

    def jacobian(self, state: BodyState, target: Any) -> Any:
        """Return J."""
        return self.rows(state, target).J

    def target_size(self, mechanism: Mechanism) -> int:
        """Return zero: they have no target."""
        return 0


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
                remedy="Give FrameTask, CenterOfMassTask, MomentumTask, PostureTask or a subclass of Task",
            )
        if type(task).__hash__ is None:
            raise ZvenoError(
                "cannot be hashed", element=f"task {task.name}", remedy="Make its class a frozen dataclass"
            )
        if task.name in names:
            raise ZvenoError(
                f"{task.name!r} is asked for twice", element="tasks", remedy="Give one task for each frame"
            )
        names.append(task.name)
        task.check(mechanism)
        _check_weight(task)
    return tasks


def _check_mass(mechanism: Mechanism) -> None:
    if not sum(link.inertia[0] for link in mechanism.links):
        raise ModelError(
            "the mechanism has no mass, so no centre of mass and no momentum",
            element=mechanism.name,
            remedy="Give at least one link a mass, or leave the task out",
        )


def plain_velocities(mechanism: Mechanism) -> dict[int, int]:
    """Return velocities that are rates of a coordinate: number in v → number in q."""
    places = {}
    for name in mechanism.joint_names:
        at_q, at_v = mechanism.q_slices[name], mechanism.v_slices[name]
        if at_q.stop - at_q.start == at_v.stop - at_v.start:
            places |= dict(zip(range(at_v.start, at_v.stop), range(at_q.start, at_q.stop), strict=True))
    return places


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
    pair = not isinstance(task, CenterOfMassTask | PostureTask)
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
    zones = task.dead_zone if isinstance(task.dead_zone, tuple | list) else (task.dead_zone,)
    if len(zones) > 2 or not all(isinstance(x, int | float | np.number) and 0 <= x < math.inf for x in zones):
        raise ZvenoError(
            f"the dead zone is {task.dead_zone!r}",
            element=f"task {task.name}",
            remedy="Give a length, 0 or more, or two: of the first rows and of the others",
        )


def is_strict(task: Task) -> bool:
    """Return True if other tasks may not disturb it."""
    return math.isinf(max(weights_of(task)))


def weights_of(task: Task) -> tuple[float, float]:
    """Return weights of the first equations and of the others."""
    return _pair(task.weight)


def zones_of(task: Task) -> tuple[float, float]:
    """Return dead zones of the first equations and of the others."""
    return _pair(task.dead_zone)


def _pair(given: float | tuple[float, float]) -> tuple[float, float]:
    if isinstance(given, tuple | list):
        first, second = given
        return float(first), float(second)
    return float(given), float(given)


def _numbers_of(target: Any, element: str, size: int) -> np.ndarray:
    values = _array(target, element)
    if values.shape[-1:] != (size,):
        raise ShapeError(f"has shape {values.shape}", element=element, remedy=f"Give {size} numbers")
    return values


def _frame_numbers(task: FrameTask, target: Any) -> np.ndarray:
    """Return the pose (..., 12) of a frame's target."""
    element = f"target {task.name}"
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

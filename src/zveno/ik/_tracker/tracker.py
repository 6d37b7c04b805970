"""`Tracker`: the next joint values of a control loop for a stream of poses, within joint limits and speeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...robot_functions import RobotFunctions
from .._whole_body.box_limits import velocity_limits
from .._whole_body.tasks import plain_velocities
from ..hybrid import hybrid_of
from ..ik_problem import IkProblem
from ..native.bounds import DOUBLE
from ..request import request_of
from ..task import task_named
from .closed import ClosedTracking
from .program import tracker_program

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel

TrackerStatus = Literal["tracked", "limited", "held"]
STATUSES: tuple[TrackerStatus, ...] = ("tracked", "limited", "held")


@dataclass(frozen=True, eq=False)
class TrackerStep:
    """Result of one call of a `Tracker`; batch axes lead.

    Attributes:
        q: joint values for the end of the period, (..., n_q).
        v: mean joint velocities of the period, (..., n_q); (..., n_v) where closed loops are moved.
        error: of the pose at q, metres and radians, (..., 2).
        codes: 0, 1 or 2: see `status`.
    """

    q: np.ndarray
    v: np.ndarray
    error: np.ndarray
    codes: np.ndarray

    @property
    def status(self) -> TrackerStatus | np.ndarray:
        """ "tracked", "limited" or "held"; an array of them for a batch.

        Tracked: q reaches the pose to 1e-9 m and rad, within limits. Limited: limits, speeds, a singularity or the
        reach keep q away from the pose; it is nearer than before, or a joint returns from beyond a limit. Held: the
        joints stay, because nothing comes nearer or the input is not valid: a pose that is not a rigid transform,
        or values that are not finite.
        """
        return (
            np.array(STATUSES, dtype=object)[self.codes.astype(int)]
            if self.codes.ndim
            else STATUSES[int(self.codes)]
        )


class Tracker:
    """Follows a stream of poses: one call per period of a control loop, compiled, without memory of its own.

    Call it with the present q and the pose wanted at the end of the period; it returns a `TrackerStep`. No joint
    passes a limit or moves faster than its speed, whatever the pose. A redundant arm uses its freedom to approach
    `posture`.

    Closed loops that the frame's chain moves are closed to 1e-12 in every answer, if they are closed at q. Limits
    and speeds of joints that follow from others then hold to first order, and a call takes a hundred microseconds.

    Args:
        robot: the robot.
        dt: period, s.
        frame: the frame to be moved; the default one if not given.
        relative_to: the frame in which poses are given; the world if not given.
        limits: of position: True for the model's, False for none, {joint: (lower, upper)} or (lower, upper).
        velocity: largest speeds: True for the model's, or one number, or (n_v,).
        task: "pose", "position", "position+axis", "rotation" or a mask.
        posture: q (n_q,) that a redundant arm approaches; NaN for joints that are free. By default, joints limited
            on both sides approach the middle of their limits.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        dt: float,
        frame: str | None = None,
        *,
        relative_to: str | None = None,
        limits: Any = True,
        velocity: ArrayLike | Literal[True] = True,
        task: Any = "pose",
        posture: ArrayLike | None = None,
    ):
        if not (isinstance(dt, int | float | np.number) and 0.0 < dt < np.inf):
            raise ZvenoError(f"is {dt!r}", element="dt", remedy="Give the period in seconds, a number above 0")
        self.robot = robot
        self._dt = np.array(float(dt))
        self._closed: ClosedTracking | None = None
        if robot.mechanism.loops:
            hybrid = hybrid_of(
                robot.mechanism, frame, relative_to, task if isinstance(task, str) else task_named(task)
            )
            if hybrid.loops:
                if posture is not None:
                    raise ZvenoError(
                        "is not for chains that move closed loops",
                        element="posture",
                        remedy="Use ik.DifferentialIK with a PostureTask",
                    )
                self._closed = ClosedTracking(robot, hybrid, limits, velocity)
                return
        problem = request_of(robot, frame, relative_to, limits, task).problem
        refuse_balls(problem, ZvenoError)
        remedy = "Give finite velocity limits: one number, or one per velocity of the robot"
        self._limits = limits_and_speeds(problem, velocity, ZvenoError, remedy)
        self._places: np.ndarray | slice = problem.places
        if problem.is_q:
            self._places = slice(None)
        self._posture = middle_posture(problem) if posture is None else _posture(problem, posture)
        self._kernel = tracker_kernel(problem.base)

    def __call__(self, q: ArrayLike, target: ArrayLike) -> TrackerStep:
        """Return the step from q (..., n_q) towards a pose (..., 4, 4)."""
        if type(q) is not np.ndarray or q.shape[-1:] != (self.robot.n_q,):
            q = self.robot.mechanism.checked_q(q)
        if self._closed is not None:
            if np.shape(target)[-2:] != (4, 4):
                raise ShapeError(f"has shape {np.shape(target)}", element="target", remedy="Give poses (..., 4, 4)")
            after, error, codes = self._closed(q, np.asarray(target), float(self._dt))
            return TrackerStep(after, self.robot.difference(q, after) / self._dt, error, codes)
        try:
            x, error, codes = self._kernel(target, q[..., self._places], self._posture, self._dt, self._limits)
        except (TypeError, ValueError, ShapeError):
            if np.shape(target)[-2:] == (4, 4):
                raise
            raise ShapeError(
                f"has shape {np.shape(target)}", element="target", remedy="Give poses (..., 4, 4)"
            ) from None
        if x.shape[-1] == self.robot.n_q and isinstance(self._places, slice):
            after = x
        else:
            after = np.broadcast_to(q, (*x.shape[:-1], q.shape[-1])).copy()
            after[..., self._places] = x
        step = TrackerStep.__new__(TrackerStep)  # a frozen class takes two microseconds to fill otherwise
        step.__dict__.update(q=after, v=(after - q) / self._dt, error=error, codes=codes)
        return step


@lru_cache(maxsize=64)
def tracker_kernel(problem: IkProblem) -> Kernel:
    """Return the compiled program of a chain, with limits as an input."""
    from ...kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(tracker_program, problem, DOUBLE, lanes=2, name="ik_tracker")


def limits_and_speeds(problem: IkProblem, velocity: Any, error: type[ZvenoError], remedy: str) -> np.ndarray:
    """Return lower and upper limits and speeds (3, n) of the chain's coordinates; raise where there is no speed."""
    of_v = velocity_limits(problem.mechanism, velocity)
    number_in_v = {place: i for i, place in plain_velocities(problem.mechanism).items()}
    speeds = np.array([of_v[number_in_v[place]] for place in problem.places.tolist()])
    if not np.isfinite(speeds).all():
        names = problem.mechanism.coordinate_names
        unlimited = ", ".join(names[place] for place in problem.places[~np.isfinite(speeds)].tolist())
        raise error(f"there is no velocity limit of {unlimited}", element="velocity", remedy=remedy)
    return np.array([problem.lower, problem.upper, speeds])


def refuse_balls(problem: IkProblem, error: type[ZvenoError]) -> None:
    """Raise if some coordinates of the chain are quaternions."""
    if problem.has_balls:
        raise error(
            "ball and free joints have quaternions, which a tracker does not take",
            element=f"{problem.mechanism.name}, frame {problem.frame}",
            remedy="Use ik.DifferentialIK, or a frame that a chain of revolute and prismatic joints moves",
        )


def middle_posture(problem: IkProblem) -> np.ndarray:
    """Return the middle of the limits (n,) of joints with two, NaN for others."""
    both = np.isfinite(problem.lower) & np.isfinite(problem.upper)
    lower, upper = np.where(both, problem.lower, np.nan), np.where(both, problem.upper, np.nan)
    return 0.5 * (lower + upper)


def _posture(problem: IkProblem, posture: ArrayLike) -> np.ndarray:
    given = problem.mechanism.checked_q(posture, "posture").astype(float)
    if given.ndim != 1:
        raise ShapeError(f"has shape {given.shape}", element="posture", remedy="Give one configuration (n_q,)")
    return given[problem.places]

"""`DifferentialIK`: the joint velocity that serves several tasks best within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Capsules, Clearance
from ...errors import ShapeError, ZvenoError
from ...fit.quadratic.steps import INFEASIBLE, SOLVED
from ...kernels.builder import structured_program
from ...kernels.trace import trace
from ...mechanism.unit_quaternions import refuse_unnormalized
from ...robot_functions import RobotFunctions
from .box_limits import acceleration_limits, position_limits, velocity_limits
from .closing import OPEN, SHORTENED, division_of
from .tasks import (
    Task,
    checked_tasks,
    is_strict,
    weights_of,
    zones_of,
)
from .velocity_program import NOT_FINITE, velocity_program
from .velocity_rows import VelocityProblem
from .velocity_targets import VelocityTargets

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel

VelocityStatus = Literal["solved", "infeasible", "undecided"]
STATUSES: dict[float, VelocityStatus] = {SOLVED: "solved", INFEASIBLE: "infeasible"}
REASONS = {
    SOLVED: "",
    INFEASIBLE: "limits, clearance, support and closed loops contradict each other; the robot stands still",
    OPEN: "the loops do not close behind the step; the robot stands still",
    SHORTENED: "the loops close behind a part of the step only, which is taken",
    NOT_FINITE: "the state or a target is not finite",
}
LANES = 2
"""For single states, whose lanes all compute the same: fewer lie closer together in the caches."""
TOO_LONG = "the solver did not end"


@dataclass(frozen=True, eq=False)
class VelocityStep:
    """Result of one call of a `DifferentialIK`; batch axes lead.

    Attributes:
        v: velocities (..., n_v).
        q: coordinates after the step, (..., n_q).
        active: −1 and +1 where the lower and upper bound of a velocity holds, (..., n_v).
        active_rows: −1 where clearance, support or the angle of a ball joint hold, (..., rows).
        errors: |error| of every task before the step, (..., tasks).
        codes: 0 where the step is the optimum, see `status`.
        held: bounds that held in this step and in the one before it, (..., n_v): the next begins from them. One
            that has just come is as likely to go again, and to let go of a bound costs as much as to take it up.
    """

    v: np.ndarray
    q: np.ndarray
    active: np.ndarray
    active_rows: np.ndarray
    errors: np.ndarray
    codes: np.ndarray
    held: np.ndarray

    @property
    def solved(self) -> np.ndarray:
        """True where the step is the optimum, (...)."""
        return self.codes == SOLVED

    @property
    def status(self) -> VelocityStatus | np.ndarray:
        """ "solved", "infeasible" (v = 0) or "undecided"; an array of them for a batch."""
        return np.vectorize(lambda code: STATUSES.get(float(code), "undecided"), otypes=[object])(self.codes)[()]

    @property
    def reason(self) -> str | np.ndarray:
        """Cause of a status other than "solved", else ""; an array of them for a batch."""
        return np.vectorize(lambda code: REASONS.get(float(code), TOO_LONG), otypes=[object])(self.codes)[()]


class DifferentialIK:
    """Joint velocities that serve several tasks within limits: one quadratic program, compiled once for the tasks.

    Call it with q and targets; it returns a `VelocityStep`. Closed loops are constraints: q must be closed, and the
    q of a solved step is closed to 1e-12 m and rad. Limits of joints that follow from others hold to first order.

    Args:
        robot: the robot.
        tasks: `FrameTask`, `CenterOfMassTask`, `MomentumTask`, `PostureTask` or others of your own, see `Task`;
            weights may be `math.inf` (strict).
        dt: time of a step, s.
        limits: of position: True for the model's, False for none, {joint: (lower, upper)} or (lower, upper).
        velocity: True for the model's limits, False for none, or numbers (n_v,) or one.
        acceleration: limits (n_v,) or one number; none if not given. Limits of position are approached so that it
            suffices to stop before them; a velocity from which it does not makes a step infeasible.
        limit_gain: largest share of the way to a limit that a step may go.
        clearance: capsules that keep clear of each other and of the ground.
        margin: free space that they keep, m.
        clearance_gain: largest share that a step may take of the free space above the margin.
        support: corners (k, 2) of a convex polygon, counter-clockwise, above which the centre of mass stays, m.
        damping: weight of a small step; it makes the program strictly convex.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        tasks: Sequence[Task],
        dt: float,
        *,
        limits: Any = True,
        velocity: ArrayLike | bool = True,
        acceleration: ArrayLike | None = None,
        limit_gain: float = 0.5,
        clearance: Clearance | None = None,
        margin: float = 0.0,
        clearance_gain: float = 0.2,
        support: ArrayLike | None = None,
        damping: float = 1e-6,
    ):
        mechanism = robot.mechanism
        self.robot = robot
        self.tasks: tuple[Task, ...] = checked_tasks(mechanism, tasks)
        self.capsules: Capsules | None = None if clearance is None else Capsules(robot, clearance)
        settings = {"dt": dt, "damping": damping, "limit_gain": limit_gain, "clearance_gain": clearance_gain}
        if not (isinstance(margin, int | float | np.number) and np.isfinite(margin)):
            raise ZvenoError(f"is {margin!r}", element="margin", remedy="Give a finite number of metres")
        for name, value in settings.items():
            most = 1.0 if name.endswith("gain") else np.inf
            if not (isinstance(value, int | float | np.number) and 0.0 < value <= most and np.isfinite(value)):
                allowed = "a share in (0, 1]" if most == 1.0 else "a number above 0"
                raise ZvenoError(f"is {value!r}", element=name, remedy=f"Give {allowed}")
        self._settings = np.array([dt, limit_gain, clearance_gain, margin, damping], dtype=float)
        self._corners = None if support is None else _polygon(support)
        n_corners = 0 if self._corners is None else len(self._corners)
        plain = tuple(_without_numbers(task) for task in self.tasks)
        layout = None if self.capsules is None or not self.capsules.layout.n else self.capsules.layout
        self.problem: VelocityProblem = VelocityProblem(
            mechanism, plain, layout, n_corners, limits is not False, division_of(mechanism)
        )
        weights = np.array([(*weights_of(task), task.gain, *zones_of(task)) for task in self.tasks])
        self._weights = np.where(np.isinf(weights), 1.0, weights)[:, : self.problem.n_weights].ravel()
        self._limits = np.concatenate(
            [
                *position_limits(mechanism, limits),
                velocity_limits(mechanism, velocity),
                acceleration_limits(mechanism, acceleration),
            ]
        )
        self._targets = VelocityTargets(mechanism, self.tasks)
        self._at_rest = np.zeros(mechanism.n_v)
        self._flat_corners = np.zeros(1) if self._corners is None else self._corners.ravel()
        self._no_rows = np.zeros(0)
        _ = self.for_one  # compiled here, not by the first step of a control loop

    @cached_property
    def for_one(self) -> Kernel:
        """The kernel for single states."""
        return self._compiled(LANES)

    @cached_property
    def for_many(self) -> Kernel:
        """The kernel for batches: the widest lanes, which take 0.75 of the time."""
        return self._compiled(None)

    def _compiled(self, lanes: int | None) -> Kernel:
        return kernel_of_tasks(velocity_program, self.problem, self.tasks, lanes)

    def __call__(
        self,
        q: ArrayLike,
        targets: Mapping[str, Any] | None = None,
        *,
        previous: VelocityStep | None = None,
        support: ArrayLike | None = None,
    ) -> VelocityStep:
        """Return the velocity at q that serves the tasks.

        Args:
            q: (..., n_q).
            targets: by frame name, "center_of_mass", "posture" and "momentum"; those left out are where the task
                was given without one: momentum zero, the neutral posture. Batch axes lead.
            previous: the last step: the limits that held in it and before it are tried first, and limits of
                acceleration start from its v.
            support: other corners of the support polygon than those that were compiled, as many.
        """
        try:
            q = np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            self.robot.mechanism.checked_q(q)
            raise
        corners = self._flat_corners if support is None else self._other_support(support).ravel()
        try:
            step = self.stepped(q, self._targets.numbers(targets or {}), previous, corners)
        except (AttributeError, ShapeError):
            self._refuse_shapes(q, targets, previous)
            raise
        if (step.codes == NOT_FINITE) if step.v.ndim == 1 else (step.codes == NOT_FINITE).any():
            self._refuse(q, targets or {})
        return step

    def stepped(
        self,
        q: np.ndarray,
        numbers: np.ndarray,
        before: VelocityStep | None = None,
        corners: np.ndarray | None = None,
    ) -> VelocityStep:
        """Take a step for targets as the kernel takes them, unchecked; non-finite results have such a code."""
        rest = self._at_rest
        v_before, warm, active = (rest, rest, rest) if before is None else (before.v, before.held, before.active)
        corners = self._flat_corners if corners is None else corners
        given = numbers, self._weights, self._limits, corners, self._settings
        kernel = self.for_one if q.ndim == 1 and numbers.ndim == 1 else self.for_many
        answer = kernel(q, v_before, *given, warm, active)
        v, q_next, active, held, errors = answer[:5]
        rows = answer[5] if self.problem.n_rows else np.zeros((*v.shape[:-1], 0)) if v.ndim > 1 else self._no_rows
        if self.problem.division is not None:
            rows = rows[..., : self.problem.n_told]
        step = VelocityStep.__new__(VelocityStep)  # a frozen class takes two microseconds to fill otherwise
        step.__dict__.update(
            v=v, q=q_next, active=active, active_rows=rows, errors=errors, codes=answer[-2], held=held
        )
        return step

    def _refuse_shapes(self, q: np.ndarray, targets: Any, before: Any) -> None:
        """Raise an error that names the argument that does not fit."""
        self.robot.mechanism.checked_q(q)
        if not isinstance(targets, Mapping | None):
            raise ZvenoError(f"are {targets!r:.100}", element="targets", remedy="Give them by name")
        if not isinstance(before, VelocityStep | None):
            raise ZvenoError(
                f"is {before!r:.100}", element="previous", remedy="Give the step that was returned last"
            )
        if before is not None and before.v.shape[-1:] != (self.robot.n_v,):
            raise ShapeError("is a step of another robot", element="previous", remedy="Give one of this robot")

    def _refuse(self, q: np.ndarray, targets: Mapping[str, Any]) -> None:
        """Raise an error that names the non-finite, non-rigid or non-unit input."""
        if not np.isfinite(q).all():
            raise ShapeError("holds NaN or infinity", element="q", remedy="Give finite numbers")
        refuse_unnormalized(self.robot.mechanism, q)
        self._targets.refuse(targets)

    def _other_support(self, support: ArrayLike) -> np.ndarray:
        corners = _polygon(support)
        if not self.problem.n_corners:
            raise ZvenoError(
                "was not asked for when this was compiled",
                element="support",
                remedy="Give it to DifferentialIK, too",
            )
        if len(corners) != self.problem.n_corners:
            raise ShapeError(
                f"has {len(corners)} corners",
                element="support",
                remedy=f"Give {self.problem.n_corners}, as compiled",
            )
        return corners


def kernel_of_tasks(write: Any, problem: Any, tasks: tuple[Task, ...], lanes: int | None = None) -> Kernel:
    """Compile a program of tasks. With tasks of users, whose sources are unknown, the traced program is its key."""
    from ...kernels.compile import compiled_program, compiled_structured  # not needed to import the package

    if all(type(task).__module__ == Task.__module__ for task in tasks):
        return compiled_structured(write, problem, lanes=lanes)
    program, _ = structured_program(write, problem)
    return compiled_program(program, lanes=lanes)


def kernel_of_function(
    function: Any, inputs: Mapping[str, tuple[int, ...]], problem: Any, tasks: tuple[Task, ...], output: str
) -> Kernel:
    """Compile a function of tasks, as `kernel_of_tasks` does."""
    from ...kernels.compile import compiled, compiled_program  # not needed to import the package

    if all(type(task).__module__ == Task.__module__ for task in tasks):
        return compiled(function, inputs, constants=(problem,), outputs=(output,))
    return compiled_program(trace(function, inputs, outputs=(output,), constants=(problem,)))


def _without_numbers(task: Task) -> Task:
    """Return a task with weights, gain and dead zones that only say which there are: the others are inputs."""
    if type(task).__module__ != Task.__module__:
        return task
    zone = 1.0 if max(zones_of(task)) > 0.0 else 0.0
    return replace(cast(Any, task), weight=np.inf if is_strict(task) else 1.0, gain=1.0, dead_zone=zone)


def _polygon(support: ArrayLike) -> np.ndarray:
    remedy = "Give the corners (k, 2) of a convex polygon, counter-clockwise"
    try:
        corners = np.asarray(support, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("is not an array of real numbers", element="support", remedy=remedy) from None
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
        raise ShapeError(f"has shape {corners.shape}", element="support", remedy=remedy)
    edges = np.roll(corners, -1, axis=0) - corners
    after = np.roll(edges, -1, axis=0)
    if not (edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0] > 0).all():
        raise ZvenoError("is not convex and counter-clockwise", element="support", remedy=remedy)
    return corners

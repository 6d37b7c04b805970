"""`local`: one solution near a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..io.results import registered
from ..progress import Progress
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from .solutions import Solutions
from .solve import solve_near
from .task import PoseTask

LocalStatus = Literal["converged", "not converged"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class LocalSolution(Result):
    """One solution of each pose of a batch; it does not say whether there are others.

    Attributes:
        solutions: the answer as `Solutions`, with at most one row per pose.
    """

    solutions: Solutions

    kind: ClassVar[str] = "one solution of inverse kinematics"

    @cached_property
    def q(self) -> np.ndarray:
        """(..., n_q): the solution; without one, the configuration that comes nearest."""
        answer = self.solutions
        if not answer.batch and answer.count:
            return answer.q[0]
        if not answer.q.shape[-2]:
            return answer.nearest
        return np.where(answer.found[..., None], answer.q[..., 0, :], answer.nearest)

    @property
    def converged(self) -> np.ndarray:
        """(...) True where q is a solution inside the limits."""
        return self.solutions.found

    @property
    def status(self) -> LocalStatus | np.ndarray:
        """ "converged", or "not converged", which says nothing about existence; an array of words for a batch."""
        return np.where(self.converged, "converged", "not converged").astype(object)[()]

    @property
    def residual(self) -> np.ndarray:
        """(...) pose error at q, the greater of metres and radians."""
        answer = self.solutions
        missed = answer.distance.max(axis=-1)
        return missed if not answer.q.shape[-2] else np.where(answer.found, answer.residual[..., 0], missed)

    @property
    def summary(self) -> str:
        """Number of poses that were solved, and the largest error."""
        residual = self.residual
        worst = f"pose error up to {np.max(residual, initial=0.0):.2g} m or rad"
        if not self.solutions.batch:
            return f"{str(self.status).capitalize()}: {worst}"
        return f"{int(self.converged.sum())} of {self.converged.size} poses converged, {worst}"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        pictures = self.solutions.describe().of("figure")
        return Description("Local solution", self.summary, "good" if self.converged.all() else "warn", (), pictures)


def local(
    robot: RobotFunctions,
    target: ArrayLike,
    q0: ArrayLike | None = None,
    frame: str | None = None,
    *,
    relative_to: str | None = None,
    limits: Any = True,
    task: PoseTask | ArrayLike = "pose",
    fixed: ArrayLike | Mapping[str, float] | None = None,
    timeout: float | None = None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> LocalSolution:
    """Find one solution of a pose by damped Newton steps inside the limits, near a configuration if there is one.

    Args:
        robot: the robot.
        target: poses (..., 4, 4) of the frame; points (..., 3) for task "position".
        q0: where the steps begin, (n_q,) or (..., n_q). If they fail, and if no q0 is given, they begin at random
            configurations.
        frame, relative_to, limits, task, fixed, timeout, executor, progress: as in `Robot.ik`.
    """
    return LocalSolution(
        solve_near(
            robot,
            target,
            frame,
            start=q0,
            relative_to=relative_to,
            limits=limits,
            task=task,
            fixed=fixed,
            timeout=timeout,
            executor=executor,
            progress=progress,
        )
    )

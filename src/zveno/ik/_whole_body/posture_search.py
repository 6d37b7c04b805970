"""Postures gathered round by round: those that reach every target, and the nearest of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...kernels.kernel import Kernel
from ...robot_functions import RobotFunctions
from ..accept import asked
from .posture_result import Configurations
from .tasks import Task

APART = 1e-3
"""Postures that differ by less everywhere, rad or m, are one."""
NEAREST = 8
"""So many of the postures that do not reach all targets are remembered."""


class PostureSearch:
    """Results of the rounds of a search so far.

    Attributes:
        reached, misses: postures (k, n_q) that reach every target, and their residuals, (k, tasks, 2).
        near, near_misses: the same of the nearest others, the nearest first.
        starts: number of starts tried.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        tasks: tuple[Task, ...],
        errors: Kernel,
        targets: np.ndarray,
        within: np.ndarray,
        kept: Callable[[np.ndarray], np.ndarray],
        accept: Callable[[np.ndarray], np.ndarray] | None,
    ):
        self.robot: RobotFunctions = robot
        self.tasks: tuple[Task, ...] = tasks
        self.accept = accept
        self._errors, self._targets, self._within, self._kept = errors, targets, within, kept
        n_q = robot.mechanism.n_q
        self.reached: np.ndarray = np.zeros((0, n_q))
        self.near: np.ndarray = self.reached
        self.misses: np.ndarray = np.zeros((0, len(tasks), 2))
        self.near_misses: np.ndarray = self.misses
        self.starts: int = 0
        self._refused = False

    def take(self, q: np.ndarray, starts: int) -> None:
        """Evaluate the end points of a round."""
        self.starts += starts
        misses = self._errors(q, self._targets)
        good = (misses <= self._within).all(axis=(1, 2)) & self._kept(q)
        if good.any():
            self._keep(q[good], misses[good])
        elif not len(self.reached):
            self._remember(q, misses)

    def _keep(self, q: np.ndarray, misses: np.ndarray) -> None:
        if self.accept is not None:
            kept = asked(self.accept, q)
            self._refused |= not kept.all()
            q, misses = q[kept], misses[kept]
        q, misses = np.concatenate([self.reached, q]), np.concatenate([self.misses, misses])
        chosen = _distinct(self.robot, q) if len(q) > 1 else slice(None)
        self.reached, self.misses = q[chosen], misses[chosen]

    def _remember(self, q: np.ndarray, misses: np.ndarray) -> None:
        q, misses = np.concatenate([self.near, q]), np.concatenate([self.near_misses, misses])
        worst = np.where(np.isfinite(misses), misses, np.inf).max(axis=(1, 2))
        order = np.argsort(worst, kind="stable")[:NEAREST]
        self.near, self.near_misses = q[order], misses[order]

    def result(self, digest: str) -> Configurations:
        """Return everything as a result; `digest` is the hash of the request."""
        found = len(self.reached) > 0
        status = "solved" if found else "rejected" if self._refused else "undecided"
        nearest, misses = (self.reached, self.misses) if found else (self.near, self.near_misses)
        if not len(nearest):  # postures that reach all targets were refused, and no others are known
            nearest = self.robot.neutral()[None]
            misses = self._errors(nearest, self._targets)
        residual = self.misses.max(axis=(1, 2), initial=0.0)
        by_name = misses_by_name(self.tasks, misses[0])
        return Configurations(
            self.reached, residual, status, nearest[0], by_name, self.starts, self.robot.mechanism, digest
        )


def misses_by_name(tasks: tuple[Task, ...], misses: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return {name: (m, rad)} of residuals (tasks, 2)."""
    return {task.name: (float(a), float(b)) for task, (a, b) in zip(tasks, misses, strict=True)}


def _distinct(robot: RobotFunctions, q: np.ndarray) -> list[int]:
    """Return the indices of the configurations that differ from all earlier ones."""
    apart = abs(robot.difference(q[:, None], q[None])).max(axis=2) > APART
    chosen: list[int] = []
    for k in range(len(q)):
        if apart[k, chosen].all():
            chosen.append(k)
    return chosen

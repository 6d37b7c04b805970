"""Dimension reduction as document 004 has it, formulas (14) and (15): three joints scanned, three solved from them.

For every value of the first three joints the last three are solved for the position alone; the orientation that
results is compared with the one asked for; the best numbers start the refinement. `scan` does better by solving the
first and the last joint instead, and is what "auto" uses; this is the document's own trick, for any arm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...ik.checks.distinct import distinct
from ...ik.ik_problem import TASKS, IkProblem
from ...ik.newton import lanes_of, newton
from ...ik.numbers import Grid
from ...ik.scan import ACCEPTED
from ...ik.scan import solver as scan
from ...ik.solutions import Raw, padded


@dataclass(frozen=True)
class Reduction:
    """Scan over the first three joints of a six-joint arm."""

    name: str = "reduction"
    counts: int = 12
    """Values of each of the three joints."""
    survivors: int = 256

    def applies(self, problem: IkProblem) -> bool:
        """Six coordinates, one a step, for a whole pose, the last three with at least one turn among them."""
        return problem.simple and problem.n == 6 and problem.task.is_pose and "R" in problem.kinds[3:]

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """Solutions of k poses (k, 4, 4), one pose after the other."""
        lower, upper = (side[:3] for side in problem.span)
        grid = Grid.by_count(lower, upper, self.counts, centred=True)
        first = grid.range_points(1, grid.size + 1)
        T_first = _products(problem, first)
        last = replace(
            problem,
            steps=_shifted(problem),
            lower=problem.lower[3:],
            upper=problem.upper[3:],
            task=TASKS["position"],
        )
        solutions, pose = [np.zeros((0, 6))], [np.zeros(0, int)]
        for i, target in enumerate(T):
            x = self._one(problem, last, first, np.linalg.inv(T_first) @ target, target)
            solutions.append(x)
            pose.append(np.full(len(x), i))
        count = np.array([len(x) for x in solutions[1:]], dtype=int)
        rows = padded(np.concatenate(pose), np.concatenate(solutions), count)
        return Raw(rows, count, np.zeros(len(T), bool), density=np.full(len(T), grid.size))

    def _one(self, problem: IkProblem, last: IkProblem, first: np.ndarray, targets: np.ndarray, T: np.ndarray):
        raw = scan.solve(last, targets)
        number = np.repeat(np.arange(len(first)), raw.count)
        rest = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]]
        R = _products(last, rest, with_tool=True)[:, :3, :3]
        miss = np.sum((R - targets[number, :3, :3]) ** 2, axis=(1, 2))
        best = np.argsort(miss)[: self.survivors]
        lanes = lanes_of(problem, T[None])
        seeds = np.concatenate([first[number[best]], rest[best]], axis=1) / problem.units
        x, squared = newton(problem, seeds, np.repeat(lanes.targets, len(seeds), axis=0), lanes.tool, 32)
        x = x[squared < ACCEPTED]
        return x[distinct(problem, np.zeros(len(x), int), x)] * problem.units

    def explain(self, problem: IkProblem) -> str:
        """What is scanned and what is solved."""
        return f"Scan of {self.counts}³ numbers of the first three joints; the last three solved for the position"


solver: Reduction = Reduction()


def _shifted(problem: IkProblem):
    """The last three steps as a chain of their own."""
    return tuple(replace(step, coordinate=step.coordinate - 3) for step in problem.steps[3:])


def _products(problem: IkProblem, x: np.ndarray, with_tool: bool = False) -> np.ndarray:
    """Poses (k, 4, 4) after as many steps as x (k, j) has columns."""
    T = np.broadcast_to(np.eye(4), (len(x), 4, 4))
    for k, step in enumerate(problem.steps[: x.shape[1]]):
        motion = np.broadcast_to(np.eye(4), (len(x), 4, 4)).copy()
        if step.kind != "P":
            c, s = np.cos(x[:, k]), np.sin(x[:, k])
            motion[:, 0, 0], motion[:, 0, 1], motion[:, 1, 0], motion[:, 1, 1] = c, -s, s, c
        motion[:, 2, 3] = x[:, k] * (1.0 if step.kind == "P" else step.pitch)
        T = T @ step.T_before @ motion
    return T @ problem.T_last_frame if with_tool else T

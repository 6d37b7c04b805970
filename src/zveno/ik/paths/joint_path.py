"""Inverse kinematics along a path: every branch followed, none changed in silence, and the best sequence chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import ShapeError
from ...io.results import Result, registered
from ...mechanism import Mechanism
from ..ik_problem import IkProblem
from ..solutions import Solutions
from ..solve import _problem, solve_ik
from ..targets import checked_targets
from .sequence import Sequence, best_sequence
from .track import NEARLY_SINGULAR, Branch, tracked
from .track_balls import Tangent, singular_poses, tracked_q


@registered
@dataclass(frozen=True, eq=False, repr=False)
class JointPath(Result):
    """A path in joint space.

    Attributes:
        q: (N, n_q) the best sequence of configurations; NaN where a pose has no solution.
        jumps: numbers k where the arm cannot get from pose k to pose k + 1 without leaving the path.
        unsolved: numbers of the poses without solutions.
        singular: numbers of the poses at which the chosen sequence is nearly singular.
        branches: every branch that starts at the first pose, as far as it goes.
        cost: sum of squared joint steps of the sequence, jumps left out.
        joint_names: coordinate names.
        mechanism, frame: the robot and the frame that follows the path.
        chain: places in q of the coordinates that move the frame.
    """

    kind: ClassVar[str] = "path"

    q: np.ndarray
    jumps: tuple[int, ...]
    unsolved: tuple[int, ...]
    singular: tuple[int, ...]
    branches: tuple[Branch, ...]
    cost: float
    joint_names: tuple[str, ...]
    mechanism: Mechanism
    frame: str
    chain: tuple[int, ...]

    @property
    def status(self) -> str:
        """ "continuous", "with jumps" or "incomplete"."""
        if self.unsolved:
            return "incomplete"
        return "with jumps" if self.jumps else "continuous"

    @property
    def summary(self) -> str:
        """What came out, in a sentence or two."""
        whole = sum(branch.ended is None for branch in self.branches)
        text = f"{len(self.q)} poses, {whole} of {len(self.branches)} starting branches reach the end"
        if self.unsolved:
            text += f"; no solution at poses {_listed(self.unsolved)}"
        if self.jumps:
            text += f"; the best sequence has to jump after poses {_listed(self.jumps)}"
        if self.singular:
            text += f"; nearly singular at poses {_listed(self.singular)}"
        return text if self.jumps or self.unsolved else text + "; the best sequence is continuous"


def solve_path(
    robot,
    poses,
    times=None,
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    largest_step: float = 0.5,
    start=None,
    track: bool = True,
    slices: int = 16,
) -> JointPath:
    """Joint motion along a path of poses.

    Every solution of the first pose is followed by integrating q̇ = J⁻¹V with correction; independently, all
    solutions of all poses form a layered graph, in which a dynamic program finds the sequence with the fewest jumps
    and, among those, the least sum of squared joint steps.

    Args:
        robot: the robot.
        poses: (N, 4, 4), or a function of time T(t), then `times` (N,) says where it is evaluated.
        times: for a function.
        frame, relative_to, limits, task, method: as for `solve_ik`.
        largest_step: joint steps above this (radians, or lengths over the arm's) from pose to pose are jumps.
        start: q (n_q,) the sequence should begin near.
        track: whether to follow all branches from the first pose as well.
        slices: for redundant robots.
    """
    if callable(poses):
        poses = _evaluated(poses, times)
    problem = _problem(robot, frame, relative_to, limits, task, None)
    T, _, batch = checked_targets(problem, poses, "poses")
    if len(batch) != 1 or not len(T):
        raise ShapeError(
            f"have batch shape {batch}", element="poses", remedy="Give at least one pose, as (N, 4, 4)"
        )
    windings = problem.redundancy == 0
    found = solve_ik(robot, T, frame, relative_to, limits, task, method, windings=windings, slices=slices)
    if problem.has_balls:
        return _through_balls(robot, problem, T, found, largest_step, start, track)
    layers = [_coordinates(problem, found.of(k)) for k in range(len(T))]
    first = None if start is None else _coordinates(problem, problem.mechanism.checked_q(start, "start")[None])[0]
    sequence = best_sequence(problem, layers, largest_step, first)
    x = np.full((len(T), problem.n), np.nan)
    for k, row in enumerate(sequence.rows):
        if row is not None:
            x[k] = layers[k][row]
    x = _unwound(problem, x, sequence.jumps)
    q = problem.to_q(np.nan_to_num(x) * problem.units)
    q[np.isnan(x[:, 0])] = np.nan
    branches = (
        tracked(problem, T, layers[0], largest_step, found.count > 0)
        if track and len(T) > 1 and len(layers[0])
        else ()
    )
    return _path(problem, found, sequence, q, _singular(problem, T, x), branches)


def _through_balls(
    robot, problem: IkProblem, T: np.ndarray, found: Solutions, largest: float, start, track: bool
) -> JointPath:
    """The path of a chain with ball joints, in its own q: steps are velocities, not differences of angles."""
    tangent = Tangent(robot, problem)
    layers = [found.of(k) for k in range(len(T))]
    first = None if start is None else problem.mechanism.checked_q(start, "start")
    sequence = best_sequence(problem, layers, largest, first, tangent.step)
    q = np.full((len(T), problem.mechanism.n_q), np.nan)
    for k, row in enumerate(sequence.rows):
        if row is not None:
            q[k] = layers[k][row]
    branches = tracked_q(tangent, T, layers[0], largest, found.count > 0) if track and len(T) > 1 else ()
    return _path(problem, found, sequence, q, singular_poses(tangent, T, q, NEARLY_SINGULAR), branches)


def _path(problem: IkProblem, found: Solutions, sequence: Sequence, q: np.ndarray, singular, branches) -> JointPath:
    return JointPath(
        q=q,
        jumps=tuple(sequence.jumps),
        unsolved=tuple(int(k) for k in np.flatnonzero(found.count == 0)),
        singular=singular,
        branches=branches,
        cost=sequence.cost,
        joint_names=problem.mechanism.coordinate_names,
        mechanism=problem.mechanism,
        frame=problem.frame,
        chain=problem.chain,
    )


def _evaluated(function: Callable, times) -> np.ndarray:
    if times is None:
        raise ShapeError("a path given as a function needs times", element="times", remedy="Give an array (N,)")
    return np.stack([np.asarray(function(t), dtype=float) for t in np.asarray(times, dtype=float)])


def _coordinates(problem: IkProblem, q: np.ndarray) -> np.ndarray:
    """Chain coordinates, in chain units, of configurations (s, n_q)."""
    index = np.zeros(problem.n, int)
    for step in problem.steps:
        index[step.coordinate] = step.index
    return q[:, index] / problem.units


def _unwound(problem: IkProblem, x: np.ndarray, jumps) -> np.ndarray:
    """Endless joints continue through whole turns instead of jumping back by one."""
    endless = problem.turning & np.isinf(problem.upper) & np.isinf(problem.lower)
    for k in range(1, len(x)):
        if not np.isnan(x[k - 1 : k + 1]).any():
            turns = np.round((x[k] - x[k - 1]) / (2 * np.pi))
            x[k] -= np.where(endless, 2 * np.pi * turns, 0.0)
    return x


def _singular(problem: IkProblem, T: np.ndarray, x: np.ndarray, threshold: float = 1e-3) -> tuple[int, ...]:
    from ..checks.judgement import judged
    from ..newton import lanes_of

    known = np.flatnonzero(~np.isnan(x[:, 0]))
    least = judged(problem, x[known], lanes_of(problem, T), known).least
    return tuple(int(k) for k in known[least < threshold])


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"

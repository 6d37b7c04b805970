"""Inverse kinematics along a path: every branch followed, none changed in silence, and the best sequence chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...clearance.capsules import acceptance
from ...errors import ShapeError
from ...mechanism.loops import for_trees
from ...progress import Progress, ProgressBar
from ...robot_functions import RobotFunctions
from ..redundant.locked_joints import without_locked
from ..redundant.sliced_joint import slices_of_sample
from ..request import request_of
from ..solutions import COMPLETE, PROVED, Solutions
from ..solve import solve_ik
from ..targets import checked_targets
from .follow import NEARLY_SINGULAR, Follower, jump_deviations
from .interruptions import Interruption, interruption
from .joint_path import JointPath
from .pose_curves import PosePath
from .redundant_sequence import redundant_sequence
from .sequence import Sequence, best_sequence, interrupted
from .strands import Branch, branches_from, linked_layers
from .timing import Timing, timed


@for_trees
def solve_path(
    robot: RobotFunctions,
    poses: ArrayLike | PosePath | Callable[[float], np.ndarray],
    times: ArrayLike | None = None,
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    q0: ArrayLike | None = None,
    samples: int | None = None,
    where: Callable[[np.ndarray], np.ndarray] | Clearance | None = None,
    velocity: ArrayLike | bool | None = None,
    acceleration: ArrayLike | None = None,
    progress: Progress = None,
) -> JointPath:
    """Do what `Robot.ik_path` documents."""
    if isinstance(poses, PosePath):
        poses = poses.poses
    elif callable(poses):
        poses = _evaluated(poses, times)
    problem = without_locked(request_of(robot, frame, relative_to, limits, task).problem)
    T, _, batch = checked_targets(problem, poses, "poses")
    if len(batch) != 1 or not len(T):
        raise ShapeError(
            f"have batch shape {batch}", element="poses", remedy="Give at least one pose, as (N, 4, 4)"
        )
    sampled = slices_of_sample(problem, samples, method)  # will do: the path is made smooth
    where = acceptance(robot, where)
    options = {"relative_to": relative_to, "limits": limits, "task": task, "method": method}
    solutions = solve_ik(robot, T, frame, samples=sampled, **options)
    solutions = solutions if where is None else solutions.where(where)
    layers_q = [solutions.of(k) for k in range(len(T))]
    follower = Follower(robot, problem, T)
    start = None if q0 is None else follower.of_chain(problem.mechanism.checked_q(q0, "q0"))
    branches: tuple[Branch, ...] = ()
    with ProgressBar("following", progress) as advance:
        if problem.redundancy:
            sequence = redundant_sequence(follower, layers_q, start, where)
        else:
            layers = linked_layers(follower, layers_q, where, advance)
            branches = branches_from(follower, layers, len(layers_q[0])) if len(T) > 1 else ()
            sequence = best_sequence(follower, layers, start)
    found = {k: interruption(follower, k, sequence.states[k]) for k in sequence.jumps}
    timing: Timing | None = None
    if velocity is not None or acceleration is not None:
        timing = timed(follower, sequence.states, sequence.jumps, velocity, acceleration)
        found |= timing.broken
        sequence = interrupted(follower, sequence, tuple(timing.broken))
    return _path(follower, solutions, layers_q, sequence, branches, [found[k] for k in sequence.jumps], timing)


def _path(
    follower: Follower,
    solutions: Solutions,
    layers_q: list[np.ndarray],
    sequence: Sequence,
    branches: tuple[Branch, ...],
    found: list[Interruption],
    timing: Timing | None,
) -> JointPath:
    problem, q = follower.problem, sequence.states
    known = ~np.isnan(q[:, 0])
    unsolved = tuple(k for k, layer in enumerate(layers_q) if not len(layer))
    near = [
        int(k) for k in np.flatnonzero(known) if follower.least_singular(int(k), q[k][None])[0] < NEARLY_SINGULAR
    ]
    broken = min([*sequence.jumps, *(k - 1 for k in unsolved), len(q) - 1])
    return JointPath(
        q=q,
        jumps=sequence.jumps,
        unsolved=unsolved,
        singular=tuple(near),
        branches=branches,
        cost=sequence.cost,
        joint_names=problem.mechanism.coordinate_names,
        mechanism=problem.mechanism,
        frame=problem.frame,
        chain=problem.chain,
        jump_sizes=sequence.sizes,
        jump_deviations=jump_deviations(follower, sequence.jumps, q),
        jump_fractions=np.array([jump.fraction for jump in found]),
        jump_reasons=tuple(jump.reason for jump in found),
        incomplete=()
        if problem.redundancy
        else tuple(
            int(k) for k in np.flatnonzero(~np.isin(solutions.codes, (COMPLETE, PROVED)) & (solutions.count > 0))
        ),
        fraction=1.0 if len(q) == 1 and not unsolved else max(0.0, broken / max(1, len(q) - 1)),
        times=None if timing is None else timing.times,
        velocity=None if timing is None else timing.velocity,
        motion=None if timing is None else timing.motion,
    )


def _evaluated(function: Callable, times) -> np.ndarray:
    if times is None:
        raise ShapeError("a path given as a function needs times", element="times", remedy="Give an array (N,)")
    return np.stack([np.asarray(function(t), dtype=float) for t in np.asarray(times, dtype=float)])

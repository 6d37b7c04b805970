"""Postures of trees and floating bases that put several frames and the centre of mass where they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...clearance.capsules import acceptance
from ...errors import ShapeError, ZvenoError
from ...kernels.kernel import Kernel
from ...mechanism import Mechanism, edit
from ...mechanism.unit_quaternions import refuse_unnormalized
from ...robot_functions import RobotFunctions
from .box_limits import coordinate_limits, limits_kept
from .closing import SHUT, closing_kernel
from .posture_program import PostureProblem, posture_program, task_misses
from .posture_result import Configurations
from .posture_search import PostureSearch
from .posture_targets import checked_targets
from .starts import starts_of
from .tasks import ClosedLoops, Task
from .velocity_ik import DifferentialIK, kernel_of_function, kernel_of_tasks

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel

ROUNDS = ((8, 16), (24, 24), (32, 24), (96, 40), (64, 100))
"""Starts and steps of each round; a round is the last one if it reaches as many postures as are wanted."""
BOUNDED = {1: (4, 8), 2: (4, 12), 3: (8, 40)}
"""After which rounds so many of the nearest postures take so many steps in which limits count."""
LITTLE = 1e-8
"""The damping of these steps."""
ARRIVED = 1e-7
"""Errors before a step, m and rad, after which it needs no other: it squares them."""


def whole_body(
    robot: RobotFunctions,
    targets: Mapping[str, Any],
    *,
    center_of_mass: ArrayLike | None = None,
    limits: Any = True,
    q0: ArrayLike | None = None,
    tolerance: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    tasks: Sequence[Task] | None = None,
    where: Callable[[np.ndarray], np.ndarray] | Clearance | None = None,
    n: int = 1,
) -> Configurations:
    """Find postures, on any base, that put several frames and the centre of mass at their targets.

    Closed loops are closed in every posture, to 1e-12 m and rad in independent rows.

    Args:
        robot: the robot.
        targets: by frame: a pose (4, 4), a point (3,), a rotation (3, 3), or (point, axis of the frame's z).
        center_of_mass: its target, (3,), m.
        limits: True for the model's, False for none; {joint: (lower, upper)} or (lower, upper) narrow the model's.
        q0: q to begin from: then a posture near it is found in a few steps, if there is one.
        tolerance: (metres, radians) within which targets are reached, or {frame or "center_of_mass": the same} for
            some of them, which then pull no further; 1e-6 each if not given.
        tasks: what the targets are for, by name: `FrameTask`, … or your own, see `Task`; by default one for each
            target, by its shape. Weights and gains do not count.
        where: (s, n_q) → (s,) booleans, or a `Clearance`: which postures may be used.
        n: number of distinct postures wanted; more may be returned.
    """
    mechanism = robot.mechanism
    given, numbers, within, slack = checked_targets(mechanism, targets, center_of_mass, tolerance, tasks)
    if not (isinstance(n, int | np.integer) and n > 0):
        raise ZvenoError(f"is {n!r}", element="n", remedy="Give how many postures are wanted, 1 or more")
    low, high = coordinate_limits(mechanism, limits)
    usable = acceptance(robot, where)
    flat = np.concatenate(numbers)
    digest = hashlib.blake2b(flat.tobytes(), digest_size=8, key=mechanism.fingerprint.encode()[:64]).hexdigest()
    kept, closed = partial(limits_kept, mechanism, limits), _as_it_is
    asked = given
    if mechanism.loops:
        given = (*given, ClosedLoops(mechanism))
        within = np.concatenate([np.broadcast_to(within, (len(asked), 2)), [[SHUT, SHUT]]])
        slack = np.concatenate([slack, np.zeros(2)])
        closed, kept = partial(_closed, mechanism), partial(_kept_and_closed, mechanism, kept)
        robot = _tree(mechanism)
    search = PostureSearch(robot, given, misses_kernel(mechanism, given), flat, within, kept, usable)
    for number, starts, most_steps in _rounds(robot, given, flat, q0):
        kernel = _kernel(mechanism, given, most_steps, limits is not False)
        search.take(closed(kernel(starts, flat, slack, low, high)), len(starts))
        if len(search.reached) >= n:
            break
        if number in BOUNDED and len(search.near) and not slack.any():
            count, steps = BOUNDED[number]
            within_limits = _within_limits(
                RobotFunctions(mechanism) if mechanism.loops else robot,
                asked,
                search.near[:count],
                flat,
                limits,
                steps,
                n,
            )
            search.take(closed(within_limits), 0)
            if len(search.reached) >= n:
                break
    return replace(search.result(digest), mechanism=mechanism)


@lru_cache(maxsize=16)
def _tree(mechanism: Mechanism) -> RobotFunctions:
    """Return a mechanism with its loops open, whose loops are a task."""
    return RobotFunctions(edit.opened(mechanism))


def _as_it_is(q: np.ndarray) -> np.ndarray:
    return q


def _closed(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return postures (s, n_q) after two more Newton steps onto the loops, as they are where these fail."""
    after, shut = closing_kernel(mechanism)(q)
    return np.where((shut > 0.0)[..., None], after, q)


def _kept_and_closed(mechanism: Mechanism, kept: Callable[[np.ndarray], np.ndarray], q: np.ndarray) -> np.ndarray:
    """Return True for postures within limits with all loops closed."""
    return kept(q) & (closing_kernel(mechanism)(q)[1] > 0.0)


def _within_limits(
    robot: RobotFunctions,
    tasks: tuple[Task, ...],
    q: np.ndarray,
    targets: np.ndarray,
    limits: Any,
    steps: int,
    n: int = 1,
) -> np.ndarray:
    """Improve postures until n arrive, by Gauss–Newton steps whose limits are part of the least squares.

    If most joints that move a target are at limits, clamped steps converge slowly; these do not.
    """
    plain = isinstance(limits, bool)
    solver = _bounded(robot, tasks, limits) if plain else _bounded.__wrapped__(robot, tasks, limits)
    step = None
    for _ in range(steps):
        step = solver.stepped(q, targets, step)
        q = step.q
        if (step.errors.max(axis=1) < ARRIVED).sum() >= n:
            break
    return q


@lru_cache(maxsize=16)
def _bounded(robot: RobotFunctions, tasks: tuple[Task, ...], limits: Any) -> DifferentialIK:
    return DifferentialIK(robot, tasks, 1.0, limits=limits, velocity=False, limit_gain=1.0, damping=LITTLE)


def _rounds(robot: RobotFunctions, tasks: tuple[Task, ...], targets: np.ndarray, start: ArrayLike | None):
    """Yield (number, starts (s, n_q), steps) round by round; a given start comes before the first."""
    if start is not None:
        yield -1, _start(robot, start)[None], ROUNDS[1][1]
    pool = starts_of(robot, tasks).nearest(targets, sum(count for count, _ in ROUNDS))
    first_start = 0
    for number, (count, most_steps) in enumerate(ROUNDS):
        yield number, pool(first_start, first_start + count), most_steps
        first_start += count


def _start(robot: RobotFunctions, start: ArrayLike) -> np.ndarray:
    first = robot.mechanism.checked_q(start, "q0")
    if first.ndim != 1 or not np.isfinite(first).all():
        raise ShapeError("must be one finite configuration", element="q0")
    refuse_unnormalized(robot.mechanism, first, "q0")
    return first


@lru_cache(maxsize=64)
def _kernel(mechanism: Mechanism, tasks: tuple[Task, ...], most_steps: int, limited: bool) -> Kernel:
    return kernel_of_tasks(posture_program, PostureProblem(mechanism, tasks, most_steps, limited), tasks)


@lru_cache(maxsize=64)
def misses_kernel(mechanism: Mechanism, tasks: tuple[Task, ...]) -> Kernel:
    """Return the kernel (q, targets) → residuals (tasks, 2) in m and rad."""
    problem = PostureProblem(mechanism, tasks)
    inputs = {"q": (mechanism.n_q,), "targets": (problem.n_targets,)}
    return kernel_of_function(task_misses, inputs, problem, tasks, "misses")

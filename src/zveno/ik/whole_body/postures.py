"""Postures of trees and floating bases that put several frames and the centre of mass where they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...clearance.capsules import acceptance
from ...errors import ShapeError, ZvenoError
from ...kernels.door import compiled
from ...kernels.kernel import Kernel
from ...mechanism import Mechanism
from ...mechanism.unit_quaternions import refuse_unnormalized
from ...robot_functions import RobotFunctions
from ..parts import asked
from .box_limits import coordinate_limits
from .limbs import limb_postures
from .posture_program import PostureProblem, posture_program, task_misses
from .posture_result import NOT_ACCEPTED, UNDECIDED, Postures
from .posture_search import PostureSearch, misses_by_name
from .posture_targets import checked_targets
from .starts import starts_of
from .tasks import Task
from .velocity_ik import VelocityIk

if TYPE_CHECKING:
    from ...kernels.structured.kernel import StructuredKernel

ROUNDS = ((8, 16), (24, 24), (32, 24), (96, 40), (64, 100))
"""Starts and steps of each round; a round is the last one if it reaches as many postures as are wanted."""
BOUNDED = {1: (4, 8), 2: (4, 12), 3: (8, 40)}
"""After which rounds so many of the nearest postures take so many steps in which limits count."""
LITTLE = 1e-8
"""The damping of these steps."""
ARRIVED = 1e-7
"""Errors before a step, m and rad, after which it needs no other: it squares them."""


def solve_postures(
    robot: RobotFunctions,
    targets: Mapping[str, Any],
    *,
    center_of_mass: ArrayLike | None = None,
    limits: Any = True,
    start: ArrayLike | None = None,
    tolerance: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    accept: Callable[[np.ndarray], np.ndarray] | Clearance | None = None,
    base: ArrayLike | None = None,
    n: int = 1,
) -> Postures:
    """Postures of a tree, on any base, that put several frames and the centre of mass where they are asked for.

    Args:
        robot: the robot.
        targets: by frame: a pose (4, 4), a point (3,), a rotation (3, 3), or (point, axis of the frame's z).
        center_of_mass: where it is to be, (3,), m.
        limits: True for the model's, False for none; {joint: (lower, upper)} or (lower, upper) narrow the model's.
        start: q to begin from: then a posture near it is found in a few steps, if there is one. With `base`, where
            joints stand that belong to no limb; neutral, or as near as limits allow, if not given.
        tolerance: (metres, radians) within which targets are reached, or {frame or "center_of_mass": the same} for
            some of them, which then pull no further; 1e-6 each if not given.
        accept: (s, n_q) → (s,) booleans, or a `Clearance`: which postures may be used.
        base: pose (4, 4) of a free base, where it is given: then every limb is solved exactly, all combinations are
            listed, and the status says how complete they are for joints of limbs.
        n: how many distinct postures are wanted; more may be returned.
    """
    mechanism = robot.mechanism
    tasks, numbers, within, slack = checked_targets(mechanism, targets, center_of_mass, tolerance)
    if not (isinstance(n, int | np.integer) and n > 0):
        raise ZvenoError(f"is {n!r}", element="n", remedy="Give how many postures are wanted, 1 or more")
    low, high = coordinate_limits(mechanism, limits)
    usable = acceptance(robot, accept)
    flat = np.concatenate(numbers)
    digest = hashlib.blake2b(flat.tobytes(), digest_size=8, key=mechanism.fingerprint.encode()[:64]).hexdigest()
    if base is not None:
        if tolerance is not None:
            raise ZvenoError("is not for a given base", element="tolerance", remedy="Leave it out: limbs are exact")
        others = np.clip(robot.neutral() if start is None else _start(robot, start), low, high)
        q, status = limb_postures(robot, tasks, numbers, base, limits, others)
        return _listed(robot, tasks, q, status, flat, usable, digest)
    search = PostureSearch(robot, tasks, _errors(mechanism, tasks), flat, within, usable)
    for number, starts, most_steps in _rounds(robot, tasks, flat, start):
        search.take(_kernel(mechanism, tasks, most_steps)(starts, flat, slack, low, high), len(starts))
        if len(search.reached) >= n:
            break
        if number in BOUNDED and len(search.near) and not slack.any():
            count, steps = BOUNDED[number]
            search.take(_within_limits(robot, tasks, search.near[:count], flat, limits, steps, n), 0)
            if len(search.reached) >= n:
                break
    return search.result(digest)


def _within_limits(
    robot: RobotFunctions,
    tasks: tuple[Task, ...],
    q: np.ndarray,
    targets: np.ndarray,
    limits: Any,
    steps: int,
    n: int = 1,
) -> np.ndarray:
    """Postures, of which n are wanted, after steps of Gauss and Newton whose limits are part of the least squares.

    Where most of what moves a target stands on limits, steps that are cut there creep; these do not.
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
def _bounded(robot: RobotFunctions, tasks: tuple[Task, ...], limits: Any) -> VelocityIk:
    return VelocityIk(robot, tasks, 1.0, limits=limits, velocity=False, limit_gain=1.0, damping=LITTLE)


def _listed(
    robot: RobotFunctions,
    tasks: tuple[Task, ...],
    q: np.ndarray,
    status: str,
    flat: np.ndarray,
    usable: Any,
    digest: str,
) -> Postures:
    """The combinations of limbs that are accepted."""
    if usable is not None and len(q):
        q = q[asked(usable, q)]
        if not len(q):
            status = NOT_ACCEPTED if status == "complete" else UNDECIDED
    misses = _errors(robot.mechanism, tasks)(q if len(q) else robot.neutral()[None], flat)
    nearest = q[0] if len(q) else robot.neutral()
    residual = misses.max(axis=(1, 2))[: len(q)]
    by_name = misses_by_name(tasks, misses[0])
    return Postures(q, residual, status, nearest, by_name, 0, robot.mechanism, digest)


def _rounds(robot: RobotFunctions, tasks: tuple[Task, ...], targets: np.ndarray, start: ArrayLike | None):
    """(number, starts (s, n_q), steps) round by round; the start that is given comes before the first."""
    if start is not None:
        yield -1, _start(robot, start)[None], ROUNDS[1][1]
    pool = starts_of(robot, tasks).nearest(targets, sum(count for count, _ in ROUNDS))
    first_start = 0
    for number, (count, most_steps) in enumerate(ROUNDS):
        yield number, pool(first_start, first_start + count), most_steps
        first_start += count


def _start(robot: RobotFunctions, start: ArrayLike) -> np.ndarray:
    first = robot.mechanism.checked_q(start, "start")
    if first.ndim != 1 or not np.isfinite(first).all():
        raise ShapeError("must be one finite configuration", element="start")
    refuse_unnormalized(robot.mechanism, first, "start")
    return first


@lru_cache(maxsize=64)
def _kernel(mechanism: Mechanism, tasks: tuple[Task, ...], most_steps: int) -> StructuredKernel:
    from ...kernels.structured.kernel import compiled_structured  # not needed to import the package

    return compiled_structured(posture_program, PostureProblem(mechanism, tasks, most_steps))


@lru_cache(maxsize=64)
def _errors(mechanism: Mechanism, tasks: tuple[Task, ...]) -> Kernel:
    problem = PostureProblem(mechanism, tasks)
    inputs = {"q": (mechanism.n_q,), "targets": (problem.n_targets,)}
    return compiled(task_misses, inputs, constants=(problem,), outputs=("misses",))

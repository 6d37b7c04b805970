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
from ...robot_functions import RobotFunctions
from .box_limits import coordinate_limits
from .limbs import limb_postures
from .posture_program import PostureProblem, posture_program, task_misses
from .posture_result import NOT_ACCEPTED, SOLVED, UNDECIDED, Postures
from .starts import starts_of
from .tasks import CENTER_OF_MASS, CenterOfMassTask, FrameTask, Task, checked_tasks, target_numbers

if TYPE_CHECKING:
    from ...kernels.structured.kernel import StructuredKernel

ROUNDS = ((8, 16), (24, 24), (96, 40), (128, 150))
"""Starts and steps of each round; a round is the last one if it reaches as many postures as are wanted."""
TOLERANCE = (1e-6, 1e-6)
"""A target is reached within as many metres and radians."""
APART = 1e-3
"""Postures that differ by less everywhere, rad or m, are one."""


def solve_postures(
    robot: RobotFunctions,
    targets: Mapping[str, Any],
    *,
    center_of_mass: ArrayLike | None = None,
    limits: Any = True,
    start: ArrayLike | None = None,
    tolerance: tuple[float, float] | None = None,
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
        start: q to begin from: then a posture near it is found in a few steps, if there is one.
        tolerance: (metres, radians) within which a target is reached, 1e-6 each if not given.
        accept: (s, n_q) → (s,) booleans, or a `Clearance`: which postures may be used.
        base: pose (4, 4) of a free base, where it is given: then every limb is solved exactly, all combinations are
            listed, and the status says how complete they are.
        n: how many distinct postures are wanted; more may be returned.
    """
    mechanism = robot.mechanism
    tasks, numbers = _asked(robot, targets, center_of_mass)
    metres, radians = _tolerance(tolerance)
    if not (isinstance(n, int | np.integer) and n > 0):
        raise ZvenoError(f"is {n!r}", element="n", remedy="Give how many postures are wanted, 1 or more")
    low, high = coordinate_limits(mechanism, limits)
    usable = acceptance(robot, accept)
    errors = _errors(mechanism, tasks)
    flat = np.concatenate(numbers)
    digest = hashlib.blake2b(flat.tobytes(), digest_size=8, key=mechanism.fingerprint.encode()[:64]).hexdigest()
    if base is not None:
        q, status = limb_postures(robot, tasks, numbers, base, limits)
        return _listed(robot, tasks, q, status, flat, usable, digest)
    reached: list[np.ndarray] = []
    refused, tried, best, least = False, 0, np.asarray(mechanism.neutral()), np.inf
    for starts, most_steps in _rounds(robot, tasks, numbers, start):
        ends = _kernel(mechanism, tasks, most_steps)(starts, flat, low, high)
        tried += len(starts)
        misses = errors(ends, flat)
        worst = np.where(np.isfinite(misses), misses, np.inf).max(axis=(1, 2))
        nearest = int(np.argmin(worst))
        if worst[nearest] < least:
            best, least = ends[nearest], float(worst[nearest])
        good = ends[(misses[..., 0] <= metres).all(axis=1) & (misses[..., 1] <= radians).all(axis=1)]
        if usable is not None and len(good):
            kept = np.asarray(usable(good), dtype=bool)
            refused |= not kept.all()
            good = good[kept]
        for q in good:
            if not reached or abs(robot.difference(np.array(reached), q)).max(axis=1).min() > APART:
                reached.append(q)
        if len(reached) >= n:
            break
    q = np.array(reached).reshape(-1, mechanism.n_q)
    status = SOLVED if len(q) else NOT_ACCEPTED if refused else UNDECIDED
    return _judged(robot, tasks, q, status, flat, best, tried, digest)


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
        kept = q[np.asarray(usable(q), dtype=bool)]
        status = status if len(kept) else NOT_ACCEPTED
        q = kept
    return _judged(robot, tasks, q, status, flat, robot.neutral(), 0, digest)


def _judged(
    robot: RobotFunctions, tasks: tuple[Task, ...], q: np.ndarray, status: str, flat: np.ndarray, best: np.ndarray,
    tried: int, digest: str
) -> Postures:  # fmt: skip
    errors = _errors(robot.mechanism, tasks)
    nearest = q[0] if len(q) else best
    missed = {task.name: (float(a), float(b)) for task, (a, b) in zip(tasks, errors(nearest, flat), strict=True)}
    residual = errors(q, flat).max(axis=(1, 2)) if len(q) else np.zeros(0)
    return Postures(q, residual, status, nearest, missed, tried, digest)


def _asked(
    robot: RobotFunctions, targets: Mapping[str, Any], center_of_mass: ArrayLike | None
) -> tuple[tuple[Task, ...], list[np.ndarray]]:
    """Tasks and the numbers of their targets."""
    tasks: list[Task] = [FrameTask(name, kind=_kind_of(name, target)) for name, target in targets.items()]
    values = list(targets.values())
    if center_of_mass is not None:
        tasks.append(CenterOfMassTask())
        values.append(center_of_mass)
    checked = checked_tasks(robot.mechanism, tasks)
    numbers = [target_numbers(robot.mechanism, task, value) for task, value in zip(checked, values, strict=True)]
    for task, given in zip(checked, numbers, strict=True):
        if given.ndim != 1:
            raise ShapeError("is a batch", element=f"target {task.name}", remedy="Give one set of targets a call")
    links = {}
    for task in tasks:
        if isinstance(task, FrameTask) and task.kind == "pose":
            links.setdefault(robot.mechanism.frame(task.frame).link, []).append(task.frame)
    for link, frames in links.items():
        _refuse_contradiction(robot, link, frames, targets)
    return checked, numbers


def _refuse_contradiction(robot: RobotFunctions, link: str, frames: list[str], targets: Mapping[str, Any]) -> None:
    """An error where two frames of one link are asked for poses that the link cannot have at once."""
    placed = [
        np.asarray(targets[name], dtype=float) @ np.linalg.inv(robot.mechanism.frame(name).T_link_frame)
        for name in frames
    ]
    for name, other in zip(frames[1:], placed[1:], strict=True):
        if abs(other - placed[0]).max() > 1e-6:
            raise ZvenoError(
                f"{frames[0]!r} and {name!r} are both on it, and their targets contradict each other",
                element=f"link {link}",
                remedy="Leave one of them out",
            )


def _kind_of(name: str, target: Any) -> str:
    if isinstance(target, tuple | list) and len(target) == 2 and all(np.shape(part) == (3,) for part in target):
        return "position+axis"
    kinds = {(4, 4): "pose", (3,): "position", (3, 3): "rotation"}
    try:
        shape = np.shape(target)
    except ValueError:
        shape = ()
    if shape not in kinds:
        raise ShapeError(
            f"has shape {shape}",
            element=f"target {name}",
            remedy="Give a pose (4, 4), a point (3,), a rotation (3, 3), or (point, axis)",
        )
    return kinds[shape]


def _tolerance(tolerance: tuple[float, float] | None) -> tuple[float, float]:
    values = np.asarray(TOLERANCE if tolerance is None else tolerance, dtype=float)
    if values.shape != (2,) or not (values > 0).all():
        raise ZvenoError(f"is {tolerance!r}", element="tolerance", remedy="Give (metres, radians), above 0")
    return float(values[0]), float(values[1])


def _rounds(robot: RobotFunctions, tasks: tuple[Task, ...], numbers: list[np.ndarray], start: ArrayLike | None):
    """(starts (s, n_q), steps) round by round."""
    if start is not None:
        first = robot.mechanism.checked_q(start, "start")
        if first.ndim != 1 or not np.isfinite(first).all():
            raise ShapeError("must be one finite configuration", element="start")
        yield first[None], ROUNDS[1][1]
    places = [_place(task, given) for task, given in zip(tasks, numbers, strict=True)]
    pool = starts_of(robot, tasks).nearest(places, sum(count for count, _ in ROUNDS))
    first_start = 0
    for count, most_steps in ROUNDS:
        yield pool(first_start, first_start + count), most_steps
        first_start += count


def _place(task: Task, numbers: np.ndarray) -> np.ndarray:
    """A target as (3, 4)."""
    if task.name != CENTER_OF_MASS:
        return numbers.reshape(3, 4)
    place = np.zeros((3, 4))
    place[:, 3] = numbers
    return place


@lru_cache(maxsize=64)
def _kernel(mechanism: Mechanism, tasks: tuple[Task, ...], most_steps: int) -> StructuredKernel:
    from ...kernels.structured.kernel import compiled_structured  # not needed to import the package

    return compiled_structured(posture_program, PostureProblem(mechanism, tasks, most_steps))


@lru_cache(maxsize=64)
def _errors(mechanism: Mechanism, tasks: tuple[Task, ...]) -> Kernel:
    problem = PostureProblem(mechanism, tasks)
    inputs = {"q": (mechanism.n_q,), "targets": (problem.n_targets,)}
    return compiled(task_misses, inputs, constants=(problem,), outputs=("misses",))

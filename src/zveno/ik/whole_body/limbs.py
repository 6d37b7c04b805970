"""Postures for a given base: every limb is a chain of its own, solved exactly, and all combinations are listed."""

from __future__ import annotations

from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from ...robot_functions import RobotFunctions
from ...spatial.transforms import inverse, is_transform
from ..ik_problem import problem_of
from ..solutions import COMPLETE, EXCLUDED, UNREACHABLE, Solutions
from ..solve import solve_ik
from .starts import base_coordinates, free_base
from .tasks import RIGID, FrameTask, Task

MOST = 4096
"""Combinations listed at most; with more, the list is a sample."""


def limb_postures(
    robot: RobotFunctions,
    tasks: tuple[Task, ...],
    numbers: list[np.ndarray],
    base: Any,
    limits: Any,
    others: np.ndarray,
) -> tuple[np.ndarray, str]:
    """(postures (k, n_q), status) with the base at a pose, and joints of no limb as in `others` (n_q,).

    The status is "complete" where every limb's solutions are, "unreachable" or "excluded by limits" where one limb
    has none for sure, and otherwise "sampled", or "undecided" without postures.
    """
    mechanism = robot.mechanism
    try:
        T_base = np.asarray(base, dtype=float)
    except (TypeError, ValueError):
        T_base = np.zeros(0)
    if T_base.shape != (4, 4) or not is_transform(T_base, RIGID):
        raise ShapeError("is not a rigid transform (4, 4)", element="base")
    q, root = _standing(robot, T_base, others)
    taken: dict[int, str] = {}
    answers: list[tuple[list[int], Solutions]] = []
    for task, target in zip(tasks, numbers, strict=True):
        if not isinstance(task, FrameTask):
            raise ZvenoError(
                "is decided by the base and the limbs",
                element=task.name,
                remedy="Leave it out where the base is given",
            )
        places = _limb(robot, task, root, taken)
        goal = inverse(T_base) @ np.concatenate([target.reshape(3, 4), [[0.0, 0.0, 0.0, 1.0]]])
        wanted = goal[:3, 3] if task.kind == "position" else goal
        answers.append((places, solve_ik(robot, wanted, task.frame, root, limits, task.kind)))
    counts = [len(answer.of()) for _, answer in answers]
    postures = []
    for parts in islice(product(*(answer.of() for _, answer in answers)), MOST):
        posture = q.copy()
        for (places, _), part in zip(answers, parts, strict=True):
            posture[places] = part[places]
        postures.append(posture)
    return np.array(postures).reshape(-1, mechanism.n_q), _status([answer for _, answer in answers], prod(counts))


def _standing(robot: RobotFunctions, T_base: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, str]:
    """A posture with the base at a pose, and the name of the link that carries the limbs."""
    place = free_base(robot.mechanism)
    if place is None:
        raise ZvenoError(
            "is for robots on a free base", element="base", remedy='Leave it out, or use robot.with_base("free")'
        )
    q = others.copy()
    q[place] = base_coordinates(robot.mechanism, T_base)
    return q, robot.mechanism.joints[0].child


def _limb(robot: RobotFunctions, task: FrameTask, root: str, taken: dict[int, str]) -> list[int]:
    """Coordinates of the joints between the base and a frame; refused where another limb has one of them."""
    problem = problem_of(robot, task.frame, root)
    places = sorted({step.index for step in problem.steps if step.index is not None})
    for place in places:
        other = taken.setdefault(place, task.frame)
        if other != task.frame:
            joint = robot.mechanism.coordinate_names[place]
            raise ZvenoError(
                f"moves both {other!r} and {task.frame!r}, so their limbs cannot be solved one by one",
                element=f"joint {joint}",
                remedy="Leave `base` out: then all are solved together",
            )
    return places


def _status(answers: list[Solutions], count: int) -> str:
    codes = [int(answer.codes) for answer in answers]
    for code, word in ((UNREACHABLE, "unreachable"), (EXCLUDED, "excluded by limits")):
        if code in codes:
            return word
    if not count:
        return "undecided"
    return "complete" if all(code == COMPLETE for code in codes) and count <= MOST else "sampled"

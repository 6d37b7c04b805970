"""Inverse kinematics for a controller: the program to export for a robot, and its documentation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import BuildError
from ...kernels.builder import structured_program
from ..ik_problem import IkProblem, problem_of
from . import seeded
from .bounds import DOUBLE, SINGLE
from .controller_pages import NAME, ControllerIk, page_of_one
from .controller_seven import all_of_seven
from .controller_six import all_of_six


def controller_ik(robot: Any, frame: str | None, single: bool, redundant: str | None = None) -> ControllerIk:
    """Return the program: all solutions of closed forms and of six or seven revolute joints, else one from a seed.

    In `float` all solutions need a closed form: the polynomial of a general arm takes more digits.

    Args:
        robot: the robot.
        frame: the frame to be placed.
        single: `float` instead of `double`.
        redundant: of seven revolute joints the one whose angle is an argument; one that leaves a closed form, or
            else the last that can, if not given.

    Raises:
        BuildError: the chain has joints without coordinates of their own; or `redundant` is not possible.
    """
    problem = problem_of(robot, frame)
    if problem.has_balls:
        raise BuildError(
            "inverse kinematics of ball and free joints cannot be exported: they have quaternions",
            element=f"{problem.mechanism.name}, frame {problem.frame}",
            remedy="Choose a frame that a chain of turning and sliding joints moves",
        )
    bounds = SINGLE if single else DOUBLE
    q = _somewhere(problem)
    given = {"T": problem.forward(q * 1.0).astype(float)}
    complete = all_of_seven(problem, bounds, q, redundant) or all_of_six(problem, bounds)
    if complete is not None:
        return replace(complete, given=given | complete.given)
    written, _ = structured_program(seeded.from_seed, problem, bounds, name=NAME)
    return ControllerIk(written, page_of_one(problem), given | {"q0": q + 0.1 * problem.units})


def _somewhere(problem: IkProblem) -> np.ndarray:
    """Return coordinates inside limits at which nothing is special."""
    lower, upper = problem.span
    return lower + np.random.default_rng(0).uniform(0.3, 0.7, problem.n) * (upper - lower)

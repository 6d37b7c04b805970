"""Inverse kinematics for a controller: the program to export for a robot, and what a user of the C must know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import BuildError
from ...kernels.structured.build import structured_program
from ...kernels.structured.statements import Structured
from ..closed_form.forms import Form, SlidingForm, form_of_problem
from ..ik_problem import IkProblem, problem_of
from . import program, seeded
from .arm_tables import arm_tables
from .bounds import DOUBLE, SINGLE, Bounds
from .controller_pages import page_of_closed_form, page_of_general, page_of_one
from .held_end import HeldEnd, usable_ends
from .six_revolute import program as six_revolute
from .six_revolute.tables import general_arm, six_revolute_tables

NAME = "inverse_kinematics"


@dataclass(frozen=True, eq=False)
class ControllerIk:
    """What is exported.

    Attributes:
        program: T, of seven joints the angle of one, and for chains without a list of all solutions a seed, to
            configurations and a status.
        page: for the README, in Markdown.
        given: values of inputs at which the function can be tried: a pose that the robot reaches, and a seed.
    """

    program: Structured
    page: str
    given: dict[str, np.ndarray]


def controller_ik(robot: Any, frame: str | None, single: bool) -> ControllerIk:
    """The program of a robot: all solutions of closed forms and of six or seven revolute joints, one from a
    seed for others.

    In `float` all solutions need a closed form: the polynomial of a general arm takes more digits.

    Raises:
        BuildError: the chain has joints without coordinates of their own.
    """
    problem = problem_of(robot, frame)
    if problem.has_balls:
        raise BuildError(
            "inverse kinematics of ball and free joints cannot be exported: their coordinates are no plain numbers",
            element=f"{problem.mechanism.name}, frame {problem.frame}",
            remedy="Choose a frame that a chain of turning and sliding joints moves",
        )
    bounds = SINGLE if single else DOUBLE
    q = _somewhere(problem)
    given = {"T": problem.forward(q * 1.0).astype(float)}
    complete = _all_solutions(problem, None, bounds) or _of_seven(problem, bounds, q)
    if complete is not None:
        return replace(complete, given=given | complete.given)
    written, _ = structured_program(seeded.from_seed, problem, bounds, name=NAME)
    return ControllerIk(written, page_of_one(problem), given | {"q0": q + 0.1 * problem.units})


def _all_solutions(problem: IkProblem, held: HeldEnd | None, bounds: Bounds) -> ControllerIk | None:
    """The program that lists all solutions, None where there is none for the chain."""
    form = form_of_problem(problem) if problem.simple else None
    if isinstance(form, Form | SlidingForm):
        tables = arm_tables(problem, form, bounds)
        written, _ = structured_program(program.on_controller, tables, held, name=NAME)
        return ControllerIk(written, page_of_closed_form(problem, held, form.name, tables.of_class.n_branches), {})
    arm = None if bounds is SINGLE else general_arm(problem)
    if arm is None:
        return None
    written, _ = structured_program(
        six_revolute.on_controller, six_revolute_tables(problem, arm, bounds), held, name=NAME
    )
    return ControllerIk(written, page_of_general(problem, held), {})


def _of_seven(problem: IkProblem, bounds: Bounds, q: np.ndarray) -> ControllerIk | None:
    """All solutions of seven revolute joints with one at an end as an argument; by a closed form if one has it."""
    for held, six in usable_ends(problem):
        written = _all_solutions(six, held, bounds)
        if written is not None:
            return replace(written, given={"redundant": q[held.coordinate]})
    return None


def _somewhere(problem: IkProblem) -> np.ndarray:
    """Coordinates inside limits at which nothing is special."""
    lower, upper = problem.span
    return lower + np.random.default_rng(0).uniform(0.3, 0.7, problem.n) * (upper - lower)

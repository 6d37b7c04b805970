"""Inverse kinematics for a controller: the program to export for a robot, and what a user of the C must know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BuildError
from ...kernels.structured.build import structured_program
from ...kernels.structured.statements import Structured
from ..closed_form.forms import Form, form_of_problem
from ..ik_problem import IkProblem, problem_of
from ..solutions import COMPLETE, EXCLUDED, STATUSES, UNDECIDED, UNREACHABLE
from . import program, seeded
from .arm_tables import DOUBLE, SINGLE, arm_tables
from .six_revolute import program as six_revolute
from .six_revolute import search
from .six_revolute.tables import MOST_SOLUTIONS, general_arm, six_revolute_tables
from .verdicts import NO_POSE

NAME = "inverse_kinematics"


@dataclass(frozen=True, eq=False)
class ControllerIk:
    """What is exported.

    Attributes:
        program: T, and for chains without a closed form a seed, to configurations and a status.
        page: for the README, in Markdown.
        given: values of inputs at which the function can be tried: a pose that the robot reaches, and a seed.
    """

    program: Structured
    page: str
    given: dict[str, np.ndarray]


def controller_ik(robot: Any, frame: str | None, single: bool) -> ControllerIk:
    """The program of a robot: all solutions of six revolute joints, one from a seed for other chains.

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
    form = form_of_problem(problem) if problem.simple else None
    q = _somewhere(problem)
    given = {"T": problem.forward(q * 1.0).astype(float)}
    if isinstance(form, Form):
        written, _ = structured_program(program.on_controller, arm_tables(problem, form, bounds), name=NAME)
        return ControllerIk(written, _page_of_closed_form(problem, form), given)
    arm = None if single else general_arm(problem)
    if arm is not None:
        tables = six_revolute_tables(problem, arm, bounds)
        written, _ = structured_program(six_revolute.on_controller, tables, name=NAME)
        return ControllerIk(written, _page_of_general(problem), given)
    written, _ = structured_program(seeded.from_seed, problem, bounds, name=NAME)
    return ControllerIk(written, _page_of_one(problem), given | {"q0": q + 0.1 * problem.units})


def _somewhere(problem: IkProblem) -> np.ndarray:
    """Coordinates inside limits at which nothing is special."""
    lower, upper = problem.span
    return lower + np.random.default_rng(0).uniform(0.3, 0.7, problem.n) * (upper - lower)


def _order(problem: IkProblem) -> str:
    joints = dict.fromkeys(step.joint for step in problem.steps)
    return f"of frame `{problem.frame}` in the world, q in the order {', '.join(f'`{name}`' for name in joints)}"


def _page_of_closed_form(problem: IkProblem, form: Form) -> str:
    branches, steps = 8, program.MOST_STEPS
    how = f"""by a closed form
({form.name}). The first `count` rows of `q` are solutions, ordered by the first
coordinate; the others are NaN. At most {branches} solutions, and at most {branches * steps} steps of Newton's
method ({steps} a solution): the operations above are this worst case."""
    return _page_of_all(problem, how, "no branch of the closed form is real")


def _page_of_general(problem: IkProblem) -> str:
    cells, zeros, steps = search.MOST_SPLITS, search.MOST_ROOTS, six_revolute.MOST_STEPS
    narrowing = search.MOST_NEWTON * search.NEWTON_STEPS
    how = f"""by the
roots of a polynomial of one angle. The first `count` rows of `q` are solutions, ordered by the first coordinate;
the others are NaN. At most {cells} cells of the angle are split, at most {zeros} roots narrowed down in at most
{narrowing} steps each, and at most {MOST_SOLUTIONS} solutions polished by at most {steps} steps of Newton's method
each: the operations above are this worst case, which no pose comes near."""
    return _page_of_all(problem, how, "the polynomial has no real root")


def _page_of_all(problem: IkProblem, how: str, why_unreachable: str) -> str:
    meanings = {
        COMPLETE: "all solutions are listed",
        UNREACHABLE: why_unreachable,
        EXCLUDED: "there are solutions, and none inside limits",
        UNDECIDED: "too near a singularity, a limit or a half turn for rounding not to matter: the list may lack "
        "solutions, or hold one twice",
    }
    rows = [f"| {code} | {STATUSES[code]}: {meaning} |" for code, meaning in meanings.items()]
    return f"""
## Inverse kinematics

All solutions inside limits for the pose `T` {_order(problem)}, {how}

| status | meaning |
|---|---|
{chr(10).join(rows)}
| {NO_POSE:.0f} | `T` is no rigid transform, or holds NaN |
"""


def _page_of_one(problem: IkProblem) -> str:
    return f"""
## Inverse kinematics

One solution inside limits near the seed `q0` for the pose `T` {_order(problem)}.
This chain ({problem.kinds}: R turns, P slides, H screws) has no list of all solutions that is exported, so it
is damped Newton's method, at most {seeded.MOST_STEPS} steps; the operations above are this worst case. Another
seed may reach another solution.

| status | meaning |
|---|---|
| {seeded.REACHED:.0f} | `q` is a solution inside limits |
| {seeded.NOT_REACHED:.0f} | none was reached from this seed, which proves nothing |
| {NO_POSE:.0f} | `T` is no rigid transform, or holds NaN |
"""

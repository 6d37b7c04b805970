"""Exported inverse kinematics and their documentation: pages of the README, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.program import Program
from ..ik_problem import IkProblem
from ..solutions import COMPLETE, EXCLUDED, STATUSES, UNDECIDED, UNREACHABLE
from . import program, seeded
from .held_joint import HeldJoint
from .points import program as points
from .six_revolute import program as six_revolute
from .six_revolute import search
from .six_revolute.tables import MOST_SOLUTIONS
from .verdicts import NO_POSE

NAME = "inverse_kinematics"


@dataclass(frozen=True, eq=False)
class ControllerIk:
    """Exported program with its documentation.

    Attributes:
        program: T, of seven joints the angle of one, and for chains without a list of all solutions a seed, to
            configurations and a status.
        page: for the README, in Markdown.
        given: values of inputs at which the function can be tried: a pose that the robot reaches, and a seed.
    """

    program: Program
    page: str
    given: dict[str, np.ndarray]


def _order(problem: IkProblem) -> str:
    joints = list(dict.fromkeys(step.joint for step in problem.steps))
    return f"of frame `{problem.frame}` in the world, q in the order {', '.join(f'`{name}`' for name in joints)}"


def page_of_closed_form(problem: IkProblem, held: HeldJoint | None, form: str, branches: int) -> str:
    """Write the page of all solutions by a closed form of that name."""
    steps = program.MOST_STEPS
    how = f"""by a closed form
({form}). The first `count` rows of `q` are solutions, ordered by the first
coordinate; the others are NaN. At most {branches} solution{"s" * (branches > 1)}, and
at most {branches * steps} steps of Newton's method ({steps} a solution): the operations above are this worst
case."""
    return _page_of_all(problem, held, how, "no branch of the closed form is real")


def page_of_points(problem: IkProblem, form: str, branches: int) -> str:
    """Write the page of all solutions of three joints of any geometry and a wrist."""
    how = f"""by the
roots of a polynomial of the third coordinate ({form}). The first `count` rows of `q` are
solutions, ordered by the first coordinate; the others are NaN. At most {search.MOST_SPLITS} cells are split, at
most {points.MOST_ZEROS} roots narrowed down in at most {search.MOST_NEWTON * search.NEWTON_STEPS} steps each, and
at most {branches} solutions polished by at most {points.MOST_STEPS} steps of Newton's method each: the operations
above are this worst case."""
    return _page_of_all(problem, None, how, "the polynomial has no real root, or no wrist angles belong to it")


def page_of_general(problem: IkProblem, held: HeldJoint | None, twice: bool = False) -> str:
    """Write the page of all solutions of six revolute joints, by the polynomials of two angles if `twice`."""
    cells, zeros, steps = search.MOST_SPLITS, search.MOST_ROOTS, six_revolute.MOST_STEPS
    narrowing = search.MOST_NEWTON * search.NEWTON_STEPS
    second = ""
    if twice:
        second = """
A pose that is undecided is solved once more by the polynomial of another angle, with as many operations at most;
they are counted above."""
    how = f"""by the
roots of a polynomial of one angle. The first `count` rows of `q` are solutions, ordered by the first coordinate;
the others are NaN. At most {cells} cells of the angle are split, at most {zeros} roots narrowed down in at most
{narrowing} steps each, and at most {MOST_SOLUTIONS} solutions polished by at most {steps} steps of Newton's method
each: the operations above are this worst case, which no pose comes near.{second}"""
    return _page_of_all(problem, held, how, "the polynomial has no real root")


def _page_of_all(problem: IkProblem, held: HeldJoint | None, how: str, why_unreachable: str) -> str:
    meanings = {
        COMPLETE: "all solutions are listed",
        UNREACHABLE: why_unreachable,
        EXCLUDED: "there are solutions, and none inside limits",
        UNDECIDED: "too near a singularity, a limit or a half turn for rounding not to matter, or two roots are "
        "hard to tell apart: the list may lack solutions, or hold one twice",
    }
    rows = [f"| {code} | {STATUSES[code]}: {meaning} |" for code, meaning in meanings.items()]
    fixed, range_of_it = "", ""
    if held is not None:
        fixed = f"""

Joint `{held.name}` is the redundant one: `redundant` is its angle, rad, and the list is complete for that angle.
Other angles give other members of the same self-motions."""
        range_of_it = f", or `redundant` is outside {held.lower:.6g} … {held.upper:.6g}"
    return f"""
## Inverse kinematics

All solutions inside limits for the pose `T` {_order(problem)}, {how}{fixed}

| status | meaning |
|---|---|
{chr(10).join(rows)}
| {NO_POSE:.0f} | `T` is not a rigid transform, or holds NaN{range_of_it} |
"""


def page_of_one(problem: IkProblem) -> str:
    """Write the page of one solution from a seed."""
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
| {NO_POSE:.0f} | `T` is not a rigid transform, or holds NaN |
"""

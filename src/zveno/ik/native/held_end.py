"""Seven joints of which the first or the last is an argument: what is left is an arm of six, at a moved pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...kernels.math import cos, less_equal, logical_and, select, sin
from ...kernels.structured.build import Builder
from ...kernels.structured.parts import Rows
from ..ik_problem import IkProblem
from ..redundant.seven_revolute import applies, closed_form

LAST, FIRST = 6, 0


@dataclass(frozen=True, eq=False)
class HeldEnd:
    """The joint at an end of a chain.

    Attributes:
        coordinate: 0 or 6.
        name: of the joint.
        link: C_0⁻¹ of the first joint, C_7⁻¹ of the last, (4, 4).
        lower, upper: its limits.
    """

    coordinate: int
    name: str
    link: np.ndarray
    lower: float
    upper: float


def usable_ends(problem: IkProblem) -> list[tuple[HeldEnd, IkProblem]]:
    """Ends of seven revolute joints without which six still reach poses; first what leaves a closed form."""
    ends = [k for k in (LAST, FIRST) if applies(problem, k)]
    return [held_end(problem, k) for k in sorted(ends, key=lambda k: closed_form(problem, k) is None)]


def held_end(problem: IkProblem, coordinate: int) -> tuple[HeldEnd, IkProblem]:
    """The first or the last of seven revolute joints, and the problem of the others."""
    rest = [k for k in range(problem.n) if k != coordinate]
    steps = tuple(replace(problem.steps[k], coordinate=i) for i, k in enumerate(rest))
    link = problem.end_transforms[0 if coordinate == FIRST else 1]
    tool = problem.T_last_frame if coordinate == FIRST else problem.steps[LAST].T_before
    six = replace(problem, steps=steps, T_last_frame=tool, lower=problem.lower[rest], upper=problem.upper[rest])
    limits = float(problem.lower[coordinate]), float(problem.upper[coordinate])
    return HeldEnd(coordinate, problem.steps[coordinate].joint, link, *limits), six


def pose_input(program: Builder, held: HeldEnd | None) -> tuple[Rows, Rows | None]:
    """The pose of the arm of six (one row), and the held joint's angle, an input of its own where one is held."""
    T = program.input("T", (4, 4), 16)
    if held is None:
        return T, None
    angle, moved = program.input("redundant", ()), program.scratch("T_six", 1, 16)
    moved[0] = program.step(partial(without_end, held), T[0], angle[0])
    return moved, angle


def without_end(held: HeldEnd, T: Any, angle: Any) -> Any:
    """Where the arm of six must be, (16,); not a number where the angle is outside its limits."""
    T, c, s = T.reshape(4, 4), cos(angle[0]), sin(angle[0])
    back = np.array([[c, s, 0.0, 0.0], [-s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    moved = back @ held.link @ T if held.coordinate == FIRST else T @ held.link @ back
    inside = logical_and(less_equal(held.lower, angle[0]), less_equal(angle[0], held.upper))
    return np.array([select(inside, value, np.nan) for value in moved.ravel()])


def with_end(held: HeldEnd, q: Any, angle: Any) -> Any:
    """q of all seven joints from that of six; what is not a number stays so."""
    whole = list(q)
    whole.insert(held.coordinate, angle[0] + 0.0 * q[0])
    return np.array(whole)

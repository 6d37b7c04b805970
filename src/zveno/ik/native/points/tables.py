"""Three joints that bring a point to a point, as numbers for a program that serves all arms of their class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ...checks.judgement import orientable
from ...closed_form.other_forms import PointsForm
from ...ik_problem import IkProblem
from ...task import Task
from ..arm_tables import Tables, links_between, parts_of
from ..bounds import DOUBLE, Bounds

N_JOINTS = 3
MOST_SOLUTIONS = 4
"""Of a goal with finitely many: the polynomial has degree two, or degree one with two solutions a zero."""


class Numbers(NamedTuple):
    """What the program reads of an arm; numbers or traced.

    Attributes:
        before: C_0⁻¹, (3, 4).
        links: what stands between the joints, (2, 3, 4), lengths over `length`.
        tool: C_3, (3, 4), lengths over `length`.
        lower, upper, middle: limits, and what turning coordinates are brought nearest to, (3,), in chain units.
        length: of the arm, m.
        scale, origin, h, a, start: of the closed form, see `zveno.ik.closed_form.point_forms.PointForm`.
        units: what its coordinates are multiplied by to be in chain units, (3,).
    """

    before: Any
    links: Any
    tool: Any
    lower: Any
    upper: Any
    middle: Any
    length: Any
    scale: Any
    origin: Any
    h: Any
    a: Any
    start: Any
    units: Any


@dataclass(frozen=True)
class PointsClass:
    """What determines the program: arms that differ in numbers only share it.

    Attributes:
        kinds: one letter a joint: R turns, P slides.
        special: whether a zero of the polynomial has two solutions.
        task: the position.
        oriented: whether signs of det J must cancel, see `zveno.ik.checks.orientation`.
        bounds: within which nothing is sure.
    """

    kinds: str
    special: bool
    task: Task
    oriented: bool
    bounds: Bounds = DOUBLE

    @property
    def n(self) -> int:
        """Number of joints."""
        return N_JOINTS

    @property
    def n_branches(self) -> int:
        """How many solutions there can be."""
        return MOST_SOLUTIONS

    @property
    def n_candidates(self) -> int:
        """How many solutions belong to a zero of the polynomial."""
        return 2 if self.special else 1

    @property
    def shapes(self) -> Numbers:
        """Shapes of the numbers of an arm."""
        rigid, three, square = (3, 4), (N_JOINTS,), (3, 3)
        return Numbers(rigid, (2, 3, 4), rigid, three, three, three, (), (), three, square, square, three, three)

    def numbers(self, row: Any) -> Numbers:
        """The numbers of an arm from its row of the table."""
        return Numbers(*parts_of(row, self.shapes))


@dataclass(frozen=True, eq=False)
class PointsTables(Tables):
    """Three joints that put a point."""

    of_class: PointsClass
    numbers: Numbers


def points_tables(problem: IkProblem, form: PointsForm, bounds: Bounds = DOUBLE) -> PointsTables | None:
    """The tables of three joints; None where the third slides, as zeros at infinity are left to the careful way."""
    region = form.region
    if region.kinds[2] != "R":
        return None
    lower, upper, middle, length = problem.judging
    numbers = Numbers(
        *(problem.end_transforms[0][:3], links_between(problem), problem.tool, lower, upper, middle, length),
        *(region.scale, region.origin, region.h, region.a, region.start, region.units / problem.units),
    )
    return PointsTables(
        PointsClass(region.kinds, region.special, problem.task, orientable(problem), bounds), numbers
    )

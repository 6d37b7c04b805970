"""Three joints that bring a point to a point, and perhaps a wrist there, as numbers for the program of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._judge import certificate_numbers, orientable
from ...closed_form.other_forms import PointsForm, WristForm
from ...ik_problem import IkProblem
from ...task import Task
from ..arm_tables import Tables, links_between, parts_of
from ..bounds import DOUBLE, Bounds

N_REGION = 3
"""Joints that bring the point."""
MOST_POINTS = 4
"""Ways to bring it to a goal, where they are finitely many: the polynomial has degree two, or degree one with two
solutions a zero."""


class Numbers(NamedTuple):
    """Parameters of an arm that the program reads; numbers or traced.

    Attributes:
        before: C_0⁻¹, (3, 4).
        links: transforms between the joints, (n − 1, 3, 4), lengths in units of `length`.
        tool: C_n, (3, 4), lengths in units of `length`.
        length: of the arm, m.
        certificate: K of the chain, and what rounding grows by: see `zveno.ik._judge`, (2,).
        scale, origin, h, a, start: of the closed form, see `zveno.ik.closed_form.point_forms.PointForm`.
        units: factors from its coordinates to chain units, (3,).
        after: pose of the last link with all coordinates zero in the frame, (3, 4); of a wrist, else empty.
        center: the point where its axes meet, (3,), with all coordinates zero.
        axes, across: directions of all axes and unit vectors across them, (6, 3).
    """

    before: Any
    links: Any
    tool: Any
    length: Any
    certificate: Any
    scale: Any
    origin: Any
    h: Any
    a: Any
    start: Any
    units: Any
    after: Any
    center: Any
    axes: Any
    across: Any


@dataclass(frozen=True)
class PointsClass:
    """Class of arms with one program: they differ in numbers only.

    Attributes:
        kinds: one letter per joint: R revolute, P prismatic; three move the point, three more are a wrist.
        special: True if the point has two solutions for a zero of the polynomial.
        task: the position, or a pose by a wrist.
        oriented: True if signs of det J must cancel, see `zveno.ik._rows`.
        bounds: bounds within which nothing is certified.
    """

    kinds: str
    special: bool
    task: Task
    oriented: bool
    bounds: Bounds = DOUBLE

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kinds)

    @property
    def region(self) -> str:
        """Letters of the joints that bring the point."""
        return self.kinds[:N_REGION]

    @property
    def has_wrist(self) -> bool:
        """True if a wrist follows the first three joints."""
        return self.n > N_REGION

    @property
    def n_branches(self) -> int:
        """Maximum number of solutions."""
        return 2 * MOST_POINTS if self.has_wrist else MOST_POINTS

    @property
    def n_candidates(self) -> int:
        """Number of solutions per zero of the polynomial."""
        return (2 if self.special else 1) * (2 if self.has_wrist else 1)

    @property
    def shapes(self) -> Numbers:
        """Shapes of the numbers of an arm."""
        rigid, three, square = (3, 4), (3,), (3, 3)
        wrist = (rigid, three, (6, 3), (6, 3)) if self.has_wrist else ((0,),) * 4
        return Numbers(
            *(rigid, (self.n - 1, 3, 4), rigid, (), (2,)),
            *((), three, square, square, three, three, *wrist),
        )

    def numbers(self, row: Any) -> Numbers:
        """Return the numbers of an arm from its row of the table."""
        return Numbers(*parts_of(row, self.shapes))


@dataclass(frozen=True, eq=False)
class PointsTables(Tables):
    """Three joints that put a point, or an arm of six with a wrist there."""

    of_class: PointsClass
    numbers: Numbers
    limits: np.ndarray


def points_tables(problem: IkProblem, form: PointsForm | WristForm, bounds: Bounds = DOUBLE) -> PointsTables:
    """Make the tables of three joints, or of six."""
    region = form.region
    before, after = problem.end_transforms
    wrist: tuple[Any, ...] = ((),) * 4
    if isinstance(form, WristForm):
        wrist = (after @ form.end_inverse)[:3], region.start / region.scale + region.origin, form.h, form.e
    numbers = Numbers(
        *(before[:3], links_between(problem), problem.tool, problem.length),
        certificate_numbers(problem, problem.length),
        *(region.scale, region.origin, region.h, region.a, region.start, region.units / problem.units[:N_REGION]),
        *wrist,
    )
    of_class = PointsClass(problem.kinds, region.special, problem.task, orientable(problem), bounds)
    return PointsTables(of_class, numbers, problem.limits)

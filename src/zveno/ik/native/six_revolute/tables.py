"""An arm of six revolute joints as numbers for a program that serves all arms of its class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._judge import certificate_numbers, orientable
from ...ik_problem import IkProblem
from ...six_revolute.arm import N_EQUATIONS, Arm
from ...six_revolute.equations import N_FEATURES
from ...six_revolute.route import arm_of, links_of, solver
from ...six_revolute.templates import Eliminated
from ...task import Task
from ..arm_tables import Tables, links_between, parts_of
from ..bounds import DOUBLE, Bounds

N_JOINTS = 6
MOST_SOLUTIONS = 16
"""Maximum number of solutions of a pose with finitely many (Primrose, 1986)."""


class Numbers(NamedTuple):
    """Parameters of an arm that the program reads; numbers or traced.

    Attributes:
        before, after: C_0⁻¹ and C_6⁻¹, (3, 4).
        links: transforms between the joints, (5, 3, 4), lengths in units of `length`.
        tool: C_6, (3, 4), lengths in units of `length`.
        length: of the arm, m.
        certificate: K of the chain, and what rounding grows by: see `zveno.ik._judge`, (2,).
        scale: factor of lengths in the elimination.
        cut: M0 … M5 of the template, (6, 3, 4), lengths times `scale`.
        at, backwards, scan: place of the target, flag of a loop walked backwards, index of the scan angle.
        offsets: added to y0 … y5, (6,).
        order: (6, 6) takes them to q.
        annihilator, constant: of a target among M2 … M5, rows (6, 14) and what they make of the constant term,
            (6,); else empty.
    """

    before: Any
    after: Any
    links: Any
    tool: Any
    length: Any
    certificate: Any
    scale: Any
    cut: Any
    at: Any
    backwards: Any
    scan: Any
    offsets: Any
    order: Any
    annihilator: Any
    constant: Any


@dataclass(frozen=True)
class SixRevoluteClass:
    """Class of arms with one program: they differ in numbers only.

    Attributes:
        left: True if the target enters among M2 … M5, see `zveno.ik.six_revolute.equations`.
        oriented: True if signs of det J must cancel, see `zveno.ik._rows`.
        bounds: bounds within which nothing is certified.
        turning_link: True if a link is known at run time only, so that nothing is eliminated before.
    """

    left: bool
    oriented: bool
    bounds: Bounds = DOUBLE
    turning_link: bool = False

    @property
    def n(self) -> int:
        """Number of joints."""
        return N_JOINTS

    @property
    def kinds(self) -> str:
        """One letter per joint: all revolute."""
        return "R" * N_JOINTS

    @property
    def task(self) -> Task:
        """Task of the class: a whole pose."""
        return Task()

    @property
    def n_branches(self) -> int:
        """Maximum number of solutions."""
        return MOST_SOLUTIONS

    @property
    def shapes(self) -> Numbers:
        """Shapes of the numbers of an arm."""
        rigid, angles, n = (3, 4), (N_JOINTS,), N_EQUATIONS if self.left and not self.turning_link else 0
        return Numbers(
            *(rigid, rigid, (N_JOINTS - 1, 3, 4), rigid, (), (2,)),
            *((), (N_JOINTS, 3, 4), (), (), (), angles, (N_JOINTS, N_JOINTS), (n, N_FEATURES), (n,)),
        )

    def numbers(self, row: Any) -> Numbers:
        """Return the numbers of an arm from its row of the table."""
        return Numbers(*parts_of(row, self.shapes))


@dataclass(frozen=True, eq=False)
class SixRevoluteTables(Tables):
    """An arm of a class.

    Attributes:
        of_class: the class.
        numbers: of the arm.
        limits: see `Tables`.
        features: (27, 14) of the last axis over samples of y2, y3, y4, where these do not depend on the target.
    """

    of_class: SixRevoluteClass
    numbers: Numbers
    limits: np.ndarray
    features: np.ndarray

    @property
    def needs_features(self) -> bool:
        """True if the program reads the features."""
        return not (self.of_class.left or self.of_class.turning_link)

    def with_turning_link(self) -> SixRevoluteTables:
        """Return the same tables without the eliminated parts."""
        numbers = self.numbers._replace(annihilator=np.zeros((0, N_FEATURES)), constant=np.zeros(0))
        return replace(self, of_class=replace(self.of_class, turning_link=True), numbers=numbers)


def general_arm(problem: IkProblem) -> Arm | None:
    """Return the arm of a problem, None if the program does not serve it.

    It serves six joints of an arm that is not singular everywhere, where six equations are left by elimination and
    every simple zero of the polynomial belongs to one configuration.
    """
    if problem.kinds != "R" * N_JOINTS or not solver.applies(problem):
        return None
    arm = arm_of(links_of(problem))
    return arm if arm.mobile and _serves(arm.chosen[0]) else None


def _serves(eliminated: Eliminated) -> bool:
    """Return True if six equations are left, and every simple zero belongs to one configuration."""
    return eliminated.dimension == 1 and eliminated.equations == N_EQUATIONS


def second_template(arm: Arm) -> int | None:
    """Return the number of the next template, with another scan joint, for the same program; None without."""
    left = arm.chosen[0].left
    others = (k for k in range(1, len(arm.chosen)) if _serves(arm.chosen[k]) and arm.chosen[k].left == left)
    return next(others, None)


def six_revolute_tables(
    problem: IkProblem, arm: Arm, bounds: Bounds = DOUBLE, template_number: int = 0
) -> SixRevoluteTables:
    """Make the tables of an arm for a template, usually the first one of its general solver."""
    eliminated = arm.chosen[template_number]
    template = eliminated.template
    before, after = problem.end_transforms
    order = np.zeros((N_JOINTS, N_JOINTS))
    order[list(template.order), range(N_JOINTS)] = 1.0
    annihilator, constant, features = np.zeros((0, N_FEATURES)), np.zeros(0), np.zeros((27, N_FEATURES))
    if eliminated.left:
        annihilator, constant = eliminated.constants
    else:
        features = eliminated.constants[0]
    numbers = Numbers(
        *(before[:3], after[:3], links_between(problem), problem.tool, problem.length),
        *(certificate_numbers(problem, problem.length), arm.scale),
        *(template.links[:, :3], template.target_at, float(template.backwards), template.scan),
        *(template.offsets, order, annihilator, constant),
    )
    of_class = SixRevoluteClass(eliminated.left, orientable(problem), bounds)
    return SixRevoluteTables(of_class, numbers, problem.limits, features)

"""An arm as numbers for the program of its class, so that another arm of the class builds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...kernels.door import identity
from ..checks.distinct import SAME
from ..checks.judgement import EXACT, SINGULAR, SLACK, orientable
from ..checks.singular_solutions import ROUNDING
from ..closed_form.forms import Form
from ..closed_form.other_forms import EDGE
from ..ik_problem import IkProblem
from ..steps import Step
from ..targets import EXACT as RIGID
from ..task import Task


class Numbers(NamedTuple):
    """What the program of a class reads of an arm; numbers or traced.

    Attributes:
        before, after: C_0⁻¹ and C_n⁻¹, (3, 4).
        scale: by which the closed form multiplies lengths.
        h, a, e: axes of the closed form, (n, 3).
        end: (3, 4) inverse of where its chain ends with all coordinates zero.
        links: what stands between the joints, (n − 1, 3, 4), lengths over `length`.
        tool: C_n, (3, 4), lengths over `length`.
        lower, upper, middle: limits, and what turning coordinates are brought nearest to, (n,), in chain units.
        length: of the arm, m.
    """

    before: Any
    after: Any
    scale: Any
    h: Any
    a: Any
    e: Any
    end: Any
    links: Any
    tool: Any
    lower: Any
    upper: Any
    middle: Any
    length: Any


class Bounds(NamedTuple):
    """Bounds from which on rounding cannot change a decision.

    Attributes:
        rigid: how far a pose may be from a rigid transform.
        real, absent: margins above which a branch certainly exists, and below which it certainly does not.
        meeting: gaps from which on branches do not meet, and squared sines from which on no axes line up.
        closed: error of a pose from which on another step of Newton's is made.
        sharp: error of a pose up to which coordinates are as exact as can be.
        exact: error of a pose up to which a configuration is a solution.
        singular: least singular value from which on a solution is regular.
        slack: how near a limit, rad, a coordinate can be inside or outside of it.
        seam: how near a whole turn's seam, rad, it can be on either side.
        steps: steps a radian in which first coordinates are compared.
        half: how near the middle between two steps, in steps, a first coordinate can be nearer to either.
        same: difference of coordinates, rad, from which on solutions are two.
    """

    rigid: float
    real: float
    absent: float
    meeting: float
    closed: float
    sharp: float
    exact: float
    singular: float
    slack: float
    seam: float
    steps: float
    half: float
    same: float


DOUBLE = Bounds(
    rigid=RIGID,
    real=0.1 * EDGE,
    absent=-2.0 * EDGE,
    meeting=1e-10,
    closed=2e-14,
    sharp=ROUNDING,
    exact=EXACT,
    singular=2.0 * SINGULAR,
    slack=2.0 * SLACK,
    seam=1e-8,
    steps=1e6,
    half=1e-4,
    same=2.0 * SAME,
)
"""For `double`. They leave room to those of `zveno.ik.checks`, so that nothing sure is decided otherwise there."""
SINGLE = Bounds(
    rigid=1e-5,
    real=1e-5,
    absent=-1e-5,
    meeting=1e-5,
    closed=4e-6,
    sharp=1e-5,
    exact=1e-4,
    singular=5e-3,
    slack=1e-4,
    seam=1e-3,
    steps=1e2,
    half=5e-2,
    same=2e-3,
)
"""For `float`, whose numbers have seven digits, products of Jacobians four."""


class JudgedClass(Protocol):
    """What judgement needs of a class of arms."""

    @property
    def n(self) -> int:
        """Number of joints, which turn."""
        ...

    @property
    def n_branches(self) -> int:
        """How many solutions there can be."""
        ...

    @property
    def oriented(self) -> bool:
        """Whether signs of det J must cancel."""
        ...

    @property
    def bounds(self) -> Bounds:
        """Within which nothing is sure."""
        ...

    def numbers(self, row: Any) -> Any:
        """Links, tool, limits and length of an arm from its row of the table."""
        ...


@dataclass(frozen=True)
class ArmClass:
    """What determines the program: arms that differ in numbers only share it.

    Attributes:
        function: of `zveno.ik.closed_form`, gives branches from axes and a displacement.
        options: of the function.
        backwards: whether the arm is solved from its last joint to its first.
        n: number of joints, which turn.
        oriented: whether signs of det J must cancel, see `zveno.ik.checks.orientation`.
        n_signs: square roots whose sign tells one branch from another.
        bounds: within which nothing is sure.
    """

    function: Callable[..., Any]
    options: tuple[tuple[str, str], ...]
    backwards: bool
    n: int
    oriented: bool
    n_signs: int
    bounds: Bounds = DOUBLE

    @property
    def n_branches(self) -> int:
        """How many solutions there can be."""
        return 2**self.n_signs

    @property
    def signs(self) -> np.ndarray:
        """(branches, n_signs): the signs of every branch."""
        return np.array(list(product((1.0, -1.0), repeat=self.n_signs)))

    @property
    def shapes(self) -> Numbers:
        """Shapes of the numbers of an arm."""
        n, rigid, axes, coordinates = self.n, (3, 4), (self.n, 3), (self.n,)
        return Numbers(
            *(rigid, rigid, (), axes, axes, axes, rigid, (n - 1, 3, 4)),
            *(rigid, coordinates, coordinates, coordinates, ()),
        )

    def numbers(self, row: Any) -> Numbers:
        """The numbers of an arm from its row of the table."""
        return Numbers(*parts_of(row, self.shapes))


def parts_of(row: Any, shapes: Iterable[tuple[int, ...]]) -> list[Any]:
    """A row of a table cut into arrays of these shapes."""
    parts, at = [], 0
    for shape in shapes:
        part = row[at : at + prod(shape)]
        parts.append(part.reshape(shape) if shape else part[0])
        at += prod(shape)
    return parts


class Chain(NamedTuple):
    """What `judge` and `error` need of a problem; lengths are in its units already."""

    steps: tuple[Step, ...]
    n: int
    task: Task
    turning: np.ndarray
    length: float


def chain_of(links: Any) -> Chain:
    """An arm of n revolute joints with links (n − 1, 3, 4), for functions that walk along a chain."""
    before = [np.eye(4)[:3], *links]
    n = len(before)
    steps = [Step("R", before[i], i, 1.0, 0.0, "", i) for i in range(n)]
    return Chain(tuple(steps), n, Task(), np.ones(n, bool), 1.0)


@dataclass(frozen=True, eq=False)
class ArmTables:
    """An arm of a class."""

    of_class: ArmClass
    numbers: Numbers

    @cached_property
    def fingerprint(self) -> str:
        """Says the class only: numbers do not change the program."""
        return repr(identity(self.of_class, set()))

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Where the closed form stands."""
        return (self.of_class.function.__module__,)

    @cached_property
    def row(self) -> np.ndarray:
        """(1, …) all numbers."""
        return np.concatenate([np.ravel(part) for part in self.numbers])[None]


def links_between(problem: IkProblem) -> np.ndarray:
    """What stands between the joints, (n − 1, 3, 4), lengths over `length`."""
    links = np.stack([step.T_before[:3] for step in problem.steps[1:]])
    links[..., 3] /= problem.length
    return links


def arm_tables(problem: IkProblem, form: Form, bounds: Bounds = DOUBLE) -> ArmTables:
    """The tables of an arm that a closed form of six revolute joints fits."""
    before, after = problem.end_transforms
    links = links_between(problem)
    lower, upper, middle, length = problem.judging
    numbers = Numbers(
        *(before[:3], after[:3], form.scale[0], form.h, form.a, form.e, form.end_inverse[:3], links),
        *(problem.tool, lower, upper, middle, length),
    )
    oriented = orientable(problem)
    of_class = ArmClass(form.function, form.options, form.backwards, problem.n, oriented, 3, bounds)
    return ArmTables(of_class, numbers)

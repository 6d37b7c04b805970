"""Arms as tables of numbers for the program of their class, so that another arm of the class builds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...kernels.compile import identity
from .._judge import certificate_numbers, orientable
from ..closed_form.forms import Form
from ..closed_form.other_forms import SlidingForm
from ..closed_form.revolute_arms import branches, three_parallel
from ..closed_form.turns_then_slides import turns_then_slides
from ..ik_problem import IkProblem
from ..pose_error import Chain
from ..steps import Step
from ..task import Task
from .bounds import DOUBLE, Bounds


class Numbers(NamedTuple):
    """Parameters of an arm that the program of its class reads; numbers or traced.

    Attributes:
        before, after: C_0⁻¹ and C_n⁻¹, (3, 4).
        scale: factor of lengths in the closed form.
        h, a, e: axes of the closed form, (n, 3).
        end: (3, 4) inverse of the end of its chain with all coordinates zero.
        links: transforms between the joints, (n − 1, 3, 4), lengths in units of `length`.
        tool: C_n, (3, 4), lengths in units of `length`.
        length: of the arm, m.
        certificate: K of the chain, and what rounding grows by: see `zveno.ik._judge`, (2,).
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
    length: Any
    certificate: Any


class JudgedClass(Protocol):
    """Properties of a class of arms that the evaluation of solutions needs."""

    @property
    def n(self) -> int:
        """Number of joints."""
        ...

    @property
    def kinds(self) -> str:
        """One letter per joint: R revolute, P prismatic."""
        ...

    @property
    def task(self) -> Task:
        """Task of the class."""
        ...

    @property
    def n_branches(self) -> int:
        """Maximum number of solutions."""
        ...

    @property
    def oriented(self) -> bool:
        """True if signs of det J must cancel."""
        ...

    @property
    def bounds(self) -> Bounds:
        """Bounds within which nothing is certified."""
        ...

    def numbers(self, row: Any) -> Any:
        """Return links, tool, length and certificate of an arm from its row of the table."""
        ...


@dataclass(frozen=True)
class ArmClass:
    """Class of arms with one program: they differ in numbers only.

    Attributes:
        function: of `zveno.ik.closed_form`, gives branches from axes and a displacement.
        options: of the function.
        backwards: True if the arm is solved from its last joint to its first.
        kinds: one letter per joint: R revolute, P prismatic.
        oriented: True if signs of det J must cancel, see `zveno.ik._rows`.
        n_signs: number of square roots whose signs distinguish the branches.
        bounds: bounds within which nothing is certified.
    """

    function: Callable[..., Any]
    options: tuple[tuple[str, str | int], ...]
    backwards: bool
    kinds: str
    oriented: bool
    n_signs: int
    bounds: Bounds = DOUBLE

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kinds)

    @property
    def task(self) -> Task:
        """Task of the class: a whole pose."""
        return Task()

    @property
    def n_branches(self) -> int:
        """Maximum number of solutions."""
        return 2**self.n_signs

    @property
    def signs(self) -> np.ndarray:
        """(branches, n_signs): the signs of every branch; an unused column if there is one branch."""
        return np.array(list(product((1.0, -1.0), repeat=self.n_signs)) if self.n_signs else [[1.0]])

    @property
    def tells_sines(self) -> bool:
        """True if the function returns squared sines, and gaps, of axes that may line up."""
        return self.function is three_parallel

    @property
    def tells_error(self) -> bool:
        """True if the function returns the squared pose error."""
        return self.function is turns_then_slides

    @property
    def shapes(self) -> Numbers:
        """Shapes of the numbers of an arm."""
        n, rigid, axes = self.n, (3, 4), (self.n, 3)
        return Numbers(rigid, rigid, (), axes, axes, axes, rigid, (n - 1, 3, 4), rigid, (), (2,))

    def numbers(self, row: Any) -> Numbers:
        """Return the numbers of an arm from its row of the table."""
        return Numbers(*parts_of(row, self.shapes))


def parts_of(row: Any, shapes: Iterable[tuple[int, ...]]) -> list[Any]:
    """Cut a row of a table into arrays of these shapes."""
    parts, at = [], 0
    for shape in shapes:
        part = row[at : at + prod(shape)]
        parts.append(part.reshape(shape) if shape else part[0])
        at += prod(shape)
    return parts


def chain_of(kinds: str, links: Any, task: Task) -> Chain:
    """Return an arm of n joints with links (n − 1, 3, 4), for functions that walk along a chain."""
    before = [np.eye(4)[:3], *links]
    steps = [Step(kind, before[i], i, 1.0, 0.0, "", i) for i, kind in enumerate(kinds)]
    return Chain(tuple(steps), len(kinds), task, np.array([kind == "R" for kind in kinds]), 1.0)


@dataclass(frozen=True, eq=False)
class Tables:
    """An arm of a class: its class, its numbers, and its limits.

    Attributes:
        of_class: the class, which determines the program.
        numbers: parameters of the arm that the program reads.
        limits: (3, n) lower, upper, and reference values of revolute joints, in chain units. Programs
            of Python take other limits as an input; controllers have these.
    """

    of_class: Any
    numbers: Any
    limits: np.ndarray

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the class only: numbers do not change the program."""
        return repr(identity(self.of_class, set()))

    @cached_property
    def row(self) -> np.ndarray:
        """(1, …) all numbers."""
        return np.concatenate([np.ravel(part) for part in self.numbers])[None]


@dataclass(frozen=True, eq=False)
class ArmTables(Tables):
    """An arm that a closed form fits."""

    of_class: ArmClass
    numbers: Numbers
    limits: np.ndarray

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Module of the closed form."""
        return (self.of_class.function.__module__,)


def links_between(problem: IkProblem) -> np.ndarray:
    """Return the transforms between the joints, (n − 1, 3, 4), lengths in units of `length`."""
    links = np.stack([step.T_before[:3] for step in problem.steps[1:]])
    links[..., 3] /= problem.length
    return links


def arm_tables(problem: IkProblem, form: Form | SlidingForm, bounds: Bounds = DOUBLE) -> ArmTables:
    """Make the tables of an arm that a closed form fits."""
    before, after = problem.end_transforms
    links = links_between(problem)
    if isinstance(form, Form):
        scale, backwards, a, end = form.scale[0], form.backwards, form.a, form.end_inverse[:3]
    else:  # slides come out in the units that judgement wants
        scale, backwards, a, end = 1.0 / problem.length, False, form.a / problem.length, form.end_inverse[:3].copy()
        end[:, 3] /= problem.length
    numbers = Numbers(
        *(before[:3], after[:3], scale, form.h, a, form.e, end, links),
        *(problem.tool, problem.length, certificate_numbers(problem, problem.length)),
    )
    n_signs = _square_roots(form.function, form.options, form.h, a, form.e)
    of_class = ArmClass(form.function, form.options, backwards, problem.kinds, orientable(problem), n_signs, bounds)
    return ArmTables(of_class, numbers, problem.limits)


def _square_roots(function: Callable[..., Any], options: tuple[Any, ...], h: Any, a: Any, e: Any) -> int:
    """Count the square roots, each with two signs, of the branches of a closed form: those of any one branch."""
    roots = 0

    def first(solved: Any) -> Any:
        nonlocal roots
        roots += 1
        return branches(solved)[:1]

    with np.errstate(all="ignore"):  # the values do not matter
        function(h, a, e, np.eye(3), np.zeros(3), choose=first, **dict(options))
    return roots

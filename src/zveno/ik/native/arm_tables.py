"""An arm as numbers for the program of its class, so that another arm of the class builds nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...kernels.door import identity
from ..checks.judgement import orientable
from ..closed_form.forms import Form
from ..ik_problem import IkProblem
from ..steps import Step
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
    """

    function: Callable[..., Any]
    options: tuple[tuple[str, str], ...]
    backwards: bool
    n: int
    oriented: bool
    n_signs: int

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
        parts, at = [], 0
        for shape in self.shapes:
            part = row[at : at + prod(shape)]
            parts.append(part.reshape(shape) if shape else part[0])
            at += prod(shape)
        return Numbers(*parts)

    def chain(self, arm: Numbers) -> Chain:
        """The arm for functions that walk along a chain."""
        before = [np.eye(4)[:3], *arm.links]
        steps = [Step("R", before[i], i, 1.0, 0.0, "", i) for i in range(self.n)]
        return Chain(tuple(steps), self.n, Task(), np.ones(self.n, bool), 1.0)


class Chain(NamedTuple):
    """What `judge` and `error` need of a problem; lengths are in its units already."""

    steps: tuple[Step, ...]
    n: int
    task: Task
    turning: np.ndarray
    length: float


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


def arm_tables(problem: IkProblem, form: Form) -> ArmTables:
    """The tables of an arm that a closed form of six revolute joints fits."""
    before, after = problem.end_transforms
    links = np.stack([step.T_before[:3] for step in problem.steps[1:]])
    links[..., 3] /= problem.length
    lower, upper, middle, length = problem.judging
    numbers = Numbers(
        *(before[:3], after[:3], form.scale[0], form.h, form.a, form.e, form.end_inverse[:3], links),
        *(problem.tool, lower, upper, middle, length),
    )
    of_class = ArmClass(form.function, form.options, form.backwards, problem.n, orientable(problem), n_signs=3)
    return ArmTables(of_class, numbers)

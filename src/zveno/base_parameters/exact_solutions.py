"""Pivots and grouping in exact arithmetic."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..spatial.exact_numbers import Matrix, NotExact, as_array, as_texts, decimal, flint
from . import drives as driving
from .exact_arithmetic import exact_arithmetic
from .exact_field import ExactMatrix, basis
from .exact_samples import tied_samples
from .problem import Problem
from .recursion import Recursion
from .result import Group
from .solutions import FloatingSolution, Solution
from .views import View, view_named

MOST_DRIVEN = 12
"""Drives that are analysed exactly without being asked to."""


def exact_recursion(problem: Problem) -> Recursion:
    """The recursion in exact numbers; `NotExact` says what has none."""
    mechanism = problem.mechanism
    motors = driving.motors_of(mechanism, problem.kinds, decimal) if problem.driven else None
    return Recursion(
        exact_arithmetic(),
        problem,
        motors,
        lambda node: tied_samples(mechanism, node, problem.samples[node.bodies[0]], problem.loops),
    )


def exact_obstacle(problem: Problem, wanted: bool | None) -> str:
    """What stands in the way of exact arithmetic before anything is computed."""
    if wanted is False:
        return "exact arithmetic was not wanted"
    if flint() is None:
        return "python-flint is not installed (pip install 'zveno[exact]')"
    if problem.driven and problem.samples:
        return "drives of joints that share coordinates or close loops are analysed in floating point"
    if problem.frictions()[2] is not None:
        return "friction of joints in a loop is analysed in floating point"
    if wanted is None and problem.driven and len(driving.driven_coordinates(problem.mechanism)) > MOST_DRIVEN:
        return f"with more than {MOST_DRIVEN} drives it takes seconds: ask for it with exact=True"
    return ""


def exact_solution(problem: Problem, view: View, floating: FloatingSolution) -> Solution:
    """The grouping in exact numbers; `NotExact` says what has none. Gaps are those of the floating-point blocks."""
    recursion = exact_recursion(problem)
    n_drive = 0 if recursion.motors is None else recursion.motors.n_columns
    rest: list[ExactMatrix] = [ExactMatrix.of([], n_drive), *recursion.drive_rows]
    groups = []
    if [block.bodies for block in recursion.blocks] != [block.bodies for block in floating.blocks]:
        raise NotExact("a joint moves in exact arithmetic by less than rounding")
    for block, solved in zip(recursion.blocks, floating.solved, strict=True):
        width = 10 * len(block.bodies)
        rows = basis(
            block.B if view.name == "pseudo" else block.B @ _view_matrix(view.name, len(block.bodies), n_drive)
        )
        table = rows.numbers()
        pivots = [next(j for j, x in enumerate(row) if x != 0) for row in table]
        rank = sum(pivot < width for pivot in pivots)
        if rank < len(table):
            rest.append(ExactMatrix.of([row[width:] for row in table[rank:]], n_drive))
        Y, X = [row[:width] for row in table[:rank]], [row[width:] for row in table[:rank]]
        carrying = [_carried_numbers(path, view.name) for path in block.paths]
        groups.append(
            Group(
                block.bodies,
                block.parent,
                np.array(pivots[:rank], dtype=int),
                as_array(Y, width),
                as_array(X, n_drive),
                np.array([as_array(K, 10) for K in carrying]).reshape(-1, 10, 10),
                *solved.gap(rank),
                as_texts(Y),
                tuple(as_texts(K) for K in carrying),
                as_texts(X),
            )
        )
    drives = basis(*rest).numbers()
    pivots = np.array([next(j for j, x in enumerate(row) if x != 0) for row in drives], dtype=int)
    return Solution(tuple(groups), pivots, as_array(drives, n_drive), as_texts(drives))


@lru_cache(maxsize=32)
def _view_matrix(view: str, bodies: int, n_drive: int) -> ExactMatrix:
    """A view's map to the pseudo-inertia on the parameters of some bodies, and the drives behind them."""
    table, n = view_named(view).to_pseudo, 10 * bodies
    return ExactMatrix.of(
        [
            [table[s % 10][t % 10] if s // 10 == t // 10 and s < n else int(s == t) for t in range(n + n_drive)]
            for s in range(n + n_drive)
        ],
        n + n_drive,
    )


@lru_cache(maxsize=1024)
def _carried_numbers(A: Matrix, view: str) -> list[list]:
    """10×10 numbers: the ten of a body in a view → those of A H Aᵀ."""
    carried = exact_arithmetic().carried(A)
    if view != "pseudo":
        chosen = view_named(view)
        carried = ExactMatrix.of(chosen.from_pseudo, 10) @ carried @ ExactMatrix.of(chosen.to_pseudo, 10)
    return carried.numbers()

"""From the blocks of one arithmetic to pivots and grouping: a result comes from one of them whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import drives as driving
from .blocks import Block, Solved, solve_blocks
from .floating import floating_arithmetic
from .problem import Problem
from .recursion import Recursion
from .result import Group
from .samples import floating_samples
from .views import DEGREES, View, carried_in


class Solution(NamedTuple):
    """Grouping of all links and of the drives."""

    groups: tuple[Group, ...]
    drive_pivots: np.ndarray
    drive_grouping: np.ndarray
    exact_drive_grouping: tuple[tuple[str, ...], ...] | None = None

    @property
    def rank(self) -> int:
        """Base parameters of links and drives, without frictions."""
        return sum(len(group.pivots) for group in self.groups) + len(self.drive_pivots)


class FloatingSolution(NamedTuple):
    """The grouping in floating point, and the blocks with their singular values that it was read from."""

    solution: Solution
    blocks: list[Block]
    solved: list[Solved]


def floating_recursion(problem: Problem) -> Recursion:
    """The recursion in floating point."""
    mechanism, motors = problem.mechanism, None
    if problem.driven:
        size = float(np.linalg.norm(mechanism.gravity))
        motors = driving.motors_of(mechanism, problem.kinds, float, problem.scale, size if size > 0 else 1.0)
    driven = None if motors is None else list(motors.place)
    return Recursion(
        floating_arithmetic(problem.scale),
        problem,
        motors,
        lambda node: floating_samples(mechanism, problem.samples[node.bodies[0]], problem.scale, driven),
    )


def floating_solution(problem: Problem, view: View) -> FloatingSolution:
    """The grouping in floating point, with lengths in m again."""
    recursion = floating_recursion(problem)
    solved = solve_blocks(recursion.blocks, view.matrix)
    power = problem.scale ** DEGREES.astype(float)
    paths = np.array([path for block in recursion.blocks for path in block.paths]).reshape(-1, 4, 4)
    paths[:, :3, 3] *= problem.scale
    carrying, groups, start = carried_in(view, paths), [], 0
    for block, block_solution in zip(recursion.blocks, solved, strict=True):
        n = len(block.bodies)
        unit = np.tile(power, n)
        rows = unit[block_solution.pivots][:, None]
        Y, X = block_solution.Y[:, : 10 * n] * rows / unit, block_solution.Y[:, 10 * n :] * rows
        K = carrying[start : start + n]
        start += n
        groups.append(Group(block.bodies, block.parent, block_solution.pivots, Y, X, K, *block_solution.gap()))
    drive = driving.solve_drives(solved, *recursion.drive_rows) if problem.driven else None
    solution = Solution(tuple(groups), *driving.side_by_side(drive, problem.frictions()[2]))
    return FloatingSolution(solution, recursion.blocks, solved)

"""Kernel of the dual active-set method, and the status of its solutions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.builder import Builder
from .given_and_found import General
from .program import QuadraticProgram
from .steps import INFEASIBLE, SOLVED, Sizes

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel


@dataclass(frozen=True)
class QuadraticAnswer:
    """Solutions of quadratic programs, with the batch axes first.

    Attributes:
        x: unknowns (..., n).
        side: −1 and +1 for active lower and upper bounds, (..., n).
        multipliers: multipliers of the bounds (..., n), positive at lower bounds, negative at upper ones.
        row_side, row_multipliers: the same for the rows, (..., m).
        status: 0 solved, 1 infeasible, −1 too many steps, (...).
        steps: number of exchanges, (...).
    """

    x: np.ndarray
    side: np.ndarray
    multipliers: np.ndarray
    row_side: np.ndarray
    row_multipliers: np.ndarray
    status: np.ndarray
    steps: np.ndarray

    @property
    def solved(self) -> np.ndarray:
        """Mask of the programs solved to optimality, (...)."""
        return self.status == SOLVED

    @property
    def infeasible(self) -> np.ndarray:
        """Mask of the programs whose bounds and rows contradict each other, (...)."""
        return self.status == INFEASIBLE


def solve_quadratic(
    H: np.ndarray,
    g: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    C: np.ndarray | None = None,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    *,
    warm: np.ndarray | None = None,
) -> QuadraticAnswer:
    """Minimise ½ xᵀH x + gᵀx with lower ≤ x ≤ upper and low ≤ C x ≤ high; batch axes lead.

    Args:
        H: (..., n, n), positive definite.
        g, lower, upper: (..., n); infinite without a bound.
        C, low, high: (..., m, n) and (..., m).
        warm: initial sides (..., n), those of a similar program.
    """
    n = np.shape(g)[-1]
    m = 0 if C is None else np.shape(C)[-2]
    warm = np.zeros(n) if warm is None else warm
    rows = () if not m else (C, low, high)
    answer = quadratic_kernel(n, m)(H, g, lower, upper, warm, *rows)
    x, side, multipliers = answer[:3]
    empty = np.zeros((*np.shape(x)[:-1], 0))
    row_side, row_multipliers = answer[3:5] if m else (empty, empty)
    return QuadraticAnswer(x, side, multipliers, row_side, row_multipliers, *answer[-2:])


@lru_cache(maxsize=32)
def quadratic_kernel(n: int, m: int = 0, sweeps: int = 24) -> Kernel:
    """Return the kernel (H, g, lower, upper, warm[, C, low, high]) → solution.

    Its outputs are x, side, multipliers, those of the rows if m > 0, status and steps.

    Args:
        n, m: number of unknowns and rows.
        sweeps: number of exchanges after which H is factored again.
    """
    from ...kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(quadratic_program, Sizes(n, m, sweeps))


def quadratic_program(program: Builder, sizes: Sizes) -> None:
    """Write the program of `quadratic_kernel`."""
    n, m = sizes.n, sizes.m
    H = program.input("H", (n, n), n)
    g, lower, upper, warm = (program.input(name, (n,)) for name in ("g", "lower", "upper", "warm"))
    general = None
    if m:
        C = program.input("C", (m, n), n)
        general = General(C, program.input("low", (m,)), program.input("high", (m,)))
    answer = QuadraticProgram(program, sizes).write(H, g, lower, upper, warm, general)
    x, side, multipliers = (program.output(name, (n,)) for name in ("x", "side", "multipliers"))
    x[0, n] = program.step(_same, answer.x[0, n])
    side[0, n] = program.step(_same, answer.side[0, n])
    multipliers[0, n] = program.step(_divided, answer.u[0, n], answer.scales[0, n])
    if answer.row_side is not None and answer.row_u is not None:
        row_side, row_multipliers = program.output("row_side", (m,)), program.output("row_multipliers", (m,))
        row_side[0, m] = program.step(_same, answer.row_side[0, m])
        row_multipliers[0, m] = program.step(_same, answer.row_u[0, m])
    status, steps = program.output("status", ()), program.output("steps", ())
    status[0] = program.step(_same, answer.status[0])
    steps[0] = program.step(_same, answer.steps[0])


def _same(x: Any) -> Any:
    return x


def _divided(u: Any, scales: Any) -> Any:
    return u / scales

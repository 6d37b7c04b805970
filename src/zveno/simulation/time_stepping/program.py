"""Time steps as a structured program: many of them in a call, every state in a lane, without Python in between.

A step is a straight-line program up to its contacts, a loop of sweeps that each lane leaves when its forces no
longer change, and a straight-line program for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.math import greater, maximum, select
from ...kernels.structured.build import Builder
from ..fixed_steps import USERS
from .step import Prepared, Problem, ended, prepared
from .stepping import Stepping
from .sweeps import sweep
from .touching import cell_numbers

if TYPE_CHECKING:
    from ...kernels.structured.kernel import StructuredKernel

MOST_SWEEPS = 100
"""In one step."""


@dataclass(frozen=True, eq=False)
class TimeSteps:
    """Samples that a call returns, each after as many steps from the last one."""

    stepping: Stepping
    n_samples: int
    every: int

    @property
    def fingerprint(self) -> str:
        """Of what determines the code."""
        return self.stepping.fingerprint or USERS

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules of what takes part."""
        return (USERS,) if self.stepping.fingerprint is None else self.stepping.equations.code_modules


def time_steps_kernel(stepping: Stepping, n_samples: int, every: int) -> StructuredKernel:
    """(t (n,), h (n,), row, c[, u]) → samples (n, n_row + n_extra), each after `every` steps from the last."""
    from ...kernels.structured.kernel import compiled_structured  # not needed to import the package

    return compiled_structured(time_steps, TimeSteps(stepping, n_samples, every), name="time_steps")


def time_steps(program: Builder, steps: TimeSteps) -> None:
    """The program of `time_steps_kernel`."""
    stepping = steps.stepping
    n, m, n_row = stepping.mechanism.n_v, stepping.n_rows, stepping.n_row
    t, h = program.input("t", (steps.n_samples,)), program.input("h", (steps.n_samples,))
    start = program.input("row", (n_row,), n_row)
    n_c = len(stepping.settings)
    settings = program.input("c", (n_c,), n_c)
    command = [program.input("u", (n,), n)[0]] if stepping.equations.commanded else []
    width = n_row + stepping.n_extra
    samples = program.output("samples", (steps.n_samples, width), width)
    sizes = (m * (m + 1) // 2, m, m, m, n, n * (n - 1) // 2, n, m * n, n, n, n, n, 1)
    parts = [program.scratch(f"part{k}", 1, max(size, 1), zero=True) for k, size in enumerate(sizes)]
    row, extra = program.scratch("state", 1, n_row), program.scratch("extra", 1, 2 * n)
    impulses = program.scratch("impulses", 1, max(m, 1), zero=True)
    running, quality = program.scratch("running", 1, 1, zero=True), program.scratch("quality", 1, 2, zero=True)
    change, count, done = (program.scratch(name, 1, 1, zero=True) for name in ("change", "count", "done"))
    grounds = _Grounds(program, stepping)

    row[0] = program.step(_same, start[0])
    with program.each(steps.n_samples) as k:
        quality[0], done[0] = program.step(_begun)
        with program.each(steps.every):
            given = [t[k], h[k], done[0], row[0], settings[0], *command, *grounds.looked_up(row[0])]
            values = program.step(partial(_prepared, stepping, sizes), *given)
            for part, value in zip(parts, values[:-3], strict=True):
                part[0] = value
            impulses[0], running[0], count[0] = values[-3:]
            if m:
                with program.repeat_while(running, MOST_SWEEPS):
                    impulses[0], change[0], count[0], running[0] = program.step(
                        partial(_swept, stepping, sizes),
                        *(h[k], settings[0], impulses[0], count[0], *(part[0] for part in parts[:4])),
                    )
            rest = [part[0] for part in parts[4:]]
            row[0], extra[0], quality[0], done[0] = program.step(
                partial(_ended, stepping, sizes),
                *(h[k], row[0], impulses[0], change[0], count[0], quality[0], done[0], *rest),
            )
        samples[k] = program.step(_sample, row[0], extra[0], parts[-1][0], quality[0])


class _Grounds:
    """Fields of heights as tables, and the cells that every lane looks up in them."""

    def __init__(self, program: Builder, stepping: Stepping):
        self.program, self.stepping = program, stepping
        fields = stepping.fields
        tables = {id(contact.surface): contact.surface for _, contact in fields}
        self.tables = {
            key: program.table(f"heights{k}", ground.cells) for k, (key, ground) in enumerate(tables.items())
        }
        self.numbers = [program.scratch(f"cell{k}", 1, 1) for k in range(len(fields))]

    def looked_up(self, row: Any) -> list[Any]:
        """The rows of the tables for all touches that need them."""
        if not self.numbers:
            return []
        values = self.program.step(partial(_cells, self.stepping), row)
        for number, value in zip(self.numbers, values if isinstance(values, tuple) else (values,), strict=True):
            number[0] = value
        fields = self.stepping.fields
        return [
            self.tables[id(contact.surface)][number.lane()]
            for (_, contact), number in zip(fields, self.numbers, strict=True)
        ]


def _same(x: Any) -> Any:
    return x


def _begun() -> tuple[Any, Any]:
    return np.zeros(2), np.zeros(1)


def _cells(stepping: Stepping, row: Any) -> tuple[Any, ...]:
    return tuple(np.array([number]) for number in cell_numbers(stepping, row[stepping.q]))


def _prepared(stepping: Stepping, sizes: tuple[int, ...], t: Any, h: Any, done: Any, row: Any, c: Any, *rest: Any):
    commanded = stepping.equations.commanded
    u, cells = (rest[0], rest[1:]) if commanded else (None, rest)
    values = prepared(stepping, t[0] + done[0] * h[0], h[0], row, c, u, list(cells)).rows()
    filled = [np.zeros(1) if not size else value for size, value in zip(sizes, values, strict=True)]
    impulses = row[stepping.impulses] if stepping.n_rows else np.zeros(1)
    return (*filled, impulses, np.ones(1), np.zeros(1))


def _swept(stepping: Stepping, sizes: tuple[int, ...], h: Any, c: Any, impulses: Any, count: Any, *problem: Any):
    after, change = sweep(stepping.groups, Problem(*problem), impulses)
    goes_on = select(greater(change, c[0] * h[0]), 1.0, 0.0)
    return after, np.array([change]), count + 1.0, np.array([goes_on])


def _ended(
    stepping: Stepping,
    sizes: tuple[int, ...],
    h: Any,
    row: Any,
    impulses: Any,
    change: Any,
    count: Any,
    quality: Any,
    done: Any,
    *rest: Any,
):
    empty = [np.zeros(0)] * 4
    at = Prepared.of((*empty, *(value[:size] for value, size in zip(rest, sizes[4:], strict=True))))
    end = ended(stepping, h[0], row, at, impulses[: stepping.n_rows])
    seen = np.array([maximum(quality[0], change[0] / h[0]), maximum(quality[1], count[0])])
    return end.row, np.concatenate([end.a, end.tau]), seen, done + 1.0


def _sample(row: Any, extra: Any, deepest: Any, quality: Any) -> Any:
    return np.concatenate([row, extra, deepest, quality])

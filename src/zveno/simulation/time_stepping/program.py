"""Time steps as a structured program: many steps per call, one state per lane, without Python in between.

A step is a straight-line program up to its contacts, a loop of sweeps that each lane leaves when its forces no
longer change, accelerated sweeps in the lanes where they still do, and a straight-line program for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.builder import Builder
from ...kernels.ops import abs as magnitude
from ...kernels.ops import greater, less, logical_and, logical_or, maximum, where
from ..fixed_steps import USERS
from .acceleration import MEMORY, History, accelerated, anew, begun
from .sharing import SHARED
from .step import N_PARTS, Prepared, Problem, ended, prepared
from .stepping import N_QUALITY, Stepping
from .sweeps import sweep
from .touching import cell_numbers

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel

PLAIN = 9
"""Plain sweeps of one step."""
QUICK = 24
"""Accelerated sweeps in which contacts stick at once, where plain ones have not ended."""
ACCELERATED = 100
"""Largest number of accelerated sweeps of a continuous map, where those have not ended either."""
STRICTER = 0.3
"""Share of the tolerance for accelerated sweeps: the error of slow convergence exceeds the last change."""
STALE = 16
"""Accelerated sweeps without a smaller change after which they end if it is within the tolerance: forces at the
friction limit may cycle.
"""


@dataclass(frozen=True, eq=False)
class TimeSteps:
    """Samples of one call, each after `every` steps from the last one."""

    stepping: Stepping
    n_samples: int
    every: int

    @property
    def fingerprint(self) -> str:
        """Cache key of the code."""
        return self.stepping.fingerprint or USERS

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules that the code depends on."""
        return (USERS,) if self.stepping.fingerprint is None else self.stepping.equations.code_modules


def time_steps_kernel(stepping: Stepping, n_samples: int, every: int) -> Kernel:
    """Return the kernel (t (n,), h (n,), row, c[, u]) → samples (n, n_row + n_extra), `every` steps apart."""
    from ...kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(time_steps, TimeSteps(stepping, n_samples, every), name="time_steps")


def time_steps(program: Builder, steps: TimeSteps) -> None:
    """Build the program of `time_steps_kernel`."""
    stepping = steps.stepping
    n, m, n_row = stepping.mechanism.n_v, stepping.n_rows, stepping.n_row
    t, h = program.input("t", (steps.n_samples,)), program.input("h", (steps.n_samples,))
    start = program.input("row", (n_row,), n_row)
    n_c = len(stepping.settings) + (stepping.equations.n_c if stepping.n_held else 0)
    settings = program.input("c", (n_c,), n_c)
    command = [program.input("u", (n,), n)[0]] if stepping.equations.commanded else []
    width = n_row + stepping.n_extra
    samples = program.output("samples", (steps.n_samples, width), width)
    p = stepping.n_held
    blocks = 6 * sum(group.friction for group in stepping.groups)
    k, shared = stepping.sharing.n_motions, SHARED * stepping.sharing.n_shared
    sizes = (m * (m + 1) // 2, m, m, blocks, m, n, n * (n - 1) // 2, n, k * n, shared, n, n, n, n, n)
    sizes = (*sizes, 1, n if stepping.bounces else 0, p, k * p, 1)
    parts = [program.scratch(f"part{k}", 1, max(size, 1), zero=True) for k, size in enumerate(sizes)]
    row, extra = program.scratch("state", 1, n_row), program.scratch("extra", 1, 2 * n)
    quality, done = program.scratch("quality", 1, N_QUALITY, zero=True), program.scratch("done", 1, 1, zero=True)
    solver = _Solver(program, stepping) if m else None
    impulses = (program.scratch("none", 1, 1, zero=True) if solver is None else solver.impulses)[0]
    grounds = _Grounds(program, stepping)

    row[0] = program.step(_same, start[0])
    with program.each(steps.n_samples) as k:
        quality[0], done[0] = program.step(_begun)
        with program.each(steps.every):
            given = [t[k], h[k], done[0], row[0], settings[0], *command, *grounds.looked_up(row[0])]
            values = program.step(partial(_prepared, stepping, sizes), *given)
            for part, value in zip(parts, values, strict=True):
                part[0] = value
            if solver is not None:
                solver.start(row[0])
                solver.solve(h[k], settings[0], parts)
            rest = [part[0] for part in parts[N_PARTS:]]
            known = [impulses] if solver is None else [impulses, solver.change[0], solver.count[0]]
            row[0], extra[0], quality[0], done[0] = program.step(
                partial(_ended, stepping, sizes, len(known)), h[k], row[0], quality[0], done[0], *known, *rest
            )
        samples[k] = program.step(_sample, row[0], extra[0], parts[-1][0], quality[0])


class _Solver:
    """Sweeps over the contacts of a step, plain and then accelerated."""

    def __init__(self, program: Builder, stepping: Stepping):
        self.program, self.stepping = program, stepping
        m = stepping.n_rows
        self.impulses = program.scratch("impulses", 1, m, zero=True)
        self.running = program.scratch("running", 1, 1, zero=True)
        self.change = program.scratch("change", 1, 1, zero=True)
        self.count = program.scratch("count", 1, 1, zero=True)
        self.before = program.scratch("before", 1, m, zero=True)
        self.once = program.scratch("once", 1, 1, zero=True)
        scratch = {"point": m, "known": 1, "result": m, "moved": m, "stale": 1}
        scratch |= {"results": (MEMORY - 1) * m, "changes": (MEMORY - 1) * m}
        scratches = {name: program.scratch(name, 1, width, zero=True) for name, width in scratch.items()}
        self.history = History(
            *(
                scratches["point"],
                self.impulses,
                self.change,
                scratches["known"],
                scratches["result"],
                scratches["moved"],
            ),
            *(scratches["results"], scratches["changes"], scratches["stale"]),
        )

    def start(self, row: Any) -> None:
        """Start from the impulses of the last step."""
        self.impulses[0], self.count[0] = self.program.step(partial(_started, self.stepping), row)

    def solve(self, h: Any, settings: Any, parts: list[Any]) -> None:
        """Find the impulses for the problem in the first parts."""
        program, stepping = self.program, self.stepping
        self.running[0], self.change[0] = program.step(_first_round)
        with program.repeat_while(self.running, PLAIN):
            self.before[0] = program.step(_same, self.impulses[0])
            self.impulses[0], self.change[0], self.count[0], self.running[0] = program.step(
                partial(_swept, stepping),
                *(h, settings, self.impulses[0], self.change[0], self.count[0]),
                *(part[0] for part in parts[:N_PARTS]),
            )
        for smooth, most in ((False, QUICK), (True, ACCELERATED)):
            self.once[0] = program.step(_same, self.running[0])
            with program.repeat_while(self.once, 1):
                given = (self.impulses[0],) if smooth else (self.before[0], self.impulses[0], self.change[0])
                *values, self.once[0] = program.step(_anew if smooth else _begun_by, *given)
                self._remember(values)
            with program.repeat_while(self.running, most):
                *values, self.count[0], self.running[0] = program.step(
                    partial(_accelerated, stepping, smooth),
                    *(h, settings, self.count[0]),
                    *(part[0] for part in parts[:N_PARTS]),
                    *(part[0] for part in self.history),
                )
                self._remember(values)

    def _remember(self, values: list[Any]) -> None:
        for part, value in zip(self.history, values, strict=True):
            part[0] = value


class _Grounds:
    """Height fields as tables, and the cells that every lane looks up in them."""

    def __init__(self, program: Builder, stepping: Stepping):
        self.program, self.stepping = program, stepping
        fields = stepping.fields
        tables = {id(ground): ground for _, _, ground in fields}
        self.tables = {
            key: program.table(f"heights{k}", ground.cells) for k, (key, ground) in enumerate(tables.items())
        }
        self.numbers = [program.scratch(f"cell{k}", 1, 1) for k in range(len(fields))]

    def looked_up(self, row: Any) -> list[Any]:
        """Return the rows of the tables for all contact points that need them."""
        if not self.numbers:
            return []
        values = self.program.step(partial(_cells, self.stepping), row)
        for number, value in zip(self.numbers, values if isinstance(values, tuple) else (values,), strict=True):
            number[0] = value
        fields = self.stepping.fields
        return [
            self.tables[id(ground)][number.lane()]
            for (_, _, ground), number in zip(fields, self.numbers, strict=True)
        ]


def _same(x: Any) -> Any:
    return x


def _begun() -> tuple[Any, Any]:
    return np.zeros(N_QUALITY), np.zeros(1)


def _cells(stepping: Stepping, row: Any) -> tuple[Any, ...]:
    return tuple(np.array([number]) for number in cell_numbers(stepping, row[stepping.q]))


def _prepared(
    stepping: Stepping, sizes: tuple[int, ...], t: Any, h: Any, done: Any, row: Any, c: Any, *rest: Any
) -> tuple[Any, ...]:
    commanded = stepping.equations.commanded
    u, cells = (rest[0], rest[1:]) if commanded else (None, rest)
    values = prepared(stepping, t[0] + done[0] * h[0], h[0], row, c, u, list(cells)).rows()
    return tuple(np.zeros(1) if not size else value for size, value in zip(sizes, values, strict=True))


def _started(stepping: Stepping, row: Any) -> tuple[Any, Any]:
    return row[stepping.impulses], np.zeros(1)


def _first_round() -> tuple[Any, Any]:
    return np.ones(1), np.zeros(1)


def _swept(
    stepping: Stepping, h: Any, c: Any, impulses: Any, last: Any, count: Any, *problem: Any
) -> tuple[Any, ...]:
    """Do a sweep and tell if another is needed: changes that fall by ρ leave an error of ρ/(1 − ρ) changes."""
    after, change = sweep(stepping.groups, _problem(stepping, problem), impulses)
    tolerance = c[0] * h[0]
    left = maximum(change - tolerance, change * change - tolerance * (last[0] - change))
    goes_on = where(greater(left, 0.0), 1.0, 0.0)
    return after, np.array([change]), count + 1.0, np.array([goes_on])


def _problem(stepping: Stepping, parts: Any) -> Problem:
    """Build the problem from its parts; drop the padding of empty ones."""
    problem = Problem(*parts)
    blocks = 6 * sum(group.friction for group in stepping.groups)
    return problem._replace(inverse=problem.inverse[:blocks])


def _begun_by(before: Any, impulses: Any, change: Any) -> tuple[Any, ...]:
    return (*begun(before, impulses, change), np.zeros(1))


def _anew(impulses: Any) -> tuple[Any, ...]:
    return (*anew(impulses), np.zeros(1))


def _accelerated(stepping: Stepping, smooth: bool, h: Any, c: Any, count: Any, *rest: Any) -> tuple[Any, ...]:
    after = accelerated(stepping.groups, _problem(stepping, rest[:N_PARTS]), History(*rest[N_PARTS:]), smooth)
    tolerance = c[0] * h[0]
    hopeful = logical_or(greater(after.least[0], tolerance), less(after.stale[0], STALE))
    goes_on = where(logical_and(greater(after.least[0], STRICTER * tolerance), hopeful), 1.0, 0.0)
    return (*after, count + 1.0, np.array([goes_on]))


def _of(sizes: tuple[int, ...], rest: Any) -> Prepared:
    """Build `Prepared` from the parts after the problem."""
    return Prepared.of(
        (*[np.zeros(0)] * N_PARTS, *(value[:size] for value, size in zip(rest, sizes[N_PARTS:], strict=True)))
    )


def _ended(
    stepping: Stepping, sizes: tuple[int, ...], n: int, h: Any, row: Any, quality: Any, done: Any, *rest: Any
):
    solution, rest = rest[:n], rest[n:]
    at = _of(sizes, rest)
    end = ended(stepping, h[0], row, at, solution[0][: stepping.n_rows])
    reach, residual, sweeps = quality
    for before, after in zip(row[stepping.v], at.free, strict=True):
        reach = maximum(reach, h[0] * h[0] * magnitude(before * after))
    if n > 1:
        _, change, count = solution
        residual, sweeps = maximum(residual, change[0] / h[0]), maximum(sweeps, count[0])
    quality = np.array([reach, residual, sweeps])
    return end.row, np.concatenate([end.a, end.tau]), quality, done + 1.0


def _sample(row: Any, extra: Any, deepest: Any, quality: Any) -> Any:
    return np.concatenate([row, extra, deepest, quality])

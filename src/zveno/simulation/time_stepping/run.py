"""Runs by time stepping, for one state or a batch: rows at the sample times, and their trajectory.

Many steps are one call of a structured program, one state per lane, without Python in between. A step is a
straight-line program up to its contacts, a loop of sweeps that each lane leaves when its forces no longer change,
accelerated sweeps in the lanes where they still do, and a straight-line program for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.springs import has_springs, spring_energy
from ...errors import ModelError, ZvenoError
from ...kernels.builder import Builder
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.ops import abs as magnitude
from ...kernels.ops import greater, less, logical_and, logical_or, maximum, where
from ...mechanism.units import coordinate_units
from .._checks import check_mass
from .._rates import Faults, commanded, undefined
from .._results import MAX_CHANGE
from .._rk4 import USERS
from .._singular import SingularStates
from .._statuses import FINISHED, end_of, energy_exchanged, unbalanced, with_statuses
from ..integrators import steps_in
from ..start import MAX_PROJECTION, initial_state, start_of_run
from ..trajectory import EventRecord, Trajectory
from ._step import N_PARTS, Prepared, Problem, ended, prepared
from ._sweeps import MEMORY, History, accelerated, anew, begun, sweep
from .stepping import N_QUALITY, SHARED, Stepping, stepping_of
from .touching import cell_numbers

if TYPE_CHECKING:
    from ...kernels.kernel import Kernel

# --- the program

_PLAIN = 9
"""Plain sweeps of one step."""
_QUICK = 24
"""Accelerated sweeps in which contacts stick at once, where plain ones have not ended."""
_ACCELERATED = 100
"""Largest number of accelerated sweeps of a continuous map, where those have not ended either."""
_STRICTER = 0.3
"""Share of the tolerance for accelerated sweeps: the error of slow convergence exceeds the last change."""
_STALE = 16
"""Accelerated sweeps without a smaller change after which they end if it is within the tolerance: forces at the
friction limit may cycle.
"""


@dataclass(frozen=True, eq=False)
class _TimeSteps:
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

    return compiled_structured(_time_steps, _TimeSteps(stepping, n_samples, every), name="time_steps")


def _time_steps(program: Builder, steps: _TimeSteps) -> None:
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
        with program.repeat_while(self.running, _PLAIN):
            self.before[0] = program.step(_same, self.impulses[0])
            self.impulses[0], self.change[0], self.count[0], self.running[0] = program.step(
                partial(_swept, stepping),
                *(h, settings, self.impulses[0], self.change[0], self.count[0]),
                *(part[0] for part in parts[:N_PARTS]),
            )
        for smooth, most in ((False, _QUICK), (True, _ACCELERATED)):
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
    hopeful = logical_or(greater(after.least[0], tolerance), less(after.stale[0], _STALE))
    goes_on = where(logical_and(greater(after.least[0], _STRICTER * tolerance), hopeful), 1.0, 0.0)
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


# --- runs

_NUMBERS_PER_CALL = 2048
"""Largest number of values that a state returns from one call, chosen to fit the cache."""
_SECONDS_PER_CALL = 0.1
"""Target duration of one call, so that progress is shown and keys stop the run."""
_PER_OPERATION = 1e-10
"""Estimated time of one operation of one state, s; an upper bound."""
_USUAL_SWEEPS = 10
"""Number of sweeps for the estimated time of a step."""
_ALREADY_THERE = 1e-6
"""Excess, rad, over the limit of a ball joint at which a start still counts as within."""
_UNSOLVED = 1e-3
"""Share of the weight, or of a larger reaction, beyond which a residual is part of the status; residuals above the
sweep tolerance are noted anyway. Chosen so that stacked boxes at rest creep slower than an impact (`BOUNCE`)."""


def time_stepped(
    parts: tuple[Any, ...],
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    times: np.ndarray,
    step: float,
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """Compute the trajectory from q0 (..., n_q), v0 and the drives' torques (..., n_v), sampled at times (n,).

    `parts` are those of `stepping_of`.
    """
    stepping = stepping_of(*parts)
    made = _stepped(stepping, state, times, step, progress, **facts)
    if np.any((np.asarray(made.status) == "finished") & unbalanced(made)):  # energy may come and go between samples
        ends = [np.linspace(a, b, steps_in(b - a, step), endpoint=False) for a, b in pairwise(times.tolist())]
        fine = np.append(np.concatenate(ends), times[-1])
        made = replace(made, exchanged=energy_exchanged(_stepped(stepping, state, fine, step, lambda _: None)))
    return with_statuses(made)


def _stepped(
    stepping: Stepping,
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    times: np.ndarray,
    step: float,
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """Compute `time_stepped` without the check of the energy balance."""
    q0, v0, _ = state
    check_mass(stepping.equations, stepping.equations.state(*(x.reshape(-1, x.shape[-1])[:1] for x in (q0, v0))))
    start = np.zeros((*q0.shape[:-1], stepping.n_row + stepping.n_extra))
    equations = stepping.equations
    begun = start_of_run(equations, initial_state(equations, *state), 0.0)
    within, outside = _inside_ranges(stepping, begun.y[..., equations.q])
    begun.y[..., equations.q] = within
    for ours, theirs in ((stepping.q, equations.q), (stepping.v, equations.v), (stepping.z, equations.z)):
        start[..., ours] = begun.y[..., theirs]
    settings = stepping.settings
    if stepping.n_held and begun.c is not None:
        settings = np.concatenate(
            [np.broadcast_to(settings, (*begun.c.shape[:-1], len(settings))), begun.c], axis=-1
        )
    start[..., stepping.n_row + 2 * stepping.mechanism.n_v] = np.inf
    samples = np.empty((*q0.shape[:-1], len(times), start.shape[-1]))
    samples[..., 0, :] = start
    sizes = np.full(len(times), step)
    n_steps, first = 0, 0
    faults: Faults = {}
    singular = SingularStates(equations, samples[..., 0, 0].size) if stepping.n_held else None
    while first < len(times) - 1:
        between = float(times[first + 1] - times[first])
        same = np.diff(times[first:]) > between * (1 - 1e-9)
        n = len(same) if same.all() else max(int(np.argmin(same)), 1)
        every = steps_in(between, step)
        _Block(stepping, settings, between / every, every, progress, faults, singular).go(
            times[first : first + n + 1], samples[..., first:, :]
        )
        sizes[first + 1 : first + n + 1] = between / every
        first, n_steps = first + n, n_steps + n * every
    faults = faults or _undefined(stepping, times, samples, begun.c)
    facts |= {"n_steps": n_steps, "n_evaluations": n_steps, "moved": max(begun.moved, outside)}
    facts["events"] = () if singular is None else singular.records(q0.shape[:-1])
    records = tuple(EventRecord(t, reason, state) for state, (t, reason) in sorted(faults.items()))
    return trajectory_of(stepping, times, samples, sizes, begun.notes, records, **facts)


def _undefined(stepping: Stepping, times: np.ndarray, samples: np.ndarray, c: np.ndarray | None) -> Faults:
    """Return what a compiled control, drive or constraint made not finite, by index of the run."""
    equations, faults = stepping.equations, Faults()
    finite = np.asarray(np.isfinite(samples[..., : stepping.n_row]).all(axis=-1))
    settings = None if c is None else np.broadcast_to(c, (*finite.shape[:-1], c.shape[-1]))
    for run in map(tuple, np.argwhere(~finite.all(axis=-1)).tolist()):
        k, y = int(np.argmin(finite[run])), np.zeros(equations.n_y)
        for ours, theirs in ((stepping.q, equations.q), (stepping.v, equations.v), (stepping.z, equations.z)):
            y[theirs] = samples[run][max(k - 1, 0), ours]
        cause = undefined(equations, times[k - 1 : k + 1], y, None if settings is None else settings[run])
        if cause:
            faults[run] = cause
    return faults


def _inside_ranges(stepping: Stepping, q: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the start q (..., n_q) moved into the coordinate ranges, and the distance moved, rad or m."""
    at = list(stepping.limited)
    lower, upper = (end[at] for end in stepping.ranges)
    if (bad := np.flatnonzero(lower > upper)).size:
        raise ModelError(
            "its range and those of its followers have nothing in common",
            element=f"joint coordinate {stepping.mechanism.coordinate_names[at[bad[0]]]}",
            remedy="Correct the limits, or use limits=False",
        )
    inside = np.clip(q[..., at], lower, upper)
    distance = abs(inside - q[..., at])
    for name in stepping.limited_balls:
        joint = stepping.mechanism.joint(name)
        attitudes = q[..., stepping.mechanism.q_slices[name]].reshape(-1, joint.type.n_q)
        turns = [joint.type.difference(joint.type.neutral(), attitude) for attitude in attitudes]
        if (angle := float(np.linalg.norm(turns, axis=-1).max())) > joint.limits.angle + _ALREADY_THERE:
            raise ZvenoError(
                f"joint {name} is turned by {angle:.4g} rad, beyond its limit of {joint.limits.angle:.4g}",
                element="q0",
                remedy="Start within the limits, or use limits=False",
            )
    outside = float(distance.max(initial=0.0))
    if outside > MAX_PROJECTION:
        worst = at[int(np.argmax(distance.reshape(-1, len(at)).max(axis=0)))]
        raise ZvenoError(
            f"{stepping.mechanism.coordinate_names[worst]} is {outside:.3g} rad or m outside its range, "
            f"more than {MAX_PROJECTION:g}",
            element="q0",
            remedy="Start within the limits",
        )
    q = np.array(q)
    q[..., at] = inside
    return q, outside


class _Identified:
    """Wrapper of `Stepping` that compares equal to others with the same kernels."""

    def __init__(self, stepping: Stepping):
        self.stepping, self.key = stepping, stepping.identity

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identified) and self.key == other.key


@lru_cache(maxsize=128)
def _kernel(identified: _Identified, n_samples: int, every: int) -> Kernel:
    return time_steps_kernel(identified.stepping, n_samples, every)


class _Block:
    """Samples at equal times, each after `every` steps of the size h."""

    def __init__(
        self,
        stepping: Stepping,
        settings: np.ndarray,
        h: float,
        every: int,
        progress: Callable[[float], None],
        faults: Faults,
        singular: SingularStates | None,
    ):
        self.stepping, self.settings = stepping, settings
        self.h, self.every, self.progress = h, every, progress
        self.faults, self.singular = faults, singular

    def go(self, times: np.ndarray, samples: np.ndarray) -> None:
        """Fill `samples` (..., n + 1, n_row + n_extra) after the first, which is the start."""
        n, n_row = len(times) - 1, self.stepping.n_row
        if self.stepping.equations.commanded:
            self._go_commanded(times, samples)
            return
        states = max(1, samples[..., 0, 0].size)
        most = max(1, int(_SECONDS_PER_CALL / (_PER_OPERATION * self._operations() * states)))
        if self.every > most or (self.every > 1 and self.singular is not None):
            for k in range(n):
                self._go_far(float(times[k]), samples[..., k : k + 2, :], most)
            return
        at_once = max(1, min(n, _NUMBERS_PER_CALL // samples.shape[-1], most // self.every))
        for k in range(0, n, at_once):
            count = min(at_once, n - k)
            row = np.ascontiguousarray(samples[..., k, :n_row])
            samples[..., k + 1 : k + 1 + count, :] = self._call(times[k : k + count], row, self.every)
            self._look(times[k : k + count + 1], samples[..., k : k + 1 + count, :])
            self.progress(float(times[k + count]))

    def _operations(self) -> float:
        """Estimate the operations of one step: mass matrix and rows, and the usual number of sweeps."""
        n, m = self.stepping.mechanism.n_v, self.stepping.n_rows
        return 500.0 + 60.0 * n * n + 2.0 * _USUAL_SWEEPS * m * m

    def _kernel(self, n_samples: int, every: int) -> Kernel:
        return _kernel(_Identified(self.stepping), n_samples, every)

    def _call(self, times: np.ndarray, row: np.ndarray, every: int, *command: Any) -> np.ndarray:
        n = len(times)
        return self._kernel(n, every)(times, np.full(n, self.h), row, self.settings, *command)

    def _go_far(self, t: float, samples: np.ndarray, most: int) -> None:
        """Compute one sample, some of its steps per call; with bilateral constraints all steps are looked at."""
        row, done = np.array(samples[..., 0, : self.stepping.n_row]), 0
        worst = np.zeros((*row.shape[:-1], N_QUALITY))
        if self.singular is not None:
            most = max(1, min(most, _NUMBERS_PER_CALL // samples.shape[-1]))
        while done < self.every:
            count = min(most, self.every - done)
            if self.singular is None:
                steps = self._call(np.array([t + done * self.h]), row, count)
            else:
                times = t + self.h * np.arange(done, done + count + 1)
                steps = self._call(times[:-1], row, 1)
                self._look(times, np.concatenate([row[..., None, :], steps[..., : self.stepping.n_row]], axis=-2))
            reached = steps[..., -1, :]
            row, done = np.ascontiguousarray(reached[..., : self.stepping.n_row]), done + count
            worst = np.maximum(worst, steps[..., -N_QUALITY:].max(axis=-2))
            self.progress(t + done * self.h)
        samples[..., 1, :] = reached
        samples[..., 1, -N_QUALITY:] = worst

    def _look(self, times: np.ndarray, rows: np.ndarray) -> None:
        """Check states (..., n, at least n_row) at the ends of steps, times (n,), for singular constraints."""
        if self.singular is None:
            return
        equations, rows = self.stepping.equations, rows.reshape(-1, *rows.shape[-2:])
        y = np.zeros((*rows.shape[:-1], equations.n_y))
        for ours, theirs in ((self.stepping.q, equations.q), (self.stepping.v, equations.v)):
            y[..., theirs] = rows[..., ours]
        self.singular.look(np.arange(len(rows)), times, y, self.settings[..., len(self.stepping.settings) :])

    def _go_commanded(self, times: np.ndarray, samples: np.ndarray) -> None:
        """Step one by one, with a called control."""
        stepping, control = self.stepping, self.stepping.equations.control
        assert control is not None  # it is called only where there is one
        row = np.array(samples[..., 0, : stepping.n_row])
        for k, t in enumerate(times[:-1].tolist()):
            if not np.isfinite(row[..., stepping.q]).any():
                samples[..., k + 1 :, :] = np.nan
                return
            worst = np.zeros((*row.shape[:-1], N_QUALITY))
            for j in range(self.every):
                now = t + j * self.h
                q, v = row[..., stepping.q], row[..., stepping.v]
                u = commanded(control, stepping.mechanism, now, q, v, self.faults)
                reached = self._call(np.array([now]), row, 1, u)[..., 0, :]
                self._look(np.array([now, now + self.h]), np.stack([row, reached[..., : stepping.n_row]], axis=-2))
                row = np.ascontiguousarray(reached[..., : stepping.n_row])
                worst = np.maximum(worst, reached[..., -N_QUALITY:])
            samples[..., k + 1, :] = reached
            samples[..., k + 1, -N_QUALITY:] = worst
            self.progress(t + self.every * self.h)


def trajectory_of(
    stepping: Stepping,
    times: np.ndarray,
    samples: np.ndarray,
    sizes: np.ndarray,
    notes: tuple[str, ...],
    faults: tuple[EventRecord, ...] = (),
    **facts: Any,
) -> Trajectory:
    """Return the trajectory of samples (..., n, n_row + n_extra) at times (n,), after steps of the sizes (n,)."""
    mechanism, n = stepping.mechanism, stepping.mechanism.n_v
    reach = samples[..., -N_QUALITY]
    sane = np.isfinite(samples[..., : stepping.n_row]).all(axis=-1) & (reach < MAX_CHANGE**2)
    sane = np.logical_and.accumulate(sane, axis=-1)
    samples[~sane] = np.nan
    outcome = FINISHED if samples.ndim > 2 else end_of(FINISHED, times, sane, faults)
    if samples.ndim == 2 and not sane.all():
        kept = int(sane.sum())
        times, samples, sizes = times[:kept], samples[:kept], sizes[:kept]
    extra = samples[..., stepping.n_row :]
    q, v = np.ascontiguousarray(samples[..., stepping.q]), np.ascontiguousarray(samples[..., stepping.v])
    kinetic, potential = stepping.robot.energy(q, v)
    if has_springs(mechanism):
        in_springs = compiled(spring_energy, {"q": (mechanism.n_q,)}, constants=(mechanism,))
        potential = potential + in_springs(q)
    residual, sweeps = extra[..., -2], extra[..., -1]
    worst = float(np.nanmax(residual, initial=0.0))
    if worst > 1.001 * float(stepping.settings[0]):
        notes = (
            *notes,
            f"contact forces still changed by up to {worst:.3g} N in the last of {int(np.nanmax(sweeps))} sweeps",
        )
    status, reason = (np.full(samples.shape[:-2], word, dtype=object) for word in outcome)
    if outcome == FINISHED and worst > _UNSOLVED * stepping.weight:
        off = np.nanmax(residual, axis=-1, initial=0.0)
        largest = np.nanmax(abs(samples[..., stepping.impulses]).max(axis=-1) / sizes, axis=-1, initial=0.0)
        for i in map(tuple, np.argwhere(off > _UNSOLVED * np.maximum(stepping.weight, largest))):
            status[i], reason[i] = "undecided", f"contact forces are off by {off[i]:.3g} N or more"
    depth = np.maximum(-extra[..., 2 * n], 0.0)
    drive, states = stepping.equations.drive, samples[..., stepping.z]
    named = () if drive is None else drive.states(mechanism)
    if drive is not None:
        notes, states = (*notes, *drive.notes(mechanism, times, states)), drive.physical(states)
    return Trajectory(
        robot_name=mechanism.name,
        coordinate_names=mechanism.coordinate_names,
        coordinate_units=coordinate_units(mechanism),
        velocity_units=tuple(unit for name in mechanism.joint_names for unit in mechanism.joint(name).type.units),
        joint_names=mechanism.joint_names,
        t=times,
        q=q,
        v=v,
        a=np.ascontiguousarray(extra[..., :n]),
        tau=np.ascontiguousarray(extra[..., n : 2 * n]),
        drive_states=states,
        drive_state_names=tuple(name for name, _ in named),
        drive_state_units=tuple(unit for _, unit in named),
        reactions=samples[..., stepping.impulses.start : stepping.n_row] / sizes[:, None],
        reaction_names=stepping.row_names,
        kinetic=kinetic,
        potential=potential,
        work=samples[..., stepping.work],
        violation=depth,
        violation_rate=np.zeros(depth.shape),
        residual=residual,
        sweeps=sweeps,
        status=status if samples.ndim > 2 else status[()],
        reason=reason if samples.ndim > 2 else reason[()],
        notes=notes,
        faults=faults if samples.ndim > 2 else (),
        mechanism=mechanism,
        **facts,
    )

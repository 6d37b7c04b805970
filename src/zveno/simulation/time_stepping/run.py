"""Runs by time stepping, for one state or a batch: rows at the sample times, and their trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.springs import has_springs, spring_energy
from ...errors import ModelError, ZvenoError
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...mechanism.units import coordinate_units
from ..checks import check_mass
from ..integrators import steps_in
from ..projection import MAX_PROJECTION
from ..rates import Faults, commanded, undefined
from ..results import MAX_CHANGE
from ..singular import SingularStates
from ..start import initial_state, start_of_run
from ..statuses import FINISHED, end_of, energy_exchanged, unbalanced, with_statuses
from ..trajectory import EventRecord, Trajectory
from .parts import stepping_of
from .program import time_steps_kernel
from .stepping import N_QUALITY, Stepping

NUMBERS_PER_CALL = 2048
"""Largest number of values that a state returns from one call, chosen to fit the cache."""
SECONDS_PER_CALL = 0.1
"""Target duration of one call, so that progress is shown and keys stop the run."""
PER_OPERATION = 1e-10
"""Estimated time of one operation of one state, s; an upper bound."""
USUAL_SWEEPS = 10
"""Number of sweeps for the estimated time of a step."""
ALREADY_THERE = 1e-6
"""Excess, rad, over the limit of a ball joint at which a start still counts as within."""
UNSOLVED = 1e-3
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
        if (angle := float(np.linalg.norm(turns, axis=-1).max())) > joint.limits.angle + ALREADY_THERE:
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
        most = max(1, int(SECONDS_PER_CALL / (PER_OPERATION * self._operations() * states)))
        if self.every > most or (self.every > 1 and self.singular is not None):
            for k in range(n):
                self._go_far(float(times[k]), samples[..., k : k + 2, :], most)
            return
        at_once = max(1, min(n, NUMBERS_PER_CALL // samples.shape[-1], most // self.every))
        for k in range(0, n, at_once):
            count = min(at_once, n - k)
            row = np.ascontiguousarray(samples[..., k, :n_row])
            samples[..., k + 1 : k + 1 + count, :] = self._call(times[k : k + count], row, self.every)
            self._look(times[k : k + count + 1], samples[..., k : k + 1 + count, :])
            self.progress(float(times[k + count]))

    def _operations(self) -> float:
        """Estimate the operations of one step: mass matrix and rows, and the usual number of sweeps."""
        n, m = self.stepping.mechanism.n_v, self.stepping.n_rows
        return 500.0 + 60.0 * n * n + 2.0 * USUAL_SWEEPS * m * m

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
            most = max(1, min(most, NUMBERS_PER_CALL // samples.shape[-1]))
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
    if outcome == FINISHED and worst > UNSOLVED * stepping.weight:
        off = np.nanmax(residual, axis=-1, initial=0.0)
        largest = np.nanmax(abs(samples[..., stepping.impulses]).max(axis=-1) / sizes, axis=-1, initial=0.0)
        for i in map(tuple, np.argwhere(off > UNSOLVED * np.maximum(stepping.weight, largest))):
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

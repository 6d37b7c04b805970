"""A run by time stepping, of one state or of a batch: rows at the times of the samples, and their trajectory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.springs import has_springs, spring_energy
from ...errors import ZvenoError
from ...kernels.door import compiled
from ...kernels.kernel import Kernel
from ...mechanism.units import coordinate_units
from ..checks import check_mass
from ..rates import joint_of_velocity, steps_in
from ..results import MAX_CHANGE
from ..start import initial_state, start_of_run
from ..statuses import final_status
from ..trajectory import FINISHED, Trajectory
from .parts import stepping_of
from .program import time_steps_kernel
from .stepping import Stepping

NUMBERS_PER_CALL = 2048
"""Numbers that a state returns from one call at most: they fit the cache that is near."""
SECONDS_PER_CALL = 0.1
"""Aimed at for one call: in between, progress is shown and keys stop the run."""
PER_OPERATION = 1e-10
"""s, of one operation of one state; a guess from above."""
USUAL_SWEEPS = 10
"""Of which the time of a step is guessed."""
UNSOLVED = 1e-3
"""Share of the weight, or of a larger reaction: a residual beyond it is part of the status; what is above the
tolerance of the sweeps is noted anyway. Below it, what should rest creeps slower than an approach that counts as an
impact (`BOUNCE`), as tests of stacks show whose sweeps end too early. In g h, a residual of this share creeps by
0.01 for a box, 0.1 for three on top of each other, 0.3 with ten times the mass on top, 1.8 with thirty on two."""


def time_stepped(
    parts: tuple[Any, ...],
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    far: float,
    times: np.ndarray,
    step: float,
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """The trajectory from q0 (..., n_q), v0 and the drives' torques (..., n_v), sampled at the times (n,).

    `parts` are those of `stepping_of`; `far` says how far, rad or m, constraints may move the start.
    """
    q0, v0, _ = state
    stepping = stepping_of(*parts)
    check_mass(stepping.equations, stepping.equations.state(*(x.reshape(-1, x.shape[-1])[:1] for x in (q0, v0))))
    start = np.zeros((*q0.shape[:-1], stepping.n_row + stepping.n_extra))
    equations = stepping.equations
    begun = start_of_run(equations, initial_state(equations, *state), 0.0, step, far)
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
    while first < len(times) - 1:
        between = float(times[first + 1] - times[first])
        same = np.diff(times[first:]) > between * (1 - 1e-9)
        n = len(same) if same.all() else max(int(np.argmin(same)), 1)
        every = steps_in(between, step)
        _Block(stepping, settings, between / every, every, progress).go(
            times[first : first + n + 1], samples[..., first:, :]
        )
        sizes[first + 1 : first + n + 1] = between / every
        first, n_steps = first + n, n_steps + n * every
    facts |= {"n_steps": n_steps, "n_evaluations": n_steps, "moved": begun.moved}
    return trajectory_of(stepping, times, samples, sizes, begun.notes, **facts)


class _Identified:
    """What takes part in a run; equal to every other that leads to the same kernels."""

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
        self, stepping: Stepping, settings: np.ndarray, h: float, every: int, progress: Callable[[float], None]
    ):
        self.stepping, self.settings = stepping, settings
        self.h, self.every, self.progress = h, every, progress

    def go(self, times: np.ndarray, samples: np.ndarray) -> None:
        """Fills `samples` (..., n + 1, n_row + n_extra) behind the first, which is the start."""
        n, n_row = len(times) - 1, self.stepping.n_row
        if self.stepping.equations.commanded:
            self._go_commanded(times, samples)
            return
        states = max(1, samples[..., 0, 0].size)
        most = max(1, int(SECONDS_PER_CALL / (PER_OPERATION * self._operations() * states)))
        if self.every > most:
            for k in range(n):
                self._go_far(float(times[k]), samples[..., k : k + 2, :], most)
            return
        at_once = max(1, min(n, NUMBERS_PER_CALL // samples.shape[-1], most // self.every))
        for k in range(0, n, at_once):
            count = min(at_once, n - k)
            row = np.ascontiguousarray(samples[..., k, :n_row])
            samples[..., k + 1 : k + 1 + count, :] = self._call(times[k : k + count], row, self.every)
            self.progress(float(times[k + count]))

    def _operations(self) -> float:
        """Of one step, roughly: mass matrix and rows, and the usual number of sweeps."""
        n, m = self.stepping.mechanism.n_v, self.stepping.n_rows
        return 500.0 + 60.0 * n * n + 2.0 * USUAL_SWEEPS * m * m

    def _kernel(self, n_samples: int, every: int) -> Kernel:
        return _kernel(_Identified(self.stepping), n_samples, every)

    def _call(self, times: np.ndarray, row: np.ndarray, every: int, *command: Any) -> np.ndarray:
        n = len(times)
        return self._kernel(n, every)(times, np.full(n, self.h), row, self.settings, *command)

    def _go_far(self, t: float, samples: np.ndarray, most: int) -> None:
        """One sample, some of its steps in every call."""
        row, done = np.array(samples[..., 0, : self.stepping.n_row]), 0
        worst = np.zeros((*row.shape[:-1], 2))
        while done < self.every:
            count = min(most, self.every - done)
            reached = self._call(np.array([t + done * self.h]), row, count)[..., 0, :]
            row, done = np.ascontiguousarray(reached[..., : self.stepping.n_row]), done + count
            worst = np.maximum(worst, reached[..., -2:])
            self.progress(t + done * self.h)
        samples[..., 1, :] = reached
        samples[..., 1, -2:] = worst

    def _go_commanded(self, times: np.ndarray, samples: np.ndarray) -> None:
        """Step by step, with a control that is called."""
        stepping, control = self.stepping, self.stepping.equations.control
        assert control is not None  # it is called only where there is one
        row = np.array(samples[..., 0, : stepping.n_row])
        for k, t in enumerate(times[:-1].tolist()):
            worst = np.zeros((*row.shape[:-1], 2))
            for j in range(self.every):
                now = t + j * self.h
                u = np.asarray(control.torque(stepping.mechanism, now, row[..., stepping.q], row[..., stepping.v]))
                if not np.isfinite(u).all():
                    index = tuple(int(i) for i in np.argwhere(~np.isfinite(u))[0])
                    joint = joint_of_velocity(stepping.mechanism, index[-1])
                    raise ZvenoError(f"gave {u[index]} for joint {joint} at t = {now:.6g} s", element="control")
                reached = self._call(np.array([now]), row, 1, u)[..., 0, :]
                row = np.ascontiguousarray(reached[..., : stepping.n_row])
                worst = np.maximum(worst, reached[..., -2:])
            samples[..., k + 1, :] = reached
            samples[..., k + 1, -2:] = worst
            self.progress(t + self.every * self.h)


def trajectory_of(
    stepping: Stepping,
    times: np.ndarray,
    samples: np.ndarray,
    sizes: np.ndarray,
    notes: tuple[str, ...],
    **facts: Any,
) -> Trajectory:
    """The trajectory of samples (..., n, n_row + n_extra) at times (n,), after steps of the sizes (n,)."""
    mechanism, n = stepping.mechanism, stepping.mechanism.n_v
    moved = abs(samples[..., stepping.v]).max(axis=-1, initial=0.0) * sizes
    sane = np.isfinite(samples[..., : stepping.n_row]).all(axis=-1) & (moved < MAX_CHANGE)
    sane = np.logical_and.accumulate(sane, axis=-1)
    samples[~sane] = np.nan
    status = final_status(FINISHED, times, sane)
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
    if status == FINISHED and worst > UNSOLVED * stepping.weight:
        largest = np.nanmax(abs(samples[..., stepping.impulses]).max(axis=-1) / sizes)
        if worst > UNSOLVED * float(largest):
            status = f"{FINISHED}: contact forces are off by {worst:.3g} N or more"
    depth = np.maximum(-extra[..., -3], 0.0)
    drive, states = stepping.equations.drive, samples[..., stepping.z]
    named = () if drive is None else drive.states(mechanism)
    if drive is not None:
        notes, states = (*notes, *drive.notes(mechanism, times, states)), drive.physical(states)
    return Trajectory(
        robot=mechanism.name,
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
        status=status,
        notes=notes,
        mechanism=mechanism,
        **facts,
    )

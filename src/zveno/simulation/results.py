"""From the states of a run to a trajectory: accelerations, torques, reactions and energies of every sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..io.results import hash_of
from ..mechanism.units import coordinate_units, velocity_units
from .equations import Equations
from .inputs import Inputs
from .rates import Rates, Stopped
from .redundancy import reported
from .trajectory import FINISHED, Trajectory

PER_RUN = (
    "q",
    "v",
    "a",
    "tau",
    "drive_states",
    "reactions",
    "kinetic",
    "potential",
    "work",
    "violation",
    "violation_rate",
)
"""Fields of a trajectory with the axes of the batch."""
OF_TIME_STEPPING = ("residual", "sweeps")
"""Those that other integrators leave out."""
LARGEST_IMBALANCE = 0.1
"""Share of the energy exchanged that a run may lose or invent and still count as finished."""
_ROUNDING = 1e-9
"""Share of the potential energy that rounding may take, where hardly anything moves."""
_NOTHING = 1e-18
"""Energy, J, that counts as none: a machine at rest is not judged by its rounding."""
MAX_CHANGE = 10.0
"""A change of a coordinate in one fixed step, rad or m, beyond which the run has exploded."""


def sane_samples(equations: Equations, Y: np.ndarray, h: float) -> np.ndarray:
    """Which samples are finite and do not move by whole turns a step, (..., n): the others are turned into NaN."""
    sane = np.isfinite(Y).all(axis=-1) & (abs(Y[..., equations.v]).max(axis=-1, initial=0.0) * h < MAX_CHANGE)
    sane[..., :1] = True
    sane = np.logical_and.accumulate(sane, axis=-1)
    Y[~sane] = np.nan
    return sane


def final_status(status: str, times: np.ndarray, finite: np.ndarray) -> str:
    """The status of a run, or which samples (..., n) are not sane and since when."""
    if status != FINISHED:
        return status
    if finite.all():
        return FINISHED if len(times) > 1 else f"{FINISHED}: zero duration, the initial state only"
    first = float(times[np.argmin(finite.reshape(-1, len(times)).all(axis=0))])
    if finite.ndim == 1:
        return f"stopped: the motion explodes at t = {first:.6g} s; the step is too large for it"
    lost = int((~finite.all(axis=-1)).sum())
    return f"{lost} of {finite[..., 0].size} runs explode, the first at t = {first:.6g} s"


def balanced_status(run: Trajectory) -> Trajectory:
    """The run, no longer "finished" where its energy is not what was there and what was brought in.

    What an integrator loses or invents is compared with all the energy that the motion exchanges. Where it is a
    tenth of that, the motion is not one of this robot, whatever its states look like.
    """
    if run.status != FINISHED or not run.t.size:
        return run
    # A motion between two samples may bring in work and take it out again; it is seen at the next one.
    potential = abs(run.potential - run.potential[..., :1])
    exchanged = np.asarray((run.kinetic + potential + abs(run.work)).max(axis=-1))
    error = np.asarray(abs(run.energy_error).max(axis=-1))
    allowed = LARGEST_IMBALANCE * exchanged + _ROUNDING * abs(run.potential).max(axis=-1) + _NOTHING
    lost = ~np.asarray(error <= allowed)
    if not lost.any():
        return run
    remedy = "use a smaller step or tolerance"
    if not run.q.shape[:-2]:
        balance = f"energy is off by {float(error):.3g} J where {float(exchanged):.3g} J are exchanged"
        return replace(run, status=f"reached its end, but {balance}: {remedy}")
    worst = float((error / np.maximum(exchanged, 1e-300)).max())
    text = f"{int(lost.sum())} of {lost.size} runs reach their end with energy off by up to {worst:.2g} times"
    return replace(run, status=f"{text} what is exchanged: {remedy}")


def trajectory(equations: Equations, times: np.ndarray, Y: np.ndarray, C: Any, **facts: Any) -> Trajectory:
    """The trajectory of states Y (..., n, n_y) under constraint settings C (..., n, n_c)."""
    mechanism = equations.mechanism
    finite = np.isfinite(Y).all(axis=-1)
    if Y.ndim == 2 and not finite.all():
        kept = int(np.argmin(finite))
        times, Y, C = times[:kept], Y[:kept], None if C is None else C[:kept]
    q, v = Y[..., equations.q], Y[..., equations.v]
    a, tau, reactions, value, rate, kinetic, potential = _reported(equations, times, Y, C)
    active = 1.0 if C is None else C[..., 1 : 1 + equations.n_rows]
    work = Y[..., -1] - Y[..., :1, -1] if equations.works else np.zeros(Y.shape[:-1])
    named, states = (), Y[..., equations.z]
    if equations.drive is not None:
        facts["notes"] = (*facts.get("notes", ()), *equations.drive.notes(mechanism, times, states))
        named, states = equations.drive.states(mechanism), equations.drive.physical(states)
    return Trajectory(
        robot=mechanism.name,
        coordinate_names=mechanism.coordinate_names,
        coordinate_units=coordinate_units(mechanism),
        velocity_units=velocity_units(mechanism),
        joint_names=mechanism.joint_names,
        t=times,
        q=q,
        v=v,
        a=a,
        tau=tau,
        drive_states=states,
        drive_state_names=tuple(name for name, _ in named),
        drive_state_units=tuple(unit for _, unit in named),
        reactions=reactions,
        reaction_names=equations.row_names,
        kinetic=kinetic,
        potential=potential,
        work=work,
        violation=abs(value * active).max(axis=-1, initial=0.0),
        violation_rate=abs(rate * active).max(axis=-1, initial=0.0),
        mechanism=mechanism,
        **facts,
    )


def _reported(equations: Equations, times, Y, C):
    """What the report kernel says about every sample, least squares where constraints are redundant."""
    u = None
    if equations.commanded and equations.control is not None:
        rates = Rates(equations, None)
        columns = [_last_command(rates, t, Y[..., k, :]) for k, t in enumerate(times)]
        u = np.stack(columns, axis=-2) if columns else np.zeros((0, equations.mechanism.n_v))
    return reported(equations, times, Y, Inputs(u, C))


def _last_command(rates: Rates, t, y) -> np.ndarray:
    try:
        return np.asarray(rates.command(t, y))
    except Stopped:
        return np.full((*y.shape[:-1], rates.equations.mechanism.n_v), np.nan)


def joined(runs: Sequence[Trajectory], batch: tuple[int, ...]) -> Trajectory:
    """Batches (k,) of runs as one batch of that shape; what stopped earlier than others is NaN from there on."""
    times = max((run.t for run in runs), key=len)
    fields = (*PER_RUN, *(name for name in OF_TIME_STEPPING if getattr(runs[0], name) is not None))
    whole = {name: np.concatenate([_filled(getattr(run, name), len(times)) for run in runs]) for name in fields}
    whole = {name: values.reshape(*batch, *values.shape[1:]) for name, values in whole.items()}
    stopped = next((run.status for run in runs if run.status.startswith("stopped")), FINISHED)
    whole_run = replace(
        runs[0],
        **whole,
        t=times,
        status=final_status(stopped, times, np.asarray(np.isfinite(whole["q"]).all(axis=-1))),
        moved=max(run.moved for run in runs),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        n_steps=max(run.n_steps for run in runs),
        n_evaluations=sum(run.n_evaluations for run in runs),
        inputs_hash=hash_of(*(run.inputs_hash for run in runs)),
    )
    return balanced_status(whole_run)


def _filled(values: np.ndarray, n: int) -> np.ndarray:
    """Samples (k, m, ...) with NaN up to n of them."""
    missing = np.full((len(values), n - values.shape[1], *values.shape[2:]), np.nan)
    return np.concatenate([values, missing], axis=1) if missing.size else values

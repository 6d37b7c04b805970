"""Conversion of the states of a run to a trajectory with accelerations, torques, reactions and energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.results import hash_of
from ..mechanism.units import coordinate_units, velocity_units
from ._equations import Equations
from ._layout import Inputs
from ._rates import Rates
from ._redundancy import reported
from ._statuses import EventStops
from .trajectory import OF_TIME_STEPPING, PER_RUN, Trajectory

if TYPE_CHECKING:
    from ._run import Stop

MAX_CHANGE = 10.0
"""Change of a coordinate in one fixed step, rad or m, beyond which the run has diverged."""


def sane(equations: Equations, Y: np.ndarray, h: float) -> np.ndarray:
    """Return a mask of states (..., n_y) that are finite and move by less than `MAX_CHANGE` per step."""
    slow = abs(Y[..., equations.v]).max(axis=-1, initial=0.0) * h < MAX_CHANGE
    return np.asarray(np.isfinite(Y).all(axis=-1) & slow)


def sane_samples(equations: Equations, Y: np.ndarray, h: float) -> np.ndarray:
    """Return a mask of samples (..., n) that are sane, as all before them; set the others to NaN."""
    good = sane(equations, Y, h)
    good[..., :1] = True
    good = np.logical_and.accumulate(good, axis=-1)
    Y[~good] = np.nan
    return good


def trajectory(
    equations: Equations, times: np.ndarray, Y: np.ndarray, c: np.ndarray | None, **facts: Any
) -> Trajectory:
    """Return the trajectory of states Y (..., n, n_y) under constraint settings c (..., n_c)."""
    mechanism = equations.mechanism
    finite = np.isfinite(Y).all(axis=-1)
    if Y.ndim == 2 and not finite.all():
        kept = int(np.argmin(finite))
        times, Y = times[:kept], Y[:kept]
    named = ()
    if equations.drive is not None:
        facts["notes"] = (*facts.get("notes", ()), *equations.drive.notes(mechanism, times, Y[..., equations.z]))
        named = equations.drive.states(mechanism)
    u = None
    if equations.commanded and equations.control is not None:
        rates = Rates(equations, None)
        columns = [np.asarray(rates.command(t, Y[..., k, :])) for k, t in enumerate(times)]
        u = np.stack(columns, axis=-2) if columns else np.zeros((0, mechanism.n_v))
    return Trajectory(
        robot_name=mechanism.name,
        coordinate_names=mechanism.coordinate_names,
        coordinate_units=coordinate_units(mechanism),
        velocity_units=velocity_units(mechanism),
        joint_names=mechanism.joint_names,
        t=times,
        drive_state_names=tuple(name for name, _ in named),
        drive_state_units=tuple(unit for _, unit in named),
        reaction_names=equations.row_names,
        mechanism=mechanism,
        **samples(equations, times, Y, Inputs(u, None if c is None else c[..., None, :])),
        **facts,
    )


def samples(equations: Equations, t: np.ndarray, Y: np.ndarray, inputs: Inputs) -> dict[str, np.ndarray]:
    """Return all fields of samples (..., n_y) at times (...,), NaN where they are not finite.

    Work is counted from zero, with which every run begins.
    """
    report = reported(equations, t, Y, inputs)  # least squares where constraints are redundant
    a, tau, reactions, value, rate, kinetic, potential = report
    states = Y[..., equations.z]
    fields = {
        "q": Y[..., equations.q],
        "v": Y[..., equations.v],
        "a": a,
        "tau": tau,
        "drive_states": states if equations.drive is None else equations.drive.physical(states),
        "reactions": reactions,
        "kinetic": kinetic,
        "potential": potential,
        "work": Y[..., -1] if equations.works else np.zeros(Y.shape[:-1]),
        "violation": abs(value).max(axis=-1, initial=0.0),
        "violation_rate": abs(rate).max(axis=-1, initial=0.0),
    }
    lost = ~np.asarray(np.isfinite(Y).all(axis=-1))
    if lost.any():
        fields = {name: np.array(values) for name, values in fields.items()}
        for values in fields.values():
            values[lost] = np.nan
    return fields


def stops_of(
    equations: Equations, stops: Mapping[int, Stop], batch: tuple[int, ...], c: np.ndarray | None
) -> EventStops | None:
    """Return the ends of runs of a batch with constraint settings c (..., n_c); None if there are none."""
    if not stops:
        return None
    numbers = np.array(sorted(stops))
    ended = [stops[i] for i in numbers.tolist()]
    t, Y = np.array([stop.t for stop in ended]), np.array([stop.y for stop in ended])
    u, rates = None, Rates(equations, None)
    if equations.commanded:  # the control is called with a batch of the same shape, of which this run is one
        alike = [np.broadcast_to(y, (*batch, len(y))) for y in Y]
        asked = [np.asarray(rates.command(now, states)) for now, states in zip(t.tolist(), alike, strict=True)]
        u = np.array([u.reshape(-1, u.shape[-1])[i] for i, u in zip(numbers, asked, strict=True)])
    held = None if c is None else np.broadcast_to(c, (*batch, c.shape[-1])).reshape(-1, c.shape[-1])[numbers]
    return EventStops(
        runs=np.stack(np.unravel_index(numbers, batch), axis=-1),
        events=tuple(stop.event for stop in ended),
        t=t,
        n_steps=np.array([stop.n_steps for stop in ended]),
        **samples(equations, t, Y, Inputs(u, held)),
    )


def joined(runs: Sequence[Trajectory], batch: tuple[int, ...]) -> Trajectory:
    """Join batches (k,) of runs into one batch of that shape; runs that stopped earlier are padded with NaN."""
    times = max((run.t for run in runs), key=len)
    fields = (*PER_RUN, *(name for name in OF_TIME_STEPPING if getattr(runs[0], name) is not None))
    whole = {name: np.concatenate([_filled(getattr(run, name), len(times)) for run in runs]) for name in fields}
    whole = {name: values.reshape(*batch, *values.shape[1:]) for name, values in whole.items()}
    first = np.cumsum([0, *(len(run.q) for run in runs)]).tolist()
    events, faults = (
        [
            replace(event, state=tuple(map(int, np.unravel_index(begin + event.state[0], batch))))
            for begin, run in zip(first, runs, strict=False)
            for event in getattr(run, name)
        ]
        for name in ("events", "faults")
    )
    return replace(
        runs[0],
        **whole,
        t=times,
        status=np.concatenate([run.status for run in runs]).reshape(batch),
        reason=np.concatenate([run.reason for run in runs]).reshape(batch),
        moved=max(run.moved for run in runs),
        events=tuple(sorted(events, key=lambda event: event.t)),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        n_steps=max(run.n_steps for run in runs),
        n_evaluations=sum(run.n_evaluations for run in runs),
        inputs_hash=hash_of(*(run.inputs_hash for run in runs)),
        stops=_joined_stops(runs, first, batch),
        faults=tuple(faults),
        exchanged=_joined_exchanged(runs, batch),
    )


def _joined_stops(runs: Sequence[Trajectory], first: Sequence[int], batch: tuple[int, ...]) -> EventStops | None:
    """Join the stops of batches (k,) whose runs are numbered from `first`."""
    some = [(begin, run.stops) for begin, run in zip(first, runs, strict=False) if run.stops is not None]
    if not some:
        return None
    numbers = np.concatenate([begin + stops.runs[:, 0] for begin, stops in some])
    names = ("t", "n_steps", *PER_RUN)
    fields = {name: np.concatenate([getattr(stops, name) for _, stops in some]) for name in names}
    events = tuple(event for _, stops in some for event in stops.events)
    return EventStops(runs=np.stack(np.unravel_index(numbers, batch), axis=-1), events=events, **fields)


def _joined_exchanged(runs: Sequence[Trajectory], batch: tuple[int, ...]) -> np.ndarray | None:
    parts = [np.full(len(run.q), np.nan) if run.exchanged is None else run.exchanged for run in runs]
    whole = np.concatenate(parts).reshape(batch)
    return None if np.isnan(whole).all() else whole


def _filled(values: np.ndarray, n: int) -> np.ndarray:
    """Pad samples (k, m, ...) with NaN to n of them."""
    missing = np.full((len(values), n - values.shape[1], *values.shape[2:]), np.nan)
    return np.concatenate([values, missing], axis=1) if missing.size else values

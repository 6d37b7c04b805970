"""Statuses of runs: finished, stopped by an event, diverged, or with an energy error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .stops import event_at

if TYPE_CHECKING:
    from .trajectory import EventRecord, Trajectory

FINISHED = "finished"
DIVERGED = "diverged"
_AT_ONCE = f"{FINISHED}: zero duration, the initial state only"
LARGEST_IMBALANCE = 0.1
"""Largest energy error of a finished run, as a share of the energy exchanged."""
_ROUNDING = 1e-7
"""Allowed energy error from rounding and the contact force tolerance near rest, as a share of the potential energy;
a stack of 102 kg at rest has 7e-8."""
_NOTHING = 1e-18
"""Energy, J, that counts as zero, so that rounding at rest is ignored."""
SINGULAR = "singular state"
"""Prefix of the names of events at which constraints lose rank."""
_REMEDY = "use a smaller step or tolerance"


def diverged_at(t: float, faults: Sequence[EventRecord], state: tuple[int, ...] = ()) -> str:
    """Return the status of a run that diverged at a time, with the control fault if there was one."""
    for fault in faults:
        if fault.state == state and fault.t <= t:
            return f"{DIVERGED}: {fault.name} at t = {fault.t:.6g} s"
    return f"{DIVERGED}: the motion has no bound at t = {t:.6g} s; the step is too large for it"


def final_status(status: str, times: np.ndarray, finite: np.ndarray, faults: Sequence[EventRecord] = ()) -> str:
    """Return the status of a run, with the first sample (..., n) that is not sane if there is one."""
    if finite.ndim == 1 and not finite.all():  # whatever came later
        return diverged_at(float(times[np.argmin(finite)]), faults)
    if faults and finite.ndim == 1 and status.startswith(DIVERGED):
        return diverged_at(np.inf, faults)
    if status != FINISHED:
        return status
    if finite.all():
        return FINISHED if len(times) > 1 else _AT_ONCE
    return _diverge(np.asarray(~finite.all(axis=-1)), times[np.argmin(finite, axis=-1)], faults)


def balanced_status(run: Trajectory) -> Trajectory:
    """Return the run, with another status than "finished" if its energy balance is violated.

    The energy error of the integrator is compared with all the energy that the motion exchanges. At a tenth of that
    the motion is not valid, whatever its states look like.
    """
    if run.status != FINISHED or not run.t.size:
        return run
    error, exchanged, lost = _balance(run)
    if not lost.any():
        passed = _passed(run).get((), "")
        return replace(run, status=passed) if passed else run
    if not run.q.shape[:-2]:
        return replace(run, status=_off_balance(float(error), float(exchanged)))
    return replace(run, status=_lose(lost, error, exchanged))


def status_of_batch(run: Trajectory) -> str:
    """Summarize the statuses of a batch; return its own status unless that is "finished".

    A run that no event stopped has diverged if it has samples that are not finite; otherwise its energy balance is
    checked.
    """
    if run.status != FINISHED or not run.t.size:
        return run.status
    diverged, first, stopped = _ends(run)
    error, exchanged, lost = _balance(run)
    lost &= ~(diverged | stopped)
    parts = []
    if diverged.any():
        parts.append(_diverge(diverged, first, run.faults))
    if lost.any():
        parts.append(_lose(lost, error, exchanged))
    passed = [state for state in _passed(run) if not (diverged | lost | stopped)[state]]
    if passed:
        parts.append(f"{len(passed)} of {lost.size} runs pass a {SINGULAR} of their constraints")
    if run.stops is not None and stopped.any():
        named, earliest = ", ".join(dict.fromkeys(run.stops.events)), float(run.stops.t.min())
        many = f"{int(stopped.sum())} of {stopped.size} runs"
        parts.append(f"{many} stopped by event {named}, the first at t = {earliest:.6g} s")
    return "; ".join(parts) or (FINISHED if len(run.t) > 1 else _AT_ONCE)


def statuses(run: Trajectory) -> np.ndarray:
    """Return the status of every run of a batch, (...,) texts."""
    batch = run.q.shape[:-2]
    status = run.status if run.status.startswith((f"{FINISHED}:", "stopped:")) else FINISHED
    texts = np.full(batch, status, dtype=object)
    if not run.t.size:
        return texts
    diverged, first, stopped = _ends(run)
    if status == FINISHED:
        error, exchanged, lost = _balance(run)
        for i in map(tuple, np.argwhere(lost & ~(diverged | stopped))):
            texts[i] = _off_balance(float(error[i]), float(exchanged[i]))
        for i, text in _passed(run).items():
            texts[i] = text if texts[i] == FINISHED else texts[i]
    for i in map(tuple, np.argwhere(diverged)):
        texts[i] = diverged_at(float(first[i]), run.faults, i)
    if run.stops is not None:
        for i, event, t in zip(run.stops.runs.tolist(), run.stops.events, run.stops.t.tolist(), strict=True):
            texts[tuple(i)] = f"stopped: {event_at(event, t)}"
    return texts


def _passed(run: Trajectory) -> dict[tuple[int, ...], str]:
    """Return the status, by index, of every run of a batch that passes a singular state of its constraints."""
    return {
        event.state: f"{FINISHED}: passes a {event.name} at t = {event.t:.6g} s, behind which motions branch"
        for event in run.events
        if event.name.startswith(SINGULAR)
    }


def _ends(run: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (mask of diverged runs (...,), their times, mask of runs that an event stopped)."""
    finite = np.isfinite(run.q).all(axis=-1)
    stopped = np.zeros(finite.shape[:-1], dtype=bool)
    if run.stops is not None:
        stopped[tuple(run.stops.runs.T)] = True
    return ~finite.all(axis=-1) & ~stopped, run.t[np.argmin(finite, axis=-1)], stopped


def energy_exchanged(run: Trajectory) -> np.ndarray:
    """Return the largest sum of kinetic energy, |potential energy change| and |work|, J, of every run."""
    potential = abs(run.potential - run.potential[..., :1])
    return np.asarray((run.kinetic + potential + abs(run.work)).max(axis=-1, initial=0.0))


def unbalanced(run: Trajectory) -> np.ndarray:
    """Return a mask of runs (...,) whose energy balance is violated."""
    return np.asarray(_balance(run)[2] & np.isfinite(run.q).all(axis=(-2, -1)))


def _balance(run: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (energy error, energy exchanged, whether the error is too large) of every run, (...,)."""
    with np.errstate(all="ignore"):  # values that are not finite fail the check
        exchanged = energy_exchanged(run)
        if run.exchanged is not None:
            exchanged = np.fmax(exchanged, run.exchanged)
        error = np.asarray(abs(run.energy_error).max(axis=-1))
        allowed = LARGEST_IMBALANCE * exchanged + _ROUNDING * abs(run.potential).max(axis=-1) + _NOTHING
        return error, exchanged, ~np.asarray(error <= allowed)


def _off_balance(error: float, exchanged: float) -> str:
    return f"reached its end, but energy is off by {error:.3g} J where {exchanged:.3g} J are exchanged: {_REMEDY}"


def _lose(lost: np.ndarray, error: np.ndarray, exchanged: np.ndarray) -> str:
    worst = float((error / np.maximum(exchanged, 1e-300))[lost].max())
    text = f"{int(lost.sum())} of {lost.size} runs reach their end with energy off by up to {worst:.2g} times"
    return f"{text} what is exchanged: {_REMEDY}"


def _diverge(diverged: np.ndarray, first: np.ndarray, faults: Sequence[EventRecord]) -> str:
    """Describe the diverged runs (...,), given the time of the first bad sample of each."""
    earliest = float(first[diverged].min())
    text = f"{int(diverged.sum())} of {diverged.size} runs diverge, the first at t = {earliest:.6g} s"
    return f"{text}; {faults[0].name} at t = {faults[0].t:.6g} s" if faults else text

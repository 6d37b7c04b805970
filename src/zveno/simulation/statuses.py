"""How runs ended: finished, stopped by an event, exploded, or with energy that nothing brought in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .stops import event_at

if TYPE_CHECKING:
    from .trajectory import Trajectory

FINISHED = "finished"
_AT_ONCE = f"{FINISHED}: zero duration, the initial state only"
LARGEST_IMBALANCE = 0.1
"""Share of the energy exchanged that a run may lose or invent and still count as finished."""
_ROUNDING = 1e-9
"""Share of the potential energy that rounding may take, where hardly anything moves."""
_NOTHING = 1e-18
"""Energy, J, that counts as none: a machine at rest is not judged by its rounding."""
_REMEDY = "use a smaller step or tolerance"


def exploded_at(t: float) -> str:
    """The status of a run whose sample at a time is the first that is not sane."""
    return f"stopped: the motion explodes at t = {t:.6g} s; the step is too large for it"


def final_status(status: str, times: np.ndarray, finite: np.ndarray) -> str:
    """The status of a run, or which samples (..., n) are not sane and since when."""
    if finite.ndim == 1 and not finite.all():  # whatever came later
        return exploded_at(float(times[np.argmin(finite)]))
    if status != FINISHED:
        return status
    if finite.all():
        return FINISHED if len(times) > 1 else _AT_ONCE
    return _explode(np.asarray(~finite.all(axis=-1)), times[np.argmin(finite, axis=-1)])


def balanced_status(run: Trajectory) -> Trajectory:
    """The run, no longer "finished" where its energy is not what was there and what was brought in.

    What an integrator loses or invents is compared with all the energy that the motion exchanges. Where it is a
    tenth of that, the motion is not one of this robot, whatever its states look like.
    """
    if run.status != FINISHED or not run.t.size:
        return run
    error, exchanged, lost = _balance(run)
    if not lost.any():
        return run
    if not run.q.shape[:-2]:
        return replace(run, status=_off_balance(float(error), float(exchanged)))
    return replace(run, status=_lose(lost, error, exchanged))


def status_of_batch(run: Trajectory) -> str:
    """What the runs of a batch came to; its own status if that is another than "finished".

    A run that no event stopped has exploded where it has samples that are not finite, and is judged by its energy
    where it has none.
    """
    if run.status != FINISHED or not run.t.size:
        return run.status
    exploded, first, stopped = _ends(run)
    error, exchanged, lost = _balance(run)
    lost &= ~(exploded | stopped) & (run.residual is None)  # time stepping is not judged by its energy
    parts = []
    if exploded.any():
        parts.append(_explode(exploded, first))
    if lost.any():
        parts.append(_lose(lost, error, exchanged))
    if run.stops is not None and stopped.any():
        named, earliest = ", ".join(dict.fromkeys(run.stops.events)), float(run.stops.t.min())
        many = f"{int(stopped.sum())} of {stopped.size} runs"
        parts.append(f"{many} stopped by event {named}, the first at t = {earliest:.6g} s")
    return "; ".join(parts) or (FINISHED if len(run.t) > 1 else _AT_ONCE)


def statuses(run: Trajectory) -> np.ndarray:
    """The status of every run of a batch by itself, (...,) texts."""
    batch = run.q.shape[:-2]
    own = run.status if run.status.startswith((f"{FINISHED}:", "stopped:")) else FINISHED
    texts = np.full(batch, own, dtype=object)
    if not run.t.size:
        return texts
    exploded, first, stopped = _ends(run)
    if own == FINISHED and run.residual is None:
        error, exchanged, lost = _balance(run)
        for i in map(tuple, np.argwhere(lost & ~(exploded | stopped))):
            texts[i] = _off_balance(float(error[i]), float(exchanged[i]))
    for i in map(tuple, np.argwhere(exploded)):
        texts[i] = exploded_at(float(first[i]))
    if run.stops is not None:
        for i, event, t in zip(run.stops.runs.tolist(), run.stops.events, run.stops.t.tolist(), strict=True):
            texts[tuple(i)] = f"stopped: {event_at(event, t)}"
    return texts


def _ends(run: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(which runs (...,) have exploded, at which of the times, which ones an event stopped)."""
    finite = np.isfinite(run.q).all(axis=-1)
    stopped = np.zeros(finite.shape[:-1], dtype=bool)
    if run.stops is not None:
        stopped[tuple(run.stops.runs.T)] = True
    return ~finite.all(axis=-1) & ~stopped, run.t[np.argmin(finite, axis=-1)], stopped


def _balance(run: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(error of the energy, energy exchanged, whether the one is too large for the other) of every run, (...,)."""
    # A motion between two samples may bring in work and take it out again; it is seen at the next one.
    with np.errstate(all="ignore"):  # what is not finite is no balance
        potential = abs(run.potential - run.potential[..., :1])
        exchanged = np.asarray((run.kinetic + potential + abs(run.work)).max(axis=-1))
        error = np.asarray(abs(run.energy_error).max(axis=-1))
        allowed = LARGEST_IMBALANCE * exchanged + _ROUNDING * abs(run.potential).max(axis=-1) + _NOTHING
        return error, exchanged, ~np.asarray(error <= allowed)


def _off_balance(error: float, exchanged: float) -> str:
    return f"reached its end, but energy is off by {error:.3g} J where {exchanged:.3g} J are exchanged: {_REMEDY}"


def _lose(lost: np.ndarray, error: np.ndarray, exchanged: np.ndarray) -> str:
    worst = float((error / np.maximum(exchanged, 1e-300))[lost].max())
    text = f"{int(lost.sum())} of {lost.size} runs reach their end with energy off by up to {worst:.2g} times"
    return f"{text} what is exchanged: {_REMEDY}"


def _explode(exploded: np.ndarray, first: np.ndarray) -> str:
    """Of runs (...,) that have exploded, each at the first of its samples that is not sane."""
    earliest = float(first[exploded].min())
    return f"{int(exploded.sum())} of {exploded.size} runs explode, the first at t = {earliest:.6g} s"

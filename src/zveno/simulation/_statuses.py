"""Ends of runs: at events, each at its own time between the shared samples, and the status of every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from ..io.results import registered

if TYPE_CHECKING:
    from .trajectory import EventRecord, Trajectory

# --- ends of the runs of a batch

SAME_TIME = 1e-12
"""Difference, s, below which times are equal."""


@registered
@dataclass(frozen=True, eq=False)
class EventStops:
    """Ends of k runs of a batch that terminal events stopped, in the order of the runs.

    Attributes:
        runs: which ones, (k, axes of the batch).
        events: names of the events that ended them.
        t: when, s, (k,).
        n_steps: steps that each run took, (k,).
        q, v, a, tau, drive_states, reactions, kinetic, potential, work, violation, violation_rate: the sample at
            that time, (k, …) each; see `Trajectory`.
    """

    runs: np.ndarray
    events: tuple[str, ...]
    t: np.ndarray
    n_steps: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    drive_states: np.ndarray
    reactions: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    work: np.ndarray
    violation: np.ndarray
    violation_rate: np.ndarray

    def of(self, run: tuple[int, ...]) -> int | None:
        """Return the index k of a run's end; None if no event ended it."""
        rows = np.flatnonzero((self.runs == np.asarray(run, dtype=int)).all(axis=1))
        return int(rows[0]) if len(rows) else None


def reached(times: np.ndarray, t: float) -> int:
    """Count the times (n,) that a run ending at t has reached."""
    return int(np.searchsorted(times, t + SAME_TIME, side="right"))


def event_at(name: str, t: float) -> str:
    """Describe the event that stopped a run."""
    return f"event {name} at t = {t:.6g} s"


# --- statuses

RunStatus = Literal["finished", "undecided", "stopped", "diverged", "energy error"]
"""Status of a run. "Undecided" runs reach their end, but pass a state behind which motions branch, or have contact
forces that did not settle."""


class Outcome(NamedTuple):
    """Status and reason of a run."""

    status: RunStatus
    reason: str


FINISHED = Outcome("finished", "reached its end")
_AT_ONCE = Outcome("finished", "zero duration, the initial state only")
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


def diverged_at(t: float, faults: Sequence[EventRecord], state: tuple[int, ...] = ()) -> Outcome:
    """Return the outcome of a run that diverged at a time, with the control fault if there was one."""
    for fault in faults:
        if fault.state == state and fault.t <= t:
            return Outcome("diverged", f"{fault.name} at t = {fault.t:.6g} s")
    return Outcome("diverged", f"the motion has no bound at t = {t:.6g} s; the step is too large for it")


def end_of(outcome: Outcome, times: np.ndarray, good: np.ndarray, faults: Sequence[EventRecord] = ()) -> Outcome:
    """Return the outcome of a single run, given which of its samples (n,) are sane."""
    if not good.all():  # whatever came later
        return diverged_at(float(times[np.argmin(good)]), faults)
    if faults and outcome.status == "diverged":
        return diverged_at(np.inf, faults)
    return _AT_ONCE if outcome == FINISHED and len(times) < 2 else outcome


def with_statuses(run: Trajectory) -> Trajectory:
    """Return the run, or the batch, with the status and reason of every run that has no other than "finished".

    Runs of a batch may have been stopped by events, or have diverged: they have samples that are not finite. The
    energy error of the others is compared with all the energy that the motion exchanges. At a tenth of that the
    motion is not valid, whatever its states look like.
    """
    status = np.full(run.batch, run.status, dtype=object)
    reason = np.full(run.batch, run.reason, dtype=object)
    if run.t.size:
        diverged, first, stopped = _ends(run)
        judged = np.asarray(status == "finished") & ~(diverged | stopped)
        error, exchanged, lost = _balance(run)
        for event in run.events:
            if event.name.startswith(SINGULAR) and judged[event.state]:
                status[event.state] = "undecided"
                reason[event.state] = f"passes a {event.name} at t = {event.t:.6g} s, behind which motions branch"
        for i in map(tuple, np.argwhere(lost & judged)):
            status[i] = "energy error"
            reason[i] = f"energy is off by {error[i]:.3g} J where {exchanged[i]:.3g} J are exchanged: {_REMEDY}"
        for i in map(tuple, np.argwhere(diverged)) if run.batch else ():
            status[i], reason[i] = diverged_at(float(first[i]), run.faults, i)
        if run.stops is not None:
            for i, event, t in zip(run.stops.runs.tolist(), run.stops.events, run.stops.t.tolist(), strict=True):
                status[tuple(i)], reason[tuple(i)] = "stopped", event_at(event, t)
    if run.batch:
        return replace(run, status=status, reason=reason)
    return replace(run, status=status[()], reason=reason[()])


def ends_in_words(run: Trajectory) -> str:
    """Describe how the run ended; of a batch, the number of runs with every status and the reason of the first."""
    if not run.batch:
        return f"{run.status}: {run.reason}" if run.reason != FINISHED.reason else str(run.status)
    status, reason = np.ravel(run.status), np.ravel(run.reason)
    parts = []
    for word in get_args(RunStatus):
        if (which := status == word).any():
            first = reason[np.argmax(which)]
            parts.append(f"{int(which.sum())} {word}" + (f", the first: {first}" if word != "finished" else ""))
    return "; ".join(parts)


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

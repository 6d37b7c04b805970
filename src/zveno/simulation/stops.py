"""Ends of the runs of a batch at events, each at its own time between the shared samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..io.results import registered

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

"""Where events ended the runs of a batch: each at a time of its own, between the samples that all runs share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..io.results import registered

SAME_TIME = 1e-12
"""Times, s, that differ by less are the same."""


@registered
@dataclass(frozen=True, eq=False)
class EventStops:
    """The ends of k runs of a batch that terminal events stopped, in the order of the runs.

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
        """The number k of a run's end; None if no event ended it."""
        found = np.flatnonzero((self.runs == np.asarray(run, dtype=int)).all(axis=1))
        return int(found[0]) if len(found) else None


def reached(times: np.ndarray, t: float) -> int:
    """How many of the times (n,) a run has reached that ends at t."""
    return int(np.searchsorted(times, t + SAME_TIME, side="right"))


def event_at(name: str, t: float) -> str:
    """What stopped a run."""
    return f"event {name} at t = {t:.6g} s"

"""Singular states of constraints along a run: their rows become dependent, and motions branch.

Rows J (m, n) of rank r span a volume, the product of their r singular values, and have an orientation. On a smooth
way both change smoothly; at a state where the rank falls the volume is zero, and the orientation is reversed behind
it: with U (m, r) the left singular vectors of J, det(Uᵀ J J'ᵀ U) < 0 for the rows J' of the next step. The flat
state of a parallelogram is one: it may leave it as an antiparallelogram.

Lengths of rows count: rows in the axes of a link vanish where others become parallel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._equations import Equations
from ._redundancy import named
from ._statuses import SINGULAR
from .trajectory import EventRecord

SMALL = 1e-3
"""Share of the largest volume along a run below which a state counts as singular."""
DEPENDENT = 1e-6
"""Singular value of unit rows below which one is redundant."""


class SingularStates:
    """First singular state of every run, found at the ends of steps.

    Attributes:
        found: time and names of constraints, by the number of the run.
    """

    def __init__(self, equations: Equations, n_runs: int):
        self.equations: Equations = equations
        self.found: dict[int, tuple[float, str]] = {}
        self._rank: int = 0
        self._largest: np.ndarray = np.zeros(n_runs)

    def look(self, runs: np.ndarray, times: np.ndarray, states: np.ndarray, c: Any) -> None:
        """Check the runs of the numbers (k,): states (k, n, n_y) at times (n,), constraint settings c."""
        with np.errstate(all="ignore"):  # of runs that have diverged
            J = self.equations.rows_of(times, states, np.asarray(c).reshape(-1, 1, np.shape(c)[-1]))
            J = np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)
            rank = max(_rank(J[0, 0]), _rank(J[0, -1]))
            if rank > self._rank:  # a run may begin in a singular state
                self._rank = rank
                self._largest[:] = 0.0
            volume, turned = _volumes(J, self._rank)
            lost = np.asarray(~np.isfinite(states).all(axis=-1))
            volume[lost] = np.nan
        self._largest[runs] = np.fmax(self._largest[runs], np.nanmax(volume, axis=1, initial=0.0))
        flat = volume < SMALL * self._largest[runs][:, None]
        flat[:, 1:] |= turned & ~lost[:, 1:]
        for k in np.flatnonzero(flat.any(axis=1)).tolist():
            at = int(np.argmax(flat[k]))
            names = ", ".join(named(self.equations, np.asarray(_moving(J[k]).any(axis=0))))
            self.found.setdefault(int(runs[k]), (float(times[at]), names))

    def records(self, batch: tuple[int, ...]) -> tuple[EventRecord, ...]:
        """Return an event for every singular state of the runs of a batch, in the order of time."""
        records = [
            EventRecord(t, f"{SINGULAR} of {names}", tuple(map(int, np.unravel_index(i, batch))) if batch else ())
            for i, (t, names) in self.found.items()
        ]
        return tuple(sorted(records, key=lambda record: record.t))


def _moving(J: np.ndarray) -> np.ndarray:
    """Return a mask (..., m) of the rows of J (..., m, n) that are not zero."""
    return np.asarray((J != 0.0).any(axis=-1))


def _volumes(J: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the volumes (k, n) of rows J (k, n, m, n_v), and where the orientation reverses, (k, n − 1)."""
    J = J[..., _moving(J).any(axis=(0, 1)), :]
    if J.shape[-2] > rank:  # the others follow from these, but not from the same ones in every attitude
        squares, U = np.linalg.eigh(J @ np.swapaxes(J, -1, -2))
        volume = np.sqrt(np.prod(np.maximum(squares[..., J.shape[-2] - rank :], 0.0), axis=-1))
        U = np.swapaxes(U[:, :-1, :, J.shape[-2] - rank :], -1, -2)
        first, second = U @ J[:, :-1], U @ J[:, 1:]
    else:
        volume = np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))
        first, second = J[:, :-1], J[:, 1:]
    return volume, np.linalg.det(first @ np.swapaxes(second, -1, -2)) < 0.0


def _rank(J: np.ndarray) -> int:
    """Return the rank of rows J (m, n), each scaled to length 1."""
    J = J / np.maximum(np.linalg.norm(J, axis=-1, keepdims=True), 1e-300)
    return int((np.linalg.svd(J, compute_uv=False) > DEPENDENT).sum())

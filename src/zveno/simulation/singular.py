"""Singular states of constraints along a run: their rows become dependent, and motions branch.

Rows J (m, n) span a volume, √det(J Jᵀ), and have an orientation. On a smooth way both change smoothly; at a state
where the rank falls the volume is zero, and the orientation is reversed behind it: det(J Jᵀ') < 0 for the rows J'
of the next step. The flat state of a parallelogram is one: it may leave it as an antiparallelogram.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .equations import Equations
from .redundancy import named

SMALL = 1e-3
"""Share of the largest volume along a run below which a state counts as singular."""
DEPENDENT = 1e-6
"""Length below which the component of a unit row independent of the others is zero: the row is redundant."""


class SingularStates:
    """First singular state of every run, found at the ends of steps.

    Attributes:
        found: time and names of constraints, by the number of the run.
    """

    def __init__(self, equations: Equations, n_runs: int):
        self.equations: Equations = equations
        self.found: dict[int, tuple[float, str]] = {}
        self._rows: list[int] = []
        self._largest: np.ndarray = np.zeros(n_runs)

    def look(self, runs: np.ndarray, times: np.ndarray, states: np.ndarray, c: Any) -> None:
        """Check the runs of the numbers (k,): states (k, n, n_y) at times (n,), constraint settings c."""
        with np.errstate(all="ignore"):  # of runs that have diverged
            J = self.equations.rows_of(times, states, np.asarray(c).reshape(-1, 1, np.shape(c)[-1]))
            J = J / np.maximum(np.linalg.norm(J, axis=-1, keepdims=True), 1e-300)
            if not self._rows:
                self._rows = independent(J[0, 0])
            J = J[..., self._rows, :]
            volume = np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))
            turned = np.linalg.det(J[:, :-1] @ np.swapaxes(J[:, 1:], -1, -2)) < 0.0
        self._largest[runs] = np.fmax(self._largest[runs], np.nanmax(volume, axis=1, initial=0.0))
        flat = volume < SMALL * self._largest[runs][:, None]
        flat[:, 1:] |= turned
        for k in np.flatnonzero(flat.any(axis=1)).tolist():
            owners = np.zeros(self.equations.n_rows, dtype=bool)
            owners[self._rows] = True
            names = ", ".join(named(self.equations, owners))
            self.found.setdefault(int(runs[k]), (float(times[int(np.argmax(flat[k]))]), names))


def independent(J: np.ndarray) -> list[int]:
    """Return the indices of a maximal set of independent rows of J (m, n), whose rows have length 1 or 0."""
    chosen: list[int] = []
    basis = np.zeros((0, J.shape[1]))
    for k, row in enumerate(J):
        rest = row - (row @ basis.T) @ basis
        rest = rest - (rest @ basis.T) @ basis
        if (size := float(np.linalg.norm(rest))) > DEPENDENT:
            chosen.append(k)
            basis = np.concatenate([basis, rest[None] / size])
    return chosen

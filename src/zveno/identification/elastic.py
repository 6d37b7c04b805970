"""Friction that is elastic before it slides (Dahl 1968): a spring between the surfaces that yields.

    dz/dx = (1 − z sign(dx))/δ,    torque = factor · z,   −1 ≤ z ≤ 1

After a reversal the torque keeps its old sign until the joint has moved by about δ. The law depends on the way x
alone, not on time, so that a step Δx is exact: z ← s + (z − s) exp(−|Δx|/δ) with s = sign(Δx).
"""

from __future__ import annotations

import numpy as np

NEGLIGIBLE = 1e-17
"""Weight of earlier states that vanishes in double precision."""


class History:
    """State of elastic friction along a motion, over rows that come in chunks."""

    def __init__(self, interval: float):
        """Set the time `interval` between rows, s."""
        self.interval = interval
        self._state: dict[tuple[int, float], float] = {}

    def strains(self, element: int, speeds: np.ndarray, distance: float) -> np.ndarray:
        """Return the mean of z over every row, (m,).

        Args:
            element: number of the friction element; each has a state of its own.
            speeds: (m, k) velocities at k times in every row, one after the other.
            distance: δ, rad or m.
        """
        steps = speeds.ravel() * (self.interval / speeds.shape[1] / distance)
        z = yielded(steps, self._state.get((element, distance), 0.0))
        if len(z):
            self._state[element, distance] = float(z[-1])
        return z.reshape(speeds.shape).mean(axis=1)


def yielded(steps: np.ndarray, start: float) -> np.ndarray:
    """Return z after each of the steps Δx/δ (m,), from a first z.

    While the direction s stays, z = s + (z₀ − s) exp(−way); only the start of a run depends on earlier runs.
    """
    if not len(steps):
        return steps
    direction = np.sign(steps)
    first = np.flatnonzero(np.concatenate([[True], direction[1:] != direction[:-1]]))
    way = np.cumsum(abs(steps))
    before = np.concatenate([[0.0], way[first[1:] - 1]])  # the way at the beginning of every run
    length = np.diff(np.append(before, way[-1]))
    s = direction[first]
    begins = np.concatenate([[start], _ends(s, np.exp(-length), start)[:-1]])
    counts = np.diff(np.append(first, len(steps)))
    left = np.exp(np.repeat(before, counts) - way)
    return direction + np.repeat(begins - s, counts) * left


def _ends(s: np.ndarray, a: np.ndarray, start: float) -> np.ndarray:
    """Return z (runs,) after each of the maps z ← s + (z − s) a, composed in pairs, then in fours, and so on."""
    a, b = a.copy(), s * (1.0 - a)
    shift = 1
    while shift < len(a) and a[shift:].max() > NEGLIGIBLE:
        b[shift:] = b[shift:] + a[shift:] * b[:-shift]
        a[shift:] = a[shift:] * a[:-shift]
        shift *= 2
    return b + a * start

"""Trajectory of a swinging foot: up, across, and down until it touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def smooth(x: float) -> tuple[float, float, float]:
    """Return a polynomial from 0 to 1, with zero rate and acceleration at both ends, and two derivatives."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    rest = 1.0 - x
    return (
        x * x * x * (10.0 + x * (6.0 * x - 15.0)),
        30.0 * x * x * rest * rest,
        60.0 * x * rest * (1.0 - 2.0 * x),
    )


@dataclass
class Swing:
    """Swing of one foot; its goal may be moved.

    Attributes:
        begin: lift-off position, (3,), m.
        goal: x and y of the landing, (2,), m.
        top: largest height, m.
        low: target height, below the expected ground, m.
        duration: s, after which it is at `low`.
        up: share of the duration in which it rises.
        across: shares between which it moves horizontally.
        descent: speed, m/s, below `low`, and of the whole descent if `slow`.
        deepest: lowest height of the search for ground, m.
        slow: True to descend at constant speed.
    """

    begin: np.ndarray
    goal: np.ndarray
    top: float
    low: float
    duration: float
    up: float
    across: tuple[float, float]
    descent: float
    deepest: float
    slow: bool = False

    def at(self, s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return position and velocity (3,) at s seconds after lift-off."""
        share = s / self.duration
        first, last = self.across
        a, rate, _ = smooth((share - first) / (last - first))
        z, speed = self._height(s, share)
        (x, y, _), (goal_x, goal_y) = self.begin.tolist(), self.goal.tolist()
        across, rate = (goal_x - x, goal_y - y), rate / ((last - first) * self.duration)
        position = np.array([x + a * across[0], y + a * across[1], z])
        return position, np.array([rate * across[0], rate * across[1], speed])

    def _height(self, s: float, share: float) -> tuple[float, float]:
        rising = self.up * self.duration
        if share < self.up:
            a, rate, _ = smooth(share / self.up)
            return self.begin[2] + a * (self.top - self.begin[2]), rate * (self.top - self.begin[2]) / rising
        if self.slow:
            # The speed grows over a tenth of the duration, then stays.
            ramp, past = 0.1 * self.duration, s - rising
            z = self.top - self.descent * (past * past / (2 * ramp) if past < ramp else past - 0.5 * ramp)
            speed = -self.descent * min(past / ramp, 1.0)
        elif share < 1.0:
            falling = (1.0 - self.up) * self.duration
            a, rate, _ = smooth((share - self.up) / (1.0 - self.up))
            z, speed = self.top + a * (self.low - self.top), rate * (self.low - self.top) / falling
        else:
            z, speed = self.low - self.descent * (s - self.duration), -self.descent
        return (z, speed) if z > self.deepest else (self.deepest, 0.0)

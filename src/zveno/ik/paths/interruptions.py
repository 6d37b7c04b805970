"""Places and causes of the jumps of a path: the motion is followed in small pieces until it cannot go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .follow import Follower, between
from .strands import SLACK, ended_because, named_limits

PIECES = 32
"""Pieces of a step between two poses in which its interruption is located."""


class Interruption(NamedTuple):
    """Fraction of the way to the next pose that the arm can go, and why it goes no further."""

    fraction: float
    reason: str


def interruption(path: Follower, number: int, state: np.ndarray) -> Interruption:
    """Locate the interruption of a motion from a state (n_q,) of a pose, by its number, to the next pose."""
    way = between(path.T[number], path.T[number + 1], PIECES)
    follower = Follower(path.robot, path.problem, way)
    lower, upper = follower.box
    for k in range(PIECES):
        advance = follower.advance(np.array([k]), state[None])
        if not advance.arrived[0]:
            return Interruption(k / PIECES, ended_because(follower, k, state))
        outside = (advance.least[0] < lower - SLACK) | (advance.greatest[0] > upper + SLACK)
        if outside.any():
            return Interruption(k / PIECES, named_limits(follower, np.flatnonzero(outside)))
        state = advance.states[0]
    return Interruption(1.0, "the branch ends later, and a jump here is smaller than one there")

"""Bodies and those that carry them, as tables for loops from a body to the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Steps from starting bodies to the root, one start after another; each (n_steps,).

    Attributes:
        start: the number of the start.
        below: the body that is left.
        above: the body that is reached.
        first: whether `below` is the start itself.
    """

    start: np.ndarray
    below: np.ndarray
    above: np.ndarray
    first: np.ndarray


def count_pairs(parents: np.ndarray) -> int:
    """How many steps it is from all bodies to the root, without making them."""
    depth = np.zeros(len(parents), dtype=np.int64)
    for i, f in enumerate(parents.tolist()):
        if f >= 0:
            depth[i] = depth[f] + 1
    return int(depth.sum())


def pairs(parents: np.ndarray, starts: np.ndarray) -> Pairs:
    """The steps from each starting body, in order; −1 as a start stands for the base and has no steps."""
    ways: list[np.ndarray] = []
    for i, f in enumerate(parents.tolist()):
        ways.append(np.concatenate([[i], ways[f]]) if f >= 0 else np.array([i]))
    own = [ways[k] if k >= 0 else np.zeros(0, np.int64) for k in starts.tolist()]
    steps = [max(len(way) - 1, 0) for way in own]
    start = np.repeat(np.arange(len(own)), steps)
    below = np.concatenate([np.zeros(0, np.int64), *(way[:-1] for way in own)])
    above = np.concatenate([np.zeros(0, np.int64), *(way[1:] for way in own)])
    first = below == starts[start] if len(start) else np.zeros(0, bool)
    return Pairs(start, below, above, first)

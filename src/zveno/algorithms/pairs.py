"""Pairs of a body and a body that carries it, as tables for loops from a body to the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Steps from starting bodies to the root, start by start; each (n_steps,).

    Attributes:
        start: number of the start.
        below: child of the step.
        above: parent of the step.
        first: True if `below` is the start itself.
    """

    start: np.ndarray
    below: np.ndarray
    above: np.ndarray
    first: np.ndarray


def count_pairs(parents: np.ndarray) -> int:
    """Return the number of steps from all bodies to the root, without listing them."""
    depth = np.zeros(len(parents), dtype=np.int64)
    for i, f in enumerate(parents.tolist()):
        if f >= 0:
            depth[i] = depth[f] + 1
    return int(depth.sum())


def pairs(parents: np.ndarray, starts: np.ndarray) -> Pairs:
    """Return the steps from each starting body, in order; −1 as a start stands for the base and has no steps."""
    ways: list[np.ndarray] = []
    for i, f in enumerate(parents.tolist()):
        ways.append(np.concatenate([[i], ways[f]]) if f >= 0 else np.array([i]))
    paths = [ways[k] if k >= 0 else np.zeros(0, np.int64) for k in starts.tolist()]
    steps = [max(len(way) - 1, 0) for way in paths]
    start = np.repeat(np.arange(len(paths)), steps)
    below = np.concatenate([np.zeros(0, np.int64), *(way[:-1] for way in paths)])
    above = np.concatenate([np.zeros(0, np.int64), *(way[1:] for way in paths)])
    first = below == starts[start] if len(start) else np.zeros(0, bool)
    return Pairs(start, below, above, first)

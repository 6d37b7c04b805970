"""Pieces of work: fixed by the work, never by the number of workers."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError


def cut(size: int, piece: int, first: int = 0) -> list[tuple[int, int]]:
    """[first, first + size) in ranges (start, stop) of `piece` numbers, the last one shorter."""
    for value, name in ((size, "size"), (piece, "piece")):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ShapeError(f"is {value!r}", element=name, remedy="Give a whole number from 1")
    return [(start, min(start + piece, first + size)) for start in range(first, first + size, piece)]


def stream(seed: int, number: int) -> np.random.Generator:
    """Random numbers of experiment `number`: the same wherever it is computed and however the work is cut."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))

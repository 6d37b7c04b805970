"""Ranges of numbers over chunks and workers, with merges that do not depend on how the range was cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...errors import ShapeError

CHUNK = 1 << 15
"""Numbers that are evaluated at once."""

A = TypeVar("A")


def ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """[1, I] cut into K ranges [start, stop) as equal as they can be: trick 4 of document 004."""
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise ShapeError(
            f"{parts!r} is not a number of parts", element="parts", remedy="Give a whole number from 1"
        )
    cuts = [1 + size * k // parts for k in range(parts + 1)]
    return [(a, b) for a, b in itertools.pairwise(cuts) if a < b]


def chunks(start: int, stop: int, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
    """[start, stop) in pieces of at most `chunk` numbers."""
    while start < stop:
        yield start, min(start + chunk, stop)
        start += chunk


def map_reduce(
    size: int, work: Callable[[int, int], A], merge: Callable[[A, A], A], parts: int = 1, chunk: int = CHUNK
) -> A:
    """`work(start, stop)` over all numbers, merged from left to right; `parts` threads work at a time.

    `merge` must not care where the cuts are; then neither does the result.
    """

    def reduced(part: tuple[int, int]) -> A:
        pieces = (work(a, b) for a, b in chunks(*part, chunk))
        total = next(pieces)
        for piece in pieces:
            total = merge(total, piece)
        return total

    cut = ranges(size, parts)
    if len(cut) == 1:
        return reduced(cut[0])
    with ThreadPoolExecutor(len(cut)) as pool:
        results = list(pool.map(reduced, cut))
    total = results[0]
    for result in results[1:]:
        total = merge(total, result)
    return total

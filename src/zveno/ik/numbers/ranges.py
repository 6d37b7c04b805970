"""Ranges of numbers in pieces, on any workers, with merges that do not depend on how the range was cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ...progress import Progress
from ...scale.fold import On, fold
from ...scale.pieces import cut

CHUNK = 1 << 15
"""Numbers that are evaluated at once."""
PIECE = 1 << 22
"""Numbers that a worker is given at a time: a tenth of a second to some seconds of work."""

A = TypeVar("A")


def chunks(start: int, stop: int, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
    """[start, stop) in ranges of at most `chunk` numbers."""
    while start < stop:
        yield start, min(start + chunk, stop)
        start += chunk


@dataclass(frozen=True)
class InChunks:
    """`work(start, stop)` over one piece of the numbers, chunk by chunk, merged from left to right."""

    work: Callable[[int, int], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, piece: tuple[int, int]) -> Any:
        """The answer to a piece (start, stop)."""
        answers = (self.work(start, stop) for start, stop in chunks(*piece))
        total = next(answers)
        for answer in answers:
            total = self.merge(total, answer)
        return total


def map_reduce(
    size: int,
    work: Callable[[int, int], A],
    merge: Callable[[A, A], A],
    on: On = "here",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    piece: int = PIECE,
) -> A:
    """`work(start, stop)` over the numbers 1 … size, merged from left to right: trick 4 of document 004.

    `merge` must not care where the cuts are; then neither does the result. Other arguments as in
    `zveno.scale.fold`.
    """
    return fold(InChunks(work, merge), cut(size, piece, first=1), merge, on, checkpoint, progress)

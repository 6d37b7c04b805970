"""Recordings as tables of numbers that can be read again and again, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

Piece = tuple[np.ndarray, np.ndarray]
"""(m,) where rows stand in the file, and (m, columns) their numbers, NaN where a cell holds none."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """A file of a recording.

    Attributes:
        file: its path, for messages.
        names: of its columns.
        pieces: a function of the indices of columns; reads those from the beginning.
        units: of columns that the file itself knows, by name.
        settings: what comments of the form `# key = value` say.
        notes: what was decided about the file as a whole.
    """

    file: str
    names: tuple[str, ...]
    pieces: Callable[[list[int]], Iterator[Piece]]
    units: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def array_table(file: str, columns: Mapping[str, np.ndarray], notes: tuple[str, ...] = ()) -> LogTable:
    """A table of columns (m,) in memory."""
    values = list(columns.values())

    def pieces(indices: list[int]) -> Iterator[Piece]:
        yield np.arange(1, len(values[0]) + 1), np.stack([values[k] for k in indices], axis=1)

    return LogTable(file, tuple(columns), pieces, notes=notes)

"""Logs as numeric tables that can be read repeatedly, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

Piece = tuple[np.ndarray, np.ndarray]
"""(m,) line numbers of rows, and (m, columns) their values, NaN for cells without a number."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """File of a log.

    Attributes:
        file: its path, for messages.
        names: of its columns.
        pieces: a function of the indices of columns; reads those from the beginning.
        units: of columns that the file itself knows, by name.
        settings: of comments of the form `# key = value`.
        notes: decisions about the file as a whole.
    """

    file: str
    names: tuple[str, ...]
    pieces: Callable[[list[int]], Iterator[Piece]]
    units: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def array_table(file: str, columns: Mapping[str, np.ndarray], notes: tuple[str, ...] = ()) -> LogTable:
    """Return a table of columns (m,) in memory."""
    values = list(columns.values())

    def pieces(indices: list[int]) -> Iterator[Piece]:
        yield np.arange(1, len(values[0]) + 1), np.stack([values[k] for k in indices], axis=1)

    return LogTable(file, tuple(columns), pieces, notes=notes)

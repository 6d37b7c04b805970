"""Log files by suffix."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import ModelError
from .arrays import read_array_table
from .bags import is_bag, read_bag_table
from .parquet import read_parquet_table
from .tables import LogTable
from .text import read_text_table

PathLike = str | os.PathLike[str]


def open_table(path: PathLike, topic: str | None = None) -> LogTable:
    """Open the table of a log file, by its suffix; `topic` is that of a bag."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"{path!r} is not the path of a file", remedy="Give a path as text or pathlib.Path")
    place = Path(path)
    suffix = place.suffix.lower()
    if is_bag(place):
        return read_bag_table(place, topic)
    if suffix in (".parquet", ".pq"):
        return read_parquet_table(place)
    if suffix in (".npz", ".mat"):
        return read_array_table(place, suffix)
    return read_text_table(place)

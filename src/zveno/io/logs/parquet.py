"""Parquet logs, read in chunks with polars."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import MissingExtraError, ModelError
from ..files import MAX_LOG_BYTES, opened
from .tables import LogTable, Piece

PIECE_ROWS = 2**18
"""Number of rows of the row groups that polars writes."""


def read_parquet_table(path: object) -> LogTable:
    """Read the table of a Parquet file: its columns of numbers and times."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            "reading Parquet needs polars", file=path, remedy="pip install 'zveno[identify]', or save it as CSV"
        ) from None
    with opened(path, MAX_LOG_BYTES) as stream:
        if stream.read(4) != b"PAR1":
            raise ModelError("is not a Parquet file", file=path)
    place = str(path)

    def damaged(error: BaseException) -> ModelError:
        return ModelError(f"it is damaged: {str(error)[:200]}", file=path, remedy="Write it again")

    panic = getattr(polars.exceptions, "PanicException", RuntimeError)
    faults = (polars.exceptions.PolarsError, panic, OSError, ValueError, RuntimeError)
    try:
        source = polars.scan_parquet(place, glob=False)
        schema = source.collect_schema()
        times = {name for name, kind in schema.items() if kind in (polars.Datetime, polars.Duration)}
        names = [name for name, kind in schema.items() if kind.is_numeric() or name in times]
        if not names:
            raise ModelError("has no columns of numbers", file=path)
        total = int(source.select(polars.len()).collect().item())
    except faults as error:
        raise damaged(error) from None
    as_number = {
        name: (polars.col(name).dt.epoch("ns") if schema[name] == polars.Datetime else polars.col(name).cast(int))
        if name in times
        else polars.col(name)
        for name in names
    }
    units = {name: "ns" if schema[name] == polars.Datetime else _unit_of(schema[name]) for name in times}

    def pieces(indices: list[int]) -> Iterator[Piece]:
        wanted = list(dict.fromkeys(names[k] for k in indices))
        for first in range(0, total, PIECE_ROWS):
            try:
                part = source.slice(first, PIECE_ROWS).select(
                    as_number[name].cast(polars.Float64, strict=False).alias(name) for name in wanted
                )
                frame = part.collect()
                values = np.stack([frame[names[k]].to_numpy() for k in indices], axis=1)
            except faults as error:
                raise damaged(error) from None
            yield np.arange(first + 1, first + len(values) + 1), values

    return LogTable(place, tuple(names), pieces, units)


def _unit_of(kind: object) -> str:
    return str(getattr(kind, "time_unit", "us")).replace("μ", "u")

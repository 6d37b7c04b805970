"""Rows of a log from its files: a single file is read in chunks, several are joined by row or time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...errors import ModelError
from .columns import Chosen, Column
from .log import KEPT_BYTES
from .tables import LogTable
from .units import time_factor, unit_factor, unit_words

Rows = tuple[np.ndarray, "np.ndarray | None", dict[str, np.ndarray]]
"""(m,) lines, (m,) s or None without a clock, and (m, n) recorded values of every role."""


class LogRows:
    """Rows of a log, which can be read repeatedly.

    Args:
        tables: its files.
        chosen: the columns that are read.
        timed: True to use their time columns.
        time_unit: unit of time given by the user.
    """

    tables: Sequence[LogTable]
    chosen: Chosen
    time_unit: str | float | Sequence[str] | None
    times: list[list[Column]]

    def __init__(
        self, tables: Sequence[LogTable], chosen: Chosen, timed: bool, time_unit: str | float | Sequence[str] | None
    ) -> None:
        self.tables, self.chosen, self.time_unit = tables, chosen, time_unit
        self.times = [[column for column in chosen.time if timed and column.table == k] for k in range(len(tables))]
        self._factors: dict[int, float] = {}

    def __iter__(self) -> Iterator[Rows]:
        if len(self.tables) == 1:
            return self._pieces(0)
        return iter((self._merged([self._whole(k) for k in range(len(self.tables))]),))

    @property
    def time_words(self) -> str:
        """Units of time other than seconds, as read so far: "time in milliseconds"; "" if there are none."""
        told = [unit_words(factor, False, "time") for factor in self._factors.values() if factor != 1.0]
        return f"time in {', '.join(dict.fromkeys(told))}" if told else ""

    def _pieces(self, number: int) -> Iterator[Rows]:
        clock = [column.index for column in self.times[number]]
        places = {
            role: [column.index for column in columns if column.table == number]
            for role, columns in self.chosen.roles.items()
        }
        indices = [*clock, *(index for its in places.values() for index in its)]
        if not indices:
            return
        for lines, values in self.tables[number].pieces(indices):
            at, parts = len(clock), {}
            for role, its in places.items():
                parts[role] = values[:, at : at + len(its)]
                at += len(its)
            yield lines, self._seconds(values[:, : len(clock)], number), parts

    def _seconds(self, time: np.ndarray, number: int) -> np.ndarray | None:
        """Return (m,) s from a file's time column; None if it has none."""
        columns = self.times[number]
        if not columns:
            return None
        if number not in self._factors:
            unit = self.time_unit or columns[0].unit or self.tables[number].units.get(columns[0].name)
            finite = time[:, 0][np.isfinite(time[:, 0])]
            usual = float(np.median(finite)) if len(finite) else 0.0
            self._factors[number] = unit_factor("time", False, unit) if unit else time_factor(usual)
        with np.errstate(over="ignore"):
            return time[:, 0] * self._factors[number]

    def _whole(self, number: int) -> Rows | None:
        """Return all rows of a file; None if no column is read."""
        pieces, size = [], 0
        for piece in self._pieces(number):
            pieces.append(piece)
            size += sum(part.nbytes for part in piece[2].values())
            if size > KEPT_BYTES:
                raise ModelError(
                    f"more than {KEPT_BYTES // 2**20} MB are to be put together from several files",
                    file=Path(self.tables[number].file).name,
                    remedy="Write the parts of a large recording into one file, CSV or Parquet",
                )
        if not pieces:
            return None
        lines, times, parts = zip(*pieces, strict=True)
        values = {role: np.concatenate([part[role] for part in parts]) for role in parts[0]}
        return np.concatenate(lines), None if times[0] is None else np.concatenate(times), values

    def _merged(self, files: Sequence[Rows | None]) -> Rows:
        """Join the rows of several files, by linear interpolation in time if their clocks differ."""
        first = self.chosen.roles["position"][0].table
        names = [Path(table.file).name for table in self.tables]
        main = files[first]
        if main is None:
            raise ModelError("has no rows", file=names[first])
        lines, seconds, _ = main
        if seconds is None:  # any clock will do where rows stand side by side
            seconds = next(
                (rows[1] for rows in files if rows and rows[1] is not None and len(rows[1]) == len(lines)), None
            )
        values: dict[tuple[int, str], np.ndarray] = {}
        for number, rows in enumerate(files):
            if rows is None:
                continue
            times = rows[1]
            same = len(rows[0]) == len(lines) and (seconds is None or times is None or _same(times, seconds))
            if not same and (seconds is None or times is None):
                raise ModelError(
                    f"has {len(rows[0])} rows, and {names[first]} has {len(lines)}",
                    file=names[number],
                    remedy="Files of one recording need as many rows, or columns of time",
                )
            for role, part in rows[2].items():
                if part.shape[1]:
                    values[number, role] = part if same else _at_times(part, times, seconds)
        return lines, seconds, {role: self._columns(role, values) for role in self.chosen.roles}

    def _columns(self, role: str, values: dict[tuple[int, str], np.ndarray]) -> np.ndarray:
        """Return the columns of a role in the order of the joints, whatever file they are in."""
        used: dict[int, int] = {}
        columns = []
        for column in self.chosen.roles[role]:
            place = used.get(column.table, 0)
            columns.append(values[column.table, role][:, place])
            used[column.table] = place + 1
        return np.stack(columns, axis=1)


def _same(times: np.ndarray, others: np.ndarray) -> bool:
    return bool(np.allclose(times, others, rtol=0.0, atol=1e-6, equal_nan=True))


def _at_times(values: np.ndarray, times: np.ndarray | None, wanted: np.ndarray | None) -> np.ndarray:
    """Interpolate (m, n) values at other times, NaN outside; rows whose time goes back are dropped first."""
    assert times is not None
    assert wanted is not None
    good = np.isfinite(times) & np.isfinite(values).all(axis=1)
    t, x = times[good], values[good]
    if not len(t):
        return np.full((len(wanted), values.shape[1]), np.nan)
    forward = np.concatenate(([True], t[1:] > np.maximum.accumulate(t)[:-1]))
    t, x = t[forward], x[forward]
    return np.stack([np.interp(wanted, t, column, np.nan, np.nan) for column in x.T], axis=1)

"""Logs as numeric tables that can be read repeatedly, in chunks: text, .npz, .mat and Parquet."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from ...errors import MissingExtraError, ModelError
from ..arrays import read_mat, read_npz
from ..files import MAX_DATA_BYTES, MAX_LOG_BYTES, opened, read_bytes
from ..tables import (
    MISSING,
    NAMELESS,
    SETTING,
    decoded,
    delimiter_of,
    is_comment,
    is_number,
    row_cells,
    split_cells,
    without_tail,
)
from ._units import UNITS

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


PIECE_BYTES = 4 * 2**20
MAX_LINE_BYTES = 2**20
"""Size limit of a line."""
PLACES = ("one", "two", "three")
"""Suffixes of equal names; no digits, which count joints, and the first two equally long: none is preferred."""
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_SPACES = re.compile(rb"[ \t]*([,\n])[ \t]*")
_BLANKS = re.compile(rb"[ \t]+")


def read_text_table(path: object) -> LogTable:
    """Read the table of a CSV file; see `zveno.io.tables` for the column delimiters."""
    with opened(path, MAX_LOG_BYTES) as stream:
        beginning = stream.read(PIECE_BYTES)
    whole = None
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16: rare and small
        whole = decoded(read_bytes(path, MAX_DATA_BYTES), path).encode()
        beginning = whole[:PIECE_BYTES]
    if b"\0" in beginning.lstrip().partition(b"\n")[0]:  # further down, it is a row of garbage
        raise ModelError("is not a text file", file=path, remedy="Save it as CSV in UTF-8")
    if not beginning.strip():
        raise ModelError("is empty", file=path, remedy="The first line names the columns")
    settings, lines = _head(beginning, path)
    if not lines:
        raise ModelError(
            "has no line that names columns", file=path, remedy="Begin the file with a line of column names"
        )
    (number, begin, offset, head), *rest = lines
    delimiter = delimiter_of(head)
    try:
        names = without_tail(split_cells(head, delimiter))
    except ModelError as error:
        raise error.located(file=path, element=f"line {number}") from None
    numbers = [is_number(name) for name in names]
    headed = not all(numbers)
    if headed and sum(numbers) > 1:
        raise ModelError(
            "the first line holds numbers and words", file=path, element=f"line {number}", remedy="Name the columns"
        )
    if not headed:
        names = [f"column {k}" for k in range(1, len(names) + 1)]
        offset, number = begin, number - 1
    names = [f"column {k}" if not name or name in NAMELESS else name for k, name in enumerate(names, start=1)]
    names = _distinct(names)
    notes: tuple[str, ...] = ()
    units: dict[str, str] = {}
    if headed and rest:  # a second line may hold the units
        words = [word.strip("[]()").lower() for word in row_cells(rest[0][3], delimiter, len(names))]
        if len(words) == len(names) and any(words) and all(word in UNITS or not word for word in words):
            units = {name: word for name, word in zip(names, words, strict=True) if word}
            number, offset = rest[0][0], rest[0][2]
    first_row = row_cells(rest[0][3], delimiter, len(names)) if rest else []
    if first_row and len(first_row) != len(names):
        notes = (f"line {rest[0][0]} has {len(first_row)} cells, and line {lines[0][0]} {len(names)}",)
    parser = _Parser(str(path), delimiter, len(names), any(map(_DATE.match, first_row)))

    def pieces(indices: list[int]) -> Iterator[Piece]:
        line = number
        if whole is not None:
            yield from parser.numbers(whole[offset:] + b"\n", line, indices)
            return
        with opened(path, MAX_LOG_BYTES) as stream:
            stream.seek(offset)
            left = b""
            while data := stream.read(PIECE_BYTES):
                data = left + data
                end = data.rfind(b"\n") + 1
                data, left = data[:end], data[end:]
                if len(left) > MAX_LINE_BYTES:
                    raise ModelError(
                        f"line {line + data.count(10) + 1} has more than {MAX_LINE_BYTES} characters",
                        file=path,
                        remedy="Check that the file is a table of text",
                    )
                if data:
                    yield from parser.numbers(data, line, indices)
                    line += data.count(b"\n")
            if left.strip():
                yield from parser.numbers(left + b"\n", line, indices)

    return LogTable(str(path), tuple(names), pieces, units, settings, notes)


def _distinct(names: list[str]) -> list[str]:
    """Return names with repeated ones numbered by suffix: q1_one, q1_two."""
    seen: Counter[str] = Counter()
    out = []
    for name in names:
        seen[name] += 1
        place = PLACES[min(seen[name], len(PLACES)) - 1] + "_more" * max(0, seen[name] - len(PLACES))
        out.append(f"{name}_{place}" if names.count(name) > 1 else name)
    return out


def _head(beginning: bytes, path: object) -> tuple[dict[str, str], list[tuple[int, int, int, str]]]:
    """Return (settings of the comments, the first two lines with content: (number, first byte, end byte, text))."""
    settings: dict[str, str] = {}
    first_lines: list[tuple[int, int, int, str]] = []
    offset = 3 if beginning.startswith(b"\xef\xbb\xbf") else 0
    for number, raw in enumerate(beginning[offset:].split(b"\n"), start=1):
        offset += len(raw) + 1
        if len(raw) > MAX_LINE_BYTES:
            raise ModelError(
                f"line {number} has more than {MAX_LINE_BYTES} characters",
                file=path,
                remedy="Check that the file is a table of text",
            )
        text = raw.decode("utf-8", "replace").rstrip("\r")
        if is_comment(text):
            match = SETTING.match(text.strip())
            if match and match[1].strip():
                settings[match[1].strip().lower()] = text.strip()[match.end() :].strip()
        elif text.strip():
            first_lines.append((number, offset - len(raw) - 1, offset, text))
            if len(first_lines) == 2:
                break
    return settings, first_lines


def _odd(data: bytes) -> bool:
    """Return True if lines need separate parsing: comments, quotation marks, empty lines, garbage."""
    return data.startswith(b"\n") or any(mark in data for mark in (b'"', b"#", b"%", b"\r", b"\0", b"\n\n"))


class _Parser:
    """Parser from text to numbers.

    Args:
        file: for messages.
        delimiter: column delimiter; None for blanks.
        width: number of columns.
        dates: True if cells hold dates, which are read as seconds.
    """

    def __init__(self, file: str, delimiter: str | None, width: int, dates: bool = False) -> None:
        self.file, self.delimiter, self.width, self.dates = file, delimiter, width, dates

    def numbers(self, data: bytes, before: int, indices: list[int]) -> Iterator[Piece]:
        """Yield the rows of some whole lines; `before` counts the lines that precede them."""
        plain = self._normal(data)
        n = plain.count(b"\n")
        if not self.dates and plain.count(b",") == n * (self.width - 1) and not _odd(plain):
            values = parsed_numbers(plain, self.width, indices)
            if values is not None and len(values) == n:
                yield np.arange(before + 1, before + n + 1), values
                return
        rows, lines = [], []
        for number, raw in enumerate(data.split(b"\n")[:-1], start=before + 1):
            text = raw.decode("utf-8", "replace").strip("\r\n\0")
            if not text.strip() or is_comment(text):
                continue
            try:
                cells = row_cells(text, self.delimiter, self.width)
            except ModelError:
                cells = []
            lines.append(number)
            rows.append(self._line(cells))
        if not lines:
            return
        values = parsed_numbers(("\n".join(rows) + "\n").encode(), self.width, indices)
        if values is None or len(values) != len(lines):
            raise ModelError(
                "its lines are not rows of numbers",
                file=self.file,
                element=f"lines from {lines[0]} on",
                remedy="Remove the lines that are not rows, or mark them with #",
            )
        yield np.array(lines), values

    def _line(self, cells: list[str]) -> str:
        """Return a row with commas; an empty one if the number of cells is wrong: it is dropped and named."""
        if len(cells) != self.width:
            return "," * (self.width - 1) if self.width > 1 else "nan"
        words = []
        for cell in cells:
            word = cell.replace(",", ".") if self.delimiter == ";" else cell
            if self.dates and _DATE.match(word):
                word = _seconds(word)
            good = word.isascii() and is_number(word) and word.lower() not in MISSING and "_" not in word
            words.append(word.strip() if good else "")
        return ",".join(words) if self.width > 1 else words[0] or "nan"

    def _normal(self, data: bytes) -> bytes:
        """Normalize to commas between columns, points in numbers, and nothing else between them."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if self.delimiter is None:
            return _BLANKS.sub(b",", b"\n".join(line.strip() for line in data.split(b"\n")))
        if self.delimiter == ";":
            data = data.replace(b",", b".").replace(b";", b",")
        elif self.delimiter == "\t":
            data = data.replace(b"\t", b",")
        if b" " in data or b"\t" in data:
            data = _SPACES.sub(rb"\1", data)
        return data


def _seconds(date: str) -> str:
    """Return seconds since 1970 of an ISO 8601 date, UTC if it names no zone; "" if there is none."""
    try:
        moment = datetime.fromisoformat(date.strip())
    except ValueError:
        return ""
    return repr((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def parsed_numbers(data: bytes, width: int, indices: list[int]) -> np.ndarray | None:
    """Parse (rows, len(indices)) numbers of lines with commas, NaN for other cells; None if a line is too long."""
    try:
        import polars
    except ImportError:
        return _by_numpy(data, width, indices)
    names = [f"column_{k + 1}" for k in range(width)]
    try:
        frame = polars.read_csv(
            data,
            has_header=False,
            schema=dict.fromkeys(names, polars.Float64),
            columns=[names[k] for k in sorted(set(indices))],
            ignore_errors=True,
            quote_char=None,
        )
    except polars.exceptions.PolarsError:  # lines of other lengths
        return None
    return np.stack([frame[names[k]].to_numpy() for k in indices], axis=1)


def _by_numpy(data: bytes, width: int, indices: list[int]) -> np.ndarray | None:
    try:
        return np.loadtxt(io.BytesIO(data), delimiter=",", usecols=indices, ndmin=2, comments=None)
    except ValueError:
        rows = [line.split(b",") for line in data.split(b"\n")[:-1]]
    if any(len(row) != width for row in rows):
        return None
    return np.array([[_number(row[k]) for k in indices] for row in rows]).reshape(len(rows), len(indices))


def _number(cell: bytes) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


MAX_COLUMNS = 1000


def read_array_table(path: object, suffix: str) -> LogTable:
    """Read the arrays of a file as columns: (m,) by their names, (m, n) or (n, m) as name_1 … name_n."""
    arrays = read_mat(path) if suffix == ".mat" else read_npz(path)
    numbers = {name: np.squeeze(value) for name, value in arrays.items() if value.dtype.kind in "biuf"}
    numbers = {name: value for name, value in numbers.items() if value.ndim in (1, 2) and value.size > 1}
    if not numbers:
        raise ModelError(
            "holds no arrays of numbers", file=path, remedy="Save t (m,), q (m, n) and tau (m, n), by these names"
        )
    rows = _rows(numbers)
    columns: dict[str, np.ndarray] = {}
    notes = []
    for name, value in numbers.items():
        if value.shape[0] != rows and value.ndim == 2 and value.shape[1] == rows:
            value = value.T
            notes.append(f"{name} is turned: its columns are the samples")
        if value.shape[0] != rows:
            notes.append(f"{name} is not read: it has shape {value.shape}, and there are {rows} samples")
            continue
        parts = value.T if value.ndim == 2 else value[None]
        if len(columns) + len(parts) > MAX_COLUMNS:
            raise ModelError(f"has more than {MAX_COLUMNS} columns", file=path, remedy="Is it a recording?")
        names = [name] if value.ndim == 1 else [f"{name}_{k}" for k in range(1, len(parts) + 1)]
        with np.errstate(over="ignore"):
            columns |= {word: column.astype(float) for word, column in zip(names, parts, strict=True)}
    return array_table(str(path), columns, tuple(notes))


def _rows(arrays: Mapping[str, np.ndarray]) -> int:
    """Return the number of samples: the most common array length, the longest of these."""
    lengths = [n for value in arrays.values() for n in set(value.shape)]
    return max(set(lengths), key=lambda n: (lengths.count(n), n))


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
            raise ModelError("is not a Parquet file", file=path, remedy="Give the suffix of its format")
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
            raise ModelError("has no columns of numbers", file=path, remedy="Write numbers as numeric columns")
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

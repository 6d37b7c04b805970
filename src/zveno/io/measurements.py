"""Measurement files: CSV with a header of column names, comments with units, empty cells for missing numbers.

    # unit = mm
    # angle = deg
    joint1,joint2,x,y,z,group
    10.0,20.0,412.31,83.20,,front

Joints are identified by name (`joint_values`), the touched targets by `group` or `place` and `hole`
(`group_names`); the caller chooses the measurement columns. Commas, semicolons, tabs or blanks separate columns;
columns without a name are not read.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError, ZvenoWarning, first_of, unknown_name
from ..mechanism import Mechanism
from ..mechanism.assemble import MAX_MAGNITUDE
from ..mechanism.units import coordinate_units
from .cells import MISSING, NAMELESS, SETTING, delimiter_of, is_number, listed, row_cells, split_cells, without_tail
from .files import MAX_DATA_BYTES, read_bytes

LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254}
ANGLES = {"rad": 1.0, "deg": np.pi / 180.0, "mrad": 1e-3}
FEW = 0.1
"""Largest share of damaged rows in an accepted file."""
TURNS = 4.0 * np.pi
"""Largest rotation of a joint of an arm, rad."""


@dataclass(frozen=True, eq=False)
class MeasurementTable:
    """File of measurements.

    Attributes:
        file: its path.
        columns: texts by column name.
        settings: of comments of the form `# key = value`.
        lines: line number of every row in the file.
        headed: True if the file names its columns; if not, they are called `column 1`, `column 2`, ….
        account: roles assigned to columns of other names.
    """

    file: str
    columns: dict[str, list[str]]
    settings: dict[str, str]
    lines: np.ndarray
    headed: bool = True
    account: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN for empty cells and for a few cells with text."""
        if name not in self.columns:
            raise unknown_name("column", name, self.columns).located(file=self.file)
        cells = self.columns[name]
        try:
            return self._finite(np.array([float(cell or "nan") for cell in cells]), name)
        except ValueError:
            pass  # which cells are not numbers is told below
        words = [k for k, cell in enumerate(cells) if cell and not is_number(cell)]
        if len(words) > FEW * len(self):
            raise ModelError(
                f"{cells[words[0]]!r} is not a number",
                file=self.file,
                element=f"line {self.lines[words[0]]}, column {name}",
                remedy="Write numbers with a decimal point, and leave missing ones empty",
            )
        if words:
            where = listed([int(self.lines[k]) for k in words])
            text = f"{cells[words[0]]!r} is not a number ({where}, column {name}); it is taken for missing"
            warnings.warn(f"{self.file}: {text}", ZvenoWarning, stacklevel=2)
        values = [float(cell) if cell and is_number(cell) else np.nan for cell in cells]
        return self._finite(np.array(values), name)

    def _finite(self, values: np.ndarray, name: str) -> np.ndarray:
        for k in np.flatnonzero(abs(values) > MAX_MAGNITUDE):
            raise ModelError(
                f"{self.columns[name][k][:40]!r} is not a finite number",
                file=self.file,
                element=f"line {self.lines[k]}, column {name}",
                remedy="Leave missing numbers empty",
            )
        return values

    @property
    def column_list(self) -> str:
        """Names of the columns, for messages."""
        return "Columns: " + first_of(self.columns)

    @property
    def length(self) -> float:
        """Metres per unit of length."""
        return self._factor("unit", LENGTHS, "m")

    @property
    def angle(self) -> float:
        """Radians per unit of angle."""
        return self._factor("angle", ANGLES, "rad")

    def _factor(self, key: str, known: dict[str, float], default: str) -> float:
        word = self.settings.get(key, default)
        if word not in known:
            raise unknown_name(key, word, known).located(file=self.file)
        return known[word]


def read_measurements(path: str | os.PathLike[str], *, head_needed: bool = True) -> MeasurementTable:
    """Read a measurement file; commas, semicolons, tabs or blanks separate columns."""
    data = read_bytes(path, MAX_DATA_BYTES)
    return parse_measurements(decoded(data, path), str(path), head_needed=head_needed)


def decoded(data: bytes, path: object) -> str:
    """Decode text in UTF-8, UTF-16 with its mark, or a legacy encoding, where only signs such as ° differ."""
    for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ModelError("is not a text file", file=path, remedy="Save it as CSV in UTF-8")


def parse_measurements(text: str, file: str = "text", *, head_needed: bool = True) -> MeasurementTable:
    """Parse the text of a measurement file; a header may be missing only if `head_needed` is False."""
    settings: dict[str, str] = {}
    body: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("#", "%")):
            setting = SETTING.match(line.strip())
            if setting and setting[1].strip():
                settings[setting[1].strip().lower()] = line.strip()[setting.end() :].strip()
        elif line.strip():
            body.append((number, line))
    if not body:
        raise ModelError("is empty", file=file, remedy="The first line names the columns")
    number, head = body[0]
    delimiter = delimiter_of(head)
    try:
        names = ["" if name in NAMELESS else name for name in without_tail(split_cells(head, delimiter))]
    except ModelError as error:
        raise error.located(file=file, element=f"line {number}") from None
    numbers = [is_number(name) for name in names if name]
    headed = not (all(numbers) and not head_needed)
    if headed and any(numbers):
        raise ModelError(
            "the first line holds numbers", file=file, element=f"line {number}", remedy="Name the columns in it"
        )
    if not headed:
        names = [f"column {k}" for k in range(1, len(names) + 1)]
    doubled = {name for name, count in Counter(names).items() if name and count > 1}
    if doubled or not any(names):
        raise ModelError(f"columns are not distinct: {', '.join(sorted(doubled)) or 'no names'}", file=file)
    columns: dict[str, list[str]] = {name: [] for name in names if name}
    lines, wrong = [], []
    for number, line in body[1:] if headed else body:
        try:
            cells = row_cells(line, delimiter, len(names))
        except ModelError as error:
            raise error.located(file=file, element=f"line {number}") from None
        if len(cells) != len(names):
            wrong.append((number, len(cells)))
            continue
        for name, cell in zip(names, cells, strict=True):
            if name:
                columns[name].append("" if cell.lower() in MISSING else cell)
        lines.append(number)
    _check_rows(file, len(names), len(lines), wrong)
    return MeasurementTable(file, columns, settings, np.array(lines), headed)


def _check_rows(file: str, width: int, good: int, wrong: list[tuple[int, int]]):
    """Warn about a few rows of wrong length; refuse a file with many, or with no rows."""
    if len(wrong) > FEW * good:
        line, cells = wrong[0]
        raise ModelError(
            f"has {cells} cells where the header has {width}",
            file=file,
            element=f"line {line}",
            remedy="With decimal commas, put semicolons between the columns" if cells > width else None,
        )
    if not good:
        raise ModelError("has a header and no rows", file=file)
    if wrong:
        where = listed([line for line, _ in wrong])
        text = f"{file}: {where} has another number of cells than the header, {width}; it is left out"
        warnings.warn(text, ZvenoWarning, stacklevel=4)


def joint_values(table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> np.ndarray:
    """Return (n, n_q) rad and m from the columns named like the coordinates; NaN for empty cells.

    Args:
        table: the file.
        mechanism: whose coordinates they are.
        needed: coordinates that must have a column; others without one are at their neutral value.
    """
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise ModelError(
            f"has no column for {', '.join(missing)}",
            file=table.file,
            remedy=f"{table.column_list}. Where names differ: --columns {missing[0]}=NAME (columns= in Python)",
        )
    q = np.tile(mechanism.neutral(), (len(table), 1))
    factors = {"m": table.length, "rad": table.angle, "": 1.0}
    for k, (name, unit) in enumerate(zip(mechanism.coordinate_names, coordinate_units(mechanism), strict=True)):
        if name in table.columns:
            q[:, k] = table.numbers(name) * factors[unit]
            if unit == "rad" and "angle" not in table.settings:
                _check_turns(q[:, k], name, table.file)
    return q


def _check_turns(q: np.ndarray, name: str, file: str):
    """Refuse angles beyond any joint's range if the file does not give their unit."""
    widest = float(np.nanmax(abs(q), initial=0.0))
    if widest > np.degrees(TURNS):
        raise ModelError(
            f"goes to {widest:.4g}, which is not an angle of a joint in any unit",
            file=file,
            element=f"column {name}",
            remedy="Check which columns are joint values, and name them",
        )
    if widest > TURNS:
        raise ModelError(
            f"goes to {widest:.4g} rad, which no joint turns",
            file=file,
            element=f"column {name}",
            remedy="It looks like degrees: --settings angle=deg (in the file: # angle = deg), or angle=rad",
        )


def group_names(table: MeasurementTable) -> tuple[str, ...]:
    """Return the group of every row: column `group`, or `place` and `hole` as place/hole; empty without either."""
    if "group" in table.columns:
        return tuple(table.columns["group"])
    if "place" in table.columns:
        holes = table.columns.get("hole", [""] * len(table))
        return tuple(f"{place}/{hole}" for place, hole in zip(table.columns["place"], holes, strict=True))
    return ()


def write_measurements(names: list[str], rows: np.ndarray, settings: dict[str, str] | None = None) -> str:
    """Return the text of a measurement file: numbers that read back the same, NaN as empty cells."""
    head = [f"# {key} = {value}" for key, value in (settings or {}).items()]
    body = [",".join("" if cell != cell else repr(float(cell)) for cell in row) for row in np.atleast_2d(rows)]
    return "\n".join([*head, ",".join(names), *(body if np.size(rows) else [])]) + "\n"


def as_texts(numbers: np.ndarray) -> list[str]:
    """Return cells that read back the same, empty for NaN."""
    return ["" if x != x else repr(float(x)) for x in numbers]


def matrices(rows: np.ndarray) -> np.ndarray:
    """Reshape sixteen numbers each (n, 16) to (n, 4, 4): by rows, or by columns if the last row is not zeros."""
    T = rows.reshape(len(rows), 4, 4)
    return T if abs(np.nan_to_num(T[:, 3, :3])).max() < 1e-9 else T.transpose(0, 2, 1)

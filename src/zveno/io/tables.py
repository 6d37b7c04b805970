"""Tables of numbers with named columns, units and gaps: text, spreadsheets, and arrays of .npz, .mat and .json."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ModelError, ZvenoWarning, first_of, unknown_name
from ..mechanism import Mechanism
from ..mechanism.assemble import MAX_MAGNITUDE
from ..mechanism.units import coordinate_units
from .arrays import read_mat, read_npz
from .files import MAX_DATA_BYTES, opened, opened_archive, read_bytes, read_json

# --- cells

MISSING = {"nan", "na", "n/a", "null", "none", "-"}
"""Words for a missing number."""
NAMELESS = {"-", "_"}
"""Names of columns that are not read."""
SETTING = re.compile(r"[#%]([\w\s]*+)[=:]")
"""Comments with a setting: `# unit = mm`."""
_ERROR_CELL = re.compile(r'"?#(?:[A-Z]+[!?]|N/A|DIV/0!|#+)"?(?=[,;\t])')
"""Errors of spreadsheets, `#DIV/0!` and `#N/A`, and cells that were too narrow, `####`."""


def is_comment(line: str) -> bool:
    """Return True for lines that begin with # or %, but not with a cell that holds an error of a spreadsheet."""
    line = line.lstrip()
    return line.startswith(("#", "%")) and not _ERROR_CELL.match(line)


def delimiter_of(head: str) -> str | None:
    """Return the column delimiter; None for blanks."""
    if ";" in head:
        return ";"  # commas are decimal then
    if "," not in head and all(is_number(word) for word in head.split()):
        return None
    separator = max(",\t", key=head.count)
    if separator in head:
        return separator
    words = head.split()
    named = all(word.isidentifier() or word in NAMELESS for word in words)
    return None if len(words) > 1 and (named or all(is_number(word) for word in words)) else ","


def split_cells(line: str, delimiter: str | None) -> list[str]:
    """Split a line into cells, without quotation marks; `delimiter` None stands for blanks."""
    if delimiter is None:
        return line.split()
    reader = csv.reader(io.StringIO(line), delimiter=delimiter, skipinitialspace=True)
    try:
        return [cell.strip() for cell in next(reader)]
    except csv.Error:
        raise ModelError(
            f"a cell has more than {csv.field_size_limit()} characters", remedy="Is a quotation mark missing?"
        ) from None


def row_cells(line: str, delimiter: str | None, width: int) -> list[str]:
    """Return the cells of a row; mixed blanks and delimiters are accepted if they are unambiguous."""
    cells = split_cells(line, delimiter)
    if len(cells) > width:
        cells = without_tail(cells, width)
    if len(cells) != width:
        words = re.split(r"[\s,;]+", line.strip())
        if len(words) == width and all(is_number(word) for word in words):
            return words
    return cells


def without_tail(cells: list[str], least: int = 1) -> list[str]:
    """Remove empty cells at the end: lines may close with a delimiter."""
    end = len(cells)
    while end > least and not cells[end - 1]:
        end -= 1
    return cells[:end]


def is_number(word: str) -> bool:
    """Return True if Python reads the word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def listed(lines: Sequence[int] | np.ndarray) -> str:
    """Format line numbers for a message: the first of them, and their count."""
    return f"line {first_of(lines, 8)}"


UNIT_WORDS = {"degree": "deg", "degrees": "deg", "°": "deg", "radian": "rad", "radians": "rad", "inch": "in"}
UNIT_WORDS |= {"µm": "um", "metre": "m", "metres": "m", "meter": "m", "meters": "m"}
UNIT_WORDS |= {"millimetre": "mm", "millimeters": "mm"}
"""Other spellings of units."""
IN_BRACKETS = re.compile(r"^(.*?)[\s_]*[\[(<]\s*([^\])>]+?)\s*[\])>]$")
AT_THE_END = re.compile(r"^(.*?)[\s_/]+([^\s_/]+)$")


def plain_word(name: str) -> str:
    """Return a name in lower case, with one underscore for blanks, dots and hyphens."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def split_unit(given: str, known: Container[str]) -> tuple[str, str]:
    """Return a column's name without its unit, and the unit (one of those known) or ""."""
    for pattern in (IN_BRACKETS, AT_THE_END):
        match = pattern.match(given)
        unit = UNIT_WORDS.get(match[2].lower(), match[2].lower()) if match else ""
        if match and unit in known:
            return match[1], unit
    return given, ""


# --- measurement files

LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254}
ANGLES = {"rad": 1.0, "deg": np.pi / 180.0, "mrad": 1e-3}
_FEW = 0.1
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
        if len(words) > _FEW * len(self):
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
        if is_comment(line):
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
        raise ModelError(
            f"columns are not distinct: {', '.join(sorted(doubled)) or 'no names'}",
            file=file,
            remedy="Give every column a name of its own",
        )
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
    if len(wrong) > _FEW * good:
        line, cells = wrong[0]
        raise ModelError(
            f"has {cells} cells where the header has {width}",
            file=file,
            element=f"line {line}",
            remedy="With decimal commas, put semicolons between the columns" if cells > width else None,
        )
    if not good:
        raise ModelError("has a header and no rows", file=file, remedy="Add a row per measurement")
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
            f"reaches {widest:.4g} rad, more than a joint turns",
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


_ENTRIES = tuple(f"r{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
"""Columns of a rotation matrix."""
ARRAYS = (".npz", ".mat", ".json")
"""Suffixes of files that hold arrays."""


def _words(words: str) -> re.Pattern[str]:
    """Match names that hold one of these words, separated from the rest of the name by anything but letters."""
    return re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)


_JOINTS = _words("q|joints?|joint_?(values|positions?|angles?|poses?)|thetas?|configurations?")
_POSES = _words("t|h|tf|poses?|transforms?|transformations?|matrix|matrices")
_POSITIONS = _words("p|y|t|xyz|pos|tvecs?|positions?|points?|translations?|markers?|targets?")
_ROTATIONS = _words("r|rot|rotations?|orientations?")
_VECTORS = _words("rvecs?|rotvecs?|rot_vecs?|rotation_vectors?|axis_angles?")
_OTHERS = _words(
    "tau|torques?|efforts?|currents?|dq|qd|ddq|qdd|velocity|velocities|speeds?|accelerations?|"
    "sigmas?|std|noise|cov|covariances?"
)
"""Words in array names that determine their contents; `_OTHERS` are neither configurations nor measurements."""


def read_arrays(path: str | PathLike[str], coordinates: Sequence[str], readings: str = "") -> MeasurementTable:
    """Read the arrays of a file as columns.

    Names determine the contents of arrays: joint values `q` (n, n_q), `position` (n, 3) or `points` (n, points, 3),
    `rotvec` (n, 3), `pose` (n, 4, 4), (n, 3, 4) or (n, 16), `rotation` (n, 3, 3), and numbers (n,) by their names.
    Configurations may also be the last axis, (n_q, n) and (4, 4, n).

    Args:
        path: the file, or a folder of JSON files, each a record: `*.json` or `*/*.json`.
        coordinates: of the robot, in the order of the columns of joint values.
        readings: prefix of the names of arrays with measurements, if there are others of the same kind.
    """
    path = Path(path)
    try:
        arrays = _arrays(path)
    except ModelError as error:
        raise error.located(file=path) from None
    settings = {name: str(value) for name, value in arrays.items() if isinstance(value, str)}
    numbers = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray) and value.ndim}
    if not numbers:
        raise ModelError("holds no arrays of numbers", file=path, remedy="Save arrays named q, position, pose, …")
    n = _rows(list(numbers.values()))
    # MATLAB counts postures last: q (6, n), poses (4, 4, n).
    numbers = {
        name: np.moveaxis(value, -1, 0) if len(value) != n and value.shape[-1] == n else value
        for name, value in numbers.items()
    }
    if n == 0:
        raise ModelError("its arrays are empty", file=path, remedy="Save at least one row")
    columns: dict[str, list[str]] = {}
    origin: dict[str, str] = {}
    for name, value in numbers.items():
        _check_values(value, abs(value) > MAX_MAGNITUDE, name, path)
        chosen = bool(readings) and name.lower().startswith(readings.lower())
        joints = not chosen and bool(_JOINTS.search(name)) and not _OTHERS.search(name) and value.ndim > 1
        if len(value) != n or (readings and not (chosen or joints)):
            continue
        if joints:
            if value[0].size != len(coordinates):
                raise ModelError(
                    f"has {value[0].size} columns, and the robot has {len(coordinates)} coordinates",
                    file=path,
                    element=f"array {name}",
                    remedy=f"Its coordinates are {', '.join(coordinates)}",
                )
            _check_values(value, np.isnan(value), name, path)
        made = _numbered(coordinates, value) if joints else _columns(name, value, chosen)
        twice = next((origin[column] for column in made if column in columns), None)
        if twice is not None:
            raise ModelError(
                f"{twice} and {name} may both be {'joint values' if joints else 'readings'}",
                file=path,
                remedy=f"Say how the name of the readings begins: readings = {name}",
            )
        columns |= made
        for column in made:
            origin[column] = name
    return MeasurementTable(str(path), columns, settings, np.arange(1, n + 1))


def _check_values(value: np.ndarray, bad: np.ndarray, name: str, path: Path) -> None:
    """Raise an error that names the first row with a bad number."""
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise ModelError(
            f"{value[bad][0]} is not a finite number of ordinary size",
            file=path,
            element=f"array {name}, row {row + 1}",
            remedy="Correct it, or leave the row out",
        )


def _rows(arrays: list[np.ndarray]) -> int:
    """Return the number of configurations: the most common length of arrays, first or, failing that, last."""
    first = [len(value) for value in arrays]
    n = max(set(first), key=first.count)
    if first.count(n) == len(arrays):
        return n
    either = [length for value in arrays for length in {len(value), value.shape[-1]}]
    return max(set(either), key=lambda length: (either.count(length), first.count(length), length))


def _columns(name: str, value: np.ndarray, chosen: bool) -> dict[str, list[str]]:
    """Return the columns of an array of measurements; an unknown name is kept, with numbers.

    Args:
        name, value: the array.
        chosen: True if the user selected it, so that its shape determines the type of measurement.
    """
    shape = tuple(k for k in value.shape[1:] if k != 1)
    if shape == (16,):
        value, shape = matrices(value.reshape(-1, 16)), (4, 4)

    def called(words: re.Pattern[str]) -> bool:
        return chosen or bool(words.search(name) and not _OTHERS.search(name))

    if shape in ((4, 4), (3, 4)) and called(_POSES):
        return _numbered("xyz", value[:, :3, 3]) | _numbered(_ENTRIES, value[:, :3, :3])
    if shape == (3, 3) and called(_ROTATIONS):
        return _numbered(_ENTRIES, value)
    if shape == (3,) and _VECTORS.search(name):
        return _numbered(("rvx", "rvy", "rvz"), value)
    if shape == (3,) and called(_POSITIONS):
        return _numbered("xyz", value)
    if len(shape) == 2 and shape[1] == 3 and called(_POSITIONS):
        return _numbered([f"{a}{k}" for k in range(1, shape[0] + 1) for a in "xyz"], value)
    return _numbered([f"{name}_{k}" for k in range(value[0].size)] if shape else [name], value)


def _numbered(names: Sequence[str], value: np.ndarray) -> dict[str, list[str]]:
    """Return columns of these names from an array with as many numbers per row."""
    rows = value.reshape(len(value), -1)
    return {name: as_texts(rows[:, k]) for k, name in enumerate(names)}


def _arrays(path: Path) -> dict:
    """Return the arrays of a file, or of a folder of records."""
    if path.is_dir():
        files = sorted(path.glob("*.json")) or sorted(path.glob("*/*.json"))
        if not files:
            raise ModelError(
                "is a folder without JSON files in it",
                file=path,
                remedy="Give the folder of the .json files, or a table",
            )
        return _stacked([_parsed(file) for file in files], path)
    if path.suffix.lower() == ".npz":
        return {name: _array(value) for name, value in read_npz(path, MAX_DATA_BYTES).items()}
    if path.suffix.lower() == ".mat":
        return {name: _array(value) for name, value in read_mat(path, MAX_DATA_BYTES).items()}
    return _from_json(path)


def _from_json(path: Path) -> dict:
    content = _parsed(path)
    if isinstance(content, dict) and len(content) == 1 and isinstance(next(iter(content.values())), list):
        content = next(iter(content.values()))
    if isinstance(content, list):
        return _stacked(content, path)
    return {name: value if isinstance(value, str) else _array(value) for name, value in content.items()}


def _stacked(records: list, path: Path) -> dict:
    """Return arrays by name from records with equal names."""
    if not records or not all(isinstance(row, dict) for row in records):
        raise ModelError(
            "holds neither named lists nor a list of records",
            file=path,
            remedy='Write {"q": [[…], …], "pose": [[[…]]]} or [{"q": […], "pose": …}, …]',
        )
    names = [name for name in records[0] if all(name in row for row in records)]
    return {name: _array([row[name] for row in records]) for name in names}


def _parsed(path: Path):
    content = read_json(path)
    return content if isinstance(content, (dict, list)) else [content]


def _array(value):
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    except OverflowError:
        raise ModelError("a number has too many digits", remedy="Write numbers of ordinary size") from None


SUFFIX = ".xlsx"
_MAX_BLANK_ROWS = 100_000
"""Longest gap between two rows: openpyxl creates every missing row."""
_MAX_COLUMNS = 2000
_REMEDY = "Save it again as .xlsx, or as CSV"


_ROW = re.compile(rb"""<(?:\w+:)?row\b[^>]*?\br=["'](-?\d{1,18})["']""")


def read_spreadsheet(path: str | PathLike[str], *, sheet: str = "", head_needed: bool = True) -> MeasurementTable:
    """Read the table of a sheet, the first by default: lines `# key = value`, a header, then numbers.

    Formulas count with the values that were saved; rows are numbered as in the sheet.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("spreadsheets need openpyxl", remedy="pip install 'zveno[xlsx]'") from None
    with opened(path, MAX_DATA_BYTES) as stream:
        with opened_archive(stream, MAX_DATA_BYTES, path, _REMEDY):
            pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # styles and extensions that it leaves out
                book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
                text = _text(book, sheet)
                others = [] if sheet else [page.title for page in book.worksheets[1:] if _is_filled(page)]
        except ModelError as error:
            raise error.located(file=path) from None
        except Exception as error:  # the reader's own errors have no common class
            raise ModelError(f"it is damaged: {error}", file=path, remedy=_REMEDY) from None
    if others:
        first = f"{path}: only its first sheet is read, not {first_of(others)}"
        warnings.warn(f"{first}; --settings sheet=NAME reads another", ZvenoWarning, stacklevel=3)
    return parse_measurements(text, str(path), head_needed=head_needed)


def _is_filled(page: Any) -> bool:
    """Return True if the first rows of a sheet hold anything."""
    page.reset_dimensions()
    return any(cell is not None for row in page.iter_rows(max_row=20, values_only=True) for cell in row)


def _text(book: Any, sheet: str) -> str:
    """Return the rows of a sheet as lines of cells with tabs between them."""
    if sheet and sheet not in book.sheetnames:
        raise ModelError(f"has no sheet {sheet!r}", remedy=f"Sheets: {', '.join(book.sheetnames)}")
    page = book[sheet or book.sheetnames[0]]
    if not hasattr(page, "reset_dimensions"):
        raise ModelError("its first sheet is a chart", remedy="Name the sheet with the table")
    _check_order(book, page)
    page.reset_dimensions()  # what the file says of its size may be anything
    lines: list[str] = []
    blank = 0
    for row in page.iter_rows(values_only=True):
        blank = blank + 1 if all(cell is None for cell in row) else 0
        if blank > _MAX_BLANK_ROWS:
            raise ModelError(
                f"more than {_MAX_BLANK_ROWS} rows from row {len(lines) - blank + 2} on are empty", remedy=_REMEDY
            )
        lines.append("\t".join(_cell(cell) for cell in row[:_MAX_COLUMNS]))
    return "\n".join(line.rstrip("\t") if line.lstrip().startswith("#") else line for line in lines)


def _check_order(book: Any, page: Any) -> None:
    """Refuse rows whose numbers do not increase: the library would drop late ones."""
    last, left = 0, b""
    with book._archive.open(page._worksheet_path) as source:
        while chunk := source.read(2**20):
            left += chunk
            matches = list(_ROW.finditer(left))
            for match in matches:
                number = int(match[1])
                if number <= last:  # rows count from 1
                    raise ModelError(f"row {number} stands behind row {last}", remedy=_REMEDY)
                last = number
            left = left[matches[-1].end() if matches else max(0, len(left) - 4096) :]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return " ".join(str(value).split())

"""Column names of measurement files, as users write them.

`X [mm]`, `pos_x`, `q1 (deg)`, `Joint_1`, `actual_q_0`, `quat_w`, `orientation.w`, `roll`, `rotvec_x`, `r11`,
`marker2_y`: each becomes the name that a data set reads, in the file's own unit, orientations as quaternions. A
valid name is never changed, so that a file with standard names is read unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import ModelError
from ...io.column_names import AT_THE_END, IN_BRACKETS, UNIT_WORDS, plain_word, split_unit
from ...io.measurements import ANGLES, LENGTHS, MeasurementTable, as_texts
from ...mechanism import Mechanism
from ..measurements import KINDS
from .families import numbered_columns
from .orientations import with_quaternions

UNITS = {*LENGTHS, *ANGLES}
"""Units that measurement columns may have."""
_POINT = r"(?:p|pos|position|t|trans|translation|tcp|point|marker|m|smr|tracker|pose_position|pose|location|loc)"
_TURN = r"(?:q|quat|quaternion|orientation|pose_orientation|rot|rotation)"
_ANGLES = {"x": "roll", "y": "pitch", "z": "yaw"}
READINGS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (rf"{_POINT}?_?([xyz])(?:_?pos(?:ition)?)?_?(\d*)", lambda m: f"{m[1]}{m[2]}"),
    (rf"{_POINT}_?(\d+)_?([xyz])", lambda m: f"{m[2]}{m[1]}"),
    (rf"{_TURN}_?([wxyz])_?1?", lambda m: f"q{m[1]}"),
    (r"([wxyz])_?(?:quat|quaternion)", lambda m: f"q{m[1]}"),
    (r"(roll|pitch|yaw)_?1?", lambda m: m[1]),
    (r"(?:rpy|euler)_?([xyz])", lambda m: _ANGLES[m[1]]),
    (r"(?:rv|rvec|rotvec|rot_vec|rotation_vector)_?([xyz])", lambda m: f"rv{m[1]}"),
    (r"(?:r|phi)_?([xyz])_?1?", lambda m: f"r{m[1]}"),
    (r"(?:r|m|rot|rotation)_?([0-3])_?([0-3])", lambda m: f"r{m[1]}{m[2]}"),
    (r"(?:group|socket|target|plane)(?:_?(?:name|id|label))?", lambda m: "group"),
    (r"(place|hole)(?:_?(?:name|id|label))?", lambda m: m[1]),
    (
        r"(?:point|marker|smr|reflector|prism|ball|nest)(?:_?(?:name|id|label|index|no|nr|number))?",
        lambda m: "point",
    ),
    *dict.fromkeys(spelling for kind in KINDS.values() for spelling in kind.spellings),
    (r"(alpha|beta|gamma|[abcoprtw])", lambda m: m[1]),
)
"""Patterns of readings and their names, in the order of trial: shared by kinds, then of single kinds."""


def understood(table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> MeasurementTable:
    """Return the table with columns named as campaigns read them, and orientations as quaternions.

    Args:
        table: the file.
        mechanism: the robot.
        needed: coordinates that must have a column, in order: the meaning of `q1`, `q2`, ….
    """
    table = _chosen(table)
    columns: dict[str, list[str]] = {}
    origin: dict[str, str] = {}
    taken = set(mechanism.coordinate_names)
    numbered = numbered_columns(
        [plain_word(split_unit(given, UNITS)[0]) for given in table.columns], mechanism, needed
    )
    for given, cells in table.columns.items():
        name, unit = _meaning(given, taken, numbered)
        if name in columns:
            if origin[name] == name:
                continue  # the column with the very name is meant
            if given != name:
                raise ModelError(
                    f"columns {origin[name]} and {given} both seem to be {name}",
                    file=table.file,
                    remedy="Say how the names of the readings begin, such as # readings = tracker_",
                )
        cells = [_with_point(cell) for cell in cells]
        columns[name], origin[name] = cells, given
        if unit:
            columns[name] = _converted(replace(table, columns={given: cells}), given, unit)
    renamed = [f"{given} → {name}" for name, given in origin.items() if given != name]
    account = (f"columns of {Path(table.file).name}: {', '.join(renamed)}",) if renamed else ()
    return _single(with_quaternions(replace(table, columns=columns, account=(*table.account, *account))))


def meaning_of(word: str, table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> str:
    """Return the standard name of a column outside the table of joints; empty if it has no meaning."""
    words = [plain_word(split_unit(given, UNITS)[0]) for given in table.columns]
    return _known(word, set(mechanism.coordinate_names), numbered_columns(words, mechanism, needed))


def _chosen(table: MeasurementTable) -> MeasurementTable:
    """Drop the readings that the file, or the command, does not choose: `# readings = tracker_`."""
    prefix = table.settings.get("readings", "").lower()
    if not prefix:
        return table
    chosen = [name for name in table.columns if name.lower().startswith(prefix)]
    if not chosen:
        raise ModelError(f"no column begins with {prefix}", file=table.file, element="readings")
    meant = {name: name[len(prefix) :].lstrip("_. ") for name in chosen}
    read = {_meaning(word, set(), {})[0] for word in meant.values()}
    dropped = {name for name in table.columns if name not in meant and _meaning(name, set(), {})[0] in read}
    columns = {meant.get(name, name): cells for name, cells in table.columns.items() if name not in dropped}
    return replace(table, columns=columns)


def _meaning(given: str, taken: set[str], numbered: dict[str, str]) -> tuple[str, str]:
    """Return name and unit (or "") of a column."""
    if given in taken:
        return given, ""
    for pattern in (None, IN_BRACKETS, AT_THE_END):
        match = pattern.match(given) if pattern else None
        if pattern and not match:
            continue
        word, unit = (match[1], match[2]) if match else (given, "")
        unit = UNIT_WORDS.get(unit.lower(), unit.lower())
        if unit and unit not in UNITS:
            continue
        name = _known(word, taken, numbered)
        if name:
            return name, unit
    return given, ""


def _known(word: str, taken: set[str], numbered: dict[str, str]) -> str:
    plain = plain_word(word)
    for name in taken:
        if plain == plain_word(name):
            return name
    if plain in numbered:
        return numbered[plain]
    for pattern, name in READINGS:
        match = re.fullmatch(pattern, plain)
        if match:
            return name(match)
    return ""


def _single(table: MeasurementTable) -> MeasurementTable:
    """Return a pose whose columns are numbered 1, as those of a first marker, without the number."""
    columns = table.columns
    if "qw" not in columns or "x" in columns or "x1" not in columns or "x2" in columns:
        return table
    return replace(
        table, columns={name[0] if name in ("x1", "y1", "z1") else name: c for name, c in columns.items()}
    )


def _with_point(cell: str) -> str:
    """Replace a decimal comma by a point: a cell has no comma as a separator."""
    return cell.replace(",", ".") if "," in cell and re.fullmatch(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", cell) else cell


def _converted(table: MeasurementTable, name: str, unit: str) -> list[str]:
    """Return the cells in the file's own unit."""
    factor = LENGTHS[unit] / table.length if unit in LENGTHS else ANGLES[unit] / table.angle
    return as_texts(table.numbers(name) * factor)

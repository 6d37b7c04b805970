"""Columns of measurement files by the names people give them.

`X [mm]`, `pos_x`, `q1 (deg)`, `Joint_1`, `actual_q_0`, `quat_w`, `orientation.w`, `roll`, `rotvec_x`, `r11`,
`marker2_y`: each becomes the name that a campaign reads, in the file's own unit, orientations as quaternions. A
name that is read already is never changed, so a file by the book is read as it stands.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ...errors import ModelError, ZvenoWarning
from ...io.column_names import AT_THE_END, IN_BRACKETS, UNIT_WORDS, plain_word, split_unit
from ...io.measurements import ANGLES, LENGTHS, MeasurementTable, as_texts
from ...mechanism import Mechanism
from ..measurements import KINDS
from .families import numbered_columns
from .orientations import with_quaternions

UNITS = {*LENGTHS, *ANGLES}
"""That columns of measurements may have."""
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
"""Patterns of readings and their names, in the order they are tried: shared by kinds, then of single kinds."""
LETTERS = frozenset("abcoprtw")
"""Names that are readings only together."""
TIMES = {"t", "time", "timestamp", "stamp", "date"}
"""Columns that are never read."""


def understood(table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> MeasurementTable:
    """The table with columns named as campaigns read them, and orientations as quaternions.

    Args:
        table: the file.
        mechanism: the robot.
        needed: coordinates that must have a column, in order: what `q1`, `q2`, … stand for.
    """
    table = _chosen(table)
    columns: dict[str, list[str]] = {}
    origin: dict[str, str] = {}
    taken = set(mechanism.coordinate_names)
    numbered = numbered_columns(
        [plain_word(split_unit(given, UNITS)[0]) for given in table.columns], mechanism, needed
    )
    numbered |= _by_place(table, taken, numbered, needed)
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
    """The name under which a column of this name is read beside those of a table; empty where it means nothing."""
    words = [plain_word(split_unit(given, UNITS)[0]) for given in table.columns]
    return _known(word, set(mechanism.coordinate_names), numbered_columns(words, mechanism, needed))


def _chosen(table: MeasurementTable) -> MeasurementTable:
    """Without the readings that the file, or the command, does not choose: `# readings = tracker_`."""
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
    """Name and unit (or "") of a column."""
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


def _by_place(table: MeasurementTable, taken: set[str], numbered: dict[str, str], needed: Sequence[str]):
    """Joint columns of other names, such as Base, Shoulder and Elbow: those that mean nothing else, where there are
    as many as joints and the ones that are known stand in their places."""
    meant = {given: _meaning(given, taken, numbered) for given in table.columns}
    if {name for name, _ in meant.values()} >= set(needed):
        return {}
    run = []
    for given, (name, unit) in meant.items():
        if name in taken:
            run.append((plain_word(split_unit(given, UNITS)[0]), name))
            continue
        means_nothing = (name == given or name in LETTERS) and plain_word(given) not in TIMES
        if (
            means_nothing
            and (unit or split_unit(given, UNITS)[1]) in ("", *ANGLES)
            and not _is_count(table.columns[given])
        ):
            run.append((plain_word(split_unit(given, UNITS)[0]), ""))
    known = [name for _, name in run if name]
    if len(run) != len(needed) or len(known) == len(needed):
        return {}
    if any(name and name != place for (_, name), place in zip(run, needed, strict=True)):
        return {}
    made = {word: place for (word, name), place in zip(run, needed, strict=True) if not name}
    words = ", ".join(f"{word} for {place}" for word, place in made.items())
    warnings.warn(f"{table.file}: columns are taken by their places: {words}", ZvenoWarning, stacklevel=4)
    return made


def _is_count(cells: Sequence[str]) -> bool:
    """Whether a column counts rows, or holds no numbers."""
    try:
        numbers = [float(_with_point(cell)) for cell in cells if cell]
    except ValueError:
        return True
    steps = {b - a for a, b in pairwise(numbers)}
    return len(numbers) < 2 or steps == {1.0}


def _single(table: MeasurementTable) -> MeasurementTable:
    """A pose whose columns are numbered 1, as those of a first marker, without the number."""
    columns = table.columns
    if "qw" not in columns or "x" in columns or "x1" not in columns or "x2" in columns:
        return table
    return replace(
        table, columns={name[0] if name in ("x1", "y1", "z1") else name: c for name, c in columns.items()}
    )


def _with_point(cell: str) -> str:
    """A decimal comma as a point: in a cell no comma separates anything."""
    return cell.replace(",", ".") if "," in cell and re.fullmatch(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", cell) else cell


def _converted(table: MeasurementTable, name: str, unit: str) -> list[str]:
    """Cells in the file's own unit."""
    factor = LENGTHS[unit] / table.length if unit in LENGTHS else ANGLES[unit] / table.angle
    return as_texts(table.numbers(name) * factor)

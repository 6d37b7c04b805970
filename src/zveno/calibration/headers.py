"""Columns of measurement files by the names people give them.

`X [mm]`, `pos_x`, `q1 (deg)`, `Joint_1`, `actual_q_0`, `quat_w`, `orientation.w`, `roll`, `rotvec_x`, `r11`,
`marker2_y`: each becomes the name that a campaign reads, in the file's own unit, orientations as quaternions. A
name that is read already is never changed, so a file by the book is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..io.measurements import ANGLES, LENGTHS, MeasurementTable
from ..mechanism import Mechanism
from ..spatial.rotations import exp, from_rpy, nearest_rotation, to_quaternion

WORDS = {"degree": "deg", "degrees": "deg", "°": "deg", "radian": "rad", "radians": "rad", "inch": "in", "µm": "um"}
WORDS |= {"metre": "m", "metres": "m", "meter": "m", "meters": "m", "millimetre": "mm", "millimeters": "mm"}
_IN_BRACKETS = re.compile(r"^(.*?)[\s_]*[\[(<]\s*([^\])>]+?)\s*[\])>]$")
_AT_THE_END = re.compile(r"^(.*?)[\s_/]+([^\s_/]+)$")
_POINT = r"(?:p|pos|position|t|trans|translation|tcp|point|marker|m|tracker|pose_position|pose|location|loc)"
_TURN = r"(?:q|quat|quaternion|orientation|pose_orientation|rot|rotation)"
READINGS: tuple[tuple[str, Callable[[re.Match], str]], ...] = (
    (rf"{_POINT}?_?([xyz])(?:_?pos(?:ition)?)?_?(\d*)", lambda m: f"{m[1]}{m[2]}"),
    (rf"{_POINT}_?(\d+)_?([xyz])", lambda m: f"{m[2]}{m[1]}"),
    (rf"{_TURN}_?([wxyz])", lambda m: f"q{m[1]}"),
    (r"([wxyz])_?(?:quat|quaternion)", lambda m: f"q{m[1]}"),
    (r"(roll|pitch|yaw)", lambda m: m[1]),
    (r"(?:rpy|euler)_?([xyz])", lambda m: {"x": "roll", "y": "pitch", "z": "yaw"}[m[1]]),
    (r"(?:rv|rvec|rotvec|rot_vec|rotation_vector)_?([xyz])", lambda m: f"rv{m[1]}"),
    (r"r_?([xyz])", lambda m: f"r{m[1]}"),
    (r"(?:r|m|rot|rotation)_?([0-3])_?([0-3])", lambda m: f"r{m[1]}{m[2]}"),
    (r"(?:a|axis|n|normal|dir|direction)_?([xyz])", lambda m: f"a{m[1]}"),
    (r"(?:d|dist|distance|range|length)_?(\d*)", lambda m: f"d{m[1]}"),
    (r"(?:h|height)", lambda m: "height"),
    (r"(?:group|socket|target|plane)(?:_?(?:name|id|label))?", lambda m: "group"),
    (r"(place|hole)(?:_?(?:name|id|label))?", lambda m: m[1]),
)
"""Patterns of readings and their names, in the order they are tried."""
_JOINT = re.compile(
    r"(?:actual_|measured_)?(?:q|j|joint|theta|axis|angle|joint_angle|joint_position|joint_pos)_?(\d+)(?:_?pos(?:ition)?)?"
)


def understood(table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> MeasurementTable:
    """The table with columns named as campaigns read them, and orientations as quaternions.

    Args:
        table: the file.
        mechanism: the robot.
        needed: coordinates that must have a column, in order: what `q1`, `q2`, … stand for.
    """
    columns: dict[str, list[str]] = {}
    origin: dict[str, str] = {}
    numbered = _numbered(table, mechanism, needed)
    taken = set(mechanism.coordinate_names)
    for given, cells in table.columns.items():
        name, unit = _meaning(given, taken, numbered)
        if name in columns:
            if origin[name] == name:
                continue  # the column with the very name is meant
            if given != name:
                raise ModelError(f"columns {origin[name]} and {given} both seem to be {name}", file=table.file)
        cells = [_with_point(cell) for cell in cells]
        columns[name], origin[name] = cells, given
        if unit:
            columns[name] = _converted(replace(table, columns={given: cells}), given, unit)
    return _with_quaternions(replace(table, columns=columns))


def _meaning(given: str, taken: set[str], numbered: dict[str, str]) -> tuple[str, str]:
    """Name and unit (or "") of a column."""
    if given in taken:
        return given, ""
    for pattern in (None, _IN_BRACKETS, _AT_THE_END):
        found = pattern.match(given) if pattern else None
        if pattern and not found:
            continue
        word, unit = (found[1], found[2]) if found else (given, "")
        unit = WORDS.get(unit.lower(), unit.lower())
        if unit and unit not in LENGTHS and unit not in ANGLES:
            continue
        name = _known(word, taken, numbered)
        if name:
            return name, unit
    return given, ""


def _known(word: str, taken: set[str], numbered: dict[str, str]) -> str:
    plain = _plain(word)
    for name in taken:
        if plain == _plain(name):
            return name
    if plain in numbered:
        return numbered[plain]
    for pattern, name in READINGS:
        found = re.fullmatch(pattern, plain)
        if found:
            return name(found)
    return ""


def _plain(word: str) -> str:
    return re.sub(r"[\s.\-]+", "_", word.strip().lower())


def _numbered(table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str]) -> dict[str, str]:
    """Numbered joint columns, plainly written → coordinates; counted from 0 or 1, over those needed or all."""
    found: dict[str, int] = {}
    for given in table.columns:
        for pattern in (_IN_BRACKETS, _AT_THE_END):
            match = pattern.match(given)
            if match and WORDS.get(match[2].lower(), match[2].lower()) in {*LENGTHS, *ANGLES}:
                given = match[1]
        match = _JOINT.fullmatch(_plain(given))
        if match:
            found[_plain(given)] = int(match[1])
    if not found or len(set(found.values())) < len(found):
        return {}
    first = 0 if 0 in found.values() else 1
    for names in (list(needed), list(mechanism.coordinate_names)):
        if set(found.values()) == set(range(first, first + len(names))):
            return {word: names[k - first] for word, k in found.items()}
    return {}


def _with_point(cell: str) -> str:
    """A decimal comma as a point: in a cell no comma separates anything."""
    return cell.replace(",", ".") if re.fullmatch(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", cell) else cell


def _converted(table: MeasurementTable, name: str, unit: str) -> list[str]:
    """Cells in the file's own unit."""
    factor = LENGTHS[unit] / table.length if unit in LENGTHS else ANGLES[unit] / table.angle
    return _texts(table.numbers(name) * factor)


def _texts(numbers: np.ndarray) -> list[str]:
    return ["" if x != x else repr(float(x)) for x in numbers]


def _with_quaternions(table: MeasurementTable) -> MeasurementTable:
    """Columns qw qx qy qz from roll, pitch and yaw, a rotation vector or a matrix, where they are not there."""
    if "qw" in table.columns:
        return table
    if all(f"r{a}" in table.columns for a in "xyz"):
        words = {"rpy": ("roll", "pitch", "yaw"), "rotvec": ("rvx", "rvy", "rvz")}
        said = table.settings.get("rotation", "").lower()
        if said not in words:
            raise ModelError(
                "has columns rx, ry, rz, which may be roll, pitch and yaw or a rotation vector",
                file=table.file,
                remedy="Write # rotation = rpy or # rotation = rotvec",
            )
        renamed: dict[str, str] = dict(zip(("rx", "ry", "rz"), words[said], strict=True))
        table = replace(table, columns={renamed.get(name, name): cells for name, cells in table.columns.items()})
    start = "00" if "r00" in table.columns else "11"
    entries = tuple(f"r{int(start[0]) + i}{int(start[1]) + j}" for i in range(3) for j in range(3))
    for names, rotation, factor in (
        (("roll", "pitch", "yaw"), from_rpy, table.angle),
        (("rvx", "rvy", "rvz"), exp, table.angle),
        (entries, lambda row: _rotation(row, table.file), 1.0),
    ):
        if all(name in table.columns for name in names):
            rows = np.stack([table.numbers(name) * factor for name in names], axis=1)
            found = np.array(
                [to_quaternion(rotation(row)) if np.isfinite(row).all() else [np.nan] * 4 for row in rows]
            )
            made = {name: _texts(column) for name, column in zip(("qw", "qx", "qy", "qz"), found.T, strict=True)}
            return replace(table, columns=table.columns | made)
    return table


def _rotation(row: np.ndarray, file: str) -> np.ndarray:
    R = row.reshape(3, 3)
    near = nearest_rotation(R)
    if abs(R - near).max() > 1e-3:
        raise ModelError("has a matrix that is not a rotation", file=file, element="r11 … r33")
    return near

"""Columns of measurement files: names as users write them, numbered families, orientations of any form."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import ModelError, unknown_name
from ..io.tables import (
    ANGLES,
    AT_THE_END,
    IN_BRACKETS,
    LENGTHS,
    TURNS,
    UNIT_WORDS,
    MeasurementTable,
    as_texts,
    matrices,
    plain_word,
    split_unit,
)
from ..mechanism import Mechanism
from ..spatial.rotations import elementary, exp, from_rpy, nearest_rotation, to_quaternion
from .measurements import KINDS

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
_READ = {name for kind in KINDS.values() for name in (*kind.columns, *kind.optional_columns, *kind.group_columns)}
"""Names of the readings of all kinds, without numbers."""


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
    unread: list[str] = []
    taken = set(mechanism.coordinate_names)
    numbered = numbered_columns(
        [plain_word(split_unit(given, UNITS)[0]) for given in table.columns], mechanism, needed
    )
    for given, cells in table.columns.items():
        name, unit = _meaning(given, taken, numbered)
        if name == given and name.rstrip("0123456789") not in _READ and not _known(name, taken, numbered):
            unread.append(name)
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
    file, account = Path(table.file).name, list(table.account)
    renamed = [f"{given} → {name}" for name, given in origin.items() if given != name]
    if renamed:
        account.append(f"columns of {file}: {', '.join(renamed)}")
    if unread:
        account.append(f"columns of {file} that were not understood and not read: {', '.join(unread)}")
    return _single(with_quaternions(replace(table, columns=columns, account=tuple(account))))


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
        raise ModelError(
            f"no column begins with {prefix}",
            file=table.file,
            element="readings",
            remedy="Name a prefix that columns have",
        )
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


_NUMBERED = re.compile(r"(.*?)_?(\d+)(?:_?(pos|position|angle|value|state|meas|measured|act|actual))?")
_JOINT = re.compile(
    r"(?:.*_)?(?:q|j|jnt|joint|theta|th|axis|ax|a|rax|angle|ang|motor|joint_?angle|joint_?position|joint_?pos)"
)
_NOT_MEASURED = re.compile(
    r"(?:^|_)(?:target|cmd|command|commanded|desired|des|ref|reference|set|setpoint|goal|nominal|"
    r"d?dq|qd+|vel|velocity|speed|acc|acceleration|torque|tau|effort|current|temp|temperature)(?:_|$)"
)
_MATRIX = re.compile(r"(?:.*_)?(?:t|tf|mat|matrix|pose|transform|h|t_ee)")


def numbered_columns(words: Sequence[str], mechanism: Mechanism, needed: Sequence[str]) -> dict[str, str]:
    """Return the meaning of numbered columns: coordinates, qw qx qy qz, or entries of a matrix.

    Args:
        words: column names, plainly written and without units.
        mechanism: the robot.
        needed: coordinates that must have a column, in order.
    """
    families: dict[tuple[str, str], dict[str, str]] = {}
    for word in words:
        match = _NUMBERED.fullmatch(word)
        if match:
            families.setdefault((match[1], match[3] or ""), {})[match[2]] = word
    out: dict[str, str] = {}
    for (prefix, _), members in families.items():
        if _MATRIX.fullmatch(prefix):
            out |= _matrix(members)
    joints = _joints(families, mechanism, needed)
    out |= joints
    quaternion = families.get(("q", ""), {})
    if joints and sorted(quaternion) == ["1", "2", "3", "4"] and not set(quaternion.values()) & set(joints):
        out |= {quaternion[k]: name for k, name in zip("1234", ("qw", "qx", "qy", "qz"), strict=True)}
    return out


def _joints(families: dict, mechanism: Mechanism, needed: Sequence[str]) -> dict[str, str]:
    """Return the family that counts the joints from 0 or 1, over those needed or all, and is not commanded."""
    candidates = []
    for (prefix, suffix), members in families.items():
        if not _JOINT.fullmatch(prefix):
            continue
        numbers = {int(k): word for k, word in members.items() if len(k) < 10}
        first = 0 if 0 in numbers else 1
        for names in (list(needed), list(mechanism.coordinate_names)):
            if set(numbers) == set(range(first, first + len(names))):
                meant = {word: names[k - first] for k, word in numbers.items()}
                candidates.append((bool(_NOT_MEASURED.search(f"{prefix}_{suffix}")), meant))
                break
    measured = [meant for commanded, meant in candidates if not commanded]
    if len(measured) > 1:
        first, second = (next(iter(meant)) for meant in measured[:2])
        raise ModelError(
            f"columns {first} … and {second} … may both be joint values",
            remedy="Name those to use like the joints of the robot",
        )
    return measured[0] if measured else {}


def _matrix(members: dict[str, str]) -> dict[str, str]:
    """Return the entries of a pose by row and column, t11 … t34 or t00 … t23, or numbered from 0 or 1."""
    for count in (12, 16):
        for first in (0, 1):
            if set(members) == {str(k) for k in range(first, first + count)}:
                return {word: f"m{k}" for k, word in members.items()}
    for first in (0, 1):
        least = {f"{first + i}{first + j}" for i in range(3) for j in range(3)}
        if least <= set(members):
            return {word: f"r{k}" for k, word in members.items()}
    return {}


QUATERNION = ("qw", "qx", "qy", "qz")
AXES = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "zyz", "zxz")
MAKERS = {
    "rpy": "fanuc fanuc_wpr yaskawa motoman denso",
    "rotvec": "ur ur_rotvec axis_angle",
    "xyz": "staubli mecademic",
    "zyx": "kuka kuka_abc",
    "zyz": "kawasaki kawasaki_oat comau",
}
CONVENTIONS = {word: word for word in ("rpy", "rotvec", *AXES)}
CONVENTIONS |= {word: meant for meant, words in MAKERS.items() for word in words.split()}
"""Values of `# rotation = …`: roll, pitch and yaw, a rotation vector, or axes, each turned by those before."""
TRIPLES = (
    (("roll", "pitch", "yaw"), "rpy"),
    (("rvx", "rvy", "rvz"), "rotvec"),
    (("w", "p", "r"), "rpy"),
    (("a", "b", "c"), "zyx"),
    (("o", "a", "t"), "zyz"),
    (("rx", "ry", "rz"), ""),
    (("alpha", "beta", "gamma"), ""),
)
"""Columns of three angles with their convention, "" where the file must state it. A, B, C are KUKA's, W, P, R are
Fanuc's, O, A, T are Kawasaki's."""


def with_quaternions(table: MeasurementTable) -> MeasurementTable:
    """Add columns qw qx qy qz (and x y z) from angles, a rotation vector or a matrix, if they are missing."""
    table = _with_matrix(table)
    if "qw" in table.columns:
        return table
    convention = table.settings.get("rotation", "").lower().replace("-", "_").replace(" ", "_")
    if convention and convention not in CONVENTIONS:
        raise unknown_name("rotation", convention, CONVENTIONS).located(file=table.file)
    for names, usual in TRIPLES:
        if not all(name in table.columns for name in names):
            continue
        meant = CONVENTIONS.get(convention, "") if not usual or names[0] in "awo" else usual
        meant = meant or usual
        if not meant:
            raise ModelError(
                f"has columns {', '.join(names)}, which may be roll, pitch, yaw, a rotation vector or other angles",
                file=table.file,
                remedy="Write # rotation = rpy or # rotation = rotvec (UR), or the order of turned axes, such as "
                "xyz (Stäubli) or zyx (KUKA)",
            )
        rows = np.stack([table.numbers(name) * table.angle for name in names], axis=1)
        if meant != "rotvec" and "angle" not in table.settings and np.nanmax(abs(rows), initial=0.0) > TURNS:
            raise ModelError(
                f"{', '.join(names)} go to {np.nanmax(abs(rows)):.4g} rad",
                file=table.file,
                remedy="They look like degrees: --settings angle=deg (in the file: # angle = deg), or angle=rad",
            )
        return _with(table, rows, _from_angles(meant))
    return table


def _from_angles(meant: str) -> Callable[[np.ndarray], np.ndarray]:
    if meant == "rpy":
        return from_rpy
    if meant == "rotvec":
        return exp

    def rotation(angles: np.ndarray) -> np.ndarray:
        first, second, third = (elementary(letter, angle) for letter, angle in zip(meant, angles, strict=True))
        return first @ second @ third

    return rotation


def _with_matrix(table: MeasurementTable) -> MeasurementTable:
    """Convert a rotation matrix r11 … r33 or r00 … r22 to a quaternion; a fourth column, and twelve or sixteen
    numbered entries of a whole pose, to the position too."""
    table = _from_entries(table)
    first = 0 if "r00" in table.columns else 1
    entries = [f"r{first + i}{first + j}" for i in range(3) for j in range(3)]
    if not all(name in table.columns for name in entries):
        return table
    place = [f"r{first + i}{first + 3}" for i in range(3)]
    if "x" not in table.columns and all(name in table.columns for name in place):
        table = replace(
            table,
            columns=table.columns | {a: table.columns[name] for a, name in zip("xyz", place, strict=True)},
        )
    if "qw" in table.columns:
        return table
    rows = np.stack([table.numbers(name) for name in entries], axis=1)
    return _with(table, rows, lambda row: _rotation(row, table.file))


def _from_entries(table: MeasurementTable) -> MeasurementTable:
    """Rename entries m1 … m12 or m16 of a pose, row by row or (sixteen only) column by column, to r11 … r34."""
    entries = sorted((int(name[1:]), name) for name in table.columns if name[:1] == "m" and name[1:].isdecimal())
    count = len(entries)
    if count not in (12, 16) or [k for k, _ in entries] not in (list(range(count)), list(range(1, count + 1))):
        return table
    rows = np.stack([table.numbers(name) for _, name in entries], axis=1)
    T = matrices(rows) if count == 16 else rows.reshape(-1, 3, 4)
    if count == 16 and abs(np.nan_to_num(T[:, 3] - [0.0, 0.0, 0.0, 1.0])).max() > 1e-6:
        raise ModelError(
            "has sixteen numbers that are not a pose",
            file=table.file,
            element=entries[0][1],
            remedy="Give the rows of T, the last one 0 0 0 1",
        )
    made = {f"r{i + 1}{j + 1}": as_texts(T[:, i, j]) for i in range(3) for j in range(4)}
    return replace(table, columns=table.columns | made)


def _with(table: MeasurementTable, rows: np.ndarray, rotation: Callable) -> MeasurementTable:
    quaternions = np.array(
        [to_quaternion(rotation(row)) if np.isfinite(row).all() else [np.nan] * 4 for row in rows]
    )
    made = {name: as_texts(column) for name, column in zip(QUATERNION, quaternions.T, strict=True)}
    return replace(table, columns=table.columns | made)


def _rotation(row: np.ndarray, file: str) -> np.ndarray:
    R = row.reshape(3, 3)
    near = nearest_rotation(R)
    if abs(R - near).max() > 1e-3:
        raise ModelError(
            "has a matrix that is not a rotation",
            file=file,
            element="r11 … r33",
            remedy="Give the matrix row by row, r11 r12 … r33",
        )
    return near

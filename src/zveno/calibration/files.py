"""Measurement files: tables, folders of contacts, directions of approach, and empty files to fill in."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ModelError, UnknownNameError, ZvenoWarning, unknown_name
from ..io.tables import (
    ARRAYS,
    MeasurementTable,
    as_texts,
    group_names,
    joint_values,
    read_arrays,
    read_measurements,
    read_spreadsheet,
    split_unit,
)
from ..io.tables import SUFFIX as SPREADSHEET
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from ._columns import UNITS, meaning_of, understood
from .measurements import KINDS, Measurement, measurement
from .measurements.datasets import MOVED, Dataset
from .measurements.options import option_names
from .models import redundant_model

SETTINGS = ("kind", "unit", "angle", "rotation", "readings", "sheet", "name")
"""Settings of a file of any kind."""
SHARED = ("group", "point")
"""Columns that every kind may have: the group of a row, and which of several things it reads."""


def read_dataset(
    path: str | PathLike[str],
    robot: RobotFunctions | Mechanism,
    measurement: Measurement | str | None = None,
    *,
    planned: bool = False,
    settings: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Dataset:
    """Read a campaign from a CSV file, a spreadsheet (.xlsx), arrays (.npz, .mat, .json), or a folder of sockets or
    of JSON records.

    Args:
        path: the file or folder.
        robot: the robot, or its mechanism.
        measurement: kind of measurement; the file may state it: `# kind = position`.
        planned: whether readings may be absent.
        settings: settings that the file itself might have, such as {"unit": "mm", "angle": "deg"}.
        columns: meaning of columns with other names: {"x": "laser east", "joint1": "J1"}.
    """
    given = {k.lower(): str(v) for k, v in (settings or {}).items()}
    _check_settings(given, tuple(KINDS.values()))
    mechanism = robot.mechanism if isinstance(robot, RobotFunctions) else robot
    if not isinstance(path, str | PathLike):
        raise ModelError(
            f"a {type(path).__name__} is not a path",
            remedy="Give a file, or build zveno.calibration.Dataset(measurement, q, values)",
        )
    place = Path(path)
    if place.is_dir() and contacts(place):
        table = read_folder(place)
    elif place.is_dir() or place.suffix.lower() in ARRAYS:
        table = read_arrays(place, mechanism.coordinate_names, given.pop("readings", ""))
    elif place.suffix.lower() == SPREADSHEET:
        table = read_spreadsheet(place, sheet=given.pop("sheet", ""), head_needed=False)
    else:
        table = read_measurements(path, head_needed=False)
    table = _renamed(replace(table, settings=table.settings | given), columns or {})
    _check_meanings(columns or {}, table, mechanism, measurement or table.settings.get("kind"))
    campaign = campaign_from(table, mechanism, measurement, planned=planned)
    _check_settings(given, (type(campaign.measurement),))
    return campaign


def _check_settings(given: Mapping[str, str], kinds: tuple[type[Measurement], ...]) -> None:
    """Raise an error for a setting that neither files nor the kind know, instead of ignoring it."""
    known = [*SETTINGS, *dict.fromkeys(name for kind in kinds for name in option_names(kind))]
    for key in given:
        if key not in known:
            raise unknown_name("setting", key, known)


def _check_meanings(
    columns: Mapping[str, str], table: MeasurementTable, mechanism: Mechanism, kind: Measurement | str | None
) -> None:
    """Raise an error if a column is assigned a meaning that the kind does not read."""
    if not columns or kind is None:
        return
    observable = measurement(kind)
    needed = redundant_model(mechanism, observable.frames).coordinates
    readings = [*observable.columns, *observable.optional_columns, *observable.group_columns, *SHARED]
    for meaning, given in columns.items():
        words = [meaning.removeprefix(prefix) for prefix in (FROM, APPROACH) if meaning.startswith(prefix)]
        name = meaning_of((words or [meaning])[0], table, mechanism, needed)
        read = name in mechanism.coordinate_names or (not words and name.rstrip("0123456789") in readings)
        # Orientations have many forms, which become quaternions.
        if not (read or (name and "qw" in observable.columns)):
            known = [*needed, *dict.fromkeys(readings), f"{FROM}{needed[0]}", f"{APPROACH}{needed[0]}"]
            raise unknown_name(f"reading of {observable.kind}, or joint,", meaning, known).located(
                file=table.file, element=f"columns, {meaning}={given}"
            )


def _renamed(table: MeasurementTable, columns: Mapping[str, str]) -> MeasurementTable:
    """Return the table with the columns that the user names; a column that had such a name before is not read."""
    for meaning, given in columns.items():
        if given not in table.columns:
            raise unknown_name("column", given, table.columns).located(
                file=table.file, element=f"columns, {meaning}"
            )
    units = {given: split_unit(given, UNITS)[1] for given in columns.values()}
    meanings = {given: f"{name} ({units[given]})" if units[given] else name for name, given in columns.items()}
    kept = {name: cells for name, cells in table.columns.items() if name in meanings or name not in columns}
    said = tuple(f"{given} → {meaning}, as said" for meaning, given in columns.items())
    return (
        replace(
            table,
            columns={meanings.get(name, name): cells for name, cells in kept.items()},
            account=said,
            headed=True,
        )
        if columns
        else table
    )


def campaign_from(
    table: MeasurementTable, mechanism: Mechanism, kind: Measurement | str | None = None, *, planned: bool = False
) -> Dataset:
    """Build a campaign from a table: joint columns by joint name, readings by the kind's names, `group` or `place`
    and `hole`.

    Several points or centres have numbered columns: x1 y1 z1 x2 y2 z2 …, d1 d2 …. Joints that do not move the
    measured frame may be absent, and so may all readings where the campaign is only planned.
    """
    kind = kind or table.settings.get("kind")
    if kind is None:
        raise ModelError("does not say what was measured", file=table.file, remedy=_likely(table, mechanism))
    observable = measurement(kind)
    observable = _framed(observable.with_settings(table.settings, table.length, table.file), table, mechanism)
    needed = redundant_model(mechanism, observable.frames).coordinates
    whole = table
    plain = table = without_approaches(table)
    if not table.headed:
        table = _named(table, observable, needed)
    table = _spread(understood(table, mechanism, needed), observable)
    observable = _with_several(observable, table)
    q = joint_values(table, mechanism, needed)
    y = None if (observable.implicit or planned) and not _has(table, observable) else _readings(table, observable)
    made = Dataset(
        observable,
        q,
        groups=group_names(table),
        name=table.settings.get("name", ""),
        lines=table.lines,
        file=table.file,
        account=table.account,
        approach=None if whole.columns.keys() == plain.columns.keys() else approaches(whole, mechanism, needed, q),
    )
    return made if y is None else replace(made, y=y)


def template(mechanism: Mechanism, kind: Measurement | str, rows: np.ndarray | None = None) -> str:
    """Return a measurement file to fill in: settings, header, and a line for every planned posture."""
    observable = measurement(kind)
    names = redundant_model(mechanism, observable.frames).coordinates
    readings = [*observable.columns, *(observable.group_columns if observable.grouped is not None else ())]
    lines = [f"# kind = {observable.kind}", "# unit = m", "# angle = rad"]
    for option in fields(observable):
        if "words" in option.metadata:
            lines.append(f"# {option.name} is {' or '.join(option.metadata['words'])}:")
            lines.append(f"# {option.name} = {getattr(observable, option.name)}")
    lines.append(",".join([*names, *readings]))
    if rows is not None:
        where = [mechanism.coordinate_names.index(name) for name in names]
        lines += [",".join([*(repr(float(row[k])) for k in where), *[""] * len(readings)]) for row in rows]
    return "\n".join(lines) + "\n"


def _framed(observable: Measurement, table: MeasurementTable, mechanism: Mechanism) -> Measurement:
    """Return the measurement with its frame: with several ends, the last link that the joints of the file move."""
    if observable.frame is not None:
        return observable
    try:
        mechanism.frame()
        return observable
    except UnknownNameError as error:
        father = {i: f for i, f, _ in mechanism.outward()}
        moved = [i for i, _, joint in mechanism.outward() if joint.name in table.columns]
        way = [moved[-1]] if moved else [0]
        while way[-1]:
            way.append(father[way[-1]])
        if not moved or not set(moved) <= set(way):
            raise error.located(file=table.file) from None
        name = mechanism.link_names[moved[-1]]
    warnings.warn(
        f"{table.file}: no frame is named; {name} is taken, the last link that its joints move",
        ZvenoWarning,
        stacklevel=4,
    )
    return replace(observable, frame=name)


def _named(table: MeasurementTable, observable: Measurement, needed: Sequence[str]) -> MeasurementTable:
    """Name unnamed columns as in a template: joints, then readings, which may be of several points or matrices."""
    given = [name for name in table.columns if name.startswith("column ")]
    rest = len(given) - len(needed)
    plain = list(observable.columns)
    if rest == 0:
        names = []
    elif not plain:
        names = None
    elif rest == len(plain):
        names = plain
    elif observable.with_several(1) is not None and rest % len(plain) == 0:
        names = [f"{name}{k}" for k in range(1, rest // len(plain) + 1) for name in plain]
    elif "qw" in plain and rest in (12, 16):
        names = [f"t_{k}" for k in range(rest)]
    else:
        names = None
    if names is None or rest < 0:
        raise ModelError(
            f"has {len(given)} columns and no names for them",
            file=table.file,
            remedy=f"Put names above the numbers, in their order, for example {','.join([*needed, *plain])}",
        )
    names = [*needed, *names]
    warnings.warn(
        f"{table.file} has no header: its columns are taken for {', '.join(names)}", ZvenoWarning, stacklevel=3
    )
    renamed = dict(zip(given, names, strict=True))
    return replace(table, columns={renamed.get(name, name): c for name, c in table.columns.items()}, headed=True)


def _spread(table: MeasurementTable, observable: Measurement) -> MeasurementTable:
    """Convert rows with one of several points, named in a column `point`, to x1 y1 z1 x2 … with gaps."""
    if observable.with_several(1) is None or not {*observable.columns, "point"} <= set(table.columns):
        return table
    which = table.columns["point"]
    points = sorted(set(which), key=lambda word: (not word.isdecimal(), len(word) if word.isdecimal() else 0, word))
    columns = {name: cells for name, cells in table.columns.items() if name not in (*observable.columns, "point")}
    for k, point in enumerate(points, start=1):
        for a in observable.columns:
            cells = table.columns[a]
            columns[f"{a}{k}"] = [
                cell if point_of_row == point else "" for cell, point_of_row in zip(cells, which, strict=True)
            ]
    return replace(table, columns=columns)


def _likely(table: MeasurementTable, mechanism: Mechanism) -> str:
    """Return the likely meaning of the columns, as a remedy."""
    columns = understood(table, mechanism, mechanism.coordinate_names).columns
    possible = []
    for cls in sorted(KINDS.values(), key=lambda cls: -len(cls.columns)):
        names = cls.columns or cls.group_columns
        here = all(name in columns for name in names) or (cls.columns and f"{names[0]}1" in columns)
        # A kind whose readings are among those of another that is there needs less than was measured.
        if names and here and not any(set(names) < set(other.columns) for other in possible):
            possible.append(cls)
    if not possible:
        possible = [cls for cls in KINDS.values() if any(name in columns for name in cls.optional_columns)]
    if len(possible) == 1:
        only = possible[0].kind
        give = f"give --measurement {only} (measurement={only!r} in Python)"
        return f"Only {only} reads such columns: {give}, or write # kind = {only} into the file"
    give = "Give --measurement (measurement= in Python), or write"
    looks = next((cls.looks_like for cls in possible if cls.looks_like), "")
    if looks:
        return f"{give} what it is into the file. It looks like {looks}"
    if set(columns) <= {*mechanism.coordinate_names, *mechanism.joint_names}:
        touched = "# kind = point, plane, line or ball_bar if the robot touched something"
        return f"{give} {touched}; else readings are missing"
    return f"{give} # kind = position"


def _with_several(observable: Measurement, table: MeasurementTable) -> Measurement:
    """Return the kind with as many points or centres as the file has columns for."""
    if not observable.columns or observable.columns[0] in table.columns:
        return observable
    count = sum(bool(re.fullmatch(rf"{observable.columns[0]}\d+", name)) for name in table.columns)
    return (observable.with_several(count) if count else None) or observable


def _columns(table: MeasurementTable, observable: Measurement) -> list[str]:
    plain = list(observable.columns or observable.optional_columns)
    if not plain or plain[0] in table.columns:
        return plain
    return [f"{name}{k}" for k in range(1, observable.n_seen + 1) for name in plain]


def _has(table: MeasurementTable, observable: Measurement) -> bool:
    names = _columns(table, observable)
    return bool(names) and all(name in table.columns for name in names)


def _other_kind(table: MeasurementTable, observable: Measurement) -> str:
    """Return a remedy that names a kind for which the readings suffice, or an empty string."""
    if observable.lesser and set(KINDS[observable.lesser].columns) <= set(table.columns):
        return f". Without orientations, write # kind = {observable.lesser}"
    return ""


def _readings(table: MeasurementTable, observable: Measurement) -> np.ndarray:
    columns = _columns(table, observable)
    missing = [name for name in columns if name not in table.columns]
    if len(missing) == len(columns):
        raise ModelError(
            f"has no column {', '.join(observable.columns)}, which a {observable.kind} measurement needs",
            file=table.file,
            remedy=f"{table.column_list}. Where names differ: --columns {observable.columns[0]}=NAME. "
            "If the readings are in another file, put both side by side (paste -d, joints.csv readings.csv)",
        )
    if missing:
        raise ModelError(
            f"has no column {', '.join(missing)}, which a {observable.kind} measurement needs",
            file=table.file,
            remedy=f"{table.column_list}{_other_kind(table, observable)}",
        )
    factors = dict.fromkeys(observable.metric, table.length) | dict.fromkeys(observable.angular, table.angle)
    numbers = [table.numbers(name) * factors.get(name.rstrip("0123456789"), 1.0) for name in columns]
    return np.stack(numbers, axis=1)


HOLE = re.compile(r"(?:hole|socket|point|contact)?[_-]?(\d+)\.(?:csv|txt|dat)", re.IGNORECASE)


def contacts(path: Path) -> list[Path]:
    """Return the files of a folder that hold contacts."""
    return sorted(file for file in path.glob("*/*") if HOLE.fullmatch(file.name))


def read_folder(path: Path) -> MeasurementTable:
    """Read all contacts of a folder as one table with the columns `place` and `hole`."""
    files = contacts(path)
    tables = [read_measurements(file, head_needed=False) for file in files]
    names = list(tables[0].columns)
    for table in tables[1:]:
        if list(table.columns) != names:
            raise ModelError(
                f"has the columns {', '.join(table.columns)}, and {tables[0].file} {', '.join(names)}",
                file=table.file,
                remedy="Give all files the same columns",
            )
    columns = {name: [cell for table in tables for cell in table.columns[name]] for name in names}
    lines = np.concatenate([table.lines for table in tables])
    return MeasurementTable(
        str(path), columns | _labels(files, tables), tables[0].settings, lines, tables[0].headed
    )


def _labels(files: list[Path], tables: list[MeasurementTable]) -> dict[str, list[str]]:
    pairs = [(file, len(table)) for file, table in zip(files, tables, strict=True)]
    return {
        "place": [file.parent.name for file, n in pairs for _ in range(n)],
        "hole": [file.stem for file, n in pairs for _ in range(n)],
    }


FROM, APPROACH = "from_", "approach_"
SIGNS = {"+": 1.0, "-": -1.0, "": 0.0, "up": 1.0, "down": -1.0}


def without_approaches(table: MeasurementTable) -> MeasurementTable:
    """Return the table without columns of the directions of approach."""
    kept = {name: cells for name, cells in table.columns.items() if not name.lower().startswith((FROM, APPROACH))}
    return replace(table, columns=kept)


def approaches(
    table: MeasurementTable, mechanism: Mechanism, needed: Sequence[str], q: np.ndarray
) -> np.ndarray | None:
    """Return the sign of the last motion of every coordinate, (n, n_q), 0 where the file does not give it; None if
    it gives none.

    The posture before is read like the posture itself, joints without such a column as if they had not moved.

    Args:
        table: the file.
        mechanism, needed: whose coordinates, and which of them must have a column.
        q: joint values (n, n_q) of the rows.
    """
    plain = without_approaches(table)
    before = dict(plain.columns)
    for name, cells in table.columns.items():
        prefix = next((prefix for prefix in (FROM, APPROACH) if name.lower().startswith(prefix)), "")
        joint = name[len(prefix) :]
        if not prefix:
            continue
        if joint not in plain.columns:
            raise unknown_name("column", joint, plain.columns).located(file=table.file, element=f"column {name}")
        if prefix == FROM:
            before[joint] = [cell or now for cell, now in zip(cells, plain.columns[joint], strict=True)]
        else:
            signs = np.array([_sign(cell, table.file, name) for cell in cells])
            before[joint] = as_texts(plain.numbers(joint) - signs)
    if before == plain.columns:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)  # what columns are was said when the posture was read
        step = q - joint_values(understood(replace(plain, columns=before), mechanism, needed), mechanism, needed)
    return np.where(abs(np.nan_to_num(step)) > MOVED, np.sign(np.nan_to_num(step)), 0.0)


def _sign(cell: str, file: str, column: str) -> float:
    try:
        return SIGNS[cell.lower()] if cell.lower() in SIGNS else float(np.sign(float(cell)))
    except ValueError:
        raise ModelError(
            f"{cell!r} is not a side",
            file=file,
            element=f"column {column}",
            remedy="Write 1, -1, or 0 if not known",
        ) from None

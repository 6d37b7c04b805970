"""Orientations of measurement files as quaternions: angles of any maker, rotation vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...errors import ModelError, unknown_name
from ...io.measurements import TURNS, MeasurementTable, as_texts, matrices
from ...spatial.rotations import elementary, exp, from_rpy, nearest_rotation, to_quaternion

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
        raise ModelError("has sixteen numbers that are not a pose", file=table.file, element=entries[0][1])
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
        raise ModelError("has a matrix that is not a rotation", file=file, element="r11 … r33")
    return near

"""Poses from rows of numbers, as people type them and as files hold them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...errors import ModelError, ShapeError
from ...io.arrays import read_npy, read_npz
from ...io.files import MAX_DATA_BYTES, read_text
from ...mechanism.assemble import MAX_MAGNITUDE
from ...spatial.rotations import exp, from_quaternion, from_rpy
from ...spatial.transforms import transform

Angles = Literal["rpy", "rotvec"]
"""Meaning of three angles: roll, pitch and yaw, or a rotation vector."""
FORMS = "x y z; x y z roll pitch yaw; x y z qw qx qy qz; or 12 or 16 numbers of the matrix, row by row"


def pose_of(numbers: Any, degrees: bool = False, where: str = "pose", rotation: Angles = "rpy") -> np.ndarray:
    """Make T (4, 4) from 3, 6, 7, 12 or 16 numbers: metres, and radians unless `degrees`.

    `rotation` gives the meaning of the three angles of 6 numbers; other rows cannot be rotation vectors.
    """
    row = np.asarray(numbers, dtype=float)
    if not np.all(abs(row) <= MAX_MAGNITUDE):
        raise ShapeError("holds a number that is not finite or out of range", element=where)
    if rotation == "rotvec" and row.shape != (6,):
        raise ShapeError(
            f"{row.size} numbers do not hold a rotation vector", element=where, remedy="Give x y z rx ry rz"
        )
    match row.shape:
        case (3,):
            return transform(None, row)
        case (6,):
            angles = np.radians(row[3:]) if degrees else row[3:]
            return transform(exp(angles) if rotation == "rotvec" else from_rpy(angles), row[:3])
        case (7,):
            norm = float(np.linalg.norm(row[3:]))
            if abs(norm - 1.0) > 1e-3:
                raise ShapeError(
                    f"its quaternion has length {norm:.4g}", element=where, remedy="Give a unit quaternion, wxyz"
                )
            return transform(from_quaternion(row[3:] / norm), row[:3])
        case (12,):
            return np.concatenate([row.reshape(3, 4), [[0.0, 0.0, 0.0, 1.0]]])
        case (16,):
            return row.reshape(4, 4)
        case _:
            raise ShapeError(f"{row.size} numbers are not a pose", element=where, remedy=f"Give {FORMS}")


def read_poses(path: str | PathLike[str], degrees: bool = False, rotation: Angles = "rpy") -> np.ndarray:
    """Read poses (N, 4, 4) from a .npy or .npz file (poses, or rows of numbers) or a text file, one pose per line.

    Lines that start with # and a first line of names are skipped; numbers are separated by commas or spaces.
    """
    path = Path(path)
    try:
        if path.suffix in (".npy", ".npz"):
            data = next(iter(read_npz(path).values())) if path.suffix == ".npz" else read_npy(path)
            array = np.asarray(data, dtype=float)
            if rotation == "rpy" and array.shape[-2:] == (4, 4) and np.all(abs(array) <= MAX_MAGNITUDE):
                return array.reshape(-1, 4, 4)
            width = 16 if array.shape[-2:] == (4, 4) else array.shape[-1]
            rows = list(array.reshape(-1, width))
        else:
            rows = _lines(path)
    except (ValueError, TypeError, LookupError, StopIteration) as error:
        raise ModelError(
            f"does not hold poses: {error}", file=path, remedy=f"One pose per line: {FORMS}"
        ) from error
    if not rows:
        raise ModelError("holds no poses", file=path, remedy=f"One pose per line: {FORMS}")
    try:
        return np.stack([pose_of(row, degrees, f"pose {k}", rotation) for k, row in enumerate(rows)])
    except ShapeError as error:
        raise error.located(file=path) from error


def _lines(path: Path) -> list[list[float]]:
    rows = []
    for k, line in enumerate(read_text(path, MAX_DATA_BYTES).splitlines(), start=1):
        words = line.split("#")[0].replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        try:
            rows.append([float(word) for word in words])
        except ValueError:
            if rows or any(char.isdigit() for char in words[0][:1]):
                raise ValueError(f"line {k}: {line.strip()[:60]!r}") from None
    return rows

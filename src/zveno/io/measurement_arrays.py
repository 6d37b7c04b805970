"""Measurements kept as arrays: .npz of NumPy, .mat of MATLAB, and .json of lists or of records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ModelError
from ..mechanism.assemble import MAX_MAGNITUDE
from .files import MAX_DATA_BYTES, read_json
from .mat import read_mat
from .measurements import MeasurementTable, as_texts, matrices
from .npz import read_npz

ENTRIES = tuple(f"r{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
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
        raise ModelError("holds no arrays of numbers", file=path)
    n = _rows(list(numbers.values()))
    # MATLAB counts postures last: q (6, n), poses (4, 4, n).
    numbers = {
        name: np.moveaxis(value, -1, 0) if len(value) != n and value.shape[-1] == n else value
        for name, value in numbers.items()
    }
    if n == 0:
        raise ModelError("its arrays are empty", file=path)
    columns: dict[str, list[str]] = {}
    origin: dict[str, str] = {}
    for name, value in numbers.items():
        _check_rows(value, abs(value) > MAX_MAGNITUDE, name, path)
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
            _check_rows(value, np.isnan(value), name, path)
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


def _check_rows(value: np.ndarray, bad: np.ndarray, name: str, path: Path) -> None:
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
        return _numbered("xyz", value[:, :3, 3]) | _numbered(ENTRIES, value[:, :3, :3])
    if shape == (3, 3) and called(_ROTATIONS):
        return _numbered(ENTRIES, value)
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
            raise ModelError("is a folder without JSON files in it", file=path)
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

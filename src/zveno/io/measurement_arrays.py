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

ARRAYS = (".npz", ".mat", ".json")
"""Endings of files that hold arrays."""
_ROTATION = re.compile(r"rvec|rotvec|rot_vec|rotation_vec|axis_angle", re.IGNORECASE)


def read_arrays(path: str | PathLike[str], coordinates: Sequence[str], readings: str = "") -> MeasurementTable:
    """The arrays of a file as columns: joint values (n, n_q), positions (n, 3) or (n, points, 3), rotation vectors
    (n, 3) called so, poses (n, 4, 4), (n, 3, 4) or (n, 16), rotations (n, 3, 3), and numbers (n,) by their names;
    postures may also be counted last, (n_q, n) and (4, 4, n).

    Args:
        path: the file, or a folder of JSON files, each a record: `*.json` or `*/*.json`.
        coordinates: of the robot, in order: what the columns of the joint values are.
        readings: how the names of arrays with readings begin, where there are others of the same kind.
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
        if np.any(abs(value) > MAX_MAGNITUDE):
            raise ModelError("a number is not finite or out of range", file=path, element=f"array {name}")
        made = _columns(name, value, coordinates) if len(value) == n else {}
        joints = set(made) <= set(coordinates)
        if readings and not joints and not name.lower().startswith(readings.lower()):
            continue
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


def _rows(arrays: list[np.ndarray]) -> int:
    """Number of postures: the length that most arrays have, first or, failing that, last."""
    first = [len(value) for value in arrays]
    n = max(set(first), key=first.count)
    if first.count(n) == len(arrays):
        return n
    either = [length for value in arrays for length in {len(value), value.shape[-1]}]
    return max(set(either), key=lambda length: (either.count(length), first.count(length), length))


def _columns(name: str, value: np.ndarray, coordinates: Sequence[str]) -> dict[str, list[str]]:
    """The columns of an array by its shape; none if it is not of a kind that is read."""
    shape = tuple(k for k in value.shape[1:] if k != 1)
    if shape == (len(coordinates),) and not (len(coordinates) == 3 and _ROTATION.search(name)):
        names = list(coordinates)
    elif shape == (16,):
        return _columns(name, matrices(value), coordinates)
    elif shape in ((4, 4), (3, 4)):
        place = {a: as_texts(value[:, k, 3]) for k, a in enumerate("xyz")}
        return place | _columns(name, value[:, :3, :3], coordinates)
    elif shape == (3, 3):
        if abs(np.nan_to_num(value @ value.transpose(0, 2, 1) - np.eye(3))).max() > 0.01:
            return {}  # not rotations: intrinsics of a camera, or inertia
        names = [f"r{i + 1}{j + 1}" for i in range(3) for j in range(3)]
    elif shape == (3,):
        names = ["rvx", "rvy", "rvz"] if _ROTATION.search(name) else ["x", "y", "z"]
    elif len(shape) == 2 and shape[1] == 3:
        names = [f"{a}{k}" for k in range(1, shape[0] + 1) for a in "xyz"]
    else:
        names = [name] if not shape else [f"{name}_{k}" for k in range(int(np.prod(shape)))]
    rows = value.reshape(len(value), -1)
    return {column: as_texts(rows[:, k]) for k, column in enumerate(names)}


def _arrays(path: Path) -> dict:
    """The arrays of a file, or of a folder of records."""
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
    """Arrays by name from records with equal names."""
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

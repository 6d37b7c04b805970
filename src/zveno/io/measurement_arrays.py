"""Measurements kept as arrays: .npz of NumPy, and .json of lists or of records."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import ModelError
from .measurements import MAX_BYTES, MeasurementTable

ARRAYS = (".npz", ".json")
"""Endings of files that hold arrays."""


def read_arrays(path, coordinates: Sequence[str]) -> MeasurementTable:
    """The arrays of a file as columns: joint values (n, n_q), positions (n, 3) or (n, points, 3), poses (n, 4, 4)
    or (n, 3, 4), and single numbers (n,) by their names.

    Args:
        path: the file.
        coordinates: of the robot, in order: what the columns of the joint values are.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelError(f"has more than {MAX_BYTES // 1_000_000} MB", file=path)
        arrays = _from_npz(path) if path.suffix.lower() == ".npz" else _from_json(path)
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}", file=path) from error
    settings = {name: str(value) for name, value in arrays.items() if isinstance(value, str)}
    numbers = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray) and value.ndim}
    if not numbers:
        raise ModelError("holds no arrays of numbers", file=path)
    lengths = {name: len(value) for name, value in numbers.items()}
    n = max(set(lengths.values()), key=list(lengths.values()).count)
    columns: dict[str, list[str]] = {}
    for name, value in numbers.items():
        if len(value) == n:
            columns |= _columns(name, value, coordinates, columns)
    return MeasurementTable(str(path), columns, settings, np.arange(1, n + 1))


def _columns(name: str, value: np.ndarray, coordinates: Sequence[str], so_far: dict) -> dict[str, list[str]]:
    shape = value.shape[1:]
    if not shape:
        return {name: _texts(value)}
    if shape in ((4, 4), (3, 4)):
        names = [f"t{i + 1}{j + 1}" for i in range(3) for j in range(4)]
        value = value[:, :3].reshape(len(value), 12)
    elif shape == (3, 3):
        names = [f"r{i + 1}{j + 1}" for i in range(3) for j in range(3)]
    elif shape == (len(coordinates),) and not set(coordinates) & set(so_far):
        names = list(coordinates)
    elif shape in ((3,), (1, 3), (3, 1)):
        names = list("xyz")
    elif len(shape) == 2 and shape[1] == 3:
        names = [f"{a}{k}" for k in range(1, shape[0] + 1) for a in "xyz"]
    else:
        names = [f"{name}_{k}" for k in range(int(np.prod(shape)))]
    if set(names) & set(so_far):
        names = [f"{name}_{one}" for one in names]
    rows = value.reshape(len(value), -1)
    return {one: _texts(rows[:, k]) for k, one in enumerate(names)}


def _from_npz(path: Path) -> dict:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: _array(file[name]) for name in file.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise ModelError(f"is not an .npz file of plain numbers: {error}", file=path) from error


def _from_json(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelError(f"is not JSON: {error}", file=path) from error
    if isinstance(found, dict) and len(found) == 1 and isinstance(next(iter(found.values())), list):
        found = next(iter(found.values()))
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        names = [name for name in found[0] if all(name in row for row in found)]
        found = {name: [row[name] for row in found] for name in names}
    if not isinstance(found, dict):
        raise ModelError(
            "holds neither named lists nor a list of records",
            file=path,
            remedy='Write {"q": [[…], …], "pose": [[[…]]]} or [{"q": […], "pose": …}, …]',
        )
    return {name: value if isinstance(value, str) else _array(value) for name, value in found.items()}


def _array(value):
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


def _texts(numbers: np.ndarray) -> list[str]:
    return ["" if x != x else repr(float(x)) for x in numbers]

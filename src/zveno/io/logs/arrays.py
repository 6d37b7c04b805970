"""Logs as arrays: .npz of NumPy and .mat of MATLAB."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import ModelError
from ..mat import read_mat
from ..npz import read_npz
from .tables import LogTable, array_table

MAX_COLUMNS = 1000


def read_array_table(path: object, suffix: str) -> LogTable:
    """Read the arrays of a file as columns: (m,) by their names, (m, n) or (n, m) as name_1 … name_n."""
    arrays = read_mat(path) if suffix == ".mat" else read_npz(path)
    numbers = {name: np.squeeze(value) for name, value in arrays.items() if value.dtype.kind in "biuf"}
    numbers = {name: value for name, value in numbers.items() if value.ndim in (1, 2) and value.size > 1}
    if not numbers:
        raise ModelError(
            "holds no arrays of numbers", file=path, remedy="Save t (m,), q (m, n) and tau (m, n), by these names"
        )
    rows = _rows(numbers)
    columns: dict[str, np.ndarray] = {}
    notes = []
    for name, value in numbers.items():
        if value.shape[0] != rows and value.ndim == 2 and value.shape[1] == rows:
            value = value.T
            notes.append(f"{name} is turned: its columns are the samples")
        if value.shape[0] != rows:
            notes.append(f"{name} is not read: it has shape {value.shape}, and there are {rows} samples")
            continue
        parts = value.T if value.ndim == 2 else value[None]
        if len(columns) + len(parts) > MAX_COLUMNS:
            raise ModelError(f"has more than {MAX_COLUMNS} columns", file=path, remedy="Is it a recording?")
        names = [name] if value.ndim == 1 else [f"{name}_{k}" for k in range(1, len(parts) + 1)]
        with np.errstate(over="ignore"):
            columns |= {word: column.astype(float) for word, column in zip(names, parts, strict=True)}
    return array_table(str(path), columns, tuple(notes))


def _rows(arrays: Mapping[str, np.ndarray]) -> int:
    """Return the number of samples: the most common array length, the longest of these."""
    lengths = [n for value in arrays.values() for n in set(value.shape)]
    return max(set(lengths), key=lambda n: (lengths.count(n), n))

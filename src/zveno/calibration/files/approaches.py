"""Directions of approach of joints: columns `from_…` of the posture before, or `approach_…` of signs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError, ZvenoWarning, unknown_name
from ...io.measurements import MeasurementTable, as_texts, joint_values
from ...mechanism import Mechanism
from ..measurements.campaigns import MOVED
from .headers import understood

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
            before[joint] = [there or here for there, here in zip(cells, plain.columns[joint], strict=True)]
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

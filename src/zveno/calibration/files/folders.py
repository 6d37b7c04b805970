"""Folders of contacts: `<place>/hole_0.csv`, `<place>/hole_1.csv`, each with the joint values in one socket."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...errors import ModelError
from ...io.measurements import MeasurementTable, read_measurements

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

"""Postures from a CSV: columns with the joints' names; other columns (readings, groups) are passed over."""

from __future__ import annotations

import csv
import io

import numpy as np

from ..errors import ModelError
from ..io.files import read_bytes
from ..mechanism import Mechanism


def read_postures(path, mechanism: Mechanism) -> np.ndarray:
    """(n, n_q) joint coordinates of a file; rows with empty or unreadable joint values are refused by number.

    Args:
        path: a CSV with a header that has every coordinate's name.
        mechanism: whose coordinates they are, rad and m.
    """
    file, data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError("it is not UTF-8 text", file=path, remedy="Save it as CSV in UTF-8") from None
    table = [row for row in csv.reader(io.StringIO(text)) if row and not row[0].lstrip().startswith("#")]
    header = [name.strip() for name in table[0]] if table else []
    missing = [name for name in mechanism.coordinate_names if name not in header]
    if missing:
        raise ModelError(
            f"columns are missing: {', '.join(missing)}",
            file=file,
            element="header",
            remedy=f"The first line must name {', '.join(mechanism.coordinate_names)}",
        )
    places = [header.index(name) for name in mechanism.coordinate_names]
    q = np.empty((len(table) - 1, len(places)))
    for k, row in enumerate(table[1:]):
        try:
            q[k] = [float(row[place]) for place in places]
        except (ValueError, IndexError):
            q[k] = np.nan
        if not np.isfinite(q[k]).all():
            raise ModelError("a joint value is missing or no finite number", file=file, element=f"row {k + 1}")
    return q

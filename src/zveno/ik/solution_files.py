"""Solutions and joint paths as .csv and .npz files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ZvenoError
from ..io.files import replacing, write_text
from ..mechanism.units import coordinate_units, with_unit

if TYPE_CHECKING:
    from .paths.joint_path import JointPath
    from .solutions import Solutions


def write_solutions(result: Solutions | JointPath, file: Path, degrees: bool = False) -> Path:
    """Write .csv, one line per solution with its pose number, or .npz with all arrays in SI units."""
    from .solutions import Solutions

    if file.suffix.lower() == ".npz":
        arrays = {"q": result.q}
        if isinstance(result, Solutions):
            arrays |= {"count": result.count, "codes": result.codes, "residual": result.residual}
        with replacing(file) as temporary:
            np.savez_compressed(temporary, **arrays)  # pyright: ignore[reportArgumentType]  (arrays by name)
        return file
    if result.mechanism is None:
        raise ZvenoError("the result does not know its robot")
    units = coordinate_units(result.mechanism)
    factors = np.array([180.0 / np.pi if degrees and unit == "rad" else 1.0 for unit in units])
    shown = ["deg" if degrees and unit == "rad" else unit for unit in units]
    if isinstance(result, Solutions):
        rows = [(k, row) for k, pose in enumerate(np.ndindex(*result.batch)) for row in result.of(*pose)]
    else:
        rows = list(enumerate(result.q))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["pose", *(with_unit(name, unit) for name, unit in zip(result.joint_names, shown, strict=True))]
    )
    writer.writerows([k, *map(repr, (row * factors).tolist())] for k, row in rows)
    return write_text(file, text.getvalue())

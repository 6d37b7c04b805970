"""What a measurement file says about its kind besides the name: `# mount = world`, `# distance = 50`."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from ...errors import ModelError
from ...io.measurements import MeasurementTable
from ..measurements import Measurement

LENGTHS = ("distance", "sigma_distance", "offset")
WORDS = ("frame", "mount", "gives", "reference", "board", "camera")
VECTORS = ("points", "point", "normal", "centres")


def with_options(what: Measurement, table: MeasurementTable) -> Measurement:
    """The measurement with the options that the file gives; lengths are in the file's unit."""
    own = {field.name for field in fields(what)}
    made: dict[str, object] = {}
    for name in own & set(table.settings):
        text = table.settings[name]
        if name in WORDS:
            if name != "frame" or what.frame is None:
                made[name] = text
        elif name in LENGTHS:
            made[name] = _numbers(text, name, table)[0] * table.length
        elif name in VECTORS:
            rows = _numbers(text, name, table)
            if rows.size % 3:
                raise _wrong(text, name, table)
            made[name] = rows.reshape(-1, 3) if name in ("points", "centres") else rows
            if name != "normal":
                made[name] = made[name] * table.length  # type: ignore[operator]
    if "points" in made and "unknown_points" in own:
        made["unknown_points"] = table.settings.get("unknown_points", "yes").lower() not in ("no", "false", "0")
    return replace(what, **made) if made else what


def _numbers(text: str, name: str, table: MeasurementTable) -> np.ndarray:
    try:
        found = np.array([float(word) for word in text.replace(",", " ").replace(";", " ").split()])
    except ValueError:
        found = np.zeros(0)
    if not found.size:
        raise _wrong(text, name, table)
    return found


def _wrong(text: str, name: str, table: MeasurementTable) -> ModelError:
    numbers = "a number" if name in LENGTHS else "three numbers, or three for every point"
    return ModelError(f"{text!r} is not {numbers}", file=table.file, element=name)

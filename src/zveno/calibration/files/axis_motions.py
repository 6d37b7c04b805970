"""Files with motions of one joint at a time, for `identify_axes`.

    # unit = mm                  of x, y, z and of prismatic joints: "m", "cm" or "mm"; m by default
    # angle = deg                of revolute joints: "deg" or "rad"; rad by default
    # prismatic = joint3         names of prismatic joints, if there are any
    joint1, joint2, joint3, x, y, z
    -60, 20, 100, 812.4, 33.1, 405.9

Every row is one position of the target. The columns x, y and z are its coordinates, all others are joints, from the
base outward. In every row at most one joint is away from the posture that the others rest in.
"""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...io.cells import delimiter_of, is_number, split_cells
from ...io.files import read_text
from ...io.units import Units, nearest_of

COORDINATES = ("x", "y", "z")
SETTINGS = ("unit", "angle", "prismatic")


class AxisMotions(NamedTuple):
    """Joint values (m, n), positions (m, 3), joint types and joint names, in the order of `identify_axes`."""

    q: np.ndarray
    g: np.ndarray
    kinds: list[str]
    names: list[str]


def read_axis_motions(path: str | PathLike[str]) -> AxisMotions:
    """Read a CSV file of motions of one joint at a time, in SI units."""
    settings, rows = {"unit": "m", "angle": "rad", "prismatic": ""}, []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = line.strip()
        if text.startswith("#"):
            key, sign, value = (part.strip() for part in text.lstrip("#").partition("="))
            if sign and key not in SETTINGS:
                raise ModelError(
                    f"{key!r} is not a setting",
                    file=path,
                    element=f"line {number}",
                    remedy=nearest_of(key, SETTINGS),
                )
            settings |= {key: value} if sign else {}
        elif text:
            rows.append((number, text))
    if len(rows) < 2:
        raise ModelError("it has no rows", file=path, remedy="Write a line of column names, then positions")
    delimiter = delimiter_of(rows[0][1])
    header = split_cells(rows[0][1], delimiter)
    missing = [name for name in COORDINATES if header.count(name) != 1]
    names = [name for name in header if name not in COORDINATES]
    if missing or not names or len(set(names)) < len(names):
        raise ModelError(
            f"the columns are {', '.join(header)}",
            file=path,
            element=f"line {rows[0][0]}",
            remedy="Name one column x, one y, one z, and the others by their joints",
        )
    table = np.empty((len(rows) - 1, len(header)))
    for k, (number, text) in enumerate(rows[1:]):
        cells = split_cells(text, delimiter)
        if len(cells) != len(header) or not all(is_number(cell) for cell in cells):
            raise ModelError(
                f"the row is not {len(header)} numbers",
                file=path,
                element=f"line {number}",
                remedy="Correct or remove it",
            )
        table[k] = [float(cell) for cell in cells]
    units = _units(settings, path)
    prismatic = settings["prismatic"].replace(",", " ").split()
    unknown = [name for name in prismatic if name not in names]
    if unknown:
        raise ModelError(
            f"no column {unknown[0]!r}", file=path, element="prismatic", remedy=nearest_of(unknown[0], names)
        )
    kinds = ["prismatic" if name in prismatic else "revolute" for name in names]
    factors = [units.si(1.0, "length" if kind == "prismatic" else "angle") for kind in kinds]
    q = table[:, [header.index(name) for name in names]] * factors
    g = table[:, [header.index(name) for name in COORDINATES]] * units.si(1.0, "length")
    return AxisMotions(q, g, kinds, names)


def _units(settings: dict[str, str], path: object) -> Units:
    for key, known in (("unit", ("m", "cm", "mm")), ("angle", ("rad", "deg"))):
        if settings[key] not in known:
            raise ModelError(
                f"{settings[key]!r} is not a unit", file=path, element=key, remedy=nearest_of(settings[key], known)
            )
    return Units(settings["unit"], settings["angle"])

"""Column names in files: normalized words, and the unit in or after a name."""

from __future__ import annotations

import re
from collections.abc import Container

UNIT_WORDS = {"degree": "deg", "degrees": "deg", "°": "deg", "radian": "rad", "radians": "rad", "inch": "in"}
UNIT_WORDS |= {"µm": "um", "metre": "m", "metres": "m", "meter": "m", "meters": "m"}
UNIT_WORDS |= {"millimetre": "mm", "millimeters": "mm"}
"""Other spellings of units."""
IN_BRACKETS = re.compile(r"^(.*?)[\s_]*[\[(<]\s*([^\])>]+?)\s*[\])>]$")
AT_THE_END = re.compile(r"^(.*?)[\s_/]+([^\s_/]+)$")


def plain_word(name: str) -> str:
    """Return a name in lower case, with one underscore for blanks, dots and hyphens."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def split_unit(given: str, known: Container[str]) -> tuple[str, str]:
    """Return a column's name without its unit, and the unit (one of those known) or ""."""
    for pattern in (IN_BRACKETS, AT_THE_END):
        match = pattern.match(given)
        unit = UNIT_WORDS.get(match[2].lower(), match[2].lower()) if match else ""
        if match and unit in known:
            return match[1], unit
    return given, ""

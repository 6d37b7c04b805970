"""Cells of text tables: delimiters, numeric words, normalized column names and their units."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Sequence

import numpy as np

from ..errors import ModelError, first_of

MISSING = {"nan", "na", "n/a", "null", "none", "-"}
"""Words for a missing number."""
NAMELESS = {"-", "_"}
"""Names of columns that are not read."""
SETTING = re.compile(r"[#%]([\w\s]*+)[=:]")
"""Comments with a setting: `# unit = mm`."""


def delimiter_of(head: str) -> str | None:
    """Return the column delimiter; None for blanks."""
    if ";" in head:
        return ";"  # commas are decimal then
    if "," not in head and all(is_number(word) for word in head.split()):
        return None
    separator = max(",\t", key=head.count)
    if separator in head:
        return separator
    words = head.split()
    named = all(word.isidentifier() or word in NAMELESS for word in words)
    return None if len(words) > 1 and (named or all(is_number(word) for word in words)) else ","


def split_cells(line: str, delimiter: str | None) -> list[str]:
    """Split a line into cells, without quotation marks; `delimiter` None stands for blanks."""
    if delimiter is None:
        return line.split()
    reader = csv.reader(io.StringIO(line), delimiter=delimiter, skipinitialspace=True)
    try:
        return [cell.strip() for cell in next(reader)]
    except csv.Error:
        raise ModelError(
            f"a cell has more than {csv.field_size_limit()} characters", remedy="Is a quotation mark missing?"
        ) from None


def row_cells(line: str, delimiter: str | None, width: int) -> list[str]:
    """Return the cells of a row; mixed blanks and delimiters are accepted if they are unambiguous."""
    cells = split_cells(line, delimiter)
    if len(cells) > width:
        cells = without_tail(cells, width)
    if len(cells) != width:
        words = re.split(r"[\s,;]+", line.strip())
        if len(words) == width and all(is_number(word) for word in words):
            return words
    return cells


def without_tail(cells: list[str], least: int = 1) -> list[str]:
    """Remove empty cells at the end: lines may close with a delimiter."""
    end = len(cells)
    while end > least and not cells[end - 1]:
        end -= 1
    return cells[:end]


def is_number(word: str) -> bool:
    """Return True if Python reads the word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def listed(lines: Sequence[int] | np.ndarray) -> str:
    """Format line numbers for a message: the first of them, and their count."""
    return f"line {first_of(lines, 8)}"


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

"""Lines of text tables: delimiters, cells, and numeric words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

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

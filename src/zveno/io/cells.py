"""Lines of text tables: what parts their columns, their cells, and which words are numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np

from ..errors import ModelError, first_of

MISSING = {"nan", "na", "n/a", "null", "none", "-"}
"""Words that stand for a missing number."""
NAMELESS = {"-", "_"}
"""Names of columns that are not read."""
SETTING = re.compile(r"[#%]([\w\s]*+)[=:]")
"""Comments that say something: `# unit = mm`."""


def delimiter_of(head: str) -> str | None:
    """What parts the columns; None for blanks."""
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
    """The cells of a line, without quotation marks; `delimiter` None stands for blanks."""
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
    """The cells of a row; blanks and delimiters mixed are forgiven where they can only mean one thing."""
    cells = split_cells(line, delimiter)
    if len(cells) > width:
        cells = without_tail(cells, width)
    if len(cells) != width:
        words = re.split(r"[\s,;]+", line.strip())
        if len(words) == width and all(is_number(word) for word in words):
            return words
    return cells


def without_tail(cells: list[str], least: int = 1) -> list[str]:
    """Without empty cells at the end: lines may close with a delimiter."""
    end = len(cells)
    while end > least and not cells[end - 1]:
        end -= 1
    return cells[:end]


def is_number(word: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def listed(lines: Sequence[int] | np.ndarray) -> str:
    """Line numbers for a message: the first of them, and how many there are."""
    return f"line {first_of(lines, 8)}"

"""Text of a description: conclusion, values, tables and notes, within the width of the console."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text as Line

from . import columns as layout
from .console import html_of, text_of
from .description import Block, Column, Description, Table, Text, number, value_text

DEGREES = 180.0 / math.pi
LEAST_TEXT = 14
"""Minimum width of a wrapped text column."""
_ANGLE = re.compile(r"(?:(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?) to )?(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?) (m?rad)(?![/\w])")


def render(console: Console, description: Description, degrees: bool = False) -> None:
    """Print a description.

    Args:
        console: output console.
        description: of a result.
        degrees: True for angles in degrees.
    """
    console.print(_sentence(description.title, False), style="bold")
    console.print(_sentence(description.verdict, degrees))
    shown = [(value_text(each), each.meaning) for each in description.shown]
    if shown:
        console.print()
        width = max(len(value) for value, _ in shown)
        for value, meaning in shown:
            console.print(Line.assemble(value.rjust(width), "  ", (meaning, "dim")))
    for block in description.of("text"):
        _print_block(console, block, degrees)


def text(description: Description) -> str:
    """Return a description as plain text."""
    return text_of(lambda console: render(console, description))


def notebook(description: Description) -> str:
    """Return a description as HTML for notebooks."""
    return html_of(lambda console: render(console, description))


def _print_block(console: Console, block: Block, degrees: bool) -> None:
    console.print()
    if block.title:
        console.print(Line(block.title, style="bold"))
    if isinstance(block, Table):
        rows = len(block.columns[0].values)
        print_table(console, [_cut(column, block.shown) for column in block.columns], degrees)
        if rows > block.shown:
            console.print(f"… {rows - block.shown} more rows")
    elif isinstance(block, Text):
        for line in block.lines:
            console.print(_sentence(line, degrees))
    if block.note:
        console.print(Line(_sentence(block.note, degrees), style="dim"))


def _cut(column: Column, rows: int) -> Column:
    unit = column.unit if isinstance(column.unit, str) else column.unit[:rows]
    return Column(column.name, column.values[:rows], unit, column.format)


def print_table(console: Console, columns: Sequence[Column], degrees: bool = False) -> None:
    """Print columns, text left-aligned and numbers right-aligned; long text is wrapped on a narrow console."""
    shown = [cells for column in columns for cells in _cells(column, degrees)]
    widths = [max(map(len, (cells.name, cells.unit, *cells.cells))) for cells in shown]
    words = [k for k, cells in enumerate(shown) if _is_text(cells)]
    room = console.width - layout.GAP * (len(shown) - 1)
    while sum(widths) > room and words:
        widest = max(words, key=lambda k: widths[k])
        if widths[widest] <= LEAST_TEXT:
            break
        widths[widest] = max(LEAST_TEXT, widths[widest] - (sum(widths) - room))
    if sum(widths) > room:
        layout.print_columns(console, shown)
        return
    heads = [[cells.name for cells in shown], [cells.unit for cells in shown]]
    for k, row in enumerate([*heads, *zip(*(cells.cells for cells in shown), strict=True)]):
        if k == 1 and not any(row):
            continue
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for i in range(max(map(len, wrapped))):
            parts = [lines[i] if i < len(lines) else "" for lines in wrapped]
            aligned = [
                part.ljust(width) if c in words else part.rjust(width)
                for c, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            line = (" " * layout.GAP).join(aligned).rstrip()
            console.print(Line(line, style="dim" if k < len(heads) else ""), soft_wrap=True)


def _is_text(cells: layout.Column) -> bool:
    return not any(cell and (cell[0].isdigit() or cell[0] in "-.+") for cell in cells.cells[:4])


def _cells(column: Column, degrees: bool) -> list[layout.Column]:
    """Format the cells of a column; a column with one unit per row becomes two."""
    each = [column.unit] * len(column.values) if isinstance(column.unit, str) else list(column.unit)
    cells = [_cell(value, unit, column.format, degrees) for value, unit in zip(column.values, each, strict=True)]
    units = ["deg" if degrees and unit in ("rad", "mrad") else unit for unit in each]
    if isinstance(column.unit, str):
        return [layout.Column(column.name, cells, units[0] if units else "")]
    return [layout.Column(column.name, cells), layout.Column("unit", units)]


def _cell(value: Any, unit: str, form: str, degrees: bool) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    if degrees and unit == "mrad":
        return number(1e-3 * value * DEGREES, form)
    if degrees and unit == "rad":
        fewer = re.fullmatch(r"\.(\d+)f", form)
        return number(value * DEGREES, f".{max(int(fewer[1]) - 2, 0)}f" if fewer else form)
    return number(value, form)


def _sentence(sentence: str, degrees: bool) -> str:
    """Convert angles in a sentence from rad or mrad to degrees if requested."""

    def turned(match: re.Match[str]) -> str:
        factor = DEGREES * (1e-3 if match[3] == "mrad" else 1.0)
        low, high = (f"{float(digits) * factor:.3g}" if digits else "" for digits in match.group(1, 2))
        return f"{f'{low} to ' if low else ''}{high}°"

    return _ANGLE.sub(turned, sentence) if degrees else sentence

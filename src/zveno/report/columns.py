"""Tables of numbers without truncated digits: names are shortened first, then the table is transposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.text import Text

GAP = 2
SHORTEST = 4
"""Minimum length of a shortened name."""


@dataclass(frozen=True)
class Column:
    """Column of a table: name, unit and one cell per row."""

    name: str
    cells: Sequence[str]
    unit: str = ""


def print_columns(console: Console, columns: Sequence[Column]) -> None:
    """Print columns with their units below the names, without truncating a number."""
    columns = [column for column in columns if len(column.cells)]
    if not columns:
        return
    names = [column.name for column in columns]
    least = [max(len(cell) for cell in (*column.cells, column.unit)) for column in columns]
    widths = [max(len(name), width) for name, width in zip(names, least, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) > console.width:
        room = console.width - GAP * (len(widths) - 1)
        names = shortened(names, [max(width, SHORTEST) for width in least], room)
        widths = [max(len(name), width) for name, width in zip(names, least, strict=True)]
        if sum(widths) > room:
            _print_transposed(console, columns)
            return
    rows = [names, [column.unit for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    for k, row in enumerate(rows):
        if k == 1 and not any(row):
            continue
        line = (" " * GAP).join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        console.print(Text(line, style="dim" if k < 2 else ""), soft_wrap=True)


def _print_transposed(console: Console, columns: Sequence[Column]) -> None:
    """Print one line per column; long rows continue in further blocks."""
    head = [f"{column.name} {column.unit}".rstrip() for column in columns]
    room = max(console.width // 2, 12)
    head = [name if len(name) <= room else _cut(name, room) for name in head]
    left = max(len(name) for name in head)
    n = len(columns[0].cells)
    first = 0
    while first < n:
        last, width = first, left
        sizes: list[int] = []
        while last < n:
            size = max(len(column.cells[last]) for column in columns)
            if sizes and width + GAP + size > console.width:
                break
            width += GAP + size
            sizes.append(size)
            last += 1
        if first:
            console.print()
        for name, column in zip(head, columns, strict=True):
            cells = [column.cells[first + k].rjust(size) for k, size in enumerate(sizes)]
            line = Text.assemble((name.ljust(left), "dim"), " " * GAP, (" " * GAP).join(cells))
            console.print(line, soft_wrap=True)
        first = last


def shortened(names: Sequence[str], least: Sequence[int], room: int) -> list[str]:
    """Shorten names and keep them distinct: drop common ends first, then the middle of the longest names.

    Args:
        names: the names.
        least: characters available to every name in any case.
        room: total number of characters.
    """
    short = _without_common_ends(list(names))
    while sum(max(len(name), width) for name, width in zip(short, least, strict=True)) > room:
        excess = [len(name) - width for name, width in zip(short, least, strict=True)]
        longest = int(np.argmax(excess))
        if excess[longest] <= 0:
            break
        cut = _cut(short[longest], len(short[longest]) - 1)
        if cut in short:
            break
        short[longest] = cut
    return short


def _without_common_ends(names: list[str]) -> list[str]:
    long = [name for name in names if len(name) > SHORTEST]
    if len(long) < 2:
        return names
    start = _common_start(long)
    start = start[: start.rfind("_") + 1]
    end = _common_start([name[len(start) :][::-1] for name in long])[::-1]
    end = end[end.find("_") :] if "_" in end else ""
    short = [name[len(start) : len(name) - len(end)] if len(name) > SHORTEST else name for name in names]
    return short if len(set(short)) == len(set(names)) and all(short) else names


def _common_start(names: Sequence[str]) -> str:
    same = [len(set(letters)) == 1 for letters in zip(*names, strict=False)]
    return names[0][: same.index(False) if False in same else len(same)]


def _cut(name: str, width: int) -> str:
    """Shorten a name by dropping its middle."""
    name = name.replace("…", "")
    keep = max(width - 1, 2)
    return f"{name[: (keep + 1) // 2]}…{name[len(name) - keep // 2 :]}"


def number(x: float, digits: int = 6) -> str:
    """Format a number with fixed decimals and without negative zero."""
    text = f"{x:.{digits}f}"
    return text if float(text) else text.removeprefix("-")

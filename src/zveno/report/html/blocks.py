"""Parts of a report, each a card with a title: plots, tables, texts. The page draws those that have data."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_NUMBER = re.compile(r"|[–-]|[+−-]?[0-9.]+(e[+-]?[0-9]+)?( ?%)?")
"""A cell that stands on the right: a number, a share, or none."""
FIGURES = 6
"""Significant figures of numbers in a report."""


@dataclass(frozen=True)
class Block:
    """One card of a report.

    Attributes:
        title: above it.
        kind: what the page's script draws it as; "" where all of it is text.
        data: for the script.
        content: HTML that needs no script.
        note: a sentence below it.
        wide: whether it takes the whole width.
    """

    title: str
    kind: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    content: str = ""
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Series:
    """A line or cloud of points: y over x (numbers from 1 if not given), with a band from low to high.

    `color` is a name of the page's style: "muted", "accent", "good", "bad", "third", "fourth".
    """

    name: str
    y: Any
    x: Any = None
    low: Any = None
    high: Any = None
    color: str = ""

    def data(self) -> dict[str, Any]:
        """For the page's script."""
        values = {"y": self.y, "x": self.x, "low": self.low, "high": self.high}
        shown = {key: numbers(value) for key, value in values.items() if value is not None}
        return {"name": self.name, **({"color": self.color} if self.color else {}), **shown}


def numbers(values: Any) -> list[Any]:
    """Rounded numbers as lists; what is not finite becomes null, which is not drawn."""
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [numbers(row) for row in array]
    return [float(f"{value:.{FIGURES}g}") if np.isfinite(value) else None for value in array.tolist()]


def packed(array: Any, dtype: str = "<f4") -> str:
    """An array as base64 text, for the script."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


def points(
    title: str,
    series: Sequence[Series],
    x: str,
    y: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    note: str = "",
) -> Block:
    """Dots."""
    return Block(title, "points", _axes(series, x, y, log_x, log_y), note=note)


def lines(
    title: str,
    series: Sequence[Series],
    x: str,
    y: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    marks: Sequence[float] = (),
    note: str = "",
) -> Block:
    """Lines, with bands where series have them; `marks` are vertical lines."""
    return Block(title, "lines", {**_axes(series, x, y, log_x, log_y), "marks": numbers(marks)}, note=note)


def _axes(series: Sequence[Series], x: str, y: str, log_x: bool, log_y: bool) -> dict[str, Any]:
    return {"series": [each.data() for each in series], "x": x, "y": y, "log_x": log_x, "log_y": log_y}


def record(title: str, t: Any, series: Sequence[Series], x: str, y: str, *, note: str = "") -> Block:
    """Long lines over a common axis that can be zoomed into."""
    data = {"t": numbers(t), "series": [each.data() for each in series], "x": x, "y": y}
    return Block(title, "log", data, note=note or "Drag to zoom, double click to go back.", wide=True)


def bars(title: str, names: Sequence[str], values: Any, x: str, *, std: Any = None, note: str = "") -> Block:
    """Horizontal bars by name, with a line of ± 2 standard deviations."""
    data = {"names": list(names), "values": numbers(values), "x": x}
    return Block(title, "bars", data if std is None else {**data, "std": numbers(std)}, note=note)


def histogram(title: str, values: Any, x: str, *, note: str = "") -> Block:
    """How often values occur; those that are not finite are left out."""
    array = np.asarray(values, dtype=float)
    return Block(title, "histogram", {"values": numbers(array[np.isfinite(array)]), "x": x}, note=note)


def matrix(title: str, names: Sequence[str], values: Any, label: str, *, note: str = "") -> Block:
    """A square matrix of numbers between −1 and 1 by colour."""
    return Block(title, "matrix", {"names": list(names), "values": numbers(values), "label": label}, note=note)


def value_map(
    title: str,
    x: Any,
    y: Any,
    values: Any,
    labels: tuple[str, str, str],
    *,
    limits: tuple[float, float] | None = None,
    note: str = "",
) -> Block:
    """Values by colour over a plane; `labels` of x, y and values, `limits` of the colours."""
    data = {"x": numbers(x), "y": numbers(y), "values": numbers(values)}
    data |= {"x_label": labels[0], "y_label": labels[1], "label": labels[2]}
    return Block(title, "map", data if limits is None else {**data, "range": numbers(limits)}, note=note)


def slices(
    title: str,
    panels: Sequence[tuple[str, np.ndarray, Sequence[Any]]],
    size: float,
    stages: Sequence[str],
    labels: tuple[str, str, str],
    *,
    note: str = "",
) -> Block:
    """Square cells by colour in panels side by side, a row of panels for every stage, on one logarithmic scale.

    Args:
        title: above it.
        panels: name, centres of the cells (n, 2), and their values (n,) by stage, above zero.
        size: side of a cell.
        stages: names of the rows.
        labels: of x, y and values.
        note: a sentence below.
    """
    shown = [
        {"name": name, "x": numbers(centres[:, 0]), "y": numbers(centres[:, 1]), "values": numbers(values)}
        for name, centres, values in panels
    ]
    data = {"panels": shown, "size": size, "stages": list(stages)}
    data |= {"x_label": labels[0], "y_label": labels[1], "label": labels[2]}
    return Block(title, "slices", data, note=note, wide=True)


def table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, note: str = "", wide: bool = False
) -> Block:
    """A table that sorts and downloads; texts stand on the left, numbers on the right."""
    rows = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    left = [sum(_is_number(row[k]) for row in rows) < 0.5 * len(rows) for k in range(len(head))]
    kinds = [' class="text"' if is_text else "" for is_text in left]

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(
            f"<{tag}{kind}>{html.escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )

    body = "".join(line(row, "td") for row in rows)
    content = f'<div class="scroll"><table><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table></div>'
    return Block(title, content=content, note=note, wide=wide)


def number(value: Any) -> str:
    """A number as a table shows it: five significant figures."""
    return f"{value:d}" if isinstance(value, int | np.integer) else f"{float(value):.5g}"


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def words(title: str, lines_of_text: Iterable[str], *, wide: bool = False) -> Block:
    """Sentences."""
    text = "\n".join(html.escape(each) for each in lines_of_text)
    return Block(title, content=f'<div class="text">{text}</div>', wide=wide)

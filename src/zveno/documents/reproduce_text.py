"""The rows of `zveno reproduce` as plain data and as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .reproduce import Row, counts, titles

STYLES = {"equal": "green", "document wrong": "yellow", "regression": "cyan", "differs": "bold red"}
WIDE = 110
"""Columns from which printed and computed stand side by side."""


def rows_data(rows: Sequence[Row]) -> dict[str, Any]:
    """All rows, and how many have each verdict."""
    return {"rows": [asdict(row) for row in rows], "counts": counts(rows)}


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """One table for each document, and the count of verdicts."""
    heading = titles()
    for document in dict.fromkeys(row.document for row in rows):
        console.print(Text(heading.get(document, f"Document {document}"), style="bold"))
        of_document = [row for row in rows if row.document == document]
        console.print(_side_by_side(of_document) if console.width >= WIDE else _one_below_the_other(of_document))
        console.print()
    n = counts(rows)
    console.print(Text(f"{n['equal']} equal, {n['document wrong']} document wrong, {n['differs']} differs"))
    if n["regression"]:
        console.print(Text(f"{n['regression']} regression: printed nowhere, as an independent program gave it"))


def _side_by_side(rows: Sequence[Row]) -> Table:
    table = _empty_table()
    for name, ratio in (("statement", 5), ("printed", 4), ("computed", 4)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for row in rows:
        statement = Text.assemble(row.what, (f"\n{row.why}" if row.why else "", "dim"))
        table.add_row(_verdict(row), statement, Text(row.printed), Text(row.computed))
    return table


def _one_below_the_other(rows: Sequence[Row]) -> Table:
    table = _empty_table()
    table.add_column("statement", overflow="fold")
    for row in rows:
        values = [f"printed: {row.printed}", f"computed: {row.computed}"]
        if row.verdict == "regression":
            values[0] = row.printed
        elif row.printed == row.computed:
            values = [f"printed, computed: {row.printed}"]
        lines = [
            (f"\n{line}", style) for line, style in (*((value, "") for value in values), (row.why, "dim")) if line
        ]
        table.add_row(_verdict(row), Text.assemble(row.what, *lines))
    return table


def _empty_table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("verdict", no_wrap=True)
    return table


def _verdict(row: Row) -> Text:
    return Text(row.verdict, style=STYLES[row.verdict])

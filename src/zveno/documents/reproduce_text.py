"""The rows of `zveno reproduce` as plain data and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .reproduce import Row, counts

STYLES = {"equal": "green", "document wrong": "yellow", "differs": "bold red"}


def rows_data(rows: Sequence[Row]) -> dict[str, Any]:
    """All rows, and how many have each verdict."""
    return {"rows": [asdict(row) for row in rows], "counts": counts(rows)}


def print_rows(console: Console, rows: Sequence[Row]):
    """One table a document, and the count of verdicts."""
    for document in dict.fromkeys(row.document for row in rows):
        console.print(Text(f"Document {document}", style="bold"))
        console.print(_table([row for row in rows if row.document == document]))
        console.print()
    console.print(Text(", ".join(f"{n} {verdict}" for verdict, n in counts(rows).items())))


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("verdict", no_wrap=True)
    for name, ratio in (("what", 5), ("printed", 4), ("computed", 4)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for row in rows:
        what = Text.assemble(row.what, (f"\n{row.why}" if row.why else "", "dim"))
        verdict = Text(row.verdict, style=STYLES[row.verdict])
        table.add_row(verdict, what, Text(row.printed), Text(row.computed))
    return table

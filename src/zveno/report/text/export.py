"""What an export wrote, as plain data and as a table for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from ...export import Export


def export_data(done: Export) -> dict[str, Any]:
    """Directory, files and, for every function, its operations and measured time."""
    return {
        "directory": str(done.directory),
        "files": [path.name for path in done.files],
        "functions": [
            {"name": function.name, "operations": asdict(function.operations), "nanoseconds": function.nanoseconds}
            for function in done.functions
        ],
    }


def print_export(console: Console, done: Export, degrees: bool = False) -> None:
    """The table of operations and nanoseconds a call, and where the files are."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("function", overflow="fold")
    for name in ("adds", "multiplies", "divides", "roots", "sincos", "other", "ns a call"):
        table.add_column(name, justify="right")
    for function in done.functions:
        time = "not measured" if function.nanoseconds is None else f"{function.nanoseconds:.0f}"
        table.add_row(function.name, *(str(count) for count in asdict(function.operations).values()), time)
    console.print(table)
    console.print()
    console.print(done.summary, soft_wrap=True)

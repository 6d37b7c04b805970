"""Everything about a mechanism for people to read: the tree, totals, drives, and what deserves a second look."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...mechanism import Mechanism
from .tree import mass_text, mechanism_tree, short

_MOST_NAMES = 12


def print_info(console: Console, mechanism: Mechanism, facts: dict[str, Any], degrees: bool = False) -> None:
    """Print a mechanism; `facts` is its `summary`."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["joint_counts"].items()) or "none"
    console.print(Text(facts["name"], style="bold") + Text(f", joints: {kinds}", style="dim"), end="\n\n")
    console.print(mechanism_tree(mechanism, degrees, console.width))
    console.print()
    console.print(_facts_table(facts))
    drives = [joint for joint in facts["joints"] if joint["drive"]]
    if drives:
        console.print()
        console.print(_drive_table(drives))
        if facts["coupled_drives"]:
            console.print("The drives are coupled by a transmission matrix, which replaces the gear ratios.")
    for title, lines in (("Notes", facts["notes"]), ("Worth a second look", _problems(facts))):
        if lines:
            console.print()
            console.print(Text(title, style="bold"))
            for line in lines:
                console.print(_bullet(line))


def _facts_table(facts: dict[str, Any]) -> Table:
    frames = [f"{frame['name']} (on {frame['link']})" for frame in facts["frames"]]
    default = facts["default_frame"]
    rows = [
        ("coordinates", f"n_q = {facts['n_q']}, n_v = {facts['n_v']}"),
        ("links", f"{facts['n_links']}, with {mass_text(facts['mass']) or 'no mass'} in all"),
        ("default frame", default or "none: name one with --frame"),
        ("other frames", _listed(frames) if frames else "none; every link's name is a frame"),
        ("gravity", " ".join(short(g) for g in facts["gravity"]) + " m/s²"),
        ("source", facts["source"] or "not given"),
    ]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


_DRIVE_COLUMNS = {
    "rotor_inertia": ("rotor kg·m²", 0.0),
    "gear_ratio": ("gear", 1.0),
    "viscous": ("viscous", 0.0),
    "coulomb": ("coulomb", 0.0),
    "offset": ("offset", 0.0),
}
"""What the columns of the drive table are called, and the value that says nothing."""


def _drive_table(joints: list[dict[str, Any]]) -> Table:
    """The drives of joints; columns in which nothing is said are left out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("drive", overflow="fold")
    telling = [
        key
        for key, (_, default) in _DRIVE_COLUMNS.items()
        if any(value != default for joint in joints for value in joint["drive"][key])
    ]
    for key in telling:
        table.add_column(_DRIVE_COLUMNS[key][0], justify="right")
    for joint in joints:
        table.add_row(Text(joint["name"]), *(" ".join(short(x) for x in joint["drive"][key]) for key in telling))
    return table


def _problems(facts: dict[str, Any]) -> list[str]:
    missing = facts["links_without_inertia"]
    lines = [f"moving links without inertia: {_listed(missing)}"] if missing else []
    return lines + [f"link {name}: {problem}" for name, problem in facts["impossible_inertias"].items()]


def _bullet(line: str) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row("•", Text(line))
    return row


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more

"""The built-in robots as a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ...algorithms.center_of_mass import total_mass
from ...mechanism import Mechanism
from .tree import mass_text


def catalogue(mechanisms: Mapping[str, Mechanism]) -> list[dict[str, Any]]:
    """What there is to say about each of several mechanisms in a line or two."""
    entries = []
    for name, mechanism in mechanisms.items():
        kinds = [joint.type.kind for joint in mechanism.joints]
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        entries.append(
            {
                "name": name,
                "joints": counts,
                "mass": float(total_mass(mechanism)),
                "source": mechanism.source,
                "notes": list(mechanism.notes),
            }
        )
    return entries


def print_catalogue(console: Console, entries: list[dict[str, Any]]) -> None:
    """One robot after the other: name, joints, mass, and where its numbers come from."""
    for entry in entries:
        joints = ", ".join(f"{count} {kind}" for kind, count in entry["joints"].items())
        mass = mass_text(entry["mass"]) or "no masses"
        console.print(Text.assemble((entry["name"], "bold"), f"  {joints}, {mass}"))
        console.print(Padding(Text(entry["source"], style="dim"), (0, 0, 0, 2)))

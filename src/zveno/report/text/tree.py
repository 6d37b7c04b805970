"""The tree of a mechanism as text: one line a joint, indented only where the tree branches.

Indenting every joint would push the hand of a humanoid off the screen; here a joint hangs on the one above it, and
only the children of a branching link move to the right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...mechanism import Joint, Mechanism
from ...mechanism.units import joint_units

GUIDE, JOINT, QUIET = "dim", "bold", "dim"
KIND_STYLES = {"revolute": "dark_orange", "continuous": "yellow", "prismatic": "cyan", "fixed": "dim"}
_GAP = 2
_LETTERS = dict(zip("xyz", np.eye(3), strict=True))


@dataclass(frozen=True)
class _Row:
    """A joint's cells, and the guides that continue under it."""

    tree: Text
    below: str
    motion: Text
    range: Text
    q: str
    link: str
    mass: str


def mechanism_tree(mechanism: Mechanism, degrees: bool = False, width: int = 80) -> RenderableType:
    """The tree with joints, axes, limits, places in q, links and masses, fitted to a width if names allow it.

    Args:
        mechanism: the mechanism.
        degrees: whether angles are printed in degrees.
        width: columns; where they are too few, links go to lines of their own.
    """
    rows = _rows(mechanism, degrees)
    root = mechanism.links[0]
    title = Text.assemble(
        (root.name, JOINT), ("  fixed in the world", QUIET), (f"  {mass_text(root.inertia[0])}", QUIET)
    )
    wide = [
        ("joint", [row.tree for row in rows]),
        ("motion", [row.motion for row in rows]),
        ("range", [row.range for row in rows]),
        ("q", [row.q for row in rows]),
        ("link", [row.link for row in rows]),
        ("mass", [row.mass for row in rows]),
    ]
    if not rows:
        return title
    if _total_width(wide) <= width:
        return Group(title, _table(wide))
    return Group(title, _narrow(rows, width))


def motion_text(joint: Joint) -> str:
    """Kind and axes of a joint: `revolute −z`, `helical x 0.01`."""
    words = [
        axis_text(value) if np.ndim(value) else short(float(value)) for value in joint.type.parameters().values()
    ]
    return " ".join([joint.type.kind, *words])


def axis_text(axis: Any) -> str:
    """A unit axis as a letter with its sign, or as three numbers."""
    for letter, unit in _LETTERS.items():
        for sign, vector in (("", unit), ("-", -unit)):
            if np.array_equal(axis, vector):
                return sign + letter
    return "(" + " ".join(short(x) for x in axis) + ")"


def range_text(joint: Joint, degrees: bool = False) -> str:
    """Limits of a joint's coordinates with their unit, or what it follows."""
    if joint.mimic is not None:
        offset = joint.mimic.offset
        tail = f" {'-' if offset < 0 else '+'} {short(abs(offset))}" if offset else ""
        return f"= {short(joint.mimic.multiplier)} · {joint.mimic.joint}{tail}"
    ranges = []
    for unit, low, high in zip(joint_units(joint), *_bounds(joint), strict=True):
        if math.isinf(low) and math.isinf(high):
            ranges.append("")
            continue
        if unit == "rad" and degrees:
            unit, low, high = "°", math.degrees(low), math.degrees(high)
        ends = f"{short(low)} … {short(high)}".replace("inf", "∞")
        ranges.append(f"{ends}°" if unit == "°" else f"{ends} {unit}".rstrip())
    if not any(ranges):
        return "" if joint.type.n_q == 0 else "unlimited"
    return "; ".join(interval or "unlimited" for interval in ranges)


def short(x: float) -> str:
    """A number with four significant digits."""
    return f"{x:.4g}"


def mass_text(mass: float) -> str:
    """A mass with its unit; empty for a massless link."""
    return f"{mass:.4g} kg" if mass else ""


def _bounds(joint: Joint):
    return np.atleast_1d(joint.limits.lower).tolist(), np.atleast_1d(joint.limits.upper).tolist()


def _rows(mechanism: Mechanism, degrees: bool) -> list[_Row]:
    """Rows in the order of the links, which is depth first."""
    rows = []
    under = {0: ""}  # the guides in front of what hangs on a link
    for i, f, joint in mechanism.outward():
        siblings = mechanism.tree.children(f)
        last = i == siblings[-1]
        branches = len(siblings) > 1 or f == 0
        mark = ("└─ " if last else "├─ ") if branches else ""
        under[i] = under[f] + (("   " if last else "│  ") if branches else "")
        place_in_q = mechanism.q_slices[joint.name]
        count = place_in_q.stop - place_in_q.start
        place = f"{place_in_q.start}" if count == 1 else f"{place_in_q.start}–{place_in_q.stop - 1}"
        link = mechanism.links[i]
        style = KIND_STYLES.get(joint.type.kind, "magenta")
        rows.append(
            _Row(
                Text.assemble((under[f] + mark, GUIDE), (joint.name, JOINT if count else QUIET)),
                under[i] + ("│  " if len(mechanism.tree.children(i)) > 1 else ""),
                Text(motion_text(joint), style=style),
                Text(range_text(joint, degrees), style="italic" if joint.mimic else ""),
                place if count and joint.mimic is None else "",
                link.name,
                mass_text(link.inertia[0]),
            )
        )
    return rows


def _total_width(columns) -> int:
    widths = [max(cell_len(str(cell)) for cell in [head, *cells]) for head, cells in columns]
    return sum(widths) + _GAP * (len(columns) - 1)


def _table(columns) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=QUIET)
    for head, _ in columns:
        table.add_column(head, justify="right" if head in ("q", "mass") else "left", overflow="fold")
    for cells in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return table


def _narrow(rows: list[_Row], width: int) -> Text:
    """One line a joint and one for the link it moves; a third where a name leaves no room for its motion."""
    motion = max(row.motion.cell_len for row in rows)
    beside = motion + max(row.range.cell_len for row in rows) + len("q[10]") + 2 * _GAP
    column = max(width - beside - _GAP, 16)
    lines = []
    for row in rows:
        place = f"q[{row.q}]" if row.q else ""
        aligned = " " * (motion - row.motion.cell_len) if row.range or place else ""
        tail = Text.assemble(row.motion, aligned, *_spaced(row.range, place))
        moved = Text(", ".join(part for part in (f"→ {row.link}", row.mass) if part), style=QUIET)
        gap = max(column - row.tree.cell_len, 0) + _GAP
        below = Text(row.below, style=GUIDE)
        if row.tree.cell_len + gap + tail.cell_len <= width:
            lines.append(Text.assemble(row.tree, " " * gap, tail))
        else:
            lines += [row.tree, below + tail]
        lines.append(below + moved)
    return Text("\n").join(lines)


def _spaced(*parts: Text | str) -> list[Text | str]:
    return [piece for part in parts if part for piece in (" " * _GAP, part)]

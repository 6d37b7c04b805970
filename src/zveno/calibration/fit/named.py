"""What a calibration names to people: rows that do not belong, and what moved during a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...io.results import registered
from ...io.units import DEVIATIONS, ERRORS
from .errors import Error as Error
from .errors import Residuals as Residuals

SHOWN = 4
"""Other explanations of an event that its text names; `chances` has all."""


@registered
@dataclass(frozen=True, eq=False)
class Outlier:
    """A row that does not belong.

    Attributes:
        campaign, row: its campaign, and the row there from 1.
        of: which of several things seen in the row, or the target it touched; empty where there is one.
        distance, limit: how far it is off, and how far it may be, in standard deviations.
        off: length of the residual by noise: "position (m)", "rotation (rad)".
        file: where the campaign was read; rows are then its lines.
    """

    campaign: str
    row: int
    of: str
    distance: float
    limit: float
    off: dict[str, float]
    file: str = ""

    @property
    def text(self) -> str:
        """`tracker.csv line 17 (point 2): off by 3.1 mm, 9.3 standard deviations (limit 5.1)`."""
        sizes = []
        for name, size in self.off.items():
            factor, unit = ERRORS[name.partition(" (")[2].rstrip(")")]
            sizes.append(f"{factor * size:.3g} {unit}")
        where = f"{Path(self.file).name} line {self.row}" if self.file else f"{self.campaign} row {self.row}"
        where += f" ({self.of})" if self.of else ""
        far = f"{self.distance:.1f} standard deviations (limit {self.limit:.1f})"
        return f"{where}: off by {', '.join(sizes)}, {far}"


@registered
@dataclass(frozen=True, eq=False)
class Event:
    """Something that moved during a campaign.

    Attributes:
        campaign, row: its campaign, and the first row after it, as numbered in the file, from 1.
        what, name: "tool", "reference", "target" or "joint", and which target or joint.
        moved, turned: by how much, m and rad; 0 where it cannot be seen.
        chances: how likely each explanation is that the data do not exclude, by words; the likeliest first.
        chance: that a campaign in which nothing moved shows as much.
        fitted: whether the calibration has it.
        file: where the campaign was read; rows are then its lines.
    """

    campaign: str
    row: int
    what: str
    name: str
    moved: float
    turned: float
    chances: dict[str, float]
    chance: float
    fitted: bool
    file: str = ""

    @property
    def text(self) -> str:
        """`From line 28 of t.csv on the tool point is elsewhere, by 0.32 mm (98 %)`, with what else it may be."""
        sizes = [
            f"{size * DEVIATIONS[unit][0]:.2g} {DEVIATIONS[unit][1]}"
            for size, unit in ((self.moved, "m"), (self.turned, "rad"))
            if size
        ]
        (first, share), *others = self.chances.items()
        where = f"line {self.row} of {Path(self.file).name}" if self.file else f"row {self.row} of {self.campaign}"
        text = f"From {where} on {first}, by {' and '.join(sizes)} ({_percent(share)})"
        if others:
            shown = ", ".join(f"{words} ({_percent(share)})" for words, share in others[:SHOWN])
            more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
            text += f"; the data do not exclude: {shown}{more}"
        return text


def _percent(share: float) -> str:
    return "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"

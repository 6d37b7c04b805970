"""Named findings of a calibration: outlier rows, and a tool that moved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...io.expressions import DEVIATIONS, ERRORS
from ...io.results import registered
from .errors import Error as Error
from .errors import Residuals as Residuals


@registered
@dataclass(frozen=True, eq=False)
class Outlier:
    """Row that does not belong to the fit.

    Attributes:
        campaign, row: its campaign, and the row there from 1.
        of: which of several things seen in the row, or the target it touched; empty where there is one.
        distance, limit: its distance from the fit, and the largest admissible one, in standard deviations.
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
        """Text such as `tracker.csv line 17 (point 2): off by 3.1 mm, 9.3 standard deviations (limit 5.1)`."""
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
class ToolMove:
    """Displacement of the tool during a campaign, as rows in their order show it.

    Attributes:
        campaign, row: its campaign, and the first row after it, as numbered in the file, from 1.
        moved, turned: size of the displacement, m and rad; 0 where it is not observable.
        file: where the campaign was read; rows are then its lines.
    """

    campaign: str
    row: int
    moved: float
    turned: float
    file: str = ""

    @property
    def text(self) -> str:
        """Text such as `From line 28 of t.csv on the tool is elsewhere, by 0.32 mm`."""
        sizes = [
            f"{size * DEVIATIONS[unit][0]:.2g} {DEVIATIONS[unit][1]}"
            for size, unit in ((self.moved, "m"), (self.turned, "rad"))
            if size
        ]
        where = f"line {self.row} of {Path(self.file).name}" if self.file else f"row {self.row} of {self.campaign}"
        return f"From {where} on the tool is elsewhere, by {' and '.join(sizes)}"

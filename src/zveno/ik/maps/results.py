"""Results of inverse kinematics maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...errors import ZvenoError
from ...io.results import registered
from ...report.description import Description
from ...report.result import Result
from ...scanning.grid import Grid
from .tally import Tally

CELL = np.dtype([("reached", "<u4"), ("undecided", "<u4"), ("solutions", "<u4"), ("condition", "<f8")])
"""Fields of a position of a workspace map; see `WorkspaceMap`."""


MapStatus = Literal["complete", "partly undecided"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class WorkspaceMap(Result):
    """Positions of a grid that a frame reaches, in how many of the orientations tried, and how well.

    Every solution is checked by forward kinematics. A position that is not reached is
    out of reach in the orientations tried if none of them is undecided, and nothing is said of others.

    Attributes:
        robot_name, frame, method: the robot, the placed frame, and the solver.
        reference: the frame in whose axes positions are given; the world if None.
        lower, step, counts: the grid of positions: (3,) the first, (3,) distances and (3,) numbers.
        orientations: (r, 3, 3) tried at every position; one for tasks that do not ask for any.
        reached: (p,) number of orientations with a solution.
        undecided: (p,) number without a known solution, and without a proof that there is none.
        solutions: (p,) most solutions of one pose; there may be more where it is not `sure`.
        condition: (p,) smallest condition number of the task's Jacobian over all solutions, lengths relative to the
            arm's size; infinite where there are none.
        tally: poses by status and by number of solutions.
        n_reached: positions with a solution in some orientation.
        n_undecided: positions without one, of which some orientation is undecided.
        n_everywhere: positions with a solution in all orientations tried.
        inputs_hash: hash of the inputs.
    """

    kind: ClassVar[str] = "workspace map"

    robot_name: str
    frame: str
    reference: str | None
    method: str
    lower: np.ndarray
    step: np.ndarray
    counts: tuple[int, ...]
    orientations: np.ndarray
    reached: np.ndarray
    undecided: np.ndarray
    solutions: np.ndarray
    condition: np.ndarray
    tally: Tally
    n_reached: int
    n_undecided: int
    n_everywhere: int
    inputs_hash: str = ""

    @property
    def grid(self) -> Grid:
        """The grid of positions."""
        return Grid(self.lower, self.step, self.counts)

    @property
    def positions(self) -> np.ndarray:
        """(p, 3) positions in the order of the arrays, x running fastest, m."""
        return self.grid.range_points(1, self.grid.size + 1)

    @property
    def sure(self) -> bool:
        """True if no pose is undecided or sampled."""
        return not self.tally.unsure

    @property
    def status(self) -> MapStatus:
        """Status: "complete", or "partly undecided", some poses may have more solutions, or some at all."""
        return "complete" if self.sure else "partly undecided"

    @property
    def volume(self) -> float:
        """Volume of the cells whose centre is reached, m³: an estimate, as fine as the grid."""
        return self.n_reached * float(np.prod(self.step))

    @property
    def summary(self) -> str:
        """A sentence for people."""
        n, tried = self.grid.size, len(self.orientations)
        size = " × ".join(f"{1e3 * side:.3g}" for side in self.step)
        text = f"{self.robot_name}: {self.frame} reaches {self.n_reached} of {n} positions ({size} mm apart, about "
        text += f"{self.volume:.3g} m³)"
        if tried > 1:
            text += f" in some of {tried} orientations, {self.n_everywhere} in all of them"
        if self.n_undecided:
            text += f"; {self.n_undecided} more are undecided"
        return f"{text}. {self.tally.poses} poses by {self.method}: {self.tally.words}"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from .._describe import describe_workspace

        return describe_workspace(self)

    def layer(self, k: int) -> np.ndarray:
        """Return the fields of `CELL` (y, x) at the positions of layer k."""
        nx, ny, nz = self.counts
        if not 0 <= k < nz:
            raise ZvenoError(f"there is no layer {k}", element="k", remedy=f"Give 0 to {nz - 1}")
        first, last = k * nx * ny, (k + 1) * nx * ny
        rows = np.empty(last - first, CELL)
        for name in CELL.names or ():
            rows[name] = getattr(self, name)[first:last]
        return rows.reshape(ny, nx)

"""What maps of inverse kinematics return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import ZvenoError
from ...io.results import Result, registered
from ...scale.outputs import read_filed, read_manifest, read_piece
from ..numbers.grid import Grid
from .tally import Tally

CELL = np.dtype([("reached", "<u4"), ("undecided", "<u4"), ("solutions", "<u4"), ("condition", "<f8")])
"""What is known of a position of a workspace map; see `WorkspaceMap`."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class IkMap(Result):
    """All solutions of many poses, in files.

    Attributes:
        robot, frame, method: what was placed, and how it was solved.
        joint_names: coordinate names, in the order of q.
        tally: poses by status and by number of solutions.
        manifest: file that lists the files; `rows` reads them.
        inputs: hash of what it was computed from.
    """

    kind: ClassVar[str] = "map of inverse kinematics"

    robot: str
    frame: str
    method: str
    joint_names: tuple[str, ...]
    tally: Tally
    manifest: Path
    inputs: str = ""

    def rows(self) -> Iterator[np.ndarray]:
        """The files in order: arrays with `pose`, `status` (a number, see `statuses`), `q` (n_q), `residual` and
        `condition`, one row a solution; a pose without one has a row with NaN."""
        return read_filed(self.manifest)

    @property
    def status(self) -> str:
        """ "complete", or how many poses may have more solutions than were found."""
        return "complete" if not self.tally.unsure else f"{self.tally.unsure} of {self.tally.poses} not sure"

    @property
    def summary(self) -> str:
        """A sentence for people."""
        return (
            f"{self.robot}: {self.tally.poses} poses of {self.frame} by {self.method}: {self.tally.words}; "
            f"{self.tally.solutions} solutions, worst residual {self.tally.residual:.1e}"
        )


@registered
@dataclass(frozen=True, eq=False, repr=False)
class WorkspaceMap(Result):
    """Which positions of a grid a frame reaches, in how many of the orientations tried, and how well.

    Solutions are checked by forward kinematics, so that what is reached is so. A position that is not reached is
    out of reach in the orientations tried if none of them is undecided, and nothing is said of others.

    Attributes:
        robot, frame, method: what was placed, and how it was solved.
        reference: the frame in whose axes positions are given; the world if None.
        lower, step, counts: the grid of positions: (3,) the first, (3,) distances and (3,) numbers.
        orientations: (r, 3, 3) tried at every position; one for tasks that do not ask for any.
        reached: (p,) how many orientations have a solution.
        undecided: (p,) how many have none that is known, without a claim that there is none.
        solutions: (p,) most solutions of one pose; there may be more where it is not `sure`.
        condition: (p,) least condition number of the task's Jacobian over all solutions, lengths relative to the
            arm's size; infinite where there are none.
        tally: poses by status and by number of solutions.
        n_reached: positions with a solution in some orientation.
        n_undecided: positions without one, of which some orientation is undecided.
        n_everywhere: positions with a solution in all orientations tried.
        manifest: file that lists the files of these four arrays, where they were too many to keep (they are empty
            then).
        inputs: hash of what it was computed from.
    """

    kind: ClassVar[str] = "workspace map"

    robot: str
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
    manifest: Path | None = None
    inputs: str = ""

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
        """Whether no pose is undecided or sampled."""
        return not self.tally.unsure

    @property
    def status(self) -> str:
        """ "complete", or how many poses may have more solutions, or some at all."""
        return "complete" if self.sure else f"{self.tally.unsure} of {self.tally.poses} poses not sure"

    @property
    def volume(self) -> float:
        """Of the cells whose centre is reached, m³: an estimate, as fine as the grid."""
        return self.n_reached * float(np.prod(self.step))

    @property
    def summary(self) -> str:
        """A sentence for people."""
        n, tried = self.grid.size, len(self.orientations)
        size = " × ".join(f"{1e3 * side:.3g}" for side in self.step)
        text = f"{self.robot}: {self.frame} reaches {self.n_reached} of {n} positions ({size} mm apart, about "
        text += f"{self.volume:.3g} m³)"
        if tried > 1:
            text += f" in some of {tried} orientations, {self.n_everywhere} in all of them"
        if self.n_undecided:
            text += f"; {self.n_undecided} more are undecided"
        return f"{text}. {self.tally.poses} poses by {self.method}: {self.tally.words}"

    def layer(self, k: int) -> np.ndarray:
        """(y, x) what is known of the positions of height number k: `reached`, `undecided`, `solutions` and
        `condition`."""
        nx, ny, nz = self.counts
        if not 0 <= k < nz:
            raise ZvenoError(f"there is no layer {k}", element="k", remedy=f"Give 0 to {nz - 1}")
        first, last = k * nx * ny, (k + 1) * nx * ny
        if self.manifest is None:
            rows = np.empty(last - first, CELL)
            for name in CELL.names or ():
                rows[name] = getattr(self, name)[first:last]
            return rows.reshape(ny, nx)
        parts, start = [], 0
        for entry in read_manifest(self.manifest):
            stop = start + entry["shape"][0]
            if start < last and stop > first:
                part = read_piece(self.manifest, entry)
                parts.append(part[max(first - start, 0) : last - start])
            start = stop
        return np.concatenate(parts).reshape(ny, nx)

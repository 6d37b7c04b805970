"""`workspace_map`: which positions a frame reaches, in how many orientations, with how many solutions."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...io.results import hash_of, registered
from ...progress import Progress
from ...robot_functions import RobotFunctions
from ...scale.digest import digest_of
from ...scale.fold import On, fold
from ...scale.outputs import Filing, filed, read_manifest
from ...scale.pieces import cut
from ...spatial.rotations import nearest_rotation
from ..ik_problem import IkProblem, problem_of
from ..numbers.grid import Grid
from ..parts import SolveCall
from ..redundant.locked_joints import without_locked
from ..redundant.sliced_joint import slices_of_sample
from .orientations import spread_directions, spread_rotations
from .pieces import poses_a_piece
from .results import CELL, WorkspaceMap
from .tally import CLAIMS_NONE, Tally, total

CELLS = 20
"""Along the longest side of the box, where the size of cells is not given."""
ORIENTATIONS = 32
"""About 75° apart: enough to tell edges of the workspace from its middle, few enough for a first look."""
EXACT = 1e-9
"""How far from a rotation a matrix that is given may be."""


def workspace_map(
    robot: RobotFunctions,
    box: tuple[ArrayLike, ArrayLike] | None = None,
    cell: float | None = None,
    orientations: int | ArrayLike = ORIENTATIONS,
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    slices: int | None = None,
    redundant: str | Sequence[str] | None = None,
    held: ArrayLike | None = None,
    directory: str | os.PathLike[str] | None = None,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> WorkspaceMap:
    """Inverse kinematics at the centres of cells, in several orientations each.

    Args:
        robot: the robot.
        box: lowest and highest corner, (3,) each, m; by default about all that the chain can reach.
        cell: side of the cells, m; made a little smaller where it does not divide the box. A twentieth of the
            longest side by default.
        orientations: (r, 3, 3) that are tried at every position, or how many, spread evenly over all rotations;
            over directions for the task "position+axis". The task "position" has none.
        frame, relative_to, limits, task, method, redundant, held: as in `solve_ik`.
        slices: of redundant robots, as in `solve_ik`; a sample where not given, since whole self-motions of seven
            joints take two to ten times as long. What a sample does not reach is undecided.
        directory: where to write what is known of every position, one NPY file a piece, instead of keeping it in
            memory.
        on: workers, as in `zveno.scale.fold`; this process if None. The map has the same bits for any.
        checkpoint: file that keeps what is done; the same call goes on from there.
        progress: whether a bar is shown, or a function of (done, total).
    """
    problem = problem_of(robot, frame, relative_to, limits, task, held)
    if len(problem.task.position) < 3:
        raise ZvenoError("a map of positions needs x, y and z", element="task", remedy='Use "pose" or "position"')
    grid = _grid(problem, box, cell)
    turned = _orientations(problem, orientations)
    sliced = slices_of_sample(without_locked(problem), slices, method)
    call = SolveCall(
        robot, (frame, relative_to, limits, task, method), {"slices": sliced, "redundant": redundant, "held": held}
    )
    work = _Cells(call, grid, turned)
    at_once = poses_a_piece(problem, method, grid.size * len(turned))
    pieces = cut(grid.size, max(1, at_once // len(turned)), first=1)
    place = "here" if on is None else on
    if directory is None:
        found = fold(work, pieces, _joined, place, checkpoint, progress)
        tally, counted, manifest = found.tally, found.counted, None
        columns, method = [np.concatenate(column) for column in zip(*found.rows, strict=True)], found.method
    else:
        manifest = filed(_Filed(work), pieces, directory, place, checkpoint, progress)
        said = [entry["about"] for entry in read_manifest(manifest)]
        tally, counted = total([Tally.from_plain(one) for one in said]), _sum([one["counted"] for one in said])
        columns, method = [np.zeros(0, CELL[name]) for name in CELL.names or ()], said[0]["method"]
    return WorkspaceMap(
        problem.mechanism.name,
        problem.frame,
        problem.reference,
        method,
        grid.lower,
        grid.step,
        grid.counts,
        turned,
        **dict(zip(CELL.names or (), columns, strict=True)),
        tally=tally,
        n_reached=counted[0],
        n_undecided=counted[1],
        n_everywhere=counted[2],
        manifest=manifest,
        inputs=hash_of(digest_of(work, pieces, _joined)),
    )


@registered
@dataclass(frozen=True, eq=False)
class WorkspacePart:
    """What is known of a range of positions, and sums of it.

    Attributes:
        rows: the fields of `CELL`, an array each, of every piece.
        tally: of the poses.
        counted: positions that are reached, undecided, and reached in all orientations.
        method: what solved them.
    """

    rows: list[tuple[np.ndarray, ...]]
    tally: Tally
    counted: tuple[int, ...]
    method: str


def _joined(first: WorkspacePart, second: WorkspacePart) -> WorkspacePart:
    counted = _sum([first.counted, second.counted])
    return WorkspacePart(first.rows + second.rows, first.tally + second.tally, counted, first.method)


def _sum(counted: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*counted, strict=True))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Positions by their numbers."""

    call: SolveCall
    grid: Grid
    orientations: np.ndarray

    def __call__(self, piece: tuple[int, int]) -> WorkspacePart:
        positions, r = self.grid.range_points(*piece), len(self.orientations)
        T = np.zeros((len(positions), r, 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = self.orientations, positions[:, None], 1.0
        (solutions,) = self.call((T.reshape(-1, 4, 4), None))
        count, codes = solutions.count.reshape(-1, r), solutions.codes.reshape(-1, r)
        reached = (count > 0).sum(axis=1)
        undecided = ((count == 0) & ~np.isin(codes, CLAIMS_NONE)).sum(axis=1)
        condition = np.where(np.isnan(solutions.condition), np.inf, solutions.condition)
        least = condition.reshape(len(positions), -1).min(axis=1, initial=np.inf)
        columns = zip(CELL.names or (), (reached, undecided, count.max(axis=1), least), strict=True)
        rows = tuple(values.astype(CELL[name]) for name, values in columns)
        counted = reached > 0, (reached == 0) & (undecided > 0), reached == r
        sums = tuple(int(which.sum()) for which in counted)
        return WorkspacePart([rows], Tally.of(solutions), sums, solutions.method)


@dataclass(frozen=True, eq=False)
class _Filed:
    """The same for files."""

    cells: _Cells

    def __call__(self, piece: tuple[int, int]) -> Filing:
        part = self.cells(piece)
        table = np.empty(len(part.rows[0][0]), CELL)
        for name, values in zip(CELL.names or (), part.rows[0], strict=True):
            table[name] = values
        return Filing(table, {"method": part.method, "counted": list(part.counted)} | part.tally.plain())


def _grid(problem: IkProblem, box: tuple[ArrayLike, ArrayLike] | None, cell: float | None) -> Grid:
    if box is None:
        lower, upper = _reach(problem)
    else:
        try:
            lower, upper = (np.asarray(corner, float) for corner in box)
        except (TypeError, ValueError):
            lower = upper = np.zeros(0)
    if lower.shape != (3,) or upper.shape != (3,) or not np.isfinite([lower, upper]).all() or np.any(lower > upper):
        raise ShapeError("is no box", element="box", remedy="Give its lowest and its highest corner, (3,) each, m")
    side = float((upper - lower).max()) / CELLS if cell is None else cell
    if not (isinstance(side, int | float | np.number) and np.isfinite(side) and (side > 0 or cell is None)):
        raise ShapeError(f"is {cell!r}", element="cell", remedy="Give a positive length, m")
    counts = np.maximum(1.0, np.ceil((upper - lower) / side - 1e-9)) if side else np.ones(3)
    if np.any(counts > 2**20):
        raise ShapeError(f"is {side:g} m", element="cell", remedy="Give larger cells, or a smaller box")
    return Grid.by_count(lower, upper, counts, centred=True)


def _reach(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """A box about everything that the frame can reach: links end to end from the first joint."""
    length = float(np.linalg.norm(problem.T_last_frame[:3, 3]))
    length += sum(float(np.linalg.norm(step.T_before[:3, 3])) for step in problem.steps[1:])
    for step in problem.steps:
        ends = np.array([problem.lower[step.coordinate], problem.upper[step.coordinate]]) * step.factor
        if step.kind != "R":
            length += float(abs(ends).max()) * (1.0 if step.kind == "P" else abs(step.pitch))
    if not math.isfinite(length):
        raise ZvenoError("has no end: a joint slides without limits", element="box", remedy="Give a box")
    middle = problem.steps[0].T_before[:3, 3]
    return middle - length, middle + length


def _orientations(problem: IkProblem, given: int | ArrayLike) -> np.ndarray:
    if not problem.task.rotation and not problem.task.axis:
        return np.eye(3)[None]
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise ShapeError(f"are {given}", element="orientations", remedy="Give at least one")
        return (spread_directions if problem.task.axis else spread_rotations)(int(given))
    R = np.asarray(given, float)
    if R.shape[-2:] != (3, 3) or R.ndim > 3 or not R.size:
        raise ShapeError(
            f"have shape {R.shape}", element="orientations", remedy="Give (r, 3, 3) rotations, or how many"
        )
    R = R.reshape(-1, 3, 3)
    if not np.isfinite(R).all() or np.any(abs(R @ R.transpose(0, 2, 1) - np.eye(3)) > EXACT):
        raise ShapeError("are no rotations", element="orientations", remedy="Give orthonormal matrices")
    if np.any(np.linalg.det(R) < 0):
        raise ShapeError("hold a reflection", element="orientations", remedy="Give right-handed axes")
    return np.array([nearest_rotation(one) for one in R])

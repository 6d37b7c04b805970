"""`workspace_map`: positions that a frame reaches, with numbers of orientations and solutions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._executor import cut, map_pieces
from ...errors import ShapeError, ZvenoError
from ...io.results import hash_of
from ...mechanism.loops import for_trees
from ...progress import Progress
from ...robot_functions import RobotFunctions
from ...scanning.grid import Grid
from ...spatial.rotations import nearest_rotation
from ...spatial.vectors import real_array
from ..ik_problem import IkProblem, problem_of
from ..parts import SolveCall
from ..redundant.locked_joints import without_locked
from ..redundant.sliced_joint import slices_of_sample
from ..solve import solve_ik
from .orientations import spread_directions, spread_rotations
from .pieces import poses_a_piece
from .results import CELL, WorkspaceMap
from .tally import CLAIMS_NONE, Tally, total

CELLS = 20
"""Along the longest side of the box, where the size of cells is not given."""
ORIENTATIONS = 32
"""About 75° apart: enough to tell edges of the workspace from its middle, few enough for a first look."""
MOST_ORIENTATIONS = 2**16
"""Maximum number of orientations per position, a degree or two apart."""
EXACT = 1e-9
"""Tolerated deviation of a given matrix from a rotation."""


@for_trees
def workspace_map(
    robot: RobotFunctions,
    box: tuple[ArrayLike, ArrayLike] | None = None,
    cell: float | None = None,
    orientations: int | ArrayLike = ORIENTATIONS,
    frame: str | None = None,
    *,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    samples: int | None = None,
    redundant_joint: str | None = None,
    fixed: ArrayLike | Mapping[str, float] | None = None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> WorkspaceMap:
    """Solve inverse kinematics at the centres of cells, in several orientations each.

    Args:
        robot: the robot.
        box: lowest and highest corner, (3,) each, m; by default about all that the chain can reach.
        cell: side of the cells, m; made a little smaller where it does not divide the box. A twentieth of the
            longest side by default.
        orientations: (r, 3, 3) that are tried at every position, or how many, spread evenly over all rotations;
            over directions for the task "position+axis". The task "position" has none.
        frame, relative_to, limits, task, method, redundant_joint, fixed: as in `Robot.ik`.
        samples: of redundant robots, as in `Robot.ik`; a sample where not given, since whole self-motions of seven
            joints take two to ten times as long. Poses that a sample does not reach are undecided.
        executor: workers that share the cells: any `concurrent.futures.Executor`; this process if None. The map has
            the same bits for any.
        progress: True to show a bar, or a function of (done, total).
    """
    problem = problem_of(robot, frame, relative_to, limits, task, fixed)
    if len(problem.task.position) < 3:
        raise ZvenoError("a map of positions needs x, y and z", element="task", remedy='Use "pose" or "position"')
    grid = _grid(problem, box, cell)
    turned = _orientations(problem, orientations)
    sliced = slices_of_sample(without_locked(problem), samples, method)
    options = {"relative_to": relative_to, "limits": limits, "task": task, "method": method, "fixed": fixed}
    options |= {"samples": sliced, "redundant_joint": redundant_joint}
    call = SolveCall(solve_ik, robot, frame, options)
    work = _Cells(call, grid, turned)
    at_once = poses_a_piece(problem, method, grid.size * len(turned))
    pieces = cut(grid.size, max(1, at_once // len(turned)), first=1)
    parts = list(map_pieces(work, pieces, executor=executor, progress=progress))
    columns = [np.concatenate(column) for column in zip(*(part.rows for part in parts), strict=True)]
    counted = np.sum([part.counted for part in parts], axis=0).tolist()
    return WorkspaceMap(
        problem.mechanism.name,
        problem.frame,
        problem.reference,
        parts[0].method,
        grid.lower,
        grid.step,
        grid.counts,
        turned,
        **dict(zip(CELL.names or (), columns, strict=True)),
        tally=total([part.tally for part in parts]),
        n_reached=counted[0],
        n_undecided=counted[1],
        n_everywhere=counted[2],
        inputs_hash=hash_of(
            problem.identity.hex(), grid.lower, grid.step, grid.counts, turned, method, sliced, redundant_joint
        ),
    )


@dataclass(frozen=True, eq=False)
class WorkspacePart:
    """Results of a range of positions, and their sums.

    Attributes:
        rows: the fields of `CELL`, one array each.
        tally: of the poses.
        counted: positions that are reached, undecided, and reached in all orientations.
        method: name of the solver.
    """

    rows: tuple[np.ndarray, ...]
    tally: Tally
    counted: tuple[int, ...]
    method: str


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
        solutions = self.call((T.reshape(-1, 4, 4), None))
        count, codes = solutions.count.reshape(-1, r), solutions.codes.reshape(-1, r)
        reached = (count > 0).sum(axis=1)
        undecided = ((count == 0) & ~np.isin(codes, CLAIMS_NONE)).sum(axis=1)
        condition = np.where(np.isnan(solutions.condition), np.inf, solutions.condition)
        least = condition.reshape(len(positions), -1).min(axis=1, initial=np.inf)
        columns = zip(CELL.names or (), (reached, undecided, count.max(axis=1), least), strict=True)
        rows = tuple(values.astype(CELL[name]) for name, values in columns)
        counted = reached > 0, (reached == 0) & (undecided > 0), reached == r
        sums = tuple(int(which.sum()) for which in counted)
        return WorkspacePart(rows, Tally.of(solutions), sums, solutions.method)


def _grid(problem: IkProblem, box: tuple[ArrayLike, ArrayLike] | None, cell: float | None) -> Grid:
    if box is None:
        lower, upper = _reach(problem)
    else:
        try:
            lower, upper = map(real_array, box)
        except (TypeError, ValueError):
            lower = upper = np.zeros(0)
    if lower.shape != (3,) or upper.shape != (3,) or not np.isfinite([lower, upper]).all() or np.any(lower > upper):
        raise ShapeError(
            "is not a box", element="box", remedy="Give its lowest and its highest corner, (3,) each, m"
        )
    side = float((upper - lower).max()) / CELLS if cell is None else cell
    if not (isinstance(side, int | float | np.number) and np.isfinite(side) and (side > 0 or cell is None)):
        raise ShapeError(f"is {cell!r}", element="cell", remedy="Give a positive length, m")
    counts = np.maximum(1.0, np.ceil((upper - lower) / side - 1e-9)) if side else np.ones(3)
    if np.any(counts > 2**20):
        raise ShapeError(f"is {side:g} m", element="cell", remedy="Give larger cells, or a smaller box")
    return Grid.by_count(lower, upper, counts, centred=True)


def _reach(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return a box about everything that the frame can reach: links end to end from the first joint."""
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
        if not 1 <= given <= MOST_ORIENTATIONS:
            raise ShapeError(f"are {given}", element="orientations", remedy=f"Give 1 to {MOST_ORIENTATIONS}")
        return (spread_directions if problem.task.axis else spread_rotations)(int(given))
    R = np.asarray(given, float)
    if R.shape[-2:] != (3, 3) or R.ndim > 3 or not R.size:
        raise ShapeError(
            f"have shape {R.shape}", element="orientations", remedy="Give (r, 3, 3) rotations, or how many"
        )
    R = R.reshape(-1, 3, 3)
    if not np.isfinite(R).all() or np.any(abs(R @ R.transpose(0, 2, 1) - np.eye(3)) > EXACT):
        raise ShapeError("are not rotations", element="orientations", remedy="Give orthonormal matrices")
    if np.any(np.linalg.det(R) < 0):
        raise ShapeError("hold a reflection", element="orientations", remedy="Give right-handed axes")
    return np.array([nearest_rotation(one) for one in R])

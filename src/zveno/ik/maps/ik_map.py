"""`ik_map`: all solutions of any number of poses, written to files by those who compute them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError, ShapeError, ZvenoError
from ...progress import Progress
from ...robot_functions import RobotFunctions
from ...scale.fold import On
from ...scale.outputs import Filing, filed, manifest_digest, read_manifest
from ...scale.pieces import cut
from ..ik_problem import problem_of
from ..parts import SolveCall
from ..solutions import Solutions
from ..targets import pose_array
from .pieces import poses_a_piece
from .results import IkMap
from .tally import Tally, total


def ik_map(
    robot: RobotFunctions,
    poses: ArrayLike | str | os.PathLike[str],
    directory: str | os.PathLike[str],
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    slices: int | None = None,
    redundant: str | Sequence[str] | None = None,
    held: ArrayLike | None = None,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> IkMap:
    """All solutions of many poses, as one NPY file a piece with a manifest: memory does not grow with their number.

    Args:
        robot: the robot.
        poses: (n, 4, 4) or another form that `solve_ik` takes; or an .npy file of (n, 4, 4), (n, 3, 4), (n, 7) or,
            for positions, (n, 3), of which each worker reads its part.
        directory: where the files go; all workers must see it. See `IkMap.rows`.
        frame, relative_to, limits, task, method, slices, redundant, held: as in `solve_ik`.
        on: workers, as in `zveno.scale.fold`; this process if None. The files have the same bytes for any.
        checkpoint: file that keeps what is done; the same call goes on from there.
        progress: whether a bar is shown, or a function of (done, total).
    """
    problem = problem_of(robot, frame, relative_to, limits, task, held)
    call = SolveCall(
        robot, (frame, relative_to, limits, task, method), {"slices": slices, "redundant": redundant, "held": held}
    )
    if isinstance(poses, str | os.PathLike):
        file = PoseFile.at(poses)
        work, pieces = _Rows(call, file), cut(file.n, poses_a_piece(problem, method, file.n))
    else:
        points = not problem.task.rotation and not problem.task.axis
        T = pose_array(poses, "poses", points=points).reshape(-1, 4, 4)
        if not len(T):
            raise ZvenoError("there are none", element="poses", remedy="Give at least one")
        ranges = cut(len(T), poses_a_piece(problem, method, len(T)))
        work, pieces = _Rows(call, None), [(a, T[a:b]) for a, b in ranges]
    manifest = filed(work, pieces, directory, "here" if on is None else on, checkpoint, progress)
    entries = read_manifest(manifest)
    return IkMap(
        problem.mechanism.name,
        problem.frame,
        entries[0]["about"]["method"],
        problem.mechanism.coordinate_names,
        total([Tally.from_plain(entry["about"]) for entry in entries]),
        manifest,
        manifest_digest(manifest)[:16],
    )


@dataclass(frozen=True)
class PoseFile:
    """Poses in an .npy file, read part by part.

    Attributes:
        path: the file, absolute: workers on other machines look for it there.
        n: poses.
        size, changed: bytes and time of the last change, which tell whether it is the same file still.
    """

    path: Path
    n: int
    size: int
    changed: int

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> PoseFile:
        """The file of that name, checked."""
        file = Path(path).absolute()
        array = _mapped(file)
        if array.ndim < 2 or not len(array):
            raise ShapeError(f"has shape {array.shape}", file=file, remedy="Give (n, 4, 4), (n, 7) or (n, 3)")
        return cls(file, len(array), file.stat().st_size, file.stat().st_mtime_ns)

    def part(self, start: int, stop: int) -> np.ndarray:
        """Poses of that range."""
        array, now = _mapped(self.path), self.path.stat()
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise ModelError("has changed meanwhile", file=self.path, remedy="Begin again with the file as it is")
        return np.array(array[start:stop], dtype=float)


def _mapped(file: Path) -> np.ndarray:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelError(f"cannot be read: {error}", file=file, remedy="Give an .npy file of poses") from error


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of solutions of a piece: poses with the number of the first, or a range of the file."""

    call: SolveCall
    file: PoseFile | None

    def __call__(self, piece: tuple[int, Any]) -> Filing:
        start, poses = piece
        if self.file is not None:
            poses = self.file.part(start, poses)
        (solutions,) = self.call((poses, None))
        return Filing(solution_rows(solutions, start), {"method": solutions.method} | Tally.of(solutions).plain())


def solution_rows(solutions: Solutions, first: int = 0) -> np.ndarray:
    """A structured array with one row a solution of a batch (k,), and one with NaN for each pose without any."""
    count = solutions.count
    n_q, shown = solutions.q.shape[-1], np.maximum(count, 1)
    of = [("pose", "<i8"), ("status", "u1"), ("q", "<f8", (n_q,)), ("residual", "<f8"), ("condition", "<f8")]
    rows = np.empty(int(shown.sum()), of)
    rows["pose"], rows["status"] = (
        np.repeat(first + np.arange(len(count)), shown),
        np.repeat(solutions.codes, shown),
    )
    there = np.arange(solutions.q.shape[1]) < count[:, None]
    known = np.repeat(count > 0, shown)
    for name in ("q", "residual", "condition"):
        rows[name][~known] = np.nan
        rows[name][known] = getattr(solutions, name)[there]
    return rows

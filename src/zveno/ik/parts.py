"""Answers put together from parts: of large batches, by several workers, or until a time is over."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._executor import cut, map_pieces
from ..errors import ShapeError
from ..mechanism import Mechanism
from ..progress import Progress
from ..robot_functions import RobotFunctions
from .clock import time_is_over, until
from .ik_problem import IkProblem
from .solutions import UNDECIDED, Solutions

AT_ONCE = 1 << 13
"""Poses that are solved at once."""
PER_POSE = ("count", "codes", "density", "nearest", "distance", "limit_excess", "value", "target")
PER_SOLUTION = ("q", "residual", "condition")
PER_PROVED_SOLUTION = (*PER_SOLUTION, "radius", "unique")


def joined(parts: Sequence[Solutions], batch: tuple[int, ...] | None = None) -> Solutions:
    """Join results of batches of shape (k,) to one, of the shape `batch` if given."""
    answer, start = _Growing(sum(part.batch[0] for part in parts)), 0
    for part in parts:
        answer.add(start, part)
        start += part.batch[0]
    return answer.result((start,) if batch is None else batch)


def per_solution(solutions: Solutions) -> tuple[str, ...]:
    """Return the names of fields with one row per solution."""
    return PER_SOLUTION if solutions.radius is None else PER_PROVED_SOLUTION


class _Growing:
    """Arrays of an answer for k poses, filled part by part."""

    def __init__(self, k: int):
        self.k, self.arrays = k, {}
        self.self_motions, self.notes = {}, {}
        self.like: Solutions | None = None

    def add(self, start: int, part: Solutions):
        self.like = self.like or part
        places = slice(start, start + part.batch[0])
        for name in PER_POSE:
            values = getattr(part, name)
            blank = np.nan if name == "nearest" else 0
            if name not in self.arrays:  # memory that nobody writes to is not taken
                self.arrays[name] = np.broadcast_to(np.array(blank, values.dtype), (self.k, *values.shape[1:]))
            if not (np.isnan(values) if name == "nearest" else values == 0).all():
                if not self.arrays[name].flags.writeable:
                    self.arrays[name] = np.zeros((self.k, *values.shape[1:]), values.dtype)
                    if name == "nearest":
                        self.arrays[name][:] = np.nan
                self.arrays[name][places] = values
        for name in per_solution(part):
            values = getattr(part, name)
            if name not in self.arrays:
                self.arrays[name] = np.empty((self.k, *values.shape[1:]))
            elif self.arrays[name].shape[1] < values.shape[1]:
                _widen(self.arrays[name], start, values.shape[1])
            self.arrays[name][places, : values.shape[1]] = values
            self.arrays[name][places, values.shape[1] :] = np.nan
        self.self_motions |= {start + i: family for i, family in part.self_motions.items()}
        self.notes |= {start + i: note for i, note in part.notes.items()}

    def result(self, batch: tuple[int, ...]) -> Solutions:
        assert self.like is not None
        shaped = {name: values.reshape(batch + values.shape[1:]) for name, values in self.arrays.items()}
        return replace(self.like, **shaped, self_motions=self.self_motions, notes=self.notes, batch=batch)


def _widen(rows: np.ndarray, filled: int, width: int) -> None:
    """Make room for more solutions in rows (k, m, ...), the first of them filled, without a second such array."""
    k, narrow, *rest = rows.shape
    rows.resize((k, width, *rest), refcheck=False)
    old = rows.reshape(-1)[: k * narrow * int(np.prod(rest))].reshape(k, narrow, *rest)
    # From the end: what a pose moves to is what later ones have left.
    for stop in range(filled, 0, -AT_ONCE):
        poses = slice(max(0, stop - AT_ONCE), stop)
        rows[poses, :narrow] = old[poses].copy()
        rows[poses, narrow:] = np.nan


def checked_seconds(seconds: float) -> float:
    """Return a positive time as it is."""
    if not (np.isfinite(seconds) and seconds > 0):
        raise ShapeError(f"is {seconds}", element="timeout", remedy="Give a positive time")
    return seconds


def within_seconds(T: np.ndarray, seconds: float, solve: Callable[[np.ndarray], Solutions]) -> Solutions:
    """Solve poses T (..., 4, 4) in parts until the time is over; the others are undecided."""
    checked_seconds(seconds)
    if T.ndim == 2:
        with until(time.monotonic() + seconds):
            return solve(T)
    batch, poses = T.shape[:-2], T.reshape(-1, 4, 4)
    parts: list[Solutions] = []
    start, size = 0, 1
    with until(time.monotonic() + seconds):
        while start < len(poses) and not (parts and time_is_over()):
            parts.append(solve(poses[start : start + size]))
            start, size = start + size, min(2 * size, AT_ONCE)
    if start < len(poses):
        parts.append(_not_looked_at(parts[0], poses[start:]))
    return joined(parts, batch)


def _not_looked_at(like: Solutions, poses: np.ndarray) -> Solutions:
    """Return an undecided answer for poses (k, 4, 4) that were not solved."""
    arrays, k = {}, len(poses)
    for name in PER_POSE:
        values = getattr(like, name)
        arrays[name] = np.zeros((k, *values.shape[1:]), values.dtype)
    for name in per_solution(like):
        values = getattr(like, name)
        arrays[name] = np.full((k, 0, *values.shape[2:]), np.nan)
    arrays["target"] = poses
    arrays["codes"][:], arrays["nearest"][:], arrays["distance"][:] = UNDECIDED, np.nan, np.nan
    notes = dict.fromkeys(range(k), "not looked at: the time was over")
    return replace(like, **arrays, self_motions={}, notes=notes, batch=(k,))


@dataclass(frozen=True, eq=False)
class SolveCall:
    """A call of `solve_ik` without its poses, as a value that travels to workers.

    Attributes:
        solve: the function.
        robot, frame: its arguments beside the poses.
        options: arguments by name.
        deadline: moment of `time.time()` at which the answer must be there; None for no limit.
    """

    solve: Callable[..., Solutions]
    robot: RobotFunctions | Mechanism
    frame: str | None
    options: dict[str, Any]
    deadline: float | None = None

    def __call__(self, piece: tuple[np.ndarray, np.ndarray | None]) -> Solutions:
        """Solve for poses (k, 4, 4) or points (k, 3), from these starts."""
        poses, start = piece
        options = self.options if start is None else self.options | {"start": start}
        seconds = None if self.deadline is None else max(self.deadline - time.time(), 1e-9)
        return self.solve(self.robot, poses, self.frame, timeout=seconds, progress=False, **options)


def in_pieces(
    call: SolveCall,
    problem: IkProblem,
    T: np.ndarray,
    start: Any,
    size: int,
    executor: Executor | None,
    progress: Progress,
) -> Solutions:
    """Solve for poses T (..., 4, 4) or points (..., 3), `size` of them at a time."""
    shape = (4, 4) if T.shape[-2:] == (4, 4) else (3,)
    batch, poses = T.shape[: -len(shape)], T.reshape(-1, *shape)
    starts = None if start is None else problem.mechanism.checked_q(start, "q0")
    if starts is not None and starts.ndim > 1:
        starts = np.broadcast_to(starts, (*batch, starts.shape[-1])).reshape(-1, starts.shape[-1])
    pieces = [
        (poses[a:b], starts if starts is None or starts.ndim == 1 else starts[a:b])
        for a, b in cut(len(poses), size)
    ]
    answer, done = _Growing(len(poses)), 0
    with closing(map_pieces(call, pieces, executor=executor, progress=progress)) as parts:
        for part in parts:
            answer.add(done, part)
            done += part.batch[0]
    whole = answer.result(batch)
    inputs = hashlib.blake2b(
        np.ascontiguousarray(whole.target).data, key=problem.identity, digest_size=8
    ).hexdigest()
    return replace(whole, inputs_hash=inputs)

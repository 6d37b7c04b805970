"""Answers put together from parts: of large batches, by several workers, until a time is over, or accepted."""

from __future__ import annotations

import hashlib
import operator
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ShapeError, ZvenoError
from ..mechanism import Mechanism
from ..progress import Progress
from ..robot_functions import RobotFunctions
from ..scale.fold import On, fold
from ..scale.pieces import cut
from .clock import time_is_over, until
from .ik_problem import IkProblem
from .solutions import COMPLETE, FAMILY, PROVED, REJECTED, SAMPLED, UNDECIDED, Solutions
from .targets import pose_array

AT_ONCE = 1 << 13
"""Poses that are solved at once."""
PIECE = 1 << 10
"""Poses that a worker is given at a time: 3 ms of closed forms, half a minute of scans; more, up to `AT_ONCE`,
where there would be more than `PIECES` pieces."""
PIECES = 256
PER_POSE = ("count", "codes", "density", "nearest", "distance", "exceeded", "value", "target")
PER_SOLUTION = ("q", "residual", "condition")
PER_PROVED_SOLUTION = (*PER_SOLUTION, "radius", "unique")
Accept = Callable[[np.ndarray], np.ndarray]
"""(s, n_q) → (s,) booleans: which configurations may be used."""


def in_parts(T: np.ndarray, batch: tuple[int, ...], solve: Callable[[np.ndarray, slice], Solutions]) -> Solutions:
    """The answer for poses T (k, ...), given in the shape `batch`, from those of parts of them and their places."""
    answer, inputs = _Growing(len(T)), hashlib.blake2b(digest_size=8)
    for start in range(0, len(T), AT_ONCE):
        places = slice(start, min(start + AT_ONCE, len(T)))
        part = solve(T[places], places)
        answer.add(start, part)
        inputs.update(part.inputs.encode())
    return replace(answer.result(batch), inputs=inputs.hexdigest())


def joined(parts: Sequence[Solutions], batch: tuple[int, ...] | None = None) -> Solutions:
    """Results of batches of shape (k,) as one, of that shape if one is given."""
    answer, start = _Growing(sum(part.batch[0] for part in parts)), 0
    for part in parts:
        answer.add(start, part)
        start += part.batch[0]
    return answer.result((start,) if batch is None else batch)


def per_solution(solutions: Solutions) -> tuple[str, ...]:
    """Fields with a row a solution."""
    return PER_SOLUTION if solutions.radius is None else PER_PROVED_SOLUTION


class _Growing:
    """Arrays of an answer for k poses, filled part by part."""

    def __init__(self, k: int):
        self.k, self.arrays = k, {}
        self.families, self.notes = {}, {}
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
        self.families |= {start + i: family for i, family in part.families.items()}
        self.notes |= {start + i: note for i, note in part.notes.items()}

    def result(self, batch: tuple[int, ...]) -> Solutions:
        assert self.like is not None
        shaped = {name: values.reshape(batch + values.shape[1:]) for name, values in self.arrays.items()}
        return replace(self.like, **shaped, families=self.families, notes=self.notes, batch=batch)


def _widen(rows: np.ndarray, filled: int, width: int) -> None:
    """Room for more solutions in rows (k, m, ...), of which the first are filled, without a second such array."""
    k, narrow, *rest = rows.shape
    rows.resize((k, width, *rest), refcheck=False)
    old = rows.reshape(-1)[: k * narrow * int(np.prod(rest))].reshape(k, narrow, *rest)
    # From the end: what a pose moves to is what later ones have left.
    for stop in range(filled, 0, -AT_ONCE):
        poses = slice(max(0, stop - AT_ONCE), stop)
        rows[poses, :narrow] = old[poses].copy()
        rows[poses, narrow:] = np.nan


def asked(accept: Accept, q: np.ndarray) -> np.ndarray:
    """(s,) which configurations (s, n_q) are accepted."""
    if not len(q):
        return np.zeros(0, bool)
    good = np.asarray(accept(q))
    if good.shape != (len(q),):
        raise ShapeError(
            f"returned shape {good.shape} for {len(q)} configurations",
            element="accept",
            remedy="Take (s, n_q) and return (s,) booleans",
        )
    return good.astype(bool)


def accepted(solutions: Solutions, accept: Accept) -> Solutions:
    """The solutions that are accepted, first in their rows, with statuses that say what was left out.

    A complete answer stays complete: all solutions that are accepted. Where none is, the pose is "not accepted" if
    the answer was complete, and undecided if it was a sample.
    """
    k, n_q = int(np.prod(solutions.batch)), solutions.q.shape[-1]
    q, count = solutions.q.reshape(k, -1, n_q), np.reshape(solutions.count, k)
    there = np.arange(q.shape[1]) < count[:, None]
    good = np.zeros_like(there)
    good[there] = asked(accept, q[there])
    left = good.sum(axis=1)
    order = np.argsort(~good, axis=1, kind="stable")[:, : int(left.max(initial=0))]
    kept = np.arange(order.shape[1]) < left[:, None]
    rows = {}
    for name in per_solution(solutions):
        old = getattr(solutions, name)
        old = old.reshape(k, -1, *old.shape[len(solutions.batch) + 1 :])
        wide = order.reshape(*order.shape, *[1] * (old.ndim - 2))
        new = np.take_along_axis(old, wide, axis=1)
        new = np.where(kept.reshape(*kept.shape, *[1] * (old.ndim - 2)), new, np.nan)
        rows[name] = new.reshape(*solutions.batch, *new.shape[1:])
    codes, notes, families = np.array(solutions.codes).reshape(k), dict(solutions.notes), {}
    for i, curves in solutions.families.items():
        some = [replace(curve, q=curve.q[asked(accept, curve.q)]) for curve in curves]
        if any(len(curve.q) for curve in some):
            families[i] = tuple(curve for curve in some if len(curve.q))
    for i in np.flatnonzero(left < count).tolist():
        notes[i] = f"{count[i] - left[i]} of {count[i]} not accepted"
        if not left[i]:
            codes[i] = REJECTED if codes[i] in (COMPLETE, PROVED) else UNDECIDED
        elif codes[i] in (FAMILY, SAMPLED):
            codes[i] = SAMPLED if i in families or i not in solutions.families else UNDECIDED
    shape = solutions.batch
    return replace(
        solutions, **rows, count=left.reshape(shape), codes=codes.reshape(shape), families=families, notes=notes
    )


def within_seconds(T: np.ndarray, seconds: float, solve: Callable[[np.ndarray], Solutions]) -> Solutions:
    """The answer for poses T (..., 4, 4), solved in parts until the time is over; the others are undecided."""
    if not (np.isfinite(seconds) and seconds > 0):
        raise ShapeError(f"is {seconds}", element="seconds", remedy="Give a positive time")
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
    """An answer for poses (k, 4, 4) that nobody looked at."""
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
    return replace(like, **arrays, families={}, notes=notes, batch=(k,))


@dataclass(frozen=True, eq=False)
class SolveCall:
    """A call of `solve_ik` without its poses, as a value that travels to workers.

    Attributes:
        robot: the robot.
        asked: frame, relative_to, limits, task and method.
        options: the arguments that follow.
    """

    robot: RobotFunctions | Mechanism
    asked: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self, piece: tuple[np.ndarray, np.ndarray | None]) -> list[Solutions]:
        """The answer for poses (k, 4, 4) and where to start from, as a list that can be added to others."""
        from .solve import solve_ik

        poses, start = piece
        return [solve_ik(self.robot, poses, *self.asked, start=start, progress=False, **self.options)]


def solved_on(
    call: SolveCall,
    problem: IkProblem,
    T: Any,
    start: Any,
    seconds: float | None,
    on: On,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress,
) -> Solutions:
    """The answer for poses T in any form that `solve_ik` takes but texts, computed by workers."""
    if seconds is not None:
        raise ZvenoError("is for one process", element="seconds", remedy="Leave out seconds, or on and checkpoint")
    points = not problem.task.rotation and not problem.task.axis
    T = pose_array(T, points=points)
    batch, poses = T.shape[:-2], T.reshape(-1, 4, 4)
    starts = None if start is None else problem.mechanism.checked_q(start, "start")
    if starts is not None and starts.ndim > 1:
        starts = np.broadcast_to(starts, (*batch, starts.shape[-1])).reshape(-1, starts.shape[-1])
    if not len(poses):
        raise ZvenoError("there are no poses", element="T_world_tool", remedy="Give at least one")
    pieces = [
        (poses[a:b], starts if starts is None or starts.ndim == 1 else starts[a:b])
        for a, b in cut(len(poses), max(PIECE, min(AT_ONCE, -(-len(poses) // PIECES))))
    ]
    parts = fold(call, pieces, operator.add, "here" if on is None else on, checkpoint, progress)
    inputs = hashlib.blake2b("".join(part.inputs for part in parts).encode(), digest_size=8).hexdigest()
    return replace(joined(parts, batch), inputs=inputs)

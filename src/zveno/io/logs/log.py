"""Log of a robot's motion, read in blocks: rows in the order of time, at the joints, in SI units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError, ShapeError, ZvenoError
from ...mechanism import Mechanism
from ...spatial.vectors import real_array
from ..tables import listed
from ._timing import judged_times

if TYPE_CHECKING:
    from ...robot import Robot

MAX_VALUE = 1e6
"""Largest valid position, velocity or torque (SI units, at the joint)."""
SPIKE = 0.2
"""Jump of a position, rad or m, for a single sample that marks it as invalid."""
WILD = 100.0
"""Jump of a torque for a single sample that marks it as invalid, in 99 % quantiles of the torque."""
KEPT_BYTES = 128 * 2**20
"""Largest size of logs that stay in memory once read; larger ones are read again in every pass."""
BLOCK_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class LogBlock:
    """Consecutive rows of one segment of a log.

    Attributes:
        t: (m,) s from the beginning of the log.
        q, v, tau: (m, n) positions, velocities (None where none were recorded) and torques at the joints,
            rad or m, rad/s or m/s, N·m or N.
        segment: number of the segment, from 0.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    segment: int = 0

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows of a file, in SI units at the joints; NaN for cells that cannot be used.

    Attributes:
        lines: (m,) line number of each row in the file.
        t: (m,) s, by any clock.
        q, v, tau: (m, n); v is None where none are recorded.
    """

    lines: np.ndarray
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Log of a motion. Read files with `zveno.identification.read_log`; `Log.of` takes arrays.

    Rows that cannot be used are left out, and the account lists them. Times start at 0 and increase. A gap (a step
    longer than 5 median steps and 20 ms) or a clock that was set back ends a segment. No block holds rows of two
    segments; derivatives and filters must not cross segments. Inside a segment steps may vary.

    Attributes:
        joint_names: the joints it covers, in the robot's order: the n columns of q, v and tau. All of them have one
            axis. Joints of the robot that are not among them were not recorded.
        source: file names, for messages.
        account: import summary: roles of the columns, and omissions.
        segments: (first, end) rows of every segment.
        step: the median time step, s.
        duration: s, without the gaps.
        has_velocity: True if velocities were recorded.
        times: (rows,) s from the beginning.
    """

    joint_names: tuple[str, ...]
    source: str
    account: tuple[str, ...]
    segments: tuple[tuple[int, int], ...]
    step: float
    duration: float
    has_velocity: bool
    times: np.ndarray = field(repr=False)
    _pieces: Callable[[], Iterator[LogBlock]] = field(repr=False)
    _elsewhere: Callable[[], Iterator[LogBlock]] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.segments[-1][1]

    def __repr__(self) -> str:
        return (
            f"<Log {self.source}: {len(self)} rows, {len(self.joint_names)} joints, {self.duration:.3g} s, "
            f"{1.0 / self.step:.4g} Hz>"
        )

    def __str__(self) -> str:
        return "\n".join((repr(self)[1:-1], *self.account))

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[LogBlock]:
        """Yield the log from its beginning, in blocks of at most `rows` rows; every call starts again.

        Blocks of a segment, put together, are the same rows whatever `rows` is.
        """
        if rows < 1:
            raise ShapeError(f"blocks of {rows} rows were asked for", remedy="Give at least 1")
        for piece in self._pieces():
            for first in range(0, len(piece), rows):
                part = slice(first, first + rows)
                v = None if piece.v is None else piece.v[part]
                yield LogBlock(piece.t[part], piece.q[part], v, piece.tau[part], piece.segment)

    def arrays(self) -> LogBlock:
        """Return all rows at once (segment is that of the first), for logs that fit into memory."""
        blocks = list(self.blocks())
        v = np.concatenate([block.v for block in blocks if block.v is not None]) if self.has_velocity else None
        t, q, tau = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("t", "q", "tau"))
        return LogBlock(t, q, v, tau)

    def portable(self) -> Log:
        """Return the same log for other processes: with its rows, or with its files if it is too long to keep."""
        return replace(self, _pieces=self._elsewhere or Kept(tuple(self._pieces())))

    @classmethod
    def of(
        cls,
        robot: Robot | Mechanism,
        t: ArrayLike,
        q: ArrayLike,
        tau: ArrayLike,
        v: ArrayLike | None = None,
        *,
        joint_names: Sequence[str] | None = None,
        source: str = "arrays",
    ) -> Log:
        """Return a log from arrays, in SI units and at the joints.

        Args:
            robot: whose motion it is.
            t: (m,) s.
            q: (m, n) positions, rad and m.
            tau: (m, n) torques and forces, N·m and N.
            v: (m, n) velocities, if they were recorded.
            joint_names: joints of the columns; by default all joints of the robot with one axis, in its order.
            source: name in messages.
        """
        names = log_joints(robot, joint_names)
        rows = len(np.atleast_1d(np.asarray(t)))
        arrays = {"t": _numbers(t, (rows,), "t", names)}
        for word, value in (("q", q), ("tau", tau), ("v", v)):
            if value is not None:
                arrays[word] = _numbers(value, (rows, len(names)), word, names)
        raw = RawRows(np.arange(rows), arrays["t"], arrays["q"], arrays.get("v"), arrays["tau"])
        return assembled_log(names, source, (), lambda: iter((raw,)))


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows of a log in memory."""

    blocks: tuple[LogBlock, ...]

    def __call__(self) -> Iterator[LogBlock]:
        """Yield the rows from the beginning."""
        return iter(self.blocks)


def log_joints(robot: Robot | Mechanism, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the independent joints with one axis, in the robot's order: all, or those named."""
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    single = tuple(
        joint.name for joint in mechanism.joints if joint.mimic is None and joint.type.n_v == joint.type.n_q == 1
    )
    if not single:
        raise ModelError(
            "has no joint with one axis, which recordings are about",
            element=mechanism.name,
            remedy="Give a robot with revolute or prismatic joints",
        )
    if names is None:
        return single
    unknown = [name for name in names if name not in single]
    if unknown or len(set(names)) != len(names) or not len(names):
        raise ModelError(
            f"the joints recorded are {', '.join(map(str, names)) or 'none'}",
            element=mechanism.name,
            remedy=f"Name some of its joints, once each: {', '.join(single)}",
        )
    if list(names) != [name for name in single if name in names]:
        raise ModelError(
            "the joints recorded are not in the robot's order",
            element=mechanism.name,
            remedy=f"Its order is {', '.join(single)}",
        )
    return tuple(names)


def _numbers(value: ArrayLike, shape: tuple[int, ...], word: str, names: Sequence[str]) -> np.ndarray:
    try:
        array = real_array(value)
    except (TypeError, ValueError):
        raise ShapeError(f"{word} is not an array of real numbers", remedy="Give an array of floats") from None
    if array.shape != shape:
        raise ShapeError(
            f"{word} has shape {array.shape} where {shape} is needed",
            remedy=f"A row for every time and a column for each of {len(names)} joints: {', '.join(names)}",
        )
    return array


def assembled_log(
    joint_names: Sequence[str],
    source: str,
    account: Sequence[str],
    raw: Callable[[], Iterator[RawRows]],
    elsewhere: Callable[[], Iterator[LogBlock]] | None = None,
) -> Log:
    """Assemble the log of rows that can be read repeatedly.

    Every row is read once here: the clock is checked as a whole, and the rows are kept if they are few. Otherwise
    `elsewhere`, which can be pickled, reads the same rows in another process.
    """
    times, good, lines, kept = [], [], [], []
    size, velocities, rows = 0, False, 0
    for part in raw():
        times.append(part.t)
        good.append(_usable(part))
        lines.append(part.lines.astype(np.uint32, copy=False))
        rows += len(part.t)
        velocities = part.v is not None
        if kept is not None:
            size += sum(x.nbytes for x in (part.t, part.q, part.tau, part.v) if x is not None)
            kept = [*kept, part] if size <= KEPT_BYTES else None
    if not rows:
        raise ModelError("has no rows", file=source, remedy="Is the recording empty?")
    usable, line, clock = np.concatenate(good), np.concatenate(lines), np.concatenate(times)
    del good, lines, times
    spoilt = line[~usable]
    said = list(account)
    if len(spoilt):
        said.append(f"{listed(spoilt)} holds no usable numbers (missing, out of range, or a jump); left out")
    try:
        timing = judged_times(clock, usable, line, source)
    except ZvenoError as error:
        raise type(error)(error.problem, file=source, remedy=with_account(error.remedy, said)) from None
    said += timing.account
    duration = sum(float(timing.t[end - 1] - timing.t[first]) for first, end in timing.segments)
    said.append(
        f"{len(timing.t)} of {rows} rows are used, {duration:.4g} s at {1.0 / timing.step:.4g} Hz, "
        f"in {len(timing.segments)} segment{'s' if len(timing.segments) > 1 else ''}"
    )
    again = raw if kept is None else (lambda: iter(kept))

    def pieces() -> Iterator[LogBlock]:
        row = used = segment = 0
        for part in again():
            keep = timing.keep[row : row + len(part.t)]
            if len(keep) < len(part.t):
                raise ModelError("changed while it was read", file=source, remedy="Read it again")
            row += len(part.t)
            q, v, tau = part.q, part.v, part.tau
            if not keep.all():
                q, v, tau = q[keep], None if v is None else v[keep], tau[keep]
            begin, end = used, used + len(q)
            while used < end:
                stop = min(end, timing.segments[segment][1])
                inside = slice(used - begin, stop - begin)
                yield LogBlock(
                    timing.t[used:stop], q[inside], None if v is None else v[inside], tau[inside], segment
                )
                used = stop
                segment += used == timing.segments[segment][1]

    return Log(
        joint_names=tuple(joint_names),
        source=source,
        account=tuple(said),
        segments=timing.segments,
        step=timing.step,
        duration=duration,
        has_velocity=velocities,
        times=timing.t,
        _pieces=pieces,
        _elsewhere=elsewhere if kept is None else None,
    )


def with_account(remedy: str | None, said: Sequence[str]) -> str | None:
    """Return a remedy, extended by the decisions about the files so far."""
    return remedy if not said else f"{remedy or ''}. {'; '.join(said)}".lstrip(". ")


def _usable(part: RawRows) -> np.ndarray:
    """Return a mask (m,) of rows whose values are all finite and below `MAX_VALUE`."""
    good = np.isfinite(part.t)
    for values in (part.q, part.v, part.tau):
        if values is not None:
            good &= (abs(values) <= MAX_VALUE).all(axis=1)  # false for NaN
    if not good.any():
        return good
    usual = np.quantile(abs(part.tau[good]), 0.99, axis=0)
    wild = np.where(usual > 0.0, WILD * usual, np.inf)
    return good & ~_spikes(part.q, good, np.full(part.q.shape[1], SPIKE)) & ~_spikes(part.tau, good, wild)


def _spikes(q: np.ndarray, good: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return a mask (m,) of rows with a value that jumps by more than its size (n,) and comes back, or a jump at
    either end."""
    spikes = np.zeros(len(q), dtype=bool)
    at = np.flatnonzero(good)
    if len(at) < 3:
        return spikes
    steps = np.diff(q[at], axis=0)
    forward, back = steps[:-1], steps[1:]
    away = (np.minimum(abs(forward), abs(back)) > size) & (abs(forward + back) < 0.1 * abs(forward))
    spikes[at[1:-1]] = away.any(axis=1)
    for end, step, others in ((at[0], steps[0], steps[1:4]), (at[-1], steps[-1], steps[-4:-1])):
        usual = abs(others).max(axis=0)
        spikes[end] |= bool(((abs(step) > size) & (abs(step) > 10.0 * usual) & (usual < size)).any())
    return spikes

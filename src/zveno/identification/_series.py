"""Recordings as chunks of fixed size on a uniform clock, independent of the blocks they are read in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from ..io.logs.log import Log

ROWS = 1 << 14
"""Number of samples of a chunk. Chunks are cut by count alone, so results do not depend on how a file is read."""
ENOUGH = 500_000
"""Number of samples that suffices to find a band, a delay, the load or the distribution of residuals."""
JITTER = 0.02
"""Share of a step by which times may differ from a uniform clock."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Samples on a uniform clock.

    Attributes:
        first: whether a segment begins here: filters must not reach back.
        start: samples of the log before it.
        t0: time of the first sample, s.
        q, tau: (m, n).
        v: (m, n), or None where no velocity was recorded.
    """

    first: bool
    start: int
    t0: float
    q: np.ndarray
    tau: np.ndarray
    v: np.ndarray | None

    def copied(self) -> Piece:
        """Return the same chunk with arrays of its own: views would keep the blocks of a file alive."""
        v = None if self.v is None else self.v.copy()
        return replace(self, q=self.q.copy(), tau=self.tau.copy(), v=v)


@dataclass(frozen=True)
class Clock:
    """Uniform clock of a log.

    Attributes:
        step: s.
        uniform: whether the samples are on it as recorded; otherwise they are interpolated.
        samples: rows recorded.
    """

    step: float
    uniform: bool
    samples: int


@dataclass(frozen=True, eq=False)
class Recording:
    """Log on its clock.

    Attributes:
        log: the original log.
        clock: the uniform one.
    """

    log: Log
    clock: Clock
    _some: dict[int, list[Piece]] = field(default_factory=dict)

    @property
    def longest(self) -> float:
        """Duration of its longest segment, s."""
        t = self.log.times
        return max(float(t[end - 1] - t[first]) for first, end in self.log.segments)

    def pieces(self, every: int = 1) -> Iterator[Piece]:
        """Generate chunks of `ROWS` samples (the last of a segment may be shorter), or one of `every` of them.

        Some chunks are kept, so that later passes read no file.
        """
        if every == 1:
            return _pieces(self.log, self.clock)
        if every not in self._some:
            chosen = islice(_pieces(self.log, self.clock), 0, None, every)
            self._some[every] = [piece.copied() for piece in chosen]
        return iter(self._some[every])


def recording_of(log: Log) -> Recording:
    """Return the log on its clock: the mean step if all samples are close to it, else the median step."""
    t = log.times
    spans = sum(float(t[end - 1] - t[first]) for first, end in log.segments)
    step = spans / max(len(t) - len(log.segments), 1) or log.step
    uniform = all(_is_uniform(t[first:end], step) for first, end in log.segments)
    return Recording(log, Clock(step if uniform else log.step, uniform, len(t)))


def _is_uniform(t: np.ndarray, step: float) -> bool:
    """Return True if all times of a segment are close to those of a clock with this step."""
    return all(
        abs(t[k : k + ROWS] - (t[0] + step * np.arange(k, min(k + ROWS, len(t))))).max() <= JITTER * step
        for k in range(0, len(t), ROWS)
    )


def sparse(recordings: Sequence[Recording], longest: int) -> int:
    """Return 1, or the `every` whose chunks hold enough samples of long recordings.

    Args:
        recordings: all of them together.
        longest: samples of the longest window that must fit into a piece several times.
    """
    samples = sum(recording.clock.samples for recording in recordings)
    return max(1, samples // ENOUGH) if longest < ROWS // 4 else 1


def _pieces(log: Log, clock: Clock) -> Iterator[Piece]:
    """Generate all chunks of a log."""
    start = 0
    for first, rows in _on_clock(log, clock):
        t, q, tau, v = rows
        yield Piece(first, start, float(t[0]), q, tau, v)
        start += len(t)


def _on_clock(log: Log, clock: Clock) -> Iterator[tuple[bool, Rows]]:
    """Generate (whether a segment begins, rows on the clock)."""
    before = None
    resampler: _Resampler | None = None
    for segment, rows in _segment_rows(log):
        if clock.uniform:
            yield segment != before, rows
        else:
            if segment != before:
                if resampler is not None:
                    yield from resampler.rest()
                resampler = _Resampler(clock.step)
            assert resampler is not None
            yield from resampler.push(rows)
        before = segment
    if resampler is not None:
        yield from resampler.rest()


Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
"""Arrays t, q, tau and v of consecutive rows."""


def _segment_rows(log: Log) -> Iterator[tuple[int, Rows]]:
    """Generate (segment, rows): chunks of `ROWS` rows that never span two segments."""
    kept: list[Rows] = []
    count, segment = 0, None
    for block in log.blocks(ROWS):
        if segment is not None and block.segment != segment and count:
            yield segment, _joined(kept)
            kept, count = [], 0
        segment = block.segment
        rows: Rows = (block.t, block.q, block.tau, block.v)
        while len(rows[0]):
            taken, rows = _split(rows, ROWS - count)
            kept.append(taken)
            count += len(taken[0])
            if count == ROWS:
                yield segment, _joined(kept)
                kept, count = [], 0
    if count and segment is not None:
        yield segment, _joined(kept)


def _split(rows: Rows, n: int) -> tuple[Rows, Rows]:
    t, q, tau, v = rows
    return (t[:n], q[:n], tau[:n], None if v is None else v[:n]), (
        t[n:],
        q[n:],
        tau[n:],
        None if v is None else v[n:],
    )


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    t, q, tau, v = zip(*parts, strict=True)
    velocities = None if any(rates is None for rates in v) else np.concatenate(v)
    return np.concatenate(t), np.concatenate(q), np.concatenate(tau), velocities


class _Resampler:
    """Resampler of one segment on a uniform clock: positions by cubics, torques and velocities by lines."""

    def __init__(self, step: float):
        self.step = step
        self.next = 0
        self.start = 0.0
        self.kept: Rows | None = None
        self.ready: list[Rows] = []
        self.first = True

    def push(self, rows: Rows) -> Iterator[tuple[bool, Rows]]:
        if self.kept is None:
            self.start = float(rows[0][0])
        rows = rows if self.kept is None else _joined([self.kept, rows])
        t = rows[0]
        if len(t) < 4:
            self.kept = rows
            return
        # The cubic at a time needs two samples after it, which the last step does not have yet.
        count = int(np.floor((t[-2] - self.start) / self.step)) + 1
        self._interpolate(rows, count)
        behind = max(0, int(np.searchsorted(t, self.start + self.next * self.step)) - 3)
        self.kept = _split(rows, behind)[1]
        yield from self._full()

    def rest(self) -> Iterator[tuple[bool, Rows]]:
        """Generate the remaining rows at the end of the segment."""
        if self.kept is not None and len(self.kept[0]) >= 4:
            count = int(np.floor((self.kept[0][-1] - self.start) / self.step + 1e-9)) + 1
            self._interpolate(self.kept, count)
        yield from self._full(last=True)

    def _interpolate(self, rows: Rows, count: int) -> None:
        if count <= self.next:
            return
        t, q, tau, v = rows
        g = self.start + self.step * np.arange(self.next, count)
        i = np.clip(np.searchsorted(t, g, side="right") - 1, 1, len(t) - 3)
        at = i[:, None] + np.arange(-1, 3)
        x = t[at]
        weights = np.ones((len(g), 4))
        for k in range(4):
            for m in range(4):
                if m != k:
                    weights[:, k] *= (g - x[:, m]) / (x[:, k] - x[:, m])
        positions = np.einsum("gk,gkj->gj", weights, q[at])
        share = ((g - t[i]) / (t[i + 1] - t[i]))[:, None]
        lines = [None if y is None else y[i] + share * (y[i + 1] - y[i]) for y in (tau, v)]
        assert lines[0] is not None
        self.ready.append((g, positions, lines[0], lines[1]))
        self.next = count

    def _full(self, last: bool = False) -> Iterator[tuple[bool, Rows]]:
        if not self.ready:
            return
        rows = _joined(self.ready)
        while len(rows[0]) >= ROWS or (last and len(rows[0])):
            taken, rows = _split(rows, ROWS)
            yield self.first, taken
            self.first = False
        self.ready = [rows] if len(rows[0]) else []

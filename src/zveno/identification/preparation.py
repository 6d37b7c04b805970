"""Motions with derivatives from recordings: bands, filters, delay, and the velocities used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from .filters import Filter, Stream, low_pass, shifted_smoother, smoother
from .series import Recording, sparse

SMOOTHING, SMOOTHING_WIDTH = 2.0, 2.0
"""Cut-off of the positions' filter and width of its transition, in bands: flat where torques count."""
SHORT, SHORT_WIDTH, SHORT_LAST = 10.0, 3.0, 2.0
"""Ratio of a log's length to the loss at one end below which transitions are wider, and these widths of the
positions' and of the last filter, in bands: they lose 0.6 as much. Torques pass both filters too."""
FINE = 4
"""Number of velocities for friction per evaluation, if there are as many samples."""
HIGHEST = 0.3
"""Largest cut-off as a share of the sampling rate."""
EVALUATIONS, ROWS_A_BAND = 20.0, 4.0
"""Evaluations of the model, and rows that are kept, per second and Hz of the band."""
CACHED = 320 * 2**20
"""Size, bytes, of motions kept between passes; longer recordings are filtered again in each."""


@dataclass(frozen=True, eq=False)
class Filters:
    """Filters of one log.

    Attributes:
        motion: positions → position, velocity, acceleration.
        speed: recorded velocities → velocity, acceleration.
        fine: positions → velocities at times around each evaluation, in a wider band: friction reverses quickly.
        fine_speed: the same from recorded velocities.
        torque: torques, for every delay that is tried.
        rows: the last filter, at the rate of the model's evaluations.
        interval: s between evaluations.
    """

    motion: Filter
    speed: Filter
    fine: Filter
    fine_speed: Filter
    torque: Filter
    rows: Filter
    interval: float

    @property
    def margin(self) -> float:
        """Time lost at each end of a segment, s."""
        return self.motion.center * self.interval / self.motion.step + self.rows.center * self.interval

    @property
    def correlation(self) -> float:
        """Number of rows per independent row for white noise: neighbours share the average of the last filter."""
        return max(1.0, 1.0 / (self.rows.step * float((self.rows.weights**2).sum())))


@dataclass(frozen=True, eq=False)
class Motion:
    """Consecutive evaluations of a motion.

    Attributes:
        log: number of the log.
        first: whether a segment begins here.
        t: (m,) s.
        place: (m,) share of all samples that come before, 0 … 1 over all logs.
        q, v, a: (m, n).
        speeds: (m, k, n) velocities at k times around each evaluation, for friction.
        tau: (m, shifts, n).
    """

    log: int
    first: bool
    t: np.ndarray
    place: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    speeds: np.ndarray
    tau: np.ndarray

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.q.nbytes * 3 + self.speeds.nbytes + self.tau.nbytes


@dataclass(frozen=True, eq=False)
class Preparation:
    """Settings of the conversion of recordings to rows.

    Attributes:
        recordings: logs on their clocks.
        band: Hz; half gain of the filter that torques and columns pass.
        delay: s by which torques lag positions; compensated.
        recorded_velocity: (n,) whether a joint's recorded velocity is used.
        wide: cut-off of the velocities that friction is computed from, in bands.
        every: 1, or the stride of the chunks that are used, all others being skipped.
        before, total: samples of logs before these, and of all logs, where these are some of them.
    """

    recordings: tuple[Recording, ...]
    band: float
    delay: float
    recorded_velocity: np.ndarray
    wide: float = SMOOTHING
    every: int = 1
    before: int = 0
    total: int | None = None
    _kept: dict[tuple[float, ...], list[Motion]] = field(default_factory=dict)

    def delayed(self, delay: float) -> Preparation:
        """Return the same preparation with another delay."""
        return replace(self, delay=delay, _kept={})

    def widened(self, wide: float) -> Preparation:
        """Return the same preparation with another band of the velocities that friction is computed from."""
        return replace(self, wide=wide, _kept={})

    @property
    def samples(self) -> int:
        """Number of samples of its recordings."""
        return sum(recording.clock.samples for recording in self.recordings)

    @cached_property
    def thinned(self) -> Preparation:
        """Same preparation with only some chunks of long recordings: enough for statistics."""
        longest = max((self.filters(k).motion.length for k in range(len(self.recordings))), default=1)
        every = sparse(self.recordings, longest)
        return self if every == 1 else replace(self, every=every, _kept={})

    def filters(self, log: int, shifts: Sequence[float] = (0.0,)) -> Filters:
        """Return the filters of a log, for torques that are late by the delay and by each of `shifts`."""
        recording = self.recordings[log]
        delays = tuple(self.delay + float(s) for s in shifts)
        usual = filters_of(recording.clock.step, self.band, delays, self.wide)
        if recording.longest >= SHORT * usual.margin:
            return usual
        return filters_of(recording.clock.step, self.band, delays, self.wide, short=True)

    def motions(self, shifts: Sequence[float] = (0.0,)) -> Iterator[Motion]:
        """Generate all motions, log after log."""
        key = tuple(shifts)
        if key in self._kept:
            yield from self._kept[key]
            return
        kept: list[Motion] | None = []
        size = 0
        for motion in self._computed(key):
            yield motion
            if kept is not None:
                kept.append(motion)
                size += motion.size
                kept = kept if size < CACHED else None
        if kept is not None:
            self._kept[key] = kept

    def _computed(self, shifts: Sequence[float]) -> Iterator[Motion]:
        total = self.samples if self.total is None else self.total
        before = self.before
        for number, recording in enumerate(self.recordings):
            filters, clock = self.filters(number, shifts), recording.clock
            segment: _Segment | None = None
            for piece in recording.pieces(self.every):
                if piece.first or segment is None or self.every > 1:
                    segment = _Segment(filters, bool(self.recorded_velocity.any()), piece.start, piece.t0)
                q, v, a, speeds, tau = segment.push(piece.q, piece.v, piece.tau, self.recorded_velocity)
                if len(q):
                    index = filters.motion.center + filters.motion.step * (segment.given + np.arange(len(q)))
                    inside = np.minimum(segment.start + index, clock.samples)
                    place = np.minimum((before + inside) / total, 1.0 - 1e-12)
                    t = segment.t0 + clock.step * index
                    yield Motion(number, segment.given == 0, t, place, q, v, a, speeds, tau)
                    segment.given += len(q)
            before += clock.samples


class _Segment:
    """Filters of one segment with the current contents of their windows.

    Attributes:
        start: samples of the log before the segment.
        t0: time of its first sample, s.
        given: evaluations so far.
    """

    def __init__(self, filters: Filters, velocity: bool, start: int, t0: float):
        self.motion, self.torque, self.fine = map(Stream, (filters.motion, filters.torque, filters.fine))
        self.recorded = [Stream(filters.speed), Stream(filters.fine_speed)] if velocity else []
        self.start, self.t0, self.given = start, t0, 0

    def push(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray, recorded: np.ndarray):
        """Return q, v, a, velocities for friction, and torques of the evaluations completed."""
        moved, speeds, torques = self.motion.push(q), self.fine.push(q), self.torque.push(tau)
        if self.recorded and v is not None:
            moved[:, 1:, recorded] = self.recorded[0].push(v)[:, :, recorded]
            speeds[:, :, recorded] = self.recorded[1].push(v)[:, :, recorded]
        return moved[:, 0], moved[:, 1], moved[:, 2], speeds, torques


@lru_cache(maxsize=64)
def filters_of(
    step: float, band: float, delays: tuple[float, ...], wide: float = SMOOTHING, short: bool = False
) -> Filters:
    """Return the filters for a sampling step and a band, for torques that are late by each of `delays`, s."""
    every = max(1, int(1.0 / step / (EVALUATIONS * band)))
    between = min(FINE, every)
    times = ((np.arange(between) - 0.5 * (between - 1)) * (every / between * step)).tolist()
    cutoff, width = SMOOTHING * band, (SHORT_WIDTH if short else SMOOTHING_WIDTH) * band
    broad = min(wide * band, HIGHEST / step)
    filters = [
        smoother(cutoff, width, step, every),
        shifted_smoother(cutoff, width, step, every, delays),
        shifted_smoother(broad, broad, step, every, times, derivative=1),
        shifted_smoother(broad, broad, step, every, times),
    ]
    center = max(one.center for one in filters)
    motion, torque, fine, fine_speed = (one.centered(center) for one in filters)
    speed = Filter(motion.weights[:2], every, center, motion.idle)
    interval = every * step
    thinned = max(1, int(1.0 / interval / (ROWS_A_BAND * band)))
    rows = low_pass(band, SHORT_LAST * band if short else band, interval, thinned)
    return Filters(motion, speed, fine, fine_speed, torque, rows, interval)

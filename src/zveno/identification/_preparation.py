"""Motions with derivatives from recordings: bands, delay, the velocities used, symmetric FIR filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from ..closed_robot import ClosedRobot
from ._closing import Follower
from ._series import Recording, sparse

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
        q, v, a: (m, n); q is that of all joints, (m, n_q), of a mechanism with closed loops.
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
        closed: functions of a mechanism with closed loops, whose other joints follow from the recorded ones.
    """

    recordings: tuple[Recording, ...]
    band: float
    delay: float
    recorded_velocity: np.ndarray
    wide: float = SMOOTHING
    every: int = 1
    before: int = 0
    total: int | None = None
    closed: ClosedRobot | None = None
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
            follower = None if self.closed is None else Follower(self.closed)
            for piece in recording.pieces(self.every):
                if piece.first or segment is None or self.every > 1:
                    segment = _Segment(filters, bool(self.recorded_velocity.any()), piece.start, piece.t0)
                q, v, a, speeds, tau = segment.push(piece.q, piece.v, piece.tau, self.recorded_velocity)
                if len(q):
                    q = q if follower is None else follower.whole(q)
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
    center = max(each.center for each in filters)
    motion, torque, fine, fine_speed = (each.centered(center) for each in filters)
    speed = Filter(motion.weights[:2], every, center, motion.idle)
    interval = every * step
    thinned = max(1, int(1.0 / interval / (ROWS_A_BAND * band)))
    rows = low_pass(band, SHORT_LAST * band if short else band, interval, thinned)
    return Filters(motion, speed, fine, fine_speed, torque, rows, interval)


SMOOTHING_TRANSITION = 5.5
"""Product of the transition width and length of a Blackman window (74 dB)."""
LOW_PASS_TRANSITION, LOW_PASS_BETA = 2.9, 4.55
"""Same product for a Kaiser window with this β (50 dB)."""
FEW = 64
"""Number of columns below which frames are filtered side by side."""
FRAME = 1.5
"""Number of samples filtered together, in lengths of the filter: a matrix product costs least near there."""


@dataclass(frozen=True, eq=False)
class Filter:
    """Weights of a window of samples, several outputs at once, and the step between windows.

    Attributes:
        weights: (k, m) for k outputs.
        step: samples between outputs.
        center: sample of the first window that the first output belongs to.
        idle: samples at either end of a window that have no weight.
    """

    weights: np.ndarray
    step: int
    center: int
    idle: int = 0

    @property
    def length(self) -> int:
        """Number of samples in a window."""
        return self.weights.shape[1] + 2 * self.idle

    def centered(self, center: int) -> Filter:
        """Return the same filter with windows so long that their middle is `center`."""
        return Filter(self.weights, self.step, center, self.idle + center - self.center)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return all outputs (n, k, c) whose windows fit into x (m, c), n = (m − length) // step + 1.

        Overlapping windows are filtered as one banded matrix product per frame, by BLAS and without copies.
        """
        n = (len(x) - self.length) // self.step + 1
        k, c = len(self.weights), x.shape[1]
        if n < 1:
            return np.zeros((0, k, c))
        length = self.weights.shape[1]
        together = max(1, round(FRAME * length / self.step))
        x = np.ascontiguousarray(x)[self.idle :]
        band = _band(self.weights, self.step, min(together, n))
        if c < FEW:
            return self._side_by_side(x, band, n)
        out = np.empty((n, k, c))
        for first in range(0, n, together):
            count = min(together, n - first)
            used = (count - 1) * self.step + length
            rows = x[first * self.step : first * self.step + used]
            out[first : first + count] = (band[: count * k, :used] @ rows).reshape(count, k, c)
        return out

    def _side_by_side(self, x: np.ndarray, band: np.ndarray, n: int) -> np.ndarray:
        """Filter few columns: all frames side by side in one product, instead of a thin product each."""
        (size, used), (k, c) = band.shape, (len(self.weights), x.shape[1])
        frames = -(-n * k // size)
        stride = size // k * self.step
        needed = (frames - 1) * stride + used
        if len(x) < needed:
            x = np.concatenate([x, np.zeros((needed - len(x), c))])
        views = np.lib.stride_tricks.as_strided(
            x, (used, frames, c), (x.strides[0], stride * x.strides[0], x.strides[1]), writeable=False
        )
        out = band @ views.reshape(used, frames * c)
        return out.reshape(size // k, k, frames, c).transpose(2, 0, 1, 3).reshape(-1, k, c)[:n]


def _band(weights: np.ndarray, step: int, count: int) -> np.ndarray:
    k, length = weights.shape
    band = np.zeros((count, k, (count - 1) * step + length))
    for n in range(count):
        band[n, :, n * step : n * step + length] = weights
    return band.reshape(count * k, -1)


class Stream:
    """Filter over rows that come in chunks; rows that a window still needs are kept until the next chunk."""

    def __init__(self, filter: Filter):
        self.filter = filter
        self._kept: np.ndarray | None = None

    def push(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs (n, k, c) that x (m, c) completes."""
        if self._kept is not None:
            x = np.concatenate([self._kept, x])
        out = self.filter.apply(x)
        self._kept = x[len(out) * self.filter.step :]
        return out


def smoother(cutoff: float, transition: float, dt: float, step: int, derivatives: int = 2) -> Filter:
    """Build a low-pass filter and its derivatives by time, half gain at `cutoff`, Hz.

    Outputs: the value, and the first and second derivative if requested. Straight lines and parabolas keep their
    values and derivatives exactly.

    Args:
        cutoff, transition: Hz; the gain falls from 1 to 0 within cutoff ± transition/2.
        dt: sampling time, s.
        step: samples between outputs.
        derivatives: 0, 1 or 2.
    """
    half = max(2, int(np.ceil(0.5 * SMOOTHING_TRANSITION / transition / dt)))
    u = np.arange(-half, half + 1) * dt
    h, h1, h2 = _kernel(-u, cutoff, (half + 1) * dt)
    h = h / h.sum()
    h1 = h1 / (h1 @ u)
    h2 = h2 - h * h2.sum()
    h2 = h2 / (h2 @ (0.5 * u**2))
    return Filter(np.array([h, h1, h2][: derivatives + 1]), step, half)


def shifted_smoother(
    cutoff: float, transition: float, dt: float, step: int, shifts: Sequence[float], derivative: int = 0
) -> Filter:
    """Build the same low-pass filter, or its first derivative, at times that are late by `shifts`, s, an output for
    each.

    The windows are longer by the largest shift on both sides; `center` gives the amount.
    """
    half = max(2, int(np.ceil(0.5 * SMOOTHING_TRANSITION / transition / dt)))
    more = int(np.ceil(np.max(np.abs(shifts), initial=0.0) / dt))
    u = np.arange(-half - more, half + more + 1) * dt
    weights = np.array([_kernel(shift - u, cutoff, (half + 1) * dt)[derivative] for shift in shifts])
    norms = (weights @ u if derivative else weights.sum(axis=1))[:, None]
    return Filter(weights / norms, step, half + more)


def low_pass(cutoff: float, transition: float, dt: float, step: int) -> Filter:
    """Build the last filter, for torques and all columns: half gain at `cutoff`, an output each `step` samples."""
    half = max(1, int(np.ceil(0.5 * LOW_PASS_TRANSITION / transition / dt)))
    u = np.arange(-half, half + 1) * dt
    h = 2.0 * cutoff * np.sinc(2.0 * cutoff * u) * np.kaiser(2 * half + 3, LOW_PASS_BETA)[1:-1]
    return Filter(h[None] / h.sum(), step, half)


def _kernel(t: np.ndarray, cutoff: float, half: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sin(at)/(πt) times Blackman's window on |t| < half, and its two derivatives."""
    a = 2.0 * np.pi * cutoff
    small = abs(a * t) < 1e-2
    T = np.where(small, 1.0, t)
    x = a * t
    s = np.where(small, a / np.pi * (1 - x**2 / 6 + x**4 / 120), np.sin(x) / (np.pi * T))
    s1 = np.where(small, -(a**2) / np.pi * (x / 3 - x**3 / 30), (a * np.cos(x) / np.pi - s) / T)
    s2 = np.where(small, -(a**3) / np.pi * (1 / 3 - x**2 / 10), -(a**2) * s - 2.0 * s1 / T)
    p = np.pi / half
    inside = abs(t) < half
    w = np.where(inside, 0.42 + 0.5 * np.cos(p * t) + 0.08 * np.cos(2 * p * t), 0.0)
    w1 = np.where(inside, -p * (0.5 * np.sin(p * t) + 0.16 * np.sin(2 * p * t)), 0.0)
    w2 = np.where(inside, -p * p * (0.5 * np.cos(p * t) + 0.32 * np.cos(2 * p * t)), 0.0)
    return s * w, s1 * w + s * w1, s2 * w + 2 * s1 * w1 + s * w2

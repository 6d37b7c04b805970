"""The band of a motion from its spectrum, and whether a recorded velocity comes late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .filters import Stream, smoother
from .series import Recording, sparse

WINDOW = 4.0
"""Seconds of a window of the spectrum: it tells frequencies 0.25 Hz apart."""
MOST_WINDOWS = 400
POWER_SHARE = 0.95
"""Share of the velocity's power that counts as the motion."""
HARMONICS = 6.0
"""Torques reach further than the motion: centrifugal terms double frequencies, friction adds odd harmonics."""
LOWEST_BAND = 2.0
"""Hz; a slower motion has friction reversals that need this much."""
HIGHEST_SHARE = 0.125
"""Largest band as a share of the sampling rate: the smoothing filters of the positions are 3.6 times as wide."""
MOST_LAG = 0.3
"""s; the largest lag of a recorded velocity that is looked for."""
LAG_ROWS = 100_000
"""Samples that the lag is judged by: the first ones, which are minutes."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Power of the velocities by frequency.

    Attributes:
        frequencies: (k,) Hz.
        power: (k, n) of every joint's velocity, each scaled to a sum of 1.
    """

    frequencies: np.ndarray
    power: np.ndarray

    @property
    def band(self) -> float:
        """Hz: what the torques are filtered to, from the frequencies that hold most of the motion's power.

        The median over the joints that move, so that one joint's noise does not widen it.
        """
        moving = self.power.sum(axis=0) > 0
        if not moving.any():
            return LOWEST_BAND
        reached = np.cumsum(self.power[:, moving], axis=0)
        edges = [np.interp(POWER_SHARE, column, self.frequencies) for column in reached.T]
        return max(LOWEST_BAND, HARMONICS * float(np.median(edges)))


def velocity_spectrum(recordings: Sequence[Recording]) -> Spectrum:
    """Welch's average over all logs; frequencies up to the lowest Nyquist frequency among them."""
    top = min(0.5 / recording.clock.step for recording in recordings)
    common = np.arange(0.0, top, 1.0 / WINDOW)
    total = 0.0
    thin = sparse(recordings, max(round(WINDOW / recording.clock.step) for recording in recordings))
    for recording in recordings:
        clock = recording.clock
        length = max(16, round(WINDOW / clock.step))
        every = max(1, round(2 * clock.samples / thin / length / MOST_WINDOWS))
        window = np.hanning(length)[:, None]
        f = np.fft.rfftfreq(length, clock.step)
        kept, count = None, 0
        for piece in recording.pieces(thin):
            q = piece.q if piece.first or kept is None or thin > 1 else np.concatenate([kept, piece.q])
            while len(q) > length:
                if count % every == 0:
                    v = np.diff(q[: length + 1], axis=0)
                    total = total + _interpolated(common, f, abs(np.fft.rfft(v * window, axis=0)) ** 2)
                q, count = q[length // 2 :], count + 1
            kept = q
        if count == 0 and kept is not None:  # shorter than a window
            v = np.diff(kept, axis=0) * np.hanning(len(kept) - 1)[:, None]
            f = np.fft.rfftfreq(len(v), clock.step)
            total = total + _interpolated(common, f, abs(np.fft.rfft(v, axis=0)) ** 2)
    power = np.asarray(total)
    sums = power.sum(axis=0)
    return Spectrum(common, power / np.where(sums > 0, sums, 1.0))


def _interpolated(common: np.ndarray, f: np.ndarray, power: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(common, f, column) for column in power.T], axis=1)


def highest_band(recordings: Sequence[Recording]) -> float:
    """Hz: the widest band that the sampling allows."""
    return HIGHEST_SHARE * min(1.0 / recording.clock.step for recording in recordings)


def velocity_lag(recording: Recording, cutoff: float) -> np.ndarray | None:
    """(n,) seconds by which the recorded velocity comes after the derivative of the positions; NaN where at rest.

    Found where their difference is least; None where no velocity was recorded.
    """
    stream_q = stream_v = None
    step = recording.clock.step
    derived, recorded = [], []
    count = 0
    for piece in recording.pieces():
        if piece.v is None or (piece.first and count):
            break  # the first segment is enough
        if stream_q is None or stream_v is None:
            filter = smoother(cutoff, 0.9 * cutoff, step, 1, derivatives=1)
            stream_q, stream_v = Stream(filter), Stream(filter)
        derived.append(stream_q.push(piece.q)[:, 1])
        recorded.append(stream_v.push(piece.v)[:, 0])
        count += len(piece.q)
        if count >= LAG_ROWS:
            break
    if not derived or sum(map(len, derived)) < 16:
        return None
    x, y = np.concatenate(derived), np.concatenate(recorded)
    most = min(int(MOST_LAG / step), len(x) // 4)
    stride = max(1, most // 150)
    shifts = np.arange(-(most // 3) // stride, most // stride + 1) * stride
    error = np.array([_difference(x, y, int(s)) for s in shifts])  # (shifts, n)
    lag = np.full(x.shape[1], np.nan)
    for j in np.flatnonzero((x**2).sum(axis=0) > 0):
        k = int(np.argmin(error[:, j]))
        offset = 0.0
        if 0 < k < len(shifts) - 1:
            a, b, c = error[k - 1 : k + 2, j]
            offset = 0.5 * (a - c) / (a - 2 * b + c) if a - 2 * b + c > 0 else 0.0
        lag[j] = (shifts[k] + offset * stride) * step
    return lag


def position_noise(recording: Recording) -> np.ndarray:
    """(n,) standard deviation of the noise of positions, from third differences of the first piece."""
    piece = next(recording.pieces())
    if len(piece.q) < 4:
        return np.zeros(piece.q.shape[1])
    third = np.diff(piece.q, 3, axis=0)
    return np.sqrt((third**2).mean(axis=0) / 20.0)  # white noise has 20 times its variance there


def _difference(x: np.ndarray, y: np.ndarray, shift: int) -> np.ndarray:
    """Mean square of y(t + shift) − x(t)."""
    if shift >= 0:
        d = y[shift:] - x[: len(x) - shift]
    else:
        d = y[:shift] - x[-shift:]
    return (d**2).mean(axis=0)

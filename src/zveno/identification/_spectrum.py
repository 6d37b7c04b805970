"""Band of a motion from its spectrum, and the lag of a recorded velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._preparation import Stream, smoother
from ._series import Recording, sparse

WINDOW = 4.0
"""Length of a spectrum's window, s: it resolves frequencies 0.25 Hz apart."""
MOST_WINDOWS = 400
POWER_SHARE = 0.95
"""Share of the velocity's power that counts as the motion."""
HARMONICS = 6.0
"""Ratio of the torque band to the motion's: centrifugal terms double frequencies, friction adds odd harmonics."""
LOWEST_BAND = 2.0
"""Minimum band, Hz; friction reversals of a slower motion need this much."""
HIGHEST_SHARE = 0.125
"""Largest band as a share of the sampling rate: the smoothing filters of the positions are 3.6 times as wide."""
THIRDS, CERTAIN, HANN = 3, 4.0, 2.0
"""Motion is separated from noise in thirds of an octave, by this many standard deviations of their power;
neighbouring frequencies of a Hann window count twice in its variance."""
MOST_LAG = 0.3
"""Largest lag of a recorded velocity that is tried, s."""
ALIKE = 0.25
"""Largest difference of recorded and derived velocities, as a share of power, for a lag to be estimated."""
AGREED = 3.0
"""Number of standard errors, from the scatter among parts, by which a delay or lag must differ from zero."""
FINEST, STANDS = 1e-9, 0.05
"""Smallest step of an encoder, rad or m, and the share of samples without a step from which it is coarse."""
LAG_PARTS = 8
"""Number of parts of a recording that must agree on a lag."""
LAG_ROWS = 100_000
"""Number of samples that the lag is estimated from: the first ones, which are minutes."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Power of the velocities by frequency.

    Attributes:
        frequencies: (k,) Hz.
        power: (k, n) of every joint's velocity without the noise of positions, each scaled to a sum of 1.
    """

    frequencies: np.ndarray
    power: np.ndarray

    @property
    def band(self) -> float:
        """Band of the torques, Hz, from the frequencies that hold most of the motion's power.

        It is the median over the joints that move.
        """
        moving = self.power.sum(axis=0) > 0
        if not moving.any():
            return LOWEST_BAND
        reached = np.cumsum(self.power[:, moving], axis=0)
        edges = [np.interp(POWER_SHARE, column, self.frequencies) for column in reached.T]
        return max(LOWEST_BAND, HARMONICS * float(np.median(edges)))


def velocity_spectrum(recordings: Sequence[Recording]) -> Spectrum:
    """Compute Welch's average over all logs, without position noise, up to the lowest Nyquist frequency."""
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
        power, kept, windows, count = 0.0, None, 0, 0
        longest = np.zeros((0, 1))
        for piece in recording.pieces(thin):
            q = piece.q if piece.first or kept is None or thin > 1 else np.concatenate([kept, piece.q])
            while len(q) > length:
                if count % every == 0:
                    v = np.diff(q[: length + 1], axis=0)
                    power, windows = power + abs(np.fft.rfft(v * window, axis=0)) ** 2, windows + 1
                q, count = q[length // 2 :], count + 1
            kept = q
            longest = max(longest, q, key=len)
        if count == 0 and len(longest) > 4:  # shorter than a window
            v = np.diff(longest, axis=0) * np.hanning(len(longest) - 1)[:, None]
            f = np.fft.rfftfreq(len(v), clock.step)
            power, windows = abs(np.fft.rfft(v, axis=0)) ** 2, 1
        if windows:
            rounding = resolution(recording) ** 2 / 12.0 * np.sum(window**2) * len(f)
            motion = _without_noise(np.asarray(power) / windows, f * clock.step, windows, rounding)
            total = total + windows * _interpolated(common, f, motion)
    power = np.asarray(total)
    sums = power.sum(axis=0)
    return Spectrum(common, power / np.where(sums > 0, sums, 1.0))


def resolution(recording: Recording) -> np.ndarray:
    """Return the step (n,) of the encoders where positions are multiples of one that is coarse, else 0."""
    q = next(recording.log.blocks(LAG_ROWS)).q
    step = np.zeros(q.shape[1])
    for j, change in enumerate(abs(np.diff(q, axis=0)).T):
        moved = change[change > FINEST]
        if 0 < len(moved) < (1.0 - STANDS) * len(change):
            multiples = moved / moved.min()
            if np.mean(abs(multiples - np.round(multiples)) < 1e-3) > 1.0 - STANDS:
                step[j] = moved.min()
    return step


def _without_noise(power: np.ndarray, f: np.ndarray, windows: int, rounding: np.ndarray) -> np.ndarray:
    """Return the power (k, n) of the motion in the power of differences of positions.

    White noise of positions gives c·4 sin²(πf). The upper half of the frequencies has no motion, so c is read
    off there. Power above that floor counts in third octaves where it is significant, and more than rounding of
    the encoders can leave there: that is not white where a joint stands still for several samples.

    Args:
        power: (k, n) mean over windows.
        f: (k,) cycles per sample, 0 … ½.
        windows: number of averaged windows.
        rounding: (n,) power of the rounding of positions, summed over all frequencies.
    """
    shape = (4.0 * np.sin(np.pi * f) ** 2)[:, None]
    upper = f >= 0.25
    floor = shape * (power[upper] / shape[upper]).mean(axis=0)
    octave = np.floor(THIRDS * np.log2(np.maximum(f, f[1]) / f[1])).astype(int)
    motion = np.zeros_like(power)
    for number in np.unique(octave):
        its = octave == number
        excess = (power[its] - floor[its]).sum(axis=0)
        scatter = np.sqrt(HANN * (floor[its] ** 2).sum(axis=0) / windows)
        above = np.maximum(power[its] - floor[its], 0.0)
        seen = (excess > CERTAIN * scatter) & ((above / np.maximum(shape[its], 1e-300)).sum(axis=0) > rounding)
        share = np.where(seen, excess, 0.0) / np.maximum(above.sum(axis=0), 1e-300)
        motion[its] = share * above
    return motion


def _interpolated(common: np.ndarray, f: np.ndarray, power: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(common, f, column) for column in power.T], axis=1)


def highest_band(recordings: Sequence[Recording]) -> float:
    """Return the widest band that the sampling allows, Hz."""
    return HIGHEST_SHARE * min(1.0 / recording.clock.step for recording in recordings)


def velocity_lag(recording: Recording, cutoff: float) -> np.ndarray | None:
    """Return the seconds (n,) by which the recorded velocity lags the derivative of the positions.

    It is NaN where they are not alike at any lag, as at rest, and 0 where parts of the recording do not agree that
    there is one.

    The lag minimises their difference; None if no velocity was recorded.
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
    errors = np.array([_differences(x, y, int(s)) for s in shifts])  # (shifts, parts, n)
    error, power = errors.mean(axis=1), _differences(x, np.zeros_like(x), 0)
    alike = errors.min(axis=0) < ALIKE * power  # parts at rest have no lag
    lag = np.full(x.shape[1], np.nan)
    for j in np.flatnonzero(error.min(axis=0) < ALIKE * (x**2).mean(axis=0)):
        lag[j], *each = (_least(shifts, column) * step for column in (error[:, j], *errors[:, alike[:, j], j].T))
        if len(each) > 1 and abs(lag[j]) <= AGREED * np.std(each, ddof=1) / np.sqrt(len(each)):
            lag[j] = 0.0
    return lag


def _least(shifts: np.ndarray, error: np.ndarray) -> float:
    """Return the place of the minimum of errors at equally spaced shifts, by a parabola through three of them."""
    k = int(np.argmin(error))
    if not 0 < k < len(shifts) - 1:
        return float(shifts[k])
    a, b, c = (float(value) for value in error[k - 1 : k + 2])
    bend = a - 2 * b + c
    return float(shifts[k] + (0.5 * (a - c) / bend if bend > 0 else 0.0) * (shifts[1] - shifts[0]))


def position_noise(recording: Recording) -> np.ndarray:
    """Return the standard deviation (n,) of the noise of positions, from third differences of the first chunk."""
    piece = next(recording.pieces())
    if len(piece.q) < 4:
        return np.zeros(piece.q.shape[1])
    third = np.diff(piece.q, 3, axis=0)
    return np.sqrt((third**2).mean(axis=0) / 20.0)  # white noise has 20 times its variance there


def _differences(x: np.ndarray, y: np.ndarray, shift: int) -> np.ndarray:
    """Return the mean squares (parts, n) of y(t + shift) − x(t) in parts of the recording."""
    if shift >= 0:
        d = y[shift:] - x[: len(x) - shift]
    else:
        d = y[:shift] - x[-shift:]
    return np.stack([(part**2).mean(axis=0) for part in np.array_split(d, LAG_PARTS)])

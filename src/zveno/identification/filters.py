"""Symmetric FIR filters that smooth, differentiate and decimate in one step, over a stream of rows.

A filter is a kernel of time, so that derivatives and shifts by a fraction of a sample come from the same formula.
Zero-phase filters that run forward and back (`filtfilt`) use the whole recording; these use a window, so that a
recording read in blocks gives the same rows as one read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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

"""Curves of an identification: friction over velocity, and the spectrum of the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .result import Identification
    from .validation import Series

POINTS = 201
"""Number of points of a friction curve."""
WINDOWS = 8
"""Number of parts of a recording whose spectra are averaged."""


def friction_curve(result: Identification, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (velocities (k,), torques (k,)) of a joint's identified friction, at the usual load of the recording.

    Other joints rest, so that friction of motors that two joints turn is that of this joint alone.
    """
    series = result.validation.series
    n = len(result.joint_names)
    largest = float(result.choices.large_velocities[joint]) or 1.0
    v = np.zeros((POINTS, n))
    v[:, joint] = np.linspace(-1.1 * largest, 1.1 * largest, POINTS)
    usual = np.zeros(n)
    if len(series.t):
        usual = np.median(abs(series.measured - series.friction), axis=0)
    load = np.broadcast_to(usual[None, :, None], (POINTS, n, 1))
    model = result.model
    first = model.n_inertial
    values = model.friction_values(v[:, None], load)
    along = np.array([model.elements[column.element].direction[joint] for column in model.friction])
    return v[:, joint], values @ (along * result.values[first : first + len(model.friction)])


def residual_spectrum(series: Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (Hz (k,), power of residuals (k, n), of torques (k, n)), by Welch's method over the rows kept."""
    n = series.measured.shape[1]
    length = 2 * (len(series.t) // (WINDOWS + 1))
    if length < 16:
        return np.zeros(0), np.zeros((0, n)), np.zeros((0, n))
    window = np.hanning(length)[:, None]
    powers = [np.zeros((length // 2 + 1, n)), np.zeros((length // 2 + 1, n))]
    for first in range(0, len(series.t) - length + 1, length // 2):
        part = slice(first, first + length)
        for power, x in zip(powers, (series.measured - series.predicted, series.measured), strict=True):
            power += abs(np.fft.rfft((x[part] - x[part].mean(axis=0)) * window, axis=0)) ** 2
    return np.fft.rfftfreq(length, series.interval)[1:], powers[0][1:], powers[1][1:]

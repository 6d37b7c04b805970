"""Faults visible in the recorded numbers: saturation, coarse steps, velocities on another scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...io.logs.log import Log
from .fault import Fault

ROWS = 200_000
"""Number of rows of a log that are checked."""
AT_THE_END = 0.002
"""Share of the samples at the largest or smallest value from which it is a limit."""
FEWEST, MORE = 10, 5
"""Minimum number of samples there, and its ratio to that at the next value: coarse steps often repeat it."""
COARSE = 0.2
"""Step of a recorded torque over its standard deviation from which it is too coarse."""
SCALE, CLEAR = 0.1, 5.0
"""Relative difference from q̇ beyond which recorded velocities are on another scale, where q̇ is so many times its
noise, which third differences of the positions show."""


def recorded_faults(logs: Sequence[Log]) -> list[Fault]:
    """Return the faults of the recorded numbers, each once with the joints that have it."""
    names = logs[0].joint_names
    cut, steps, scales = np.zeros(len(names)), np.zeros(len(names)), np.full(len(names), np.nan)
    for log in logs:
        block = next(log.blocks(ROWS))
        cut = np.maximum(cut, _cut_off(block.tau))
        steps = np.maximum(steps, _steps(block.tau))
        if block.v is not None and len(block) > 100:
            scales = _scales(block.t, block.q, block.v)
    faults = []
    for j in np.flatnonzero(cut):
        text = f"the torque of {names[j]} stays at its largest value in {cut[j]:.1%} of the samples: it is cut off"
        faults.append(
            Fault("saturation", (names[j],), float(cut[j]), f"{text}. Move slower, or leave these parts out")
        )
    for j in np.flatnonzero(steps > COARSE):
        text = f"the torque of {names[j]} is recorded in steps of {steps[j]:.0%} of its standard deviation"
        faults.append(Fault("coarse torque", (names[j],), float(steps[j]), f"{text}. Record it with more digits"))
    for j in np.flatnonzero(abs(scales - 1.0) > SCALE):
        text = f"the recorded velocity of {names[j]} is {scales[j]:.3g} times that of its positions"
        faults.append(
            Fault("velocity scale", (names[j],), float(scales[j]), f"{text}. Check its unit, gear and sign")
        )
    return faults


def _cut_off(tau: np.ndarray) -> np.ndarray:
    """Return the share (n,) of samples at the largest or smallest value; 0 if they do not accumulate there."""
    share = np.zeros(tau.shape[1])
    for j, column in enumerate(tau.T):
        near = max(1e-9 * float(np.ptp(column)), 1e-300)
        values, counts = np.unique(np.round(column / near), return_counts=True)
        if len(values) < 3:
            continue
        for last, next_one in ((counts[-1], counts[-2]), (counts[0], counts[1])):
            if last >= max(FEWEST, AT_THE_END * len(column), MORE * next_one):
                share[j] = max(share[j], last / len(column))
    return share


def _steps(tau: np.ndarray) -> np.ndarray:
    """Return the usual distance (n,) between neighbouring recorded values, over the standard deviation of all."""
    out = np.zeros(tau.shape[1])
    for j, column in enumerate(tau.T):
        size = float(column.std())
        values = np.unique(column)
        if len(values) == 1:
            out[j] = np.inf
        elif size > 0.0 and len(values) < 200:
            out[j] = float(np.median(np.diff(values))) / size
    return out


def _scales(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return recorded velocity over the derivative of positions, (n,); a lag hardly changes it. NaN at rest."""
    window = max(1, round(0.05 / float(np.median(np.diff(t)))))
    slow = (q[2 * window :] - q[: -2 * window]) / (t[2 * window :] - t[: -2 * window])[:, None]
    sums = np.cumsum(np.concatenate([np.zeros((1, v.shape[1])), v]), axis=0)
    mean = (sums[2 * window :] - sums[: -2 * window])[: len(slow)] / (2 * window)
    noise = np.sqrt((np.diff(q, 3, axis=0) ** 2).mean(axis=0) / 10.0) / np.median(
        t[2 * window :] - t[: -2 * window]
    )
    size = slow.std(axis=0)
    moving = size > np.maximum(1e-4, CLEAR * noise)
    ratio = mean.std(axis=0) / np.where(moving, size, 1.0)
    sign = np.sign(((slow - slow.mean(axis=0)) * (mean - mean.mean(axis=0))).sum(axis=0))
    return np.where(moving, ratio * sign, np.nan)

"""Faults that show in the recorded numbers themselves: saturation, coarse steps, velocities on another scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...io.logs.log import Log
from ...mechanism import Mechanism
from .fault import Fault

ROWS = 200_000
"""Rows of a log that are looked at."""
AT_THE_END = 0.002
"""Share of the samples at the largest or smallest value, or at the drive's limit, from which it is a limit."""
FEWEST = 10
COARSE = 0.2
"""Step of a recorded torque over its standard deviation from which it is too coarse."""
SCALE = 0.1
"""Recorded velocities that differ from q̇ by more than this share are on another scale."""


def recorded_faults(logs: Sequence[Log], mechanism: Mechanism) -> list[Fault]:
    """Faults of the recorded numbers, each named once with the joints that have it."""
    names = logs[0].joint_names
    limits = np.array([float(np.min(mechanism.joint(name).limits.effort)) for name in names])
    cut, steps, scales = np.zeros(len(names)), np.zeros(len(names)), np.full(len(names), np.nan)
    for log in logs:
        block = next(log.blocks(ROWS))
        cut = np.maximum(cut, _cut_off(block.tau, limits))
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


def _cut_off(tau: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """(n,) share of samples at one extreme value, or at the limit of the drive; 0 where there are few."""
    share = np.zeros(tau.shape[1])
    for j, column in enumerate(tau.T):
        low, high = column.min(), column.max()
        if high - low <= 0.0:
            continue
        near = 1e-9 * (high - low)
        levels = np.unique(column[:: max(1, len(column) // 2000)])
        if len(levels) < 50:
            continue  # coarse steps hit their largest value often
        counts = [np.count_nonzero(column >= high - near), np.count_nonzero(column <= low + near)]
        if np.isfinite(limits[j]):
            counts.append(np.count_nonzero(abs(column) >= 0.99 * limits[j]))
        most = max(counts)
        if most >= max(FEWEST, AT_THE_END * len(column)):
            share[j] = most / len(column)
    return share


def _steps(tau: np.ndarray) -> np.ndarray:
    """(n,) the usual distance between neighbouring recorded values, over the standard deviation of all."""
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
    """(n,) recorded velocity over the derivative of the positions; a lag hardly changes it. NaN at rest."""
    window = max(1, round(0.05 / float(np.median(np.diff(t)))))
    slow = (q[2 * window :] - q[: -2 * window]) / (t[2 * window :] - t[: -2 * window])[:, None]
    sums = np.cumsum(np.concatenate([np.zeros((1, v.shape[1])), v]), axis=0)
    mean = (sums[2 * window :] - sums[: -2 * window])[: len(slow)] / (2 * window)
    size = slow.std(axis=0)
    moving = size > 1e-4
    ratio = mean.std(axis=0) / np.where(moving, size, 1.0)
    sign = np.sign(((slow - slow.mean(axis=0)) * (mean - mean.mean(axis=0))).sum(axis=0))
    return np.where(moving, ratio * sign, np.nan)

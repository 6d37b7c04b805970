"""Clock of a log: selection of rows, and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import ModelError
from ..tables import listed

GAP_STEPS, GAP_SECONDS = 5.0, 0.02
"""A step that is longer than this many usual steps, and than this many seconds, is a gap. Shorter ones may be
interpolated: the motions of arms are slower than 10 Hz or so."""
MAX_STEP = 0.5
"""Largest time between samples of a motion, s; if steps are longer, the time is in another unit."""
RESTART = 100
"""If the clock is behind for fewer rows than this, they came late and are dropped; otherwise it was set back."""
MOST_RESTARTS = 100
FEWEST_ROWS = 10
LEAST_KEPT = 0.05
"""Smallest share of rows with increasing times for a valid clock."""


@dataclass(frozen=True, eq=False)
class Timing:
    """Result of the check of a log's clock.

    Attributes:
        keep: (rows,) mask of the rows used.
        t: (kept,) seconds from the first row, increasing.
        segments: (first, end) of the kept rows of every segment without a gap.
        step: the median time step, s.
        account: omissions and their reasons.
    """

    keep: np.ndarray
    t: np.ndarray
    segments: tuple[tuple[int, int], ...]
    step: float
    account: tuple[str, ...]


def judged_times(t: np.ndarray, good: np.ndarray, lines: np.ndarray, source: str) -> Timing:
    """Select the rows to use, from all times (rows,) s.

    Single rows whose time jumps, repeated times and late rows are left out. A clock that was set back begins a new
    segment, and its times follow those before, so that times always increase.

    Args:
        t: times as recorded, s.
        good: mask of rows whose other values can be used.
        lines: line number of each row in the file, for the account.
        source: the file or files, for errors.
    """
    at = np.flatnonzero(good & np.isfinite(t))
    if len(at) < FEWEST_ROWS:
        raise ModelError(
            f"has {len(at)} rows that can be used, and at least {FEWEST_ROWS} are needed",
            file=source,
            remedy="Record for longer, or check what its columns were taken for",
        )
    times = t[at]
    steps = np.diff(times)
    n_forward = int(np.count_nonzero(steps > 0.0))
    if n_forward < LEAST_KEPT * len(at):
        raise ModelError(
            f"its time does not increase: {n_forward} of {len(at) - 1} steps go forward",
            file=source,
            remedy="Say which column is the time, columns={'time': …}, or give the rate of the samples",
        )
    step = _usual(steps)
    if step > MAX_STEP:
        raise ModelError(
            f"its samples are {step:.4g} s apart, too far for a motion",
            file=source,
            remedy="Say the unit of the time: units={'time': 'ms'} (--units time=ms)",
        )
    gap = max(GAP_STEPS * step, GAP_SECONDS)
    account: list[str] = []
    restarts: list[int] = []
    if n_forward < len(steps) or max(steps[0], steps[-1]) > 1e6 * gap:
        del steps
        at, times, restarts = _forward_rows(at, times, lines, gap, step, account, source)
        steps = np.diff(times)
    ends = np.flatnonzero(steps > gap) + 1
    bounds = [0, *(int(k) for k in ends), len(at)]
    segments = tuple(pairwise(bounds))
    missing = len(segments) - 1 - len(restarts)
    if missing > 0:
        where = [int(k) for k in ends if int(k) not in restarts]
        many = "s" if missing > 1 else ""
        account.append(f"{missing} gap{many} longer than {gap:.3g} s, before {listed(lines[at[where]])}")
    mask = np.zeros(len(t), dtype=bool)
    mask[at] = True
    return Timing(mask, times - times[0], segments, step, tuple(account))


def _usual(steps: np.ndarray) -> float:
    """Return the median of the steps forward, of a million at most."""
    some = steps[:: max(1, len(steps) // 1_000_000)]
    some = some[some > 0.0]
    return float(np.median(some if len(some) else steps[steps > 0.0]))


def _forward_rows(at, times, lines, gap: float, step: float, account: list[str], source: str):
    """Return (rows whose times increase, these times, their indices at which the clock was set back)."""
    jumps = _single_jumps(times, gap)
    if jumps.any():
        account.append(f"the time of {listed(lines[at[jumps]])} jumps and comes back; left out")
    at, times = at[~jumps], times[~jumps]
    repeats = np.concatenate(([False], times[1:] == times[:-1]))
    times, keep, restarts = _increasing(times, gap + step, source)
    repeated, late = ~keep & repeats, ~keep & ~repeats
    if repeated.any():
        account.append(f"{listed(lines[at[repeated]])} repeats the time of the row before; left out")
    if late.any():
        account.append(f"the clock goes back at {listed(lines[at[late]])}; left out")
    account += [f"the clock was set back at line {lines[at[k]]}; a new segment begins there" for k in restarts]
    n_kept = int(np.count_nonzero(keep))
    if n_kept < FEWEST_ROWS or n_kept < LEAST_KEPT * len(at):
        raise ModelError(
            f"its time increases in {n_kept} of {len(at)} rows only",
            file=source,
            remedy="Say which column is the time, columns={'time': …}, or give the rate of the samples",
        )
    before = np.cumsum(keep, dtype=np.int64)
    return at[keep], times[keep], [int(before[k]) - 1 for k in restarts]


def _single_jumps(t: np.ndarray, gap: float) -> np.ndarray:
    """Return a mask of the rows whose time is out of order while the rows on either side are in order."""
    jumps = np.zeros(len(t), dtype=bool)
    back = np.flatnonzero(t[1:] < t[:-1])
    suspects = np.unique(np.concatenate([back, back + 1]))
    suspects = suspects[(suspects > 0) & (suspects < len(t) - 1)]
    across = t[suspects + 1] - t[suspects - 1]
    jumps[suspects[(across > 0.0) & (across <= 2.0 * gap)]] = True
    for end, beside, next_one in ((0, 1, 2), (-1, -2, -3)):  # they have one neighbour, which must not be the jump
        follows = 0.0 < abs(t[next_one] - t[beside]) <= gap
        jumps[end] = follows and abs(t[beside] - t[end]) > 1e6 * gap
    return jumps


def _increasing(t: np.ndarray, pause: float, source: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return (times that always increase, which rows have them, rows at which the clock was set back).

    Times after the clock was set back continue `pause` later than the last row before.
    """
    moved, keep = t.copy(), np.ones(len(t), dtype=bool)
    restarts: list[int] = []
    begin = 0
    while True:
        part = moved[begin:]
        highest = np.maximum.accumulate(part)
        behind = np.concatenate(([False], part[1:] <= highest[:-1]))
        back = np.concatenate(([False], part[1:] < highest[:-1]))
        keep[begin:] = ~behind
        again = _lasting(behind, back)
        if again is None:
            return moved, keep, restarts
        restarts.append(begin + again)
        if len(restarts) > MOST_RESTARTS:
            raise ModelError(
                f"its clock is set back more than {MOST_RESTARTS} times",
                file=source,
                remedy="Check which column is the time, or split the file",
            )
        moved[begin + again :] += highest[again - 1] + pause - part[again]
        begin += again


def _lasting(behind: np.ndarray, back: np.ndarray) -> int | None:
    """Return the first row from which the clock stays behind for `RESTART` rows; None if there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], behind.astype(np.int8), [0]))))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first >= RESTART:
            inside = np.flatnonzero(back[first:end])
            if len(inside) and end - first - inside[0] >= RESTART:
                return int(first + inside[0])
    return None

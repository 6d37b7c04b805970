"""Which rows of a recording are used, judged by their clock, and where it has gaps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import ModelError
from ..cells import listed

GAP_STEPS, GAP_SECONDS = 5.0, 0.02
"""A step longer than this many usual ones and than this many seconds is a gap. Shorter ones may be interpolated:
the motions of arms are slower than 10 Hz or so."""
MAX_STEP = 0.5
"""Samples that are further apart, s, show no motion: the time has another unit."""
RESTART = 100
"""A clock that goes back for fewer rows than this delivers late rows, which are left out; else it was set back."""
MOST_RESTARTS = 100
FEWEST_ROWS = 10
LEAST_KEPT = 0.05
"""Share of the rows that must have increasing times; with less it is no clock."""


@dataclass(frozen=True, eq=False)
class Timing:
    """What the clock of a recording says.

    Attributes:
        keep: (rows,) whether a row is used.
        t: (kept,) seconds from the first row, increasing.
        segments: (first, end) of the kept rows of every piece without a gap.
        step: the usual time step, s.
        account: what was left out and why.
    """

    keep: np.ndarray
    t: np.ndarray
    segments: tuple[tuple[int, int], ...]
    step: float
    account: tuple[str, ...]


def judged_times(t: np.ndarray, good: np.ndarray, lines: np.ndarray, source: str) -> Timing:
    """Which rows to use, from all times (rows,) s.

    Single rows whose time jumps, repeated times and late rows are left out. A clock that was set back begins a new
    segment, and its times follow those before, so that times always increase.

    Args:
        t: times as recorded, s.
        good: whether the other numbers of a row can be used.
        lines: where each row stands in the file, for the account.
        source: the file or files, for errors.
    """
    at = np.flatnonzero(good & np.isfinite(t))
    if len(at) < FEWEST_ROWS:
        raise ModelError(
            f"has {len(at)} rows that can be used, and at least {FEWEST_ROWS} are needed",
            file=source,
            remedy="Record for longer, or check what its columns were taken for",
        )
    forward = np.diff(t[at])
    forward = forward[forward > 0.0]
    if len(forward) < LEAST_KEPT * len(at):
        raise ModelError(
            f"its time does not increase: {len(forward)} of {len(at) - 1} steps go forward",
            file=source,
            remedy="Say which column is the time, columns={'time': …}, or give the rate of the samples",
        )
    step = float(np.median(forward))
    if step > MAX_STEP:
        raise ModelError(
            f"its samples are {step:.4g} s apart, too far for a motion",
            file=source,
            remedy="Say the unit of the time: units={'time': 'ms'} (--units time=ms)",
        )
    gap = max(GAP_STEPS * step, GAP_SECONDS)
    account = []
    jumps = _single_jumps(t[at], gap)
    if jumps.any():
        account.append(f"the time of {listed(lines[at[jumps]])} jumps and comes back; left out")
    at = at[~jumps]
    moved, keep, restarts = _increasing(t[at], gap + step, source)
    repeated = ~keep & np.concatenate(([False], np.diff(t[at]) == 0.0))
    if repeated.any():
        account.append(f"{listed(lines[at[repeated]])} repeats the time of the row before; left out")
    late = ~keep & ~repeated
    if late.any():
        account.append(f"the clock goes back at {listed(lines[at[late]])}; left out")
    account += [f"the clock was set back at line {lines[at[k]]}; a new segment begins there" for k in restarts]
    at, moved = at[keep], moved[keep]
    if len(at) < max(FEWEST_ROWS, LEAST_KEPT * len(t)) and len(at) < LEAST_KEPT * np.count_nonzero(good):
        raise ModelError(
            f"its time increases in {len(at)} of {len(t)} rows only",
            file=source,
            remedy="Say which column is the time, columns={'time': …}, or give the rate of the samples",
        )
    ends = np.flatnonzero(np.diff(moved) > gap) + 1
    bounds = [0, *(int(k) for k in ends), len(at)]
    segments = tuple(pairwise(bounds))
    missing = len(segments) - 1 - len(restarts)
    if missing > 0:
        where = [int(k) for k in ends if int(k) not in restarts]
        many = "s" if missing > 1 else ""
        account.append(f"{missing} gap{many} longer than {gap:.3g} s, before {listed(lines[at[where]])}")
    mask = np.zeros(len(t), dtype=bool)
    mask[at] = True
    return Timing(mask, moved - moved[0], segments, step, tuple(account))


def _single_jumps(t: np.ndarray, gap: float) -> np.ndarray:
    """Rows whose time is out of order while their neighbours follow each other."""
    jumps = np.zeros(len(t), dtype=bool)
    before, after = t[1:-1] - t[:-2], t[2:] - t[1:-1]
    across = before + after
    jumps[1:-1] = ((before < 0.0) | (after < 0.0)) & (across > 0.0) & (across <= 2.0 * gap)
    jumps[-1] = t[-1] - t[-2] > 1e6 * gap  # a last row has no other neighbour
    return jumps


def _increasing(t: np.ndarray, pause: float, source: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """(times that always increase, which rows have them, rows where the clock was set back).

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
    """The first row from which the clock stays behind for `RESTART` rows; None if there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], behind.astype(np.int8), [0]))))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first >= RESTART:
            inside = np.flatnonzero(back[first:end])
            if len(inside) and end - first - inside[0] >= RESTART:
                return int(first + inside[0])
    return None

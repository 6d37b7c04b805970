"""Curves of solutions followed from slice to slice: which solution of a slice continues in which.

Between two neighbouring slices lies a strip. A curve that enters it leaves it again, through the other slice or,
after a turn, through the same one. All solutions of all slices are followed at once, into the strip above them, and
into the one below where nothing has arrived from there. What arrives must be a solution of its slice, and no
solution is arrived at twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._rows import apart
from ...clock import time_is_over
from ...ik_problem import IkProblem
from ...newton import Lanes
from ..slices import Sliced
from .advance import HAPPENED, LONGEST_STEP, LOST, advanced
from .curve_step import ON_CURVE, held_at, tangents, turns_within

FIRST_STEP = 0.05
"""Smallest first step. The first step would cross the strip if the curve were straight."""
CROSSING = 1.05
"""Factor of the first step beyond the width of the strip."""
ARRIVED = 1e-6
"""Distance, rad, within which an arriving point is a solution of the slice."""
MOST_CALLS = 60
"""Maximum number of calls, of up to `MOST_POINTS` points each; a call ends at a turn, too."""
HALVINGS = 10
"""Halvings of a step to find where it leaves a strip; corrections do the rest."""
LANDING = 4
"""Calls of three corrections each with which a curve is brought to a slice."""


class Slices(NamedTuple):
    """The solutions of one pose at values of a joint.

    Attributes:
        problem: the chain, without limits.
        lanes: the pose.
        coordinate: the sliced joint.
        values: of it, ascending.
        around: True if the last slice is followed by the first.
        slice: (s,) of every solution.
        x: (s, 7) solutions.
        tangent: (s, 7) of the curves through them, the way on which the sliced joint grows.
    """

    problem: IkProblem
    lanes: Lanes
    coordinate: int
    values: np.ndarray
    around: bool
    slice: np.ndarray
    x: np.ndarray
    tangent: np.ndarray


class Strands(NamedTuple):
    """Pieces of curves, each within one strip.

    Attributes:
        start, end: (m,) numbers of the solutions at both ends; −1 where following was lost.
        below: (m,) True if it lies below its end.
        upward: (m,) True if it begins upwards.
        first: (m + 1,) index of the first point of each piece.
        x: (p, 7), both ends of each piece among them, without jumps within a piece.
        tangent: (p, 7).
        turn_piece: (t,) pieces that turn.
        turn_after: (t,) the point before the turn, counted within the piece.
        turn: (t, 7) points where the sliced joint turns.
    """

    start: np.ndarray
    end: np.ndarray
    below: np.ndarray
    upward: np.ndarray
    first: np.ndarray
    x: np.ndarray
    tangent: np.ndarray
    turn_piece: np.ndarray
    turn_after: np.ndarray
    turn: np.ndarray


class _Leaving(NamedTuple):
    """Steps that leave a strip: their pieces, the cubic between two points, and the side, 1 above and −1 below."""

    piece: np.ndarray
    x: np.ndarray
    tangent: np.ndarray
    x_new: np.ndarray
    t_new: np.ndarray
    side: np.ndarray


def slices_of(
    problem: IkProblem, lanes: Lanes, coordinate: int, values: Any, around: bool, nodes: Sliced
) -> Slices:
    """Return slices with tangents, from the solutions of one pose."""
    tangent = tangents(problem, lanes, nodes.x, coordinate)
    return Slices(problem, lanes, coordinate, values, around, nodes.slice, nodes.x, tangent)


def followed(slices: Slices, start: np.ndarray, upward: bool) -> Strands:
    """Follow the curves through some solutions of slices across the strip above or below them.

    Args:
        slices: all solutions.
        start: numbers of those to begin at.
        upward: True if the sliced joint grows at first.
    """
    problem, lanes, k = slices.problem, slices.lanes, slices.coordinate
    count, active = len(start), np.arange(len(start))
    x, tangent = slices.x[start], slices.tangent[start] * (1.0 if upward else -1.0)
    low, high, below, above = _strip(slices, start, upward)
    with np.errstate(divide="ignore"):
        ahead = np.clip(CROSSING * (high - low) / np.abs(tangent[:, k]), FIRST_STEP, LONGEST_STEP)
    points, turns, leaving = [(active, x, tangent)], [], []
    n_points = np.ones(count, int)
    lower, upper = low, high
    for _ in range(MOST_CALLS):
        if not len(active) or time_is_over():
            break
        new = advanced(problem, lanes, k, x, tangent, ahead, lower, upper)
        found = np.arange(new.points.shape[1]) < new.count[:, None]
        row = new.points[found]
        points.append((np.repeat(active, new.count), row[:, : problem.n], row[:, problem.n :]))
        n_points[active] += new.count
        x, tangent, ahead = new.x, new.tangent, new.ahead
        event = new.state == HAPPENED
        s, last_x, last_t = new.x_new[:, k], new.x_new, new.t_new
        out = np.where(event, (s >= upper).astype(int) - (s <= lower), 0)
        first_x, first_t = x.copy(), tangent.copy()
        turning = np.flatnonzero(event & (tangent[:, k] * last_t[:, k] < 0))
        if len(turning):
            turn, t_turn = turns_within(problem, lanes, x[turning], tangent[turning], ahead[turning], k)
            beyond = (turn[:, k] >= upper[turning]).astype(int) - (turn[:, k] <= lower[turning])
            out[turning] = np.where(beyond != 0, beyond, out[turning])
            inside = beyond == 0
            turns.append((active[turning[inside]], n_points[active[turning[inside]]] - 1, turn[inside]))
            # Between a turn and either end of the step the coordinate goes one way.
            last_x, last_t = last_x.copy(), last_t.copy()
            first_x[turning[inside]], first_t[turning[inside]] = turn[inside], t_turn[inside]
            last_x[turning[~inside]], last_t[turning[~inside]] = turn[~inside], t_turn[~inside]
        left = out != 0
        if left.any():
            parts = active, first_x, first_t, last_x, last_t, out
            leaving.append([part[left] for part in parts])
        # What turned and stayed has taken its step.
        stepping = event & ~left
        points.append((active[stepping], last_x[stepping], last_t[stepping]))
        n_points[active[stepping]] += 1
        x, tangent = np.where(stepping[:, None], last_x, x), np.where(stepping[:, None], last_t, tangent)
        on = ~left & (new.state != LOST)
        active, x, tangent, ahead, lower, upper = (part[on] for part in (active, x, tangent, ahead, lower, upper))
    end, under = np.full(count, -1), np.zeros(count, bool)
    if leaving:
        gone = _Leaving(*[np.concatenate(parts) for parts in zip(*leaving, strict=True)])
        which, up = gone.piece, gone.side > 0
        crossing = _at_level(gone, k, np.where(up, high[which], low[which]))
        landed, arrived = _landed(slices, crossing, np.where(up, above[which], below[which]))
        end[which], under[which] = arrived, up
        there = arrived >= 0
        points.append((which[there], landed[there], slices.tangent[arrived[there]] * gone.side[there, None]))
    piece, x, tangent = (np.concatenate(parts) for parts in zip(*points, strict=True))
    order = np.argsort(piece, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(piece, minlength=count))])
    told = [np.zeros(0, int), np.zeros(0, int), np.zeros((0, problem.n))]
    if turns:
        told = [np.concatenate(parts) for parts in zip(*turns, strict=True)]
    return Strands(start, end, under, np.full(count, upward), first, x[order], tangent[order], *told)


def _strip(slices: Slices, start: np.ndarray, upward: bool):
    """Return the bounds of the strip above or below solutions, and the numbers of its two slices.

    The last strip of a circle goes beyond a turn, and so does the first.
    """
    values, n = slices.values, len(slices.values)
    below = slices.slice[start] if upward else slices.slice[start] - 1
    above = below + 1
    extended = np.concatenate([[values[-1] - 2 * np.pi], values, [values[0] + 2 * np.pi]])
    shift = slices.x[start, slices.coordinate] - values[slices.slice[start]]
    return extended[below + 1] + shift, extended[above + 1] + shift, below % n, above % n


def _at_level(gone: _Leaving, coordinate: int, level: np.ndarray) -> np.ndarray:
    """Return points (n, 7) where cubics bring a coordinate to a level, by bisection."""
    chord = gone.x_new - gone.x
    length = np.linalg.norm(chord, axis=1)[:, None]
    begin, end = length * gone.tangent, length * gone.t_new
    own = [part[:, coordinate] for part in (gone.x, chord, begin, end)]
    t, rising = np.full(len(chord), 0.5), own[1] > 0
    for halving in range(2, 2 + HALVINGS):
        t = t + np.where((_cubic(t, *own) < level) == rising, 0.5**halving, -(0.5**halving))
    at = _cubic(t[:, None], gone.x, chord, begin, end)
    at[:, coordinate] = level
    return at


def _cubic(t: Any, x: Any, chord: Any, begin: Any, end: Any) -> Any:
    """Evaluate the cubic from x over a chord, with these derivatives at its ends, at t of 0 … 1."""
    return x + t * t * (3 - 2 * t) * chord + t * (1 - t) * ((1 - t) * begin - t * end)


def _landed(slices: Slices, start: np.ndarray, cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find solutions of slices next to points (n, 7) of their planes, and their numbers; −1 if there is none."""
    landed, squared = held_at(slices.problem, slices.lanes, start, slices.coordinate, LANDING)
    table = _by_slice(slices.slice, len(slices.values))[cut]
    off = apart(slices.problem, slices.x[table], landed[:, None])
    off[table < 0] = np.inf
    best = np.argmin(off, axis=1)
    rows = np.arange(len(start))
    near = np.abs(landed - start).max(axis=1, initial=0.0) < LONGEST_STEP
    good = (squared < ON_CURVE) & near & (off[rows, best] < ARRIVED)
    return landed, np.where(good, table[rows, best], -1)


def _by_slice(cut: np.ndarray, slices: int) -> np.ndarray:
    """Return the numbers (slices, m) of the solutions of every slice, −1 beyond them."""
    order = np.argsort(cut, kind="stable")
    count = np.bincount(cut, minlength=slices)
    table = np.full((slices, max(1, int(count.max(initial=0)))), -1)
    first = np.cumsum(count) - count
    table[cut[order], np.arange(len(cut)) - first[cut[order]]] = order
    return table

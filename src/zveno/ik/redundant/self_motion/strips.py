"""Curves of solutions followed from slice to slice: which solution of a slice continues in which.

Between two neighbouring slices lies a strip. A curve that enters it leaves it again, through the other slice or,
after a turn, through the same one. All solutions of all slices are followed at once, into the strip above them, and
into the one below where nothing has arrived from there. What arrives must be a solution of its slice, and no
solution is arrived at twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...clock import time_is_over
from ...ik_problem import IkProblem
from ...newton import Lanes, newton
from ..slices import Sliced
from .curve_step import stepped, tangents

FIRST_STEP, LONGEST_STEP, SHORTEST_STEP = 0.05, 0.25, 1e-6
ON_CURVE = 1e-18
"""Squared error before the last correction, which squares it again."""
STRAIGHT = 0.95
"""Cosine of the angle by which a tangent may turn in a step."""
NEAR = 0.2
"""How far a correction may reach, in parts of the step."""
ARRIVED = 1e-6
"""Distance, rad, within which what arrives is a solution of the slice."""
TURNED = 1e-12
"""Rate of the sliced joint along a curve at which it counts as turning."""
MOST_STEPS = 400


class Strands(NamedTuple):
    """Pieces of curves, each within one strip.

    Attributes:
        start, end: (m,) numbers of the solutions at both ends; −1 where following was lost.
        below: (m,) whether it lies below its end.
        upward: (m,) whether it begins upwards.
        piece: (p,) the piece each point belongs to, ascending; its points are in order, both ends among them.
        x: (p, 7), without jumps within a piece.
        tangent: (p, 7).
        turn_piece: (t,) pieces that turn.
        turn: (t, 7) where the sliced joint turns.
    """

    start: np.ndarray
    end: np.ndarray
    below: np.ndarray
    upward: np.ndarray
    piece: np.ndarray
    x: np.ndarray
    tangent: np.ndarray
    turn_piece: np.ndarray
    turn: np.ndarray


def followed(
    problem: IkProblem,
    lanes: Lanes,
    coordinate: int,
    values: np.ndarray,
    around: bool,
    nodes: Sliced,
    start: np.ndarray,
    upward: bool,
) -> Strands:
    """The curves through some solutions of slices, as far as the strip above or below them goes.

    Args:
        problem: the chain, without limits.
        lanes: the poses.
        coordinate: the sliced joint.
        values: of it, ascending.
        around: whether the last slice is followed by the first.
        nodes: solutions of the slices.
        start: numbers of the solutions to begin at.
        upward: whether the sliced joint grows at first.
    """
    count, sign = len(start), 1.0 if upward else -1.0
    pose, begun = nodes.pose[start], nodes.slice[start]
    low, high, below, above = _strip(values, around, begun, upward)
    x = nodes.x[start].copy()
    tangent = sign * tangents(problem, lanes, pose, x, coordinate)
    # The slice's value as it is in the strip: the last strip of a circle goes beyond a turn.
    level = x[:, coordinate].copy()
    low, high = low - values[begun] + level, high - values[begun] + level
    ahead = np.full(count, FIRST_STEP)
    end, under = np.full(count, -1), np.zeros(count, bool)
    points = [(np.arange(count), x.copy(), tangent.copy())]
    turns: list[tuple[np.ndarray, np.ndarray]] = []
    active = np.arange(count)
    for _ in range(MOST_STEPS):
        if not len(active) or time_is_over():
            break
        new = stepped(problem, lanes, pose[active], x[active], tangent[active], ahead[active])
        good = (new.squared < ON_CURVE) & (new.cosine > STRAIGHT) & (new.corrected < NEAR * ahead[active])
        ahead[active[~good]] *= 0.4
        lanes_on, x_new, t_new = active[good], new.x[good], new.tangent[good]
        first_x, first_t, last_x, last_t = x[lanes_on], tangent[lanes_on], x_new.copy(), t_new.copy()
        turning = first_t[:, coordinate] * t_new[:, coordinate] < 0
        out = np.where(x_new[:, coordinate] >= high[lanes_on], 1, 0)
        out[x_new[:, coordinate] <= low[lanes_on]] = -1
        if turning.any():
            which = lanes_on[turning]
            turn, t_turn = _turn(problem, lanes, pose[which], x[which], tangent[which], ahead[which], coordinate)
            beyond = (turn[:, coordinate] >= high[which]).astype(int) - (turn[:, coordinate] <= low[which])
            out[turning] = np.where(beyond != 0, beyond, out[turning])
            inside = beyond == 0
            turns.append((which[inside], turn[inside]))
            # Between a turn and either end of the step the coordinate goes one way.
            rows = np.flatnonzero(turning)
            first_x[rows[inside]], first_t[rows[inside]] = turn[inside], t_turn[inside]
            last_x[rows[~inside]], last_t[rows[~inside]] = turn[~inside], t_turn[~inside]
        ahead[lanes_on] = np.where(new.cosine[good] > 0.995, 1.5, 0.95) * ahead[lanes_on]
        np.minimum(ahead, LONGEST_STEP, out=ahead)
        leaving = out != 0
        if leaving.any():
            which, side = lanes_on[leaving], out[leaving]
            plane = np.where(side > 0, high[which], low[which])
            first, last = (first_x[leaving], first_t[leaving]), (last_x[leaving], last_t[leaving])
            crossing = _at_level(*first, *last, coordinate, plane)
            cut = np.where(side > 0, above[which], below[which])
            landed, arrived = _landed(problem, lanes, pose[which], crossing, coordinate, len(values), nodes, cut)
            end[which], under[which] = arrived, side > 0
            there = landed[arrived >= 0]
            t = tangents(problem, lanes, pose[which[arrived >= 0]], there, coordinate)
            points.append((which[arrived >= 0], there, t * side[arrived >= 0, None]))
        staying = lanes_on[~leaving]
        x[staying], tangent[staying] = x_new[~leaving], t_new[~leaving]
        points.append((staying, x[staying].copy(), tangent[staying].copy()))
        lost = active[ahead[active] < SHORTEST_STEP]
        active = np.setdiff1d(np.concatenate([staying, active[~good]]), lost)
    piece, x, tangent = (np.concatenate(parts) for parts in zip(*points, strict=True))
    order = np.argsort(piece, kind="stable")
    turn_piece = np.concatenate([np.zeros(0, int), *(which for which, _ in turns)])
    turn = np.concatenate([np.zeros((0, problem.n)), *(turn for _, turn in turns)])
    steps = piece[order], x[order], tangent[order]
    return Strands(start, end, under, np.full(count, upward), *steps, turn_piece, turn)


def _strip(values: np.ndarray, around: bool, begun: np.ndarray, upward: bool):
    """Lower and upper value of the strip above or below slices, and the numbers of its two slices."""
    n = len(values)
    below = begun if upward else begun - 1
    above = below + 1
    extended = np.concatenate([[values[-1] - 2 * np.pi], values, [values[0] + 2 * np.pi]])
    return extended[below + 1], extended[above + 1], below % n, above % n


def _turn(problem: IkProblem, lanes: Lanes, pose, x, tangent, ahead, coordinate: int):
    """(t, 7) where a coordinate turns within steps that turn it, and tangents: by regula falsi (Illinois)."""
    low, high = np.zeros(len(x)), ahead.copy()
    rate_low = tangent[:, coordinate].copy()
    rate_high = stepped(problem, lanes, pose, x, tangent, high).tangent[:, coordinate]
    at, along = x, tangent
    side = np.zeros(len(x))
    for _ in range(12):
        span = rate_high - rate_low
        middle = np.where(span != 0, low - rate_low * (high - low) / np.where(span == 0, 1.0, span), low)
        new = stepped(problem, lanes, pose, x, tangent, middle)
        # What is there stays there, so that it does not depend on what else is in the batch.
        there = (np.abs(along[:, coordinate]) < TURNED)[:, None]
        at, along = np.where(there, at, new.x), np.where(there, along, new.tangent)
        rate: np.ndarray = along[:, coordinate]
        left: np.ndarray = rate * rate_low > 0
        rate_high = np.where(left & (side > 0), 0.5 * rate_high, rate_high)
        rate_low = np.where(~left & (side < 0), 0.5 * rate_low, rate_low)
        low, rate_low = np.where(left, middle, low), np.where(left, rate, rate_low)
        high, rate_high = np.where(left, high, middle), np.where(left, rate_high, rate)
        side = np.where(left, 1.0, -1.0)
        if np.abs(rate).max(initial=0.0) < TURNED:
            break
    return at, along


def _at_level(x, tangent, x_new, t_new, coordinate: int, level: np.ndarray) -> np.ndarray:
    """(n, 7) where cubics from x to x_new, with these tangents, bring a coordinate to a level; by bisection."""
    chord = x_new - x
    length = np.linalg.norm(chord, axis=1)[:, None]
    begin, end = length * tangent, length * t_new
    own = [part[:, coordinate] for part in (x, chord, begin, end)]
    low, high = np.zeros(len(x)), np.ones(len(x))
    rising = own[1] > 0
    for _ in range(40):
        t = 0.5 * (low + high)
        before = (_cubic(t, *own) < level) == rising
        low, high = np.where(before, t, low), np.where(before, high, t)
    at = _cubic((0.5 * (low + high))[:, None], x, chord, begin, end)
    at[:, coordinate] = level
    return at


def _cubic(t: Any, x: Any, chord: Any, begin: Any, end: Any) -> Any:
    """Where the cubic from x over a chord, with these derivatives at its ends, is at t of 0 … 1."""
    return x + t * t * (3 - 2 * t) * chord + t * (1 - t) * ((1 - t) * begin - t * end)


def _landed(
    problem: IkProblem, lanes: Lanes, pose, start, coordinate: int, slices: int, nodes: Sliced, cut
) -> tuple[np.ndarray, np.ndarray]:
    """Solutions of slices next to points (n, 7) of their planes, and their numbers among the nodes; −1 if none."""
    landed, squared = newton(problem, start, lanes.targets[pose], lanes.tool, 12, frozen=(coordinate,))
    table = _by_slice(nodes, slices)[pose * slices + cut]
    off = np.abs(problem.difference(nodes.x[table], landed[:, None])).max(axis=2)
    off[table < 0] = np.inf
    best = np.argmin(off, axis=1)
    rows = np.arange(len(start))
    near = np.abs(landed - start).max(axis=1, initial=0.0) < LONGEST_STEP
    good = (squared < ON_CURVE) & near & (off[rows, best] < ARRIVED)
    return landed, np.where(good, table[rows, best], -1)


def _by_slice(nodes: Sliced, slices: int) -> np.ndarray:
    """(poses · slices, m) numbers of the solutions of every slice of every pose, −1 beyond them."""
    key = nodes.pose * slices + nodes.slice
    order = np.argsort(key, kind="stable")
    count = np.bincount(key, minlength=(int(nodes.pose.max(initial=0)) + 1) * slices)
    table = np.full((len(count), max(1, int(count.max(initial=0)))), -1)
    first = np.cumsum(count) - count
    table[key[order], np.arange(len(key)) - first[key[order]]] = order
    return table

"""Whole curves of solutions, put together from pieces between slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import IkProblem
from ...newton import Lanes
from ..slices import Sliced
from .strips import Strands, followed, slices_of


class Component(NamedTuple):
    """A curve of solutions, limits of the joints that are not sliced disregarded.

    Attributes:
        x: (p, 7) points in order, near to each other but for whole turns.
        tangent: (p, 7) in that order.
        closed: True if the last point is followed by the first, which is then not repeated.
        turns: (t, 7) points where the sliced joint turns, in no order.
        after: (t,) the point after which each turn comes.
        marked: (p,) True if a point is a solution of a slice.
    """

    x: np.ndarray
    tangent: np.ndarray
    closed: bool
    turns: np.ndarray
    after: np.ndarray
    marked: np.ndarray


class Traced(NamedTuple):
    """Curves of a pose, and whether every piece was followed to a solution of a slice, each from one side."""

    components: list[Component]
    whole: bool


def traced(
    problem: IkProblem, lanes: Lanes, coordinate: int, values: np.ndarray, around: bool, nodes: Sliced
) -> Traced:
    """Trace the curves of one pose through the solutions of slices, within the range of the sliced joint."""
    if not len(nodes.x):
        return Traced([], True)
    slices = slices_of(problem, lanes, coordinate, values, around, nodes)
    every, last = np.arange(len(nodes.x)), len(values) - 1
    up = followed(slices, every if around else every[nodes.slice < last], True)
    links = _Links(len(every))
    links.enter(up)
    below = [i for i in every.tolist() if links.to[2 * i] < 0 and (around or nodes.slice[i] > 0)]
    if below and links.whole:
        links.enter(followed(slices, np.array(below), False))
    return Traced(links.walked(), links.whole)


class _Links:
    """Links between solutions: each has two sides, above (2 i + 1) and below (2 i), where a piece may lie."""

    def __init__(self, n: int):
        self.to, self.piece = [-1] * (2 * n), [-1] * (2 * n)
        """For every side, the side at the other end of the piece that lies there, and that piece."""
        self.whole = True
        self._strands: list[Strands] = []
        self._forward: list[int] = []
        """The side at which each piece begins."""

    def enter(self, strands: Strands) -> None:
        """Enter pieces: each end of one is a solution and the side on which the piece lies."""
        self._strands.append(strands)
        sides = 2 * strands.start + strands.upward, 2 * strands.end + ~strands.below
        for here, there, end in zip(*(part.tolist() for part in (*sides, strands.end)), strict=True):
            piece = len(self._forward)
            self._forward.append(here)
            if end < 0:
                self.whole = False
                continue
            for one, other in ((here, there), (there, here)):
                if self.to[one] < 0:
                    self.to[one], self.piece[one] = other, piece
                elif self.to[one] != other:
                    self.whole = False

    def walked(self) -> list[Component]:
        """Return the curves."""
        points = _Points(self._strands)
        left = dict.fromkeys(range(len(self.to) // 2))
        to = self.to
        ends = [i for i in left if to[2 * i] < 0 or to[2 * i + 1] < 0]
        components = []
        for first in [*ends, *list(left)]:
            if first not in left:
                continue
            side = 2 * first + (to[2 * first + 1] >= 0)
            pieces, closed = [], False
            left.pop(first)
            while to[side] >= 0:
                pieces.append((self.piece[side], self._forward[self.piece[side]] == side))
                arrived = to[side]
                closed = arrived // 2 == first
                if closed or arrived // 2 not in left:
                    break
                left.pop(arrived // 2)
                side = arrived ^ 1
            if pieces:
                components.append(points.joined(pieces, closed))
        return components


class _Points:
    """Points and turns of all pieces."""

    def __init__(self, strands: list[Strands]):
        self._x, self._tangent = (
            np.concatenate(parts) for parts in zip(*((s.x, s.tangent) for s in strands), strict=True)
        )
        sizes = np.concatenate([np.diff(s.first) for s in strands])
        self._first = [0, *np.cumsum(sizes).tolist()]
        self._turns: dict[int, list[tuple[int, np.ndarray]]] = {}
        before = 0
        for s in strands:
            for piece, after, turn in zip(s.turn_piece.tolist(), s.turn_after.tolist(), s.turn, strict=True):
                self._turns.setdefault(before + piece, []).append((after, turn))
            before += len(s.start)

    def joined(self, pieces: list[tuple[int, bool]], closed: bool) -> Component:
        """Join pieces in order to a curve, each from its beginning or from its end."""
        rows, turns, after, starts = [], [], [], [0]
        last = 0
        for piece, forward in pieces:
            begin, end = self._first[piece], self._first[piece + 1] - 1
            rows.append(np.arange(begin, end) if forward else np.arange(end, begin, -1))
            last = end if forward else begin
            for place, turn in self._turns.get(piece, ()):
                turns.append(turn)
                after.append(starts[-1] + (place if forward else end - begin - 1 - place))
            starts.append(starts[-1] + end - begin)
        sign = np.repeat([1.0 if forward else -1.0 for _, forward in pieces], np.diff(starts))
        if closed:
            starts.pop()
        else:
            rows.append(np.array([last]))
            sign = np.append(sign, 1.0 if pieces[-1][1] else -1.0)
        order = np.concatenate(rows)
        marked = np.zeros(len(order), bool)
        marked[starts] = True
        turned = np.array(turns).reshape(-1, self._x.shape[1])
        tangent = self._tangent[order] * sign[:, None]
        return Component(self._x[order], tangent, closed, turned, np.array(after, int), marked)

"""Whole curves of solutions, put together from pieces between slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import IkProblem
from ...newton import Lanes
from ..slices import Sliced
from .strips import Strands, followed


class Component(NamedTuple):
    """A curve of solutions, limits of the joints that are not sliced disregarded.

    Attributes:
        x: (p, 7) points in order, near to each other but for whole turns.
        tangent: (p, 7) in that order.
        closed: whether the last point is followed by the first, which is then not repeated.
        turns: (t, 7) where the sliced joint turns, in no order.
        marked: (p,) whether a point is a solution of a slice.
    """

    x: np.ndarray
    tangent: np.ndarray
    closed: bool
    turns: np.ndarray
    marked: np.ndarray


class Traced(NamedTuple):
    """Curves by pose, and (k,) whether every piece was followed to a solution of a slice, each from one side."""

    components: dict[int, list[Component]]
    whole: np.ndarray


def traced(
    problem: IkProblem, lanes: Lanes, coordinate: int, values: np.ndarray, around: bool, nodes: Sliced
) -> Traced:
    """The curves through the solutions of slices, within the range of the sliced joint."""
    whole = np.ones(len(lanes.targets), bool)
    every = np.arange(len(nodes.pose))
    last = len(values) - 1
    rising = every if around else every[nodes.slice < last]
    up = followed(problem, lanes, coordinate, values, around, nodes, rising, True)
    links: dict[tuple[int, int], tuple[int, int, Strands, int]] = {}
    _link(up, nodes, links, whole)
    open_below = [
        i for i in every if (i, -1) not in links and (around or nodes.slice[i] > 0) and whole[nodes.pose[i]]
    ]
    if open_below:
        down = followed(problem, lanes, coordinate, values, around, nodes, np.array(open_below), False)
        _link(down, nodes, links, whole)
    components: dict[int, list[Component]] = {}
    for pose in np.flatnonzero(np.bincount(nodes.pose, minlength=len(whole))):
        rows = np.flatnonzero(nodes.pose == pose)
        components[int(pose)] = _walked(rows, links, problem.n)
    return Traced(components, whole)


def _link(strands: Strands, nodes: Sliced, links: dict, whole: np.ndarray) -> None:
    """Enter pieces: each end of one is a solution and the side, 1 or −1, on which the piece lies."""
    for i, (start, end) in enumerate(zip(strands.start.tolist(), strands.end.tolist(), strict=True)):
        side = 1 if strands.upward[i] else -1
        if end < 0:
            whole[nodes.pose[start]] = False
            continue
        end_side = -1 if strands.below[i] else 1
        for here, there in (((start, side), (end, end_side)), ((end, end_side), (start, side))):
            known = links.get(here)
            if known is None:
                links[here] = (*there, strands, i)
            elif known[:2] != there:
                whole[nodes.pose[start]] = False


def _walked(rows: np.ndarray, links: dict, n: int) -> list[Component]:
    """The curves of one pose, from links of its solutions."""
    left = dict.fromkeys(rows.tolist())
    components = []
    while left:
        first = next((i for i in left if (i, 1) not in links or (i, -1) not in links), next(iter(left)))
        side = 1 if (first, 1) in links else -1
        here, parts, closed = first, [], False
        left.pop(first)
        while (here, side) in links:
            there, arrived, strands, i = links[here, side]
            parts.append(_piece(strands, i, here, side))
            closed = there == first
            if closed or there not in left:
                break
            left.pop(there)
            here, side = there, -arrived
        components.append(_joined(parts, closed, first, n))
    return [component for component in components if component is not None]


def _piece(strands: Strands, i: int, start: int, side: int):
    """Points, tangents and turns of piece i, from its solution `start` on."""
    begin, end = np.searchsorted(strands.piece, [i, i + 1])
    x, tangent = strands.x[begin:end], strands.tangent[begin:end]
    if strands.start[i] != start or (1 if strands.upward[i] else -1) != side:
        x, tangent = x[::-1], -tangent[::-1]
    return x, tangent, strands.turn[strands.turn_piece == i]


def _joined(parts: list, closed: bool, first: int, n: int) -> Component | None:
    if not parts:
        return None
    x = np.concatenate([parts[0][0][:1], *(part[0][1:] for part in parts)])
    tangent = np.concatenate([parts[0][1][:1], *(part[1][1:] for part in parts)])
    marked = np.zeros(len(x), bool)
    marked[np.cumsum([0, *(len(part[0]) - 1 for part in parts)])] = True
    turns = np.concatenate([np.zeros((0, n)), *(part[2] for part in parts)])
    if closed:
        x, tangent, marked = x[:-1], tangent[:-1], marked[:-1]
    return Component(x, tangent, closed, turns, marked)

"""Arms of six revolute joints that canonical subproblems solve: spherical wrists, and three parallel axes.

The arm is a product of turns about axes with directions h[i] through points a[i] where all angles are zero. A
target is the displacement (R, p) of the last link from there. Eight branches, each with its least margin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels import ops as zm
from .subproblems import Both, across, back, cross, to_cone, to_direction, to_distance, to_plane, turned

BLUR = 0.01
"""Shares of a gap that rounding leaves: with lengths of about 1, of a margin times the root of a gap times a lever,
1e-12 then counts as where branches meet."""
Choose = Callable[[Any], list[tuple[Any, Any]]]
"""Choice of the solutions of a subproblem to follow: pairs of a solution and its edge, see `branches`."""


def branches(solved: Any) -> Any:
    """Return pairs of a solution and the shared edge: margin, and the gap between them, |margin| if not given."""
    angles, margin, *more = solved
    return [(angle, _edge(margin, more)) for angle in angles]


def _edge(margin, more):
    return margin, more[0] if more else zm.abs(margin)


class OneBranch:
    """Follows one branch: of every pair of solutions the second where the next of the signs is negative."""

    def __init__(self, signs: Any):
        self._signs = iter(signs)

    def __call__(self, solved: Any) -> list[tuple[Any, Any]]:
        """Return the chosen solution of a subproblem, and its edge."""
        angles, margin, *more = solved
        other = zm.less(next(self._signs), 0.0)
        chosen = angles.second_where(other) if isinstance(angles, Both) else zm.where(other, *angles[::-1])
        return [(chosen, _edge(margin, more))]


def _at(h, a, angle, point):
    """Return a point after a turn about an axis through a."""
    return turned(h, angle, point - a) + a


def after(edge: Any, lever: Any, solved: Any) -> Any:
    """Return a subproblem that rotates a vector with component `lever` across the axis, after one with an edge.

    Rounding moves the vector by its size over the root of the first gap, and so the margin by that over the lever:
    where it could change the sign, the gap vanishes.
    """
    angles, margin = solved
    certain = BLUR * zm.sqrt(edge[1] * (lever @ lever))
    return angles, margin, zm.abs(margin) * zm.minimum(1.0, certain)


def _second_and_third_parallel(h, a, start, goal, choose):
    for first, edge in choose(to_plane(-h[0], goal - a[0], h[1], h[1] @ (start - a[0]))):
        seen = _at(h[0], a[0], back(first), goal)
        d = seen - a[1]
        for third, edge2 in choose(to_distance(h[2], start - a[2], a[1] - a[2], d @ d)):
            second = to_direction(h[1], _at(h[2], a[2], third, start) - a[1], d)
            yield (first, second, third), (edge, edge2)


def _first_and_second_meet(h, a, start, goal, choose):
    d = goal - a[0]
    for third, edge in choose(to_distance(h[2], start - a[2], a[0] - a[2], d @ d)):
        u = _at(h[2], a[2], third, start) - a[0]
        for second, edge2 in choose(after(edge, across(h[1], u), to_plane(h[1], u, h[0], h[0] @ d))):
            yield (to_direction(h[0], turned(h[1], second, u), d), second, third), (edge, edge2)


def _first_and_second_parallel(h, a, start, goal, choose):
    for third, edge in choose(to_plane(h[2], start - a[2], h[0], h[0] @ (goal - a[2]))):
        u = _at(h[2], a[2], third, start)
        d = goal - a[0]
        solved = to_distance(h[1], u - a[1], a[0] - a[1], d @ d)
        for second, edge2 in choose(after(edge, across(h[1], u - a[1]), solved)):
            first = to_direction(h[0], _at(h[1], a[1], second, u) - a[0], d)
            yield (first, second, third), (edge, edge2)


def _second_and_third_meet(h, a, start, goal, choose):
    u = start - a[1]
    for first, edge in choose(to_distance(-h[0], goal - a[0], a[1] - a[0], u @ u)):
        v = _at(h[0], a[0], back(first), goal) - a[1]
        for third, edge2 in choose(to_plane(h[2], u, h[1], h[1] @ v)):
            yield (first, to_direction(h[1], turned(h[2], third, u), v), third), (edge, edge2)


REGIONAL: dict[str, Callable[..., Any]] = {
    "second and third axes parallel": _second_and_third_parallel,
    "first and second axes meet": _first_and_second_meet,
    "first and second axes parallel": _first_and_second_parallel,
    "second and third axes meet": _second_and_third_meet,
}
"""Ways to bring a point to a point with three joints, by what they need of the axes."""


def least(margins: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least margin of every branch, and the least gap: where it is zero, branches meet."""
    lowest, nearest = [], []
    for edges in margins:
        low, near = edges[0]
        for margin, gap in edges[1:]:
            low, near = zm.minimum(low, margin), zm.minimum(near, gap)
        lowest.append(low)
        nearest.append(near)
    return np.array(lowest), np.array(nearest)


def unturned(h: Any, angles: Any, M: Any) -> Any:
    """Remove turns about h, given in order from the base, from the front of M; M by columns."""
    columns = list(M.T)
    for axis, angle in zip(h, angles, strict=True):
        columns = [turned(axis, back(angle), column) for column in columns]
    return np.stack(columns, 1)


def last_angle(h: Any, e: Any, M: Any) -> tuple[Any, Any]:
    """Return the angle of M, a turn about h; e is a unit vector across h."""
    moved = M @ e
    return e @ moved, h @ cross(e, moved)


def three_turns(h: Any, e: Any, R: Any, choose: Choose = branches) -> Any:
    """Yield both sets of angles about three axes h whose turns make R, as pairs (cos, sin), and their edge."""
    seen = R @ h[2]
    for second, edge in choose(to_cone(h[1], h[2], h[0], seen)):
        first = to_direction(h[0], turned(h[1], second, h[2]), seen)
        yield [first, second, last_angle(h[2], e[2], unturned(h[:2], (first, second), R))], edge


def without_first(h: Any, kinds: str, arm: Any, R: Any) -> Any:
    """Remove the turns of the first three joints, which are at `arm`, from the front of R."""
    turning = [i for i in range(3) if kinds[i] == "R"]
    return unturned([h[i] for i in turning], [arm[i] for i in turning], R)


def with_wrist(arms: Any, kinds: str, h: Any, e: Any, R: Any, choose: Choose = branches) -> Any:
    """Return coordinates (branches, 6) and margins, see `least`, from the first three joints and their edges."""
    rows, margins = [], []
    for arm, edges in arms:
        for angles, edge in three_turns(h[3:], e[3:], without_first(h, kinds, arm, R), choose):
            rows.append([*arm, *angles])
            margins.append((*edges, edge))
    return coordinates(rows), *least(margins)


def spherical_wrist(h: Any, a: Any, e: Any, R: Any, p: Any, *, regional: str, choose: Choose = branches) -> Any:
    """Return angles (8, 6) and margins, see `least`, of an arm whose last three axes meet in a[3] = a[4] = a[5].

    Args:
        h, a: directions and points of the axes (6, 3). Where the regional structure speaks of axes that meet, their
            points are the same.
        e: (6, 3) unit vectors across the axes.
        R, p: the displacement of the last link.
        regional: a key of `REGIONAL`.
        choose: selects the branches to follow, all of them if not given.
    """
    return with_wrist(REGIONAL[regional](h, a, a[3], R @ a[3] + p, choose), "RRR", h, e, R, choose)


def three_parallel(h: Any, a: Any, e: Any, R: Any, p: Any, *, choose: Choose = branches) -> Any:
    """Return the same for an arm whose second, third and fourth axes are parallel and whose last two meet in a[4].

    Third, (8,) squared sines of the angle between the sixth axis and the parallel ones: where one vanishes, the
    sixth angle is free and its branch holds a continuum, see `with_sixth_angle`. Fourth, (8,) gaps of first angles.
    """
    angles, margins, sines, firsts = [], [], [], []
    for first, edge, W, seen in _first_angles(h, a, R, p, choose):
        across = W.T @ h[1]
        both = to_cone(h[4], h[5], h[1], W @ h[5])
        for fifth, edge2 in choose(both):
            sixth = to_direction(-h[5], turned(h[4], back(fifth), h[1]), across)
            rows, edge3, _ = _planar_angles(h, a, e, W, seen, fifth, sixth, choose)
            for row in rows:
                angles.append([first, *row, fifth, sixth])
                margins.append((edge, edge2, edge3))
                sines.append(both[-1])
                firsts.append(edge[1])
    return coordinates(angles), *least(margins), np.array(sines), np.array(firsts)


def with_sixth_angle(h: Any, a: Any, e: Any, R: Any, p: Any, sixth: Any) -> tuple[Any, Any, Any]:
    """Return the same where the sixth axis is parallel to these, at an angle (cos, sin) of the sixth joint.

    Angles (4, 6), margins (4,) and squared distances (4,) of the fourth axis from the second; two rows for either
    first angle.
    """
    angles, margins, squares = [], [], []
    for first, edge, W, seen in _first_angles(h, a, R, p):
        fifth = to_cone(h[4], h[5], h[1], W @ h[5])[0][0]
        rows, edge3, square = _planar_angles(h, a, e, W, seen, fifth, sixth)
        angles += [[first, *row, fifth, (sixth[0], sixth[1])] for row in rows]
        margins += [(edge, edge3)] * 2
        squares += [square] * 2
    return coordinates(angles), least(margins)[0], np.array(squares)


def _first_angles(h, a, R, p, choose=branches):
    """Yield first angles that bring the point of the last axes into its plane, their edges, and the rest."""
    goal = R @ a[4] + p
    for first, edge in choose(to_plane(-h[0], goal - a[0], h[1], h[1] @ (a[4] - a[0]))):
        yield first, edge, unturned(h[:1], (first,), R), _at(h[0], a[0], back(first), goal)


def _planar_angles(h, a, e, W, seen, fifth, sixth, choose=branches):
    """Return both sets of angles about the parallel axes, their edge, and the fourth axis' squared distance."""
    planar = np.stack([turned(h[4], fifth, turned(h[5], sixth, row)) for row in W])
    d = seen - planar @ (a[4] - a[3]) - a[1]
    solved = choose(to_distance(h[2], a[3] - a[2], a[1] - a[2], d @ d))
    rows = []
    for third, _ in solved:
        second = to_direction(h[1], _at(h[2], a[2], third, a[3]) - a[1], d)
        rows.append([second, third, last_angle(h[3], e[3], unturned(h[1:3], (second, third), planar))])
    return rows, solved[0][1], d @ d


def coordinates(rows: Any) -> np.ndarray:
    """Return angles from their cosines and sines; lengths as they are."""
    return np.array([[zm.atan2(x[1], x[0]) if isinstance(x, tuple) else x for x in row] for row in rows])

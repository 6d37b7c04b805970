"""Arms of six revolute joints that canonical subproblems solve: spherical wrists, and three parallel axes.

The arm is a product of turns about axes with directions h[i] through points a[i] where all angles are zero. A
target is the displacement (R, p) of the last link from there. Eight branches, each with its least margin.
"""

from __future__ import annotations

import numpy as np

from ...kernels import math as zm
from .subproblems import back, cross, to_cone, to_direction, to_distance, to_plane, turned


def _at(h, a, angle, point):
    """A point after a turn about an axis through a."""
    return turned(h, angle, point - a) + a


def _second_and_third_parallel(h, a, start, goal):
    for first, edge in branches(to_plane(-h[0], goal - a[0], h[1], h[1] @ (start - a[0]))):
        seen = _at(h[0], a[0], back(first), goal)
        d = seen - a[1]
        for third, edge2 in branches(to_distance(h[2], start - a[2], a[1] - a[2], d @ d)):
            second = to_direction(h[1], _at(h[2], a[2], third, start) - a[1], d)
            yield (first, second, third), (edge, edge2)


def _first_and_second_meet(h, a, start, goal):
    d = goal - a[0]
    for third, edge in branches(to_distance(h[2], start - a[2], a[0] - a[2], d @ d)):
        u = _at(h[2], a[2], third, start) - a[0]
        for second, edge2 in branches(to_plane(h[1], u, h[0], h[0] @ d)):
            yield (to_direction(h[0], turned(h[1], second, u), d), second, third), (edge, edge2)


def _first_and_second_parallel(h, a, start, goal):
    for third, edge in branches(to_plane(h[2], start - a[2], h[0], h[0] @ (goal - a[2]))):
        u = _at(h[2], a[2], third, start)
        d = goal - a[0]
        for second, edge2 in branches(to_distance(h[1], u - a[1], a[0] - a[1], d @ d)):
            first = to_direction(h[0], _at(h[1], a[1], second, u) - a[0], d)
            yield (first, second, third), (edge, edge2)


def _second_and_third_meet(h, a, start, goal):
    u = start - a[1]
    for first, edge in branches(to_distance(-h[0], goal - a[0], a[1] - a[0], u @ u)):
        v = _at(h[0], a[0], back(first), goal) - a[1]
        for third, edge2 in branches(to_plane(h[2], u, h[1], h[1] @ v)):
            yield (first, to_direction(h[1], turned(h[2], third, u), v), third), (edge, edge2)


REGIONAL = {
    "second and third axes parallel": _second_and_third_parallel,
    "first and second axes meet": _first_and_second_meet,
    "first and second axes parallel": _first_and_second_parallel,
    "second and third axes meet": _second_and_third_meet,
}
"""Ways to bring a point to a point with three joints, by what they need of the axes."""


def branches(solved):
    """Pairs of a solution and the margin that both share."""
    angles, margin = solved
    return [(angle, margin) for angle in angles]


def least(margins) -> tuple[np.ndarray, np.ndarray]:
    """The least margin of every branch, and the least without regard to sign: where it is zero, branches meet."""
    lowest, nearest = [], []
    for edges in margins:
        low, near = edges[0], zm.abs(edges[0])
        for edge in edges[1:]:
            low, near = zm.minimum(low, edge), zm.minimum(near, zm.abs(edge))
        lowest.append(low)
        nearest.append(near)
    return np.array(lowest), np.array(nearest)


def unturned(h, angles, M):
    """M with turns about h, given in order from the base, taken off in front; M by columns."""
    columns = list(M.T)
    for axis, angle in zip(h, angles, strict=True):
        columns = [turned(axis, back(angle), column) for column in columns]
    return np.stack(columns, 1)


def last_angle(h, e, M):
    """The angle of M, a turn about h; e is a unit vector across h."""
    moved = M @ e
    return e @ moved, h @ cross(e, moved)


def spherical_wrist(h, a, e, R, p, *, regional: str):
    """Angles (8, 6) and margins, see `least`, of an arm whose last three axes meet in a[3] = a[4] = a[5].

    Args:
        h, a: directions and points of the axes (6, 3). Where the regional structure speaks of axes that meet, their
            points are the same.
        e: (6, 3) unit vectors across the axes.
        R, p: the displacement of the last link.
        regional: a key of `REGIONAL`.
    """
    wrist = a[3]
    angles, margins = [], []
    for arm, edges in REGIONAL[regional](h, a, wrist, R @ wrist + p):
        W = unturned(h[:3], arm, R)
        seen = W @ h[5]
        for fifth, edge in branches(to_cone(h[4], h[5], h[3], seen)):
            fourth = to_direction(h[3], turned(h[4], fifth, h[5]), seen)
            sixth = last_angle(h[5], e[5], unturned(h[3:5], (fourth, fifth), W))
            angles.append([*arm, fourth, fifth, sixth])
            margins.append((*edges, edge))
    return _angles(angles), *least(margins)


def three_parallel(h, a, e, R, p):
    """The same for an arm whose second, third and fourth axes are parallel and whose last two meet in a[4]."""
    goal = R @ a[4] + p
    angles, margins = [], []
    for first, edge in branches(to_plane(-h[0], goal - a[0], h[1], h[1] @ (a[4] - a[0]))):
        W = unturned(h[:1], (first,), R)
        seen = _at(h[0], a[0], back(first), goal)
        across = W.T @ h[1]
        for fifth, edge2 in branches(to_cone(h[4], h[5], h[1], W @ h[5])):
            sixth = to_direction(-h[5], turned(h[4], back(fifth), h[1]), across)
            planar = np.stack([turned(h[4], fifth, turned(h[5], sixth, row)) for row in W])
            joint = seen - planar @ (a[4] - a[3])
            d = joint - a[1]
            for third, edge3 in branches(to_distance(h[2], a[3] - a[2], a[1] - a[2], d @ d)):
                second = to_direction(h[1], _at(h[2], a[2], third, a[3]) - a[1], d)
                rest = unturned(h[1:3], (second, third), planar)
                fourth = last_angle(h[3], e[3], rest)
                angles.append([first, second, third, fourth, fifth, sixth])
                margins.append((edge, edge2, edge3))
    return _angles(angles), *least(margins)


def _angles(rows):
    return np.array([[zm.atan2(s, c) for c, s in row] for row in rows])

"""Closed forms of arms with sliding joints: Cartesian, cylindrical and spherical arms with a wrist, and SCARA.

Axes as in `revolute_arms`; a sliding joint moves along h[i], and its point does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...kernels import ops as zm
from .revolute_arms import (
    Choose,
    after,
    branches,
    coordinates,
    last_angle,
    least,
    three_turns,
    unturned,
    with_wrist,
    without_first,
)
from .subproblems import across, cross, to_direction, to_distance, to_plane, turned


def _lengths(square, linear, constant):
    """Return both roots of square t² + 2 linear t + constant = 0, and the margin."""
    rest = linear * linear - square * constant
    root = zm.sqrt(zm.maximum(rest, 0.0))
    # The margin is relative to what is subtracted, so that it means the same for every size.
    size = zm.maximum(linear * linear + zm.abs(square * constant), 1e-300)
    return [(-linear + r) / square for r in (root, -root)], rest / size


def _slide_slide_slide(h, a, start, goal, choose):
    d = goal - start
    volume = h[0] @ cross(h[1], h[2])
    lengths = [d @ cross(h[(i + 1) % 3], h[(i + 2) % 3]) / volume for i in range(3)]
    yield lengths, ()


def _turn_turn_slide_meeting(h, a, start, goal, choose):
    u, g = start - a[0], goal - a[0]
    for third, edge in choose(_lengths(1.0, h[2] @ u, u @ u - g @ g)):
        v = u + third * h[2]
        for second, edge2 in choose(after(edge, across(h[1], v), to_plane(h[1], v, h[0], h[0] @ g))):
            yield (to_direction(h[0], turned(h[1], second, v), g), second, third), (edge, edge2)


def _turn_turn_slide_parallel(h, a, start, goal, choose):
    third = h[0] @ (goal - start) / (h[0] @ h[2])
    moved, g = start + third * h[2], goal - a[0]
    g = g - (h[0] @ g) * h[0]
    flat = moved - a[1]
    flat, d = flat - (h[1] @ flat) * h[1], a[0] - a[1]
    d = d - (h[1] @ d) * h[1]
    for second, edge in choose(to_distance(h[1], flat, d, g @ g)):
        yield (to_direction(h[0], turned(h[1], second, flat) - d, g), second, third), (edge,)


def _turn_slide_slide(h, a, start, goal, choose):
    u, g = start - a[0], goal - a[0]
    A, B, C = h[0] @ h[1], h[0] @ h[2], h[0] @ (g - u)
    size = A * A + B * B
    v, m = u + (C / size) * (A * h[1] + B * h[2]), A * h[2] - B * h[1]
    for t, edge in choose(_lengths(m @ m, v @ m, v @ v - g @ g)):
        yield (to_direction(h[0], v + t * m, g), A * C / size - t * B, B * C / size + t * A), (edge,)


STRUCTURES: dict[str, tuple[str, Callable[..., Any]]] = {
    "three sliding joints": ("PPP", _slide_slide_slide),
    "two axes that meet, and a sliding joint": ("RRP", _turn_turn_slide_meeting),
    "two parallel axes, and a sliding joint": ("RRP", _turn_turn_slide_parallel),
    "one axis and two sliding joints": ("RPP", _turn_slide_slide),
}
"""Ways to bring a point to a point with three joints, some sliding: kinds of the joints, and the function."""


def sliding_wrist(h: Any, a: Any, e: Any, R: Any, p: Any, *, structure: str, choose: Choose = branches) -> Any:
    """Return coordinates (branches, 6) and margins of an arm with prismatic joints and a wrist meeting in a[3]."""
    kinds, function = STRUCTURES[structure]
    return with_wrist(function(h, a, a[3], R @ a[3] + p, choose), kinds, h, e, R, choose)


def wrist(h: Any, e: Any, x: Any, R: Any, *, kinds: str) -> tuple[Any, Any, Any]:
    """Return both sets of the last three angles, (2, 3), if the first three coordinates are x; margin and gap."""
    arm = [(zm.cos(x[i]), zm.sin(x[i])) for i in range(3)]
    both = list(three_turns(h[3:], e[3:], without_first(h, kinds, arm, R)))
    return coordinates([angles for angles, _ in both]), *both[0][1]


def scara(h: Any, a: Any, e: Any, R: Any, p: Any, *, slide: int, choose: Choose = branches) -> Any:
    """Return coordinates (2, 4) and margins of three parallel axes and one joint, number `slide`, along them."""
    first, second, third = (i for i in range(4) if i != slide)
    moved = R @ a[third] + p
    length = h[slide] @ (moved - a[third])
    d = moved - length * h[slide] - a[first]
    rows, margins = [], []
    for angle, edge in choose(to_distance(h[second], a[third] - a[second], a[first] - a[second], d @ d)):
        reached = turned(h[second], angle, a[third] - a[second]) + a[second]
        start = to_direction(h[first], reached - a[first], d)
        rest = unturned([h[first], h[second]], [start, angle], R)
        row = [start, angle, last_angle(h[third], e[third], rest)]
        row.insert(slide, length)
        rows.append(row)
        margins.append((edge,))
    return coordinates(rows), *least(margins)

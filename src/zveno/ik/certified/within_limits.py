"""Limits of a proved solution, decided in balls: inside, outside, or at a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from flint import arb

from .exact_chain import ExactChain, bound_ball
from .krawczyk import Isolated

TURN = 2 * math.pi


class Placed(NamedTuple):
    """A solution inside or at its limits."""

    x: list[arb]
    """Balls of the joints, moved by whole turns to where limits allow them."""
    at_limit: tuple[int, ...]
    """Joints whose balls meet a limit: neither inside nor outside is proved."""


def inside_limits(chain: ExactChain, solution: Isolated) -> Placed | None:
    """Return the solution in the windings nearest to the middle of the limits; None if it is proved outside."""
    joints = []
    for k, (ball, kind) in enumerate(zip(solution.enclosure, chain.kinds, strict=True)):
        low, high = (bound_ball(bound) for bound in chain.bounds[k])
        judged = [_judged(moved, low, high) for moved in _moved(ball, kind, low, high)]
        allowed = [choice for choice in judged if choice is not None]
        if not allowed:
            return None
        joints.append(_nearest_to_middle(allowed, low, high))
    return Placed([ball for ball, _ in joints], tuple(k for k, (_, touches) in enumerate(joints) if touches))


def _moved(ball: arb, kind: str, low: arb | None, high: arb | None) -> list[arb]:
    """Return the ball moved by every number of turns that can bring it between the limits."""
    if kind != "R":
        return [ball]
    x = float(ball.mid())
    if low is not None and high is not None:
        first = math.floor((float(low.mid()) - x) / TURN) - 1
        last = math.ceil((float(high.mid()) - x) / TURN) + 1
    elif low is not None or high is not None:
        edge = low if low is not None else high
        assert edge is not None
        first = math.floor((float(edge.mid()) - x) / TURN) - 1
        last = first + 3
    else:
        first = last = -math.ceil(x / TURN - 0.5)
    return [ball + 2 * turns * arb.pi() for turns in range(first, last + 1)]


def _judged(ball: arb, low: arb | None, high: arb | None) -> tuple[arb, bool] | None:
    """Return the ball, and True if it meets a limit; None if it is proved outside."""
    if (low is not None and ball < low) or (high is not None and ball > high):
        return None
    inside = (low is None or bool(ball > low)) and (high is None or bool(ball < high))
    return ball, not inside


def _nearest_to_middle(allowed: Sequence[tuple[arb, bool]], low: arb | None, high: arb | None) -> tuple[arb, bool]:
    """Choose a ball inside rather than at a limit, then nearest to the middle of the range."""
    ends = [float(bound.mid()) for bound in (low, high) if bound is not None]
    middle = sum(ends) / 2 if len(ends) == 2 else ends[0] if ends else 0.0
    return min(allowed, key=lambda choice: (choice[1], abs(float(choice[0].mid()) - middle)))


def excess(chain: ExactChain, solution: Isolated) -> list[float]:
    """Return the limit excess of each joint, in floats, in its best winding."""
    over = []
    for k, (ball, kind) in enumerate(zip(solution.enclosure, chain.kinds, strict=True)):
        low, high = (bound_ball(bound) for bound in chain.bounds[k])
        values = [float(moved.mid()) for moved in _moved(ball, kind, low, high)]
        beyond = [
            max(
                0.0,
                -math.inf if low is None else float(low.mid()) - x,
                -math.inf if high is None else x - float(high.mid()),
            )
            for x in values
        ]
        over.append(min(beyond))
    return over

"""All solutions of all poses of a path, and which of them are joined by a continuous motion.

Each solution is followed from its pose to the next. Where it arrives at a solution of that pose, the two are
linked; where it arrives at a configuration that the solver did not list (on a family of solutions), that
configuration joins the layer. So a link is a motion that was integrated, never two configurations that happen to be
near each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..accept import asked
from ..ik_problem import TURN
from .track import NEARLY_SINGULAR, Advance, Follower, whole_turns

SAME = 1e-6
"""Configurations closer than this in every joint, in radians or lengths of the arm, are one."""
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Layer:
    """Configurations of one pose, with the links that lead to those of the next.

    Attributes:
        states: (s, d).
        low, high: (s, d) whole turns by which each number may change inside limits.
        leaving_low, leaving_high: (s, d) the same on all of the way to the next pose.
        target: (s,) index in the next layer that each leads to, −1 where the motion ends.
        turns: (s, d) whole turns between where it arrives and the state of the target.
        cost: (s,) squared joint motion on the way.
        reason: why the motion ends, by configuration.
    """

    states: np.ndarray
    low: np.ndarray
    high: np.ndarray
    leaving_low: np.ndarray
    leaving_high: np.ndarray
    target: np.ndarray
    turns: np.ndarray
    cost: np.ndarray
    reason: dict[int, str]


def linked_layers(
    follower: Follower,
    solutions: list[np.ndarray],
    accept: Callable[[np.ndarray], np.ndarray] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[Layer]:
    """Build the layers of a path from the solutions (s, n_q) of its poses.

    Args:
        follower: of the chain along the poses.
        solutions: of every pose, inside limits.
        accept: (s, n_q) → (s,) which configurations may be used; solutions have been asked already.
        progress: called with (pose, of how many).
    """
    layers: list[Layer] = []
    counts = [len(q) for q in solutions]
    listed = np.split(follower.states(np.concatenate(solutions)), np.cumsum(counts)[:-1])
    steps = _steps(follower, listed)
    states = listed[0]
    for k in range(len(solutions)):
        low, high = _windings(follower, states, states)
        leaving = low, high
        n = len(states)
        target, turns, cost = np.full(n, -1), np.zeros_like(states), np.zeros(n)
        reason: dict[int, str] = {}
        after = states[:0]
        if k + 1 < len(solutions):
            after = listed[k + 1]
            if n:
                advance = _with_rest(follower, k, steps[k], states[counts[k] :])
                leaving = _windings(follower, advance.least, advance.greatest)
                after = _link(follower, k, advance, states, after, target, turns, cost, reason, accept)
        layers.append(Layer(states, low, high, *leaving, target, turns, cost, reason))
        states = after
        if progress is not None:
            progress(k + 1, len(solutions))
    return layers


def _steps(follower: Follower, listed: list[np.ndarray]) -> list[Advance]:
    """Integrate the motions of all solutions from each pose but the last to the next, all at once."""
    counts = [len(states) for states in listed[:-1]]
    if not counts:
        return []
    k = np.repeat(np.arange(len(counts)), counts)
    advance = follower.advance(k, np.concatenate(listed[:-1]))
    ends = np.cumsum(counts)[:-1]
    return [Advance(*parts) for parts in zip(*(np.split(part, ends) for part in advance), strict=True)]


def _with_rest(follower: Follower, k: int, steps: Advance, rest: np.ndarray) -> Advance:
    """Add to the motions of listed solutions those of the states (s, d) that joined their layer."""
    if not len(rest):
        return steps
    more = follower.advance(np.full(len(rest), k), rest)
    return Advance(*(np.concatenate(parts) for parts in zip(steps, more, strict=True)))


def _link(follower, k, advance, states, after, target, turns, cost, reason, accept) -> np.ndarray:
    """Fill in where every state leads; the next layer's states, with those that were found on the way."""
    solved = len(after)
    cost[:] = np.sum(advance.steps**2, axis=1)
    matches = _matches(follower, advance.states, after)
    for i, end in enumerate(advance.states):
        if not advance.arrived[i]:
            crossing = follower.crossing(k, states[i], after)
            if crossing is None:
                reason[i] = ended_because(follower, k, states[i]) if solved else "the next pose has no solution"
                continue
            target[i], cost[i] = crossing.number, np.sum((crossing.state - states[i]) ** 2)
            turns[i] = whole_turns(follower.periodic, crossing.state - after[crossing.number])
            continue
        refused = _outside(follower, advance.least[i], advance.greatest[i])
        if refused:
            reason[i] = refused
            continue
        match = int(matches[i])
        if match < 0 and len(after) > solved:
            match = solved + int(_matches(follower, end[None], after[solved:])[0])
            match = match if match >= solved else -1
        if match < 0:
            if accept is not None and not asked(accept, follower.configurations(end[None]))[0]:
                reason[i] = "the configuration is not accepted"
                continue
            match = len(after)
            after = np.concatenate([after, end[None]])
        target[i] = match
        turns[i] = whole_turns(follower.periodic, end - after[match])
    return after


def _matches(follower: Follower, ends: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return indices (s,) of the states (t, d) that ends (s, d) are, modulo 2π; −1 for none."""
    if not len(after):
        return np.full(len(ends), -1)
    d = ends[:, None] - after[None]
    near = after[None] + TURN * whole_turns(follower.periodic, d)
    distance = np.max(np.abs(follower.difference(ends[:, None], near)), axis=2)
    best = np.argmin(distance, axis=1)
    return np.where(distance[np.arange(len(ends)), best] < SAME, best, -1)


def _windings(follower: Follower, least: np.ndarray, greatest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole turns with which states (s, d), from their least to their greatest, are inside limits."""
    lower, upper = follower.box
    low = np.ceil((lower - least - SLACK) / TURN)
    high = np.floor((upper - greatest + SLACK) / TURN)
    return np.where(follower.periodic, low, 0.0), np.where(follower.periodic, high, 0.0)


def _outside(follower: Follower, least: np.ndarray, greatest: np.ndarray) -> str:
    """Name the limits that forbid a motion between its least and greatest state in every winding."""
    lower, upper = follower.box
    low, high = (turns[0] for turns in _windings(follower, least[None], greatest[None]))
    fixed = ~follower.periodic & ((least < lower - SLACK) | (greatest > upper + SLACK))
    bad = np.flatnonzero((low > high) | fixed)
    return named_limits(follower, bad)


def named_limits(follower: Follower, numbers: np.ndarray) -> str:
    """Name the limits of some numbers of a state; empty if there are none."""
    return f"limit of {', '.join(follower.names[k] for k in numbers.tolist())}" if len(numbers) else ""


def ended_because(follower: Follower, k: int, state: np.ndarray) -> str:
    """Explain why a motion from a state (d,) of pose k cannot go on to the next pose."""
    least = float(follower.least_singular(k, state[None])[0])
    if least < NEARLY_SINGULAR * 20:
        return f"singularity: the least singular value falls to {least:.2g}"
    return "the pose is out of reach of this branch, or too far from the one before"

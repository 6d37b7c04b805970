"""All solutions of all poses of a path, which of them a continuous motion joins, and the branches so made.

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

from ...io.results import registered
from ..accept import asked
from ..ik_problem import TURN
from .crossings import crossing
from .follow import NEARLY_SINGULAR, Advance, Follower, whole_turns

SAME = 1e-6
"""Configurations closer than this in every joint, in radians or lengths of the arm, are one."""
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Layer:
    """Configurations of one pose, with the links that lead to those of the next.

    Attributes:
        states: (s, n_q).
        low, high: (s, n_q) whole turns by which each number may change inside limits.
        leaving_low, leaving_high: (s, n_q) the same on all of the way to the next pose.
        target: (s,) index in the next layer that each leads to, −1 where the motion ends.
        turns: (s, n_q) whole turns between where it arrives and the state of the target.
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
    steps = _steps(follower, solutions)
    states = solutions[0]
    for k in range(len(solutions)):
        held = follower.limited(states)
        low, high = _windings(follower, held, held)
        leaving = low, high
        n = len(states)
        target, turns, cost = np.full(n, -1), np.zeros_like(states), np.zeros(n)
        reason: dict[int, str] = {}
        after = states[:0]
        if k + 1 < len(solutions):
            after = solutions[k + 1]
            if n:
                advance = _with_rest(follower, k, steps[k], states[counts[k] :])
                after = _link(follower, k, advance, states, after, target, turns, cost, reason, accept)
                leaving = _windings(follower, advance.least, advance.greatest)
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
    """Add to the motions of listed solutions those of the states (s, n_q) that joined their layer."""
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
            crossed = crossing(follower, k, states[i], after)
            if crossed is None:
                reason[i] = ended_because(follower, k, states[i]) if solved else "the next pose has no solution"
                continue
            passed = follower.limited(np.stack([states[i], *crossed.through, crossed.state]))
            advance.least[i], advance.greatest[i] = passed.min(axis=0), passed.max(axis=0)
            target[i], cost[i] = crossed.number, np.sum(follower.difference(crossed.state, states[i]) ** 2)
            turns[i] = whole_turns(follower.periodic, crossed.state - after[crossed.number])
        refused = _outside(follower, advance.least[i], advance.greatest[i])
        if refused:
            target[i], reason[i] = -1, refused
            continue
        if target[i] >= 0:
            continue
        match = int(matches[i])
        if match < 0 and len(after) > solved:
            match = solved + int(_matches(follower, end[None], after[solved:])[0])
            match = match if match >= solved else -1
        if match < 0:
            if accept is not None and not asked(accept, end[None])[0]:
                reason[i] = "the configuration is not accepted"
                continue
            match = len(after)
            after = np.concatenate([after, end[None]])
        target[i] = match
        turns[i] = whole_turns(follower.periodic, end - after[match])
    return after


def _matches(follower: Follower, ends: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return indices (s,) of the states (t, n_q) that ends (s, n_q) are, modulo 2π; −1 for none."""
    if not len(after):
        return np.full(len(ends), -1)
    d = ends[:, None] - after[None]
    near = after[None] + TURN * whole_turns(follower.periodic, d)
    distance = np.max(np.abs(follower.difference(ends[:, None], near)), axis=2)
    best = np.argmin(distance, axis=1)
    return np.where(distance[np.arange(len(ends)), best] < SAME, best, -1)


def _windings(follower: Follower, least: np.ndarray, greatest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole turns (s, n_q) that keep coordinates, from their least to their greatest, inside limits."""
    (lower, upper), n = follower.box, len(follower.periodic)
    low = np.ceil((lower - least - SLACK) / TURN)[..., :n]
    high = np.floor((upper - greatest + SLACK) / TURN)[..., :n]
    return np.where(follower.periodic, low, 0.0), np.where(follower.periodic, high, 0.0)


def _outside(follower: Follower, least: np.ndarray, greatest: np.ndarray) -> str:
    """Name the limits (d,) that forbid a motion between its least and greatest values in every winding."""
    (lower, upper), n = follower.box, len(follower.periodic)
    low, high = _windings(follower, least, greatest)
    bad = (least < lower - SLACK) | (greatest > upper + SLACK)
    bad[:n] = np.where(follower.periodic, low > high, bad[:n])
    return named_limits(follower, np.flatnonzero(bad))


def named_limits(follower: Follower, numbers: np.ndarray) -> str:
    """Name some of the limits; empty if there are none."""
    return f"limit of {', '.join(follower.names[k] for k in numbers.tolist())}" if len(numbers) else ""


def ended_because(follower: Follower, k: int, state: np.ndarray) -> str:
    """Explain why a motion from a state (n_q,) of pose k cannot go on to the next pose."""
    least = float(follower.least_singular(k, state[None])[0])
    if least < NEARLY_SINGULAR * 20:
        return f"singularity: the least singular value falls to {least:.2g}"
    return "the pose is out of reach of this branch, or too far from the one before"


@registered
@dataclass(frozen=True, eq=False)
class Branch:
    """A branch of solutions from the first pose on.

    Attributes:
        q: (k, n_q), one configuration a pose, as far as the branch goes.
        ended: number of the pose it could not reach; None if it reaches the last.
        reason: why it ended, for people to read.
        crossings: numbers of poses before which the branch passed a singularity (the sign of det J changed).
    """

    q: np.ndarray
    ended: int | None
    reason: str
    crossings: tuple[int, ...]


def branches_from(follower: Follower, layers: list[Layer], count: int) -> tuple[Branch, ...]:
    """Follow every configuration of the first pose as far as one winding of it goes."""
    signs = [follower.signs(k, layer.states) for k, layer in enumerate(layers)]
    return tuple(_branch(follower, layers, signs, i) for i in range(count))


def _branch(follower: Follower, layers: list[Layer], signs: list[np.ndarray], node: int) -> Branch:
    low, high, total = layers[0].low[node], layers[0].high[node], np.zeros(len(follower.periodic))
    nodes, ended, reason, crossings = [node], None, "", []
    sums = [total]
    for k in range(len(layers) - 1):
        layer = layers[k]
        j = int(layer.target[node])
        if j < 0:
            ended, reason = k + 1, layer.reason.get(node, "the motion ends")
            break
        before = low, high
        low, high = (
            np.maximum(low, layer.leaving_low[node] - total),
            np.minimum(high, layer.leaving_high[node] - total),
        )
        total = total + layer.turns[node]
        narrower = np.maximum(low, layers[k + 1].low[j] - total), np.minimum(high, layers[k + 1].high[j] - total)
        if (narrower[0] > narrower[1]).any():
            low, high = before
            ended, reason = k + 1, "limit: the motion leaves the range of a joint in every winding"
            break
        low, high = narrower
        if signs[k][node] * signs[k + 1][j] < 0:
            crossings.append(k + 1)
        node = j
        nodes.append(node)
        sums.append(total)
    turns = np.where(follower.periodic, np.clip(0.0, low, high), 0.0)
    q = [layers[k].states[i] + TURN * (turns + added) for k, (i, added) in enumerate(zip(nodes, sums, strict=True))]
    return Branch(np.array(q), ended, reason, tuple(crossings))

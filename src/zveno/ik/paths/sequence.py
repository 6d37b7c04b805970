"""The best way through the configurations of a path: fewest jumps, then the smallest, then the least motion.

A joint whose range is more than a turn can do a continuous motion in several windings. Which of them stay inside
the limits is kept as a range of whole turns for each joint, so that windings multiply nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ik_problem import TURN
from .follow import Follower
from .strands import Layer

JUMP = 1e6
"""Cost of a jump beside its size: more than any motion without one."""
AT_START = 1e-3
"""An arm this near to a configuration of the first pose, in every joint, is there: the sequence begins with it."""
KEPT = 4
"""Labels kept for a configuration."""


@dataclass(frozen=True, eq=False)
class Label:
    """A way to a configuration: its cost, the whole turns still possible, and the label it comes from."""

    cost: float
    low: np.ndarray
    high: np.ndarray
    node: int
    layer: int
    before: Label | None
    jumped: bool


@dataclass(frozen=True, eq=False)
class Sequence:
    """The configurations chosen.

    Attributes:
        states: (N, n_q), NaN where a pose has no solution.
        jumps: numbers of the poses after which the motion is not continuous.
        sizes: of the jumps: joint motion, in radians and lengths of the arm.
        cost: squared joint motion of the steps that are continuous, added up.
    """

    states: np.ndarray
    jumps: tuple[int, ...]
    sizes: tuple[float, ...]
    cost: float


def best_sequence(follower: Follower, layers: list[Layer], start: np.ndarray | None = None) -> Sequence:
    """Choose one configuration of every layer that has any.

    Args:
        follower: of the chain.
        layers: as `linked_layers` makes them.
        start: a state (n_q,) the first should be near; without it, turns are nearest to the middle of the limits.
    """
    filled = [k for k, layer in enumerate(layers) if len(layer.states)]
    n = len(follower.periodic)
    if not filled:
        return Sequence(np.full((len(layers), n), np.nan), (), (), float("nan"))
    labels = _first(follower, layers[filled[0]], filled[0], start)
    for k in filled[1:]:
        previous = labels[0].layer
        continued = _continued(layers[previous], layers[k], labels, k) if previous + 1 == k else []
        labels = _kept(continued + _jumped(follower, layers[previous], layers[k], labels, k))
    chain: list[Label] = []
    label: Label | None = min(labels, key=lambda label: label.cost)
    while label is not None:
        chain.append(label)
        label = label.before
    return _chosen(follower, layers, chain[::-1], start)


def _first(follower: Follower, layer: Layer, k: int, start: np.ndarray | None) -> list[Label]:
    labels = []
    for i, state in enumerate(layer.states):
        cost = 0.0
        if start is not None:
            turns = _nearest(follower, start - state, layer.low[i], layer.high[i])
            cost = float(np.sum(follower.difference(state + TURN * turns, start) ** 2))
        labels.append(Label(cost, layer.low[i], layer.high[i], i, k, None, False))
    at_start = [label for label in labels if label.cost < AT_START**2] if start is not None and k == 0 else []
    return at_start[:1] or labels


def _nearest(follower: Follower, d: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the whole turns in [low, high] that come nearest to a difference d."""
    return np.where(follower.periodic, np.clip(np.round(d / TURN), low, high), 0.0)


def _continued(layer: Layer, after: Layer, labels: list[Label], k: int) -> list[Label]:
    out = []
    for label in labels:
        i = label.node
        j = int(layer.target[i])
        if j < 0:
            continue
        low = np.maximum(np.maximum(label.low, layer.leaving_low[i]) + layer.turns[i], after.low[j])
        high = np.minimum(np.minimum(label.high, layer.leaving_high[i]) + layer.turns[i], after.high[j])
        if (low <= high).all():
            out.append(Label(label.cost + float(layer.cost[i]), low, high, j, k, label, False))
    return out


def _jumped(follower: Follower, layer: Layer, after: Layer, labels: list[Label], k: int) -> list[Label]:
    """Find the cheapest jump to every configuration of the next layer."""
    states = layer.states[[label.node for label in labels]][:, None]
    d = after.states[None] - states
    low = after.low[None] - np.array([label.high for label in labels])[:, None]
    high = after.high[None] - np.array([label.low for label in labels])[:, None]
    turns = _nearest(follower, -d, low, high)
    there = np.broadcast_to(after.states[None] + TURN * turns, d.shape)
    size = np.linalg.norm(follower.difference(there, np.broadcast_to(states, d.shape)), axis=2)
    cost = np.array([label.cost for label in labels])[:, None] + JUMP + size
    best = np.argmin(cost, axis=0)
    return [
        Label(float(cost[b, j]), after.low[j], after.high[j], j, k, labels[b], True)
        for j, b in enumerate(best.tolist())
    ]


def _kept(labels: list[Label]) -> list[Label]:
    """Remove labels that cost more than another of their configuration that leaves as many turns possible."""
    least = min(label.cost for label in labels)
    by_node: dict[int, list[Label]] = {}
    for label in sorted(labels, key=lambda label: label.cost):
        kept = by_node.setdefault(label.node, [])
        # Who needs more than one jump more than the best may as well jump from the best.
        if label.cost > least + 1.5 * JUMP and kept:
            continue
        wider = any((other.low <= label.low).all() and (other.high >= label.high).all() for other in kept)
        if not wider and len(kept) < KEPT:
            kept.append(label)
    return [label for kept in by_node.values() for label in kept]


def _chosen(follower: Follower, layers: list[Layer], chain: list[Label], start: np.ndarray | None) -> Sequence:
    """Choose the whole turns of states run by run: near the start, then near the end of the run before."""
    states = np.full((len(layers), len(follower.periodic)), np.nan)
    runs: list[list[Label]] = []
    for label in chain:
        if label.jumped or not runs:
            runs.append([])
        runs[-1].append(label)
    jumps, sizes, last, cost = [], [], start, 0.0
    for number, run in enumerate(runs):
        total = np.zeros(states.shape[1])
        for label in run[:-1]:
            total = total + layers[label.layer].turns[label.node]
            cost += float(layers[label.layer].cost[label.node])
        first = layers[run[0].layer].states[run[0].node]
        wanted = np.zeros_like(total) if last is None else last - first
        turns = _nearest(follower, wanted, run[-1].low - total, run[-1].high - total)
        for label in run:
            states[label.layer] = layers[label.layer].states[label.node] + TURN * turns
            turns = turns + layers[label.layer].turns[label.node]
        if number:
            before = runs[number - 1][-1].layer
            jumps.append(before)
            sizes.append(float(np.linalg.norm(follower.difference(states[run[0].layer], states[before]))))
        last = states[run[-1].layer]
    return Sequence(states, tuple(jumps), tuple(sizes), cost)


def interrupted(follower: Follower, sequence: Sequence, jumps: tuple[int, ...]) -> Sequence:
    """Return a sequence with more jumps, by the numbers of the poses after which it is not continuous."""
    if not jumps:
        return sequence
    k = np.array(jumps)
    sizes = np.linalg.norm(follower.difference(sequence.states[k + 1], sequence.states[k]), axis=1).tolist()
    every = dict(
        sorted(
            {
                **dict(zip(sequence.jumps, sequence.sizes, strict=True)),
                **dict(zip(jumps, sizes, strict=True)),
            }.items()
        )
    )
    cost = sequence.cost - sum(size**2 for size in sizes)
    return Sequence(sequence.states, tuple(every), tuple(every.values()), cost)

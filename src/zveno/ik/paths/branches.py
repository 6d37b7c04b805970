"""Branches of solutions along a path, as far as each goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...io.results import registered
from ..ik_problem import TURN
from .strands import Layer
from .track import Follower


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
    states = np.array(
        [layers[k].states[i] + TURN * (turns + added) for k, (i, added) in enumerate(zip(nodes, sums, strict=True))]
    )
    return Branch(follower.configurations(states), ended, reason, tuple(crossings))

"""Memory in which numbers travel from the leaves of a tree to its root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Slots:
    """Memory for what bodies hand to their parents, by body.

    Attributes:
        taken: the slot with the sum of what the children handed on; slot 0, for bodies without any, stays zero.
        given: the slot to hand on to.
        later: 1 for children whose slot holds something of an earlier one, which they add to.
        count: how many slots there are. A chain of any length needs three.
    """

    taken: np.ndarray
    given: np.ndarray
    later: np.ndarray
    count: int


def slots(tree: np.ndarray) -> Slots:
    """Slots for a tree, given by parents, whose bodies are visited last one first.

    A slot is used again once its parent has taken what it holds.
    """
    parents = tree.tolist()
    n = len(parents)
    taken, given, later = [0] * n, [0] * n, [0] * n
    held: dict[int, int] = {}
    free: list[int] = []
    count = 2  # 0 stays zero, 1 takes what reaches the base
    for i in range(n - 1, -1, -1):
        own = held.pop(i, 0)
        taken[i] = own
        if own:
            free.append(own)
        f = parents[i]
        if f < 0:
            given[i] = 1
            continue
        later[i] = int(f in held)
        if f not in held:
            if free:
                held[f] = free.pop()
            else:
                held[f], count = count, count + 1
        given[i] = held[f]
    return Slots(np.array(taken, np.int64), np.array(given, np.int64), np.array(later, np.int64), count)


@dataclass(frozen=True)
class Rows:
    """Memory for what bodies leave to those they carry, by body.

    Attributes:
        own: the row of a body, which is used again once the last of those it carries has read it.
        parent: the row of its parent; row 0 is the base's.
        count: how many rows there are. A chain of any length needs two.
    """

    own: np.ndarray
    parent: np.ndarray
    count: int


def rows(tree: np.ndarray) -> Rows:
    """Rows for a tree, given by parents, whose bodies are visited in order; each reads before it writes."""
    parents = tree.tolist()
    children = [0] * len(parents)
    for f in parents:
        if f >= 0:
            children[f] += 1
    own, parent = [0] * len(parents), [0] * len(parents)
    free: list[int] = []
    count = 1
    for i, f in enumerate(parents):
        if f >= 0:
            parent[i] = own[f]
            children[f] -= 1
            if not children[f]:
                free.append(own[f])
        if free:
            own[i] = free.pop()
        else:
            own[i], count = count, count + 1
        if not children[i]:
            free.append(own[i])
    return Rows(np.array(own, np.int64), np.array(parent, np.int64), count)

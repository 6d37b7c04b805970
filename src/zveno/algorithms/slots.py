"""Memory reuse for values that are passed along a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Slots:
    """Memory for values that bodies pass to their parents, by body.

    Attributes:
        taken: slot with the sum of the children's values; slot 0, for bodies without children, stays zero.
        given: slot for the value passed to the parent.
        later: 1 for children that add to the value of an earlier child.
        count: number of slots. A chain of any length needs three.
    """

    taken: np.ndarray
    given: np.ndarray
    later: np.ndarray
    count: int


def slots(tree: np.ndarray) -> Slots:
    """Assign slots for a tree, given by parents, whose bodies are visited from the last to the first.

    A slot is reused after the parent has read it.
    """
    parents = tree.tolist()
    n = len(parents)
    taken, given, later = [0] * n, [0] * n, [0] * n
    held: dict[int, int] = {}
    free: list[int] = []
    count = 2  # 0 stays zero, 1 receives the value for the base
    for i in range(n - 1, -1, -1):
        slot = held.pop(i, 0)
        taken[i] = slot
        if slot:
            free.append(slot)
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
    """Memory for values that bodies pass to their children, by body.

    Attributes:
        row: row of a body, which is reused after its last child has read it.
        parent: row of its parent; row 0 is the base's.
        count: number of rows. A chain of any length needs two.
    """

    row: np.ndarray
    parent: np.ndarray
    count: int


def rows(tree: np.ndarray) -> Rows:
    """Assign rows for a tree, given by parents, whose bodies are visited in order; each reads before it writes."""
    parents = tree.tolist()
    children = [0] * len(parents)
    for f in parents:
        if f >= 0:
            children[f] += 1
    row, parent = [0] * len(parents), [0] * len(parents)
    free: list[int] = []
    count = 1
    for i, f in enumerate(parents):
        if f >= 0:
            parent[i] = row[f]
            children[f] -= 1
            if not children[f]:
                free.append(row[f])
        if free:
            row[i] = free.pop()
        else:
            row[i], count = count, count + 1
        if not children[i]:
            free.append(row[i])
    return Rows(np.array(row, np.int64), np.array(parent, np.int64), count)

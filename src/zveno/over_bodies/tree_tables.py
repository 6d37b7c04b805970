"""The tables of a tree in a program, and the memory in which numbers travel from the leaves to the root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.structured.build import Builder
from ..kernels.structured.parts import IndexTable, Rows
from .bodies import Bodies


@dataclass(frozen=True)
class TreeTables:
    """Tables of a tree, by body.

    Attributes:
        constants: what the kinds of the bodies leave open.
        kind: the number of the kind.
        f: the row of the parent in an array whose row 0 is the base's.
        q, v: where the joint's coordinates and velocities begin.
        gravity: one row, the components that are not zero.
        acts: which these are.
    """

    constants: Rows
    kind: IndexTable
    f: IndexTable
    q: IndexTable
    v: IndexTable
    gravity: Rows
    acts: np.ndarray

    def base_motion(self, gravity: Any) -> Any:
        """Motion `[w, a, e]` of the base as seen in free fall: gravity becomes an acceleration upward."""
        return np.concatenate([np.zeros(3), -self.gravity_vector(gravity), np.zeros(3)])

    def gravity_vector(self, components: Any) -> Any:
        """Gravity (3,) from its row."""
        g = np.array([0.0] * 3, dtype=object)
        g[self.acts] = components[: len(self.acts)]
        return g


def tree_tables(program: Builder, bodies: Bodies) -> TreeTables:
    """Add the tables of a tree to a program."""
    acts = np.flatnonzero(bodies.gravity)
    return TreeTables(
        program.table("constants", bodies.table),
        program.index("kind", bodies.which),
        program.index("f", bodies.parents + 1),
        program.index("first_q", bodies.first_q),
        program.index("first_v", bodies.first_v),
        program.table("gravity", np.append(bodies.gravity[acts], 0.0)[None]),
        acts,
    )


@dataclass(frozen=True)
class Slots:
    """Memory for what bodies hand to their parents, by body.

    Attributes:
        taken: the slot with the sum of what the children handed on; slot 0, for bodies without any, stays zero.
        given: the slot to hand on to.
        later: 1 for children whose slot holds something of an earlier one, which they add to.
        count: how many slots there are. A chain of any length needs three.
    """

    taken: IndexTable
    given: IndexTable
    later: IndexTable
    count: int


def slots(program: Builder, parents: Sequence[int] | np.ndarray) -> Slots:
    """Slots for a tree whose bodies are visited last one first; one is used again once its parent has taken it."""
    parents = list(map(int, parents))
    n = len(parents)
    taken, given, later = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
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
        later[i] = f in held
        if f not in held:
            if free:
                held[f] = free.pop()
            else:
                held[f], count = count, count + 1
        given[i] = held[f]
    return Slots(program.index("taken", taken), program.index("given", given), program.index("later", later), count)

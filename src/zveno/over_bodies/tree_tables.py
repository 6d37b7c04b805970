"""The tables of a tree in a program, and the memory in which numbers travel from the leaves to the root."""

from __future__ import annotations

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
        own, parent: rows of the body and of its parent in an array of `n_rows` rows that are used again.
        q, v: where the joint's coordinates and velocities begin.
        gravity: one row, the components that are not zero.
        acts: which these are.
    """

    constants: Rows
    kind: IndexTable
    f: IndexTable
    own: IndexTable
    parent: IndexTable
    n_rows: int
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
        program.index("own", bodies.rows.own),
        program.index("parent", bodies.rows.parent),
        bodies.rows.count,
        program.index("first_q", bodies.first_q),
        program.index("first_v", bodies.first_v),
        program.table("gravity", np.append(bodies.gravity[acts], 0.0)[None]),
        acts,
    )


@dataclass(frozen=True)
class SlotTables:
    """`slots.Slots` in a program."""

    taken: IndexTable
    given: IndexTable
    later: IndexTable
    count: int


def slot_tables(program: Builder, bodies: Bodies) -> SlotTables:
    """Add the slots of a tree to a program."""
    own = bodies.slots
    return SlotTables(
        program.index("taken", own.taken),
        program.index("given", own.given),
        program.index("later", own.later),
        own.count,
    )

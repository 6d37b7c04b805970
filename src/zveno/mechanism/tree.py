"""The rooted tree of a mechanism and the index functions of document 003.

Vertices are links. Link 0 is the root, fixed in the world ("стойка"); every other link has a larger number
than its parent. Edges are joints: joint i connects link i to its parent. This module is pure graph theory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..errors import ModelError, ShapeError


class Tree:
    """A rooted tree given by the parent of every link.

    Args:
        parents: `parents[i]` is the number of link i's parent; −1 for link 0 and smaller than i for the others.
            The order of siblings is the order of their numbers.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self.parents: tuple[int, ...] = tuple(int(p) for p in parents)
        if not self.parents or self.parents[0] != -1:
            raise ModelError("link 0 is not the root of the tree", remedy="Give −1 as the parent of link 0")
        for i, p in enumerate(self.parents[1:], start=1):
            if not 0 <= p < i:
                raise ModelError(
                    f"link {i} has parent {p}",
                    remedy="Number the links so that every parent comes before its children",
                )

    def __len__(self) -> int:
        """Number of links, the root included (N + 1)."""
        return len(self.parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.parents == other.parents

    def __hash__(self) -> int:
        return hash(self.parents)

    def __repr__(self) -> str:
        return f"Tree({list(self.parents)})"

    def parent(self, i: int) -> int:
        """f(i): the number of the parent of link i."""
        if i == 0:
            raise ShapeError(
                "link 0 is the root and has no parent", element="parent f(i)", remedy="Give a link from 1"
            )
        return self.parents[self._check_number(i)]

    def children(self, i: int) -> tuple[int, ...]:
        """Γ(i): the numbers of the children of link i, in order."""
        return self._children[self._check_number(i)]

    def out_degree(self, i: int) -> int:
        """dg⁺(i): the number of children of link i."""
        return len(self.children(i))

    def child(self, i: int, k: int) -> int:
        """s(i, k): the number of the k-th child of link i, k = 1 … dg⁺(i)."""
        children = self.children(i)
        if not 1 <= k <= len(children):
            raise ShapeError(
                f"link {i} has {len(children)} children, so there is no child {k}",
                element="child s(i, k)",
                remedy="Give one of its children",
            )
        return children[k - 1]

    def sibling_rank(self, i: int) -> int:
        """ns(i): the rank of link i among the children of its parent, counted from 1."""
        return self.children(self.parent(i)).index(i) + 1

    def n_ancestors(self, i: int) -> int:
        """nan(i): the number of ancestors of link i, including the root but not i itself."""
        return len(self._ancestors[self._check_number(i)])

    def ancestor(self, i: int, j: int) -> int:
        """an(i, j): the j-th ancestor of link i counted from the root, j = 1 … nan(i); an(i, 1) = 0."""
        ancestors = self._ancestors[self._check_number(i)]
        if not 1 <= j <= len(ancestors):
            raise ShapeError(
                f"link {i} has {len(ancestors)} ancestors, so there is no ancestor {j}",
                element="ancestor an(i, j)",
                remedy="Give a smaller number",
            )
        return ancestors[j - 1]

    def ancestors(self, i: int) -> tuple[int, ...]:
        """All ancestors of link i from the root to its parent."""
        return self._ancestors[self._check_number(i)]

    def depth_first_number(self, i: int) -> int:
        """Dnum(i): the position of link i in a depth-first search from the root; Dnum(0) = 0."""
        return self._depth_first_numbers[self._check_number(i)]

    def link_at(self, n: int) -> int:
        """Dnum⁻¹(n): the link with depth-first number n."""
        return self._depth_first_order[self._check_number(n)]

    def depth_first_number_from(self, k: int, i: int) -> int:
        """Dnum_k(i): the position of link i in a depth-first search from link k, counted from Dnum_k(k) = 1."""
        if not self.reachability[self._check_number(i), self._check_number(k)]:
            raise ShapeError(
                f"link {i} is not reachable from link {k}", element="Dnum_k(i)", remedy="Give a link of its subtree"
            )
        return self.depth_first_number(i) - self.depth_first_number(k) + 1

    def link_at_from(self, k: int, n: int) -> int:
        """Dnum_k⁻¹(n): the n-th link that a depth-first search from link k visits."""
        if not 1 <= n <= self.subtree_size(k):
            raise ShapeError(
                f"the subtree of link {k} has {self.subtree_size(k)} links",
                element="Dnum_k⁻¹(n)",
                remedy="Give a number within it",
            )
        return self.link_at(self.depth_first_number(k) + n - 1)

    def subtree(self, k: int) -> tuple[int, ...]:
        """Link k and all its descendants in depth-first order: Dnum_k⁻¹(1), Dnum_k⁻¹(2), …"""
        start = self.depth_first_number(k)
        return self._depth_first_order[start : start + self.subtree_size(k)]

    def subtree_size(self, k: int) -> int:
        """max Dnum_k: the number of links in the subtree of link k, including k."""
        return self._subtree_sizes[self._check_number(k)]

    @cached_property
    def reachability(self) -> np.ndarray:
        """D: boolean (N+1, N+1); D[i, j] is True if link i is reachable from link j. The diagonal is True."""
        D = np.eye(len(self), dtype=bool)
        for i, ancestors in enumerate(self._ancestors):
            D[i, list(ancestors)] = True
        D.setflags(write=False)
        return D

    @property
    def leaves(self) -> tuple[int, ...]:
        """Links without children."""
        return tuple(i for i in range(len(self)) if not self._children[i])

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        children: list[list[int]] = [[] for _ in self.parents]
        for i, p in enumerate(self.parents[1:], start=1):
            children[p].append(i)
        return tuple(tuple(c) for c in children)

    @cached_property
    def _ancestors(self) -> tuple[tuple[int, ...], ...]:
        ancestors: list[tuple[int, ...]] = [()]
        for p in self.parents[1:]:
            ancestors.append(ancestors[p] + (p,))
        return tuple(ancestors)

    @cached_property
    def _depth_first_order(self) -> tuple[int, ...]:
        order, waiting = [], [0]
        while waiting:
            i = waiting.pop()
            order.append(i)
            waiting.extend(reversed(self._children[i]))
        return tuple(order)

    @cached_property
    def _depth_first_numbers(self) -> tuple[int, ...]:
        numbers = [0] * len(self)
        for n, i in enumerate(self._depth_first_order):
            numbers[i] = n
        return tuple(numbers)

    @cached_property
    def _subtree_sizes(self) -> tuple[int, ...]:
        sizes = [1] * len(self)
        for i in range(len(self) - 1, 0, -1):
            sizes[self.parents[i]] += sizes[i]
        return tuple(sizes)

    def _check_number(self, i: int) -> int:
        if not 0 <= i < len(self):
            raise ShapeError(
                f"there is no link {i}; links are numbered 0 to {len(self) - 1}",
                element="tree",
                remedy="Give one of these numbers",
            )
        return i

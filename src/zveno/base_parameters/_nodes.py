"""Partition of a mechanism into nodes that move independently, each attached to one parent body.

Most nodes are one link on one joint. Joints that share a coordinate (mimic) or belong to a loop form one node with
all bodies between them; in general, the motion of such a node is known only by samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..mechanism import Loop, Mechanism


@dataclass(frozen=True)
class Node:
    """Bodies that move together, attached to one parent.

    Attributes:
        parent: link number of the parent body; 0 is the ground.
        bodies: link numbers of the bodies.
        simple: True for one link on one joint that shares no coordinate.
    """

    parent: int
    bodies: tuple[int, ...]
    simple: bool


def nodes_of(mechanism: Mechanism, loops: Sequence[Loop] = ()) -> list[Node]:
    """Nodes of a mechanism, parent bodies before their children."""
    tree = mechanism.tree
    tied: list[tuple[int, set[int]]] = []
    followers: dict[str, list[int]] = {}
    for i, _, joint in mechanism.outward():
        if joint.mimic is not None:
            followers.setdefault(joint.mimic.joint, []).append(i)
    for leader, links in followers.items():
        start = next(i for i, _, joint in mechanism.outward() if joint.name == leader)
        tied.append(_between(mechanism, [start, *links], [tree.parents[k] for k in (start, *links)]))
    for loop in loops:
        ends = [mechanism.link_number(link) for link in mechanism.loop_links(loop)]
        tied.append(_between(mechanism, ends, ends))
    clusters = _merge_clusters(tied)
    inside = set().union(*(bodies for _, bodies in clusters)) if clusters else set()
    nodes = [Node(parent, tuple(sorted(bodies)), False) for parent, bodies in clusters]
    nodes += [Node(f, (i,), True) for i, f, _ in mechanism.outward() if i not in inside]
    # Links are numbered depth first, so the smallest number of a node is below those of its descendants.
    return sorted(nodes, key=lambda node: node.bodies[0])


def _between(mechanism: Mechanism, ends: Sequence[int], tops: Sequence[int]) -> tuple[int, set[int]]:
    """Find the deepest common ancestor of all `tops`, and the links from below it down to all `ends`."""
    tree = mechanism.tree
    paths = [(*tree.ancestors(k), k) for k in ends]
    above = [(*tree.ancestors(k), k) for k in tops]
    common = 0
    for level in zip(*above, strict=False):
        if len(set(level)) > 1:
            break
        common = level[0]
    return common, {k for path in paths for k in path[path.index(common) + 1 :]}


def _merge_clusters(tied: list[tuple[int, set[int]]]) -> list[tuple[int, set[int]]]:
    """Merge clusters that share a body; the result is attached like the cluster nearest the root."""
    clusters: list[tuple[int, set[int]]] = []
    for parent, bodies in tied:
        bodies = set(bodies)
        apart = []
        for other_parent, others in clusters:
            if bodies & others:
                parent, bodies = min(parent, other_parent), bodies | others
            else:
                apart.append((other_parent, others))
        clusters = [*apart, (parent, bodies)]
    return clusters


def massless_links(mechanism: Mechanism, massless: Sequence[str] | None) -> frozenset[int]:
    """Numbers of the links without inertia, whose parameters are not counted.

    By default these are the links whose inertia is explicitly zero, in a mechanism that has some inertia. A link
    whose inertia is not given may have any.
    """
    if massless is not None:
        return frozenset(mechanism.link_number(name) for name in massless) - {0}
    if not any(link.inertia.any() for link in mechanism.links[1:]):
        return frozenset()
    return frozenset(
        i
        for i, link in enumerate(mechanism.links)
        if i and link.inertia_given and not np.asarray(link.inertia).any()
    )

"""Distances between capsules and their gradients, as functions of q traced for the pairs of one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..geometry.distances import closest_points
from ..kernels.ops import maximum, sqrt
from ..mechanism import Mechanism
from ..spatial.vectors import cross

LEAST_LENGTH = 1e-12
"""Smallest distance with a gradient; for intersecting axes the gradient is zero instead of undefined."""


@dataclass(frozen=True)
class Layout:
    """Capsules of a robot and requested distances.

    Attributes:
        links, ends, radii: link number, ends (2, 3) in the link's frame, m, and radius, m, of every capsule.
        pairs: pairs of capsules whose distance is requested.
        floor: (capsule, end) whose height above the ground is requested.
        ground: height of the ground along the world's z, m.
    """

    links: tuple[int, ...]
    ends: np.ndarray
    radii: np.ndarray
    pairs: tuple[tuple[int, int], ...]
    floor: tuple[tuple[int, int], ...] = ()
    ground: float = 0.0

    @property
    def n(self) -> int:
        """Number of distances: one per pair, then one per capsule end above the ground."""
        return len(self.pairs) + len(self.floor)


def distances(mechanism: Mechanism, layout: Layout, q: Any) -> Any:
    """Distances (n,), m, between the surfaces of capsules and from capsule ends to the ground.

    Distances are negative for overlaps.
    """
    return _distances(mechanism, layout, q)[0]


def distances_and_slopes(mechanism: Mechanism, layout: Layout, q: Any) -> tuple[Any, Any]:
    """Compute distances (n,) and their Jacobian (n, n_v) with respect to the velocities.

    Sliding of the closest points along the axes does not change the distance to first order, so the row of a pair
    is nᵀ(J_a − J_b) with points fixed on the links. Both points lie on the line of n. A joint with the screw [v,
    w] at the world's origin therefore contributes n · v + (point × n) · w, and joints that carry both links
    contribute nothing.
    """
    d, points, T = _distances(mechanism, layout, q)
    screws = _screws(mechanism, T, q)
    paths = [frozenset((*mechanism.tree.ancestors(i), i)) - {0} for i in layout.links]
    rows = []
    for (a, b), (normal, point) in zip(layout.pairs, points[: len(layout.pairs)], strict=True):
        row = [0.0] * mechanism.n_v
        moment = cross(point, normal)
        for sign, joints in ((1.0, paths[a] - paths[b]), (-1.0, paths[b] - paths[a])):
            _add(row, screws, sorted(joints), sign * normal, sign * moment)
        rows.append(row)
    up = np.array([0.0, 0.0, 1.0])
    for k, point in enumerate(points[len(layout.pairs) :]):
        row = [0.0] * mechanism.n_v
        _add(row, screws, sorted(paths[layout.floor[k][0]]), up, cross(point, up))
        rows.append(row)
    return d, np.array(rows).reshape(layout.n, mechanism.n_v)


def _distances(mechanism: Mechanism, layout: Layout, q: Any) -> tuple[Any, list[Any], Any]:
    """Distances; (normal, point on its line) per pair; position per capsule end above the ground; link poses."""
    T = link_poses(mechanism, q)
    ends = [
        [T[i][:3, :3] @ end + T[i][:3, 3] for end in both]
        for i, both in zip(layout.links, layout.ends, strict=True)
    ]
    values, points = [], []
    for a, b in layout.pairs:
        on_a, on_b = closest_points(*ends[a], *ends[b])
        apart = on_a - on_b
        length = sqrt((apart * apart).sum())
        values.append(length - layout.radii[a] - layout.radii[b])
        points.append((apart / maximum(length, LEAST_LENGTH), on_a))
    for bar, side in layout.floor:
        end = ends[bar][side]
        values.append(end[2] - layout.ground - layout.radii[bar])
        points.append(end)
    return np.array(values), points, T


def _screws(mechanism: Mechanism, T: Any, q: Any) -> list[list[tuple[int, Any, Any]]]:
    """List (index in v, [v, w] at the world's origin in world axes) for the joint velocities of every link."""
    q_own = mechanism.joint_positions(q)
    screws: list[list[tuple[int, Any, Any]]] = [[]]
    for i, _, joint in mechanism.outward():
        R, p = T[i][:3, :3], T[i][:3, 3]
        S = joint.subspace(q_own[i])
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        start = mechanism.v_slices[joint.name].start
        turns = [factor * (R @ S[3:, k]) for k in range(joint.type.n_v)]
        slides = [factor * (R @ S[:3, k]) for k in range(joint.type.n_v)]
        screws.append([(start + k, slides[k] + cross(p, turn), turn) for k, turn in enumerate(turns)])
    return screws


def _add(row: list[Any], screws: list[Any], joints: list[int], normal: Any, moment: Any) -> None:
    for i in joints:
        for place, slide, turn in screws[i]:
            row[place] = row[place] + normal @ slide + moment @ turn

"""The rigid bodies of a mechanism, each with the joint that moves it, at one configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanism import Joint, Mechanism
from ...mechanism.plausibility import rigid_clusters
from ...spatial.transforms import inverse


@dataclass(frozen=True)
class Body:
    """Links that fixed joints hold together, and the joint that moves them."""

    links: list[int]
    parent: int
    joint: Joint | None
    q: np.ndarray
    T_world_joint: np.ndarray
    """The joint frame on the parent."""
    T_world_moved: np.ndarray
    """The joint frame on the body."""

    @property
    def anchor(self) -> np.ndarray:
        """Where the body begins."""
        return self.T_world_moved[:3, 3]

    def columns(self) -> list[tuple[np.ndarray, bool]]:
        """Direction in the world of every velocity of the joint, and whether it turns."""
        if self.joint is None:
            return []
        R = self.T_world_moved[:3, :3]
        S = self.joint.type.subspace(self.q)
        turns = [bool(np.linalg.norm(S[3:, k]) > 1e-12) for k in range(S.shape[1])]
        return [(R @ (S[3:, k] if turning else S[:3, k]), turning) for k, turning in enumerate(turns)]

    def rod(self) -> list[np.ndarray]:
        """The ends of the rod that keeps a slide in its guide, and the body on it, over its whole range."""
        points = [*self.origins(), self.anchor]
        if len(points) < 3:
            return []
        way = points[1] - points[0]
        return [
            min(points, key=lambda point: float(point @ way)),
            max(points, key=lambda point: float(point @ way)),
        ]

    def origins(self) -> list[np.ndarray]:
        """Where the joint frame of the parent is, seen from the body, at both limits of its one coordinate.

        As points of the world with the body where it is; none without limits.
        """
        if self.joint is None or self.joint.type.n_q != 1:
            return []
        limits = [float(np.ravel(limit)[0]) for limit in (self.joint.limits.lower, self.joint.limits.upper)]
        if not np.isfinite(limits).all():
            return []
        back = [inverse(self.joint.type.motion(np.array([limit]))) for limit in limits]
        return [(self.T_world_moved @ T)[:3, 3] for T in back]


def rigid_bodies(mechanism: Mechanism, q: np.ndarray, T: list) -> list[Body]:
    """All bodies, parents before children; T are the poses of the links."""
    q_own = mechanism.joint_positions(q)
    clusters = rigid_clusters(mechanism)
    cluster_of = {i: k for k, links in enumerate(clusters) for i in links}
    bodies = [Body(clusters[0], -1, None, q_own[0], T[0], T[0])]
    for links in clusters[1:]:
        i = links[0]
        joint, parent = mechanism.joint_of(i), mechanism.tree.parents[i]
        T_world_joint = T[parent] @ joint.T_parent_joint
        T_world_moved = T_world_joint @ joint.type.motion(q_own[i])
        bodies.append(Body(links, cluster_of[parent], joint, q_own[i], T_world_joint, T_world_moved))
    return bodies


def carriers_of_floating_base(mechanism: Mechanism, bodies: list[Body]) -> set[int]:
    """Bodies that only carry a floating base: the root and massless ones up to six degrees of freedom."""

    def massive(k: int) -> bool:
        return any(mechanism.links[i].inertia.any() for i in bodies[k].links)

    carriers, k, freedom = set(), 0, 0
    while freedom < 6:
        children = [j for j, body in enumerate(bodies) if body.parent == k]
        if len(children) != 1 or massive(k):
            return set()
        carriers.add(k)
        k = children[0]
        joint = bodies[k].joint
        freedom += joint.type.n_v if joint is not None else 0
    return carriers if massive(k) else set()

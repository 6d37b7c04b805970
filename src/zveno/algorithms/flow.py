"""Mass flow: moments of the velocities of all points that a link carries.

The observer moves with the link's origin, so the link's own linear velocity is zero. This is allowed because the
results do not depend on a constant velocity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..spatial.inertia import pseudo_inertia
from ..spatial.vectors import cross, skew
from .motion import Motion
from .tree import Packing


class Flow(NamedTuple):
    """Twice the moments of the velocities ẋ of all points a link carries, relative to the link's origin."""

    Q: Any
    """2 ∫ x ẋᵀ dm, (3, 3)"""
    P: Any
    """2 ∫ ẋ dm, (3,)"""

    def plus(self, other: Flow) -> Flow:
        """Return the sum of two flows in the same frame."""
        return Flow(self.Q + other.Q, self.P + other.P)

    def twirl(self, w: Any) -> Any:
        """Return Coriolis force and moment for a unit angular velocity, `[2 ∫ w × ẋ dm, 2 ∫ x × (w × ẋ) dm]`."""
        return np.concatenate([cross(w, self.P), np.trace(self.Q) * w - self.Q.T @ w])

    def sweep(self, axis: Any) -> Any:
        """Return 2 ∫ ẋ × s(x) dm for the field s(x) = v + w × x of a twist."""
        v, w = axis[:3], axis[3:]
        return cross(self.P, v) + np.trace(self.Q) * w - self.Q @ w


FLOW = Packing(
    12,
    lambda flow, _: np.concatenate([flow.Q.ravel(), flow.P]),
    lambda x, _: Flow(x[:9].reshape(3, 3), x[9:]),
    Flow(np.zeros((3, 3)), np.zeros(3)),
)


def own_flow(p: Any, motion: Motion) -> Flow:
    """Return the flow of the link itself: ẋ = ω × x."""
    return Flow((2.0 * pseudo_inertia(p)[:3, :3]) @ skew(motion.w).T, cross(motion.w, 2.0 * p[1:4]))


def flow_at_parent(flow: Flow, p: Any, T: Any, drift: Any) -> Flow:
    """Return the flow about the parent's origin: x becomes R x + r, and 2 ẋ becomes 2 R ẋ + drift."""
    R, r = T[:3, :3], T[:3, 3]
    P = R @ flow.P + p[0] * drift
    return Flow(R @ flow.Q @ R.T + np.outer(R @ p[1:4], drift) + np.outer(r, P), P)


def drift_of(T: Any, parent: Motion, own_twist: Any) -> Any:
    """Return twice the velocity of the child's origin relative to the parent's, (3,), in the parent's axes."""
    return cross(parent.w, 2.0 * T[:3, 3]) + T[:3, :3] @ (2.0 * own_twist[:3])


def bracket(s: Any, t: Any) -> Any:
    """Return the cross product of twists `[v, w]`."""
    return np.concatenate([cross(s[3:], t[:3]) + cross(s[:3], t[3:]), cross(s[3:], t[3:])])

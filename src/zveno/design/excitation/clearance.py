"""How far the links keep clear along a motion, with slopes: a term of the barrier."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...kernels import derivatives
from ...kernels.door import compiled
from ...kernels.kernel import Kernel
from ...kernels.trace import call, trace
from ...mechanism import Mechanism
from ..capsules import Capsules, closest_shares

NEAR = 0.1
"""Distances below this share of the reach begin to count."""


class ClearanceTerm:
    """The barrier of a robot's capsules: −log s + s − 1 where s = distance / near < 1, else zero."""

    def __init__(self, capsules: Capsules):
        self.capsules = capsules
        self.mechanism: Mechanism = capsules.robot.mechanism
        lengths = np.linalg.norm(capsules.ends[:, 1] - capsules.ends[:, 0], axis=-1)
        self.near: float = NEAR * float(lengths.sum() or 1.0)
        constants = (self.mechanism, tuple(capsules.links.tolist()), capsules.ends)
        inputs = {"q": (self.mechanism.n_q,)}
        weights = {"weights": (len(capsules.links), 2, 3)}
        self._adjoint: Kernel = compiled(bar_end_slopes, inputs | weights, constants=constants, outputs=("bar_q",))

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Whether postures (..., n_q) keep clear, (...)."""
        return self.capsules.clear(q.reshape(-1, q.shape[-1])).reshape(q.shape[:-1])

    def value_and_slope(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The term over postures (n, n_q), infinite where one touches, and its slope (n, n_q)."""
        capsules, points = self.capsules, self.capsules.points(q)
        weights = np.zeros_like(points)
        value = 0.0
        if capsules.clearance.links and len(capsules.pairs):
            value += self._between(points, weights)
        if capsules.clearance.ground is not None and len(capsules.floor):
            value += self._above(points, weights, capsules.clearance.ground)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(q)
        return value, self._adjoint(q, weights)

    def _between(self, points: np.ndarray, weights: np.ndarray) -> float:
        first, second = self.capsules.pairs.T
        a, b = points[:, first], points[:, second]
        s, t = closest_shares(a[:, :, 0], a[:, :, 1], b[:, :, 0], b[:, :, 1])
        at_a = np.stack([1.0 - s, s], axis=-1)
        at_b = np.stack([1.0 - t, t], axis=-1)
        apart = np.einsum("npe,npex->npx", at_a, a) - np.einsum("npe,npex->npx", at_b, b)
        length = np.linalg.norm(apart, axis=-1)
        value, slope = self._barrier(length - self.capsules.radii[self.capsules.pairs].sum(axis=1))
        # The closest points move along the bars without changing the distance, to first order.
        push = (slope / np.maximum(length, 1e-12))[..., None] * apart
        by_bar = np.moveaxis(weights, 1, 0)  # a bar may be in several pairs
        np.add.at(by_bar, first, np.moveaxis(at_a[..., None] * push[:, :, None], 1, 0))
        np.add.at(by_bar, second, np.moveaxis(-at_b[..., None] * push[:, :, None], 1, 0))
        return value

    def _above(self, points: np.ndarray, weights: np.ndarray, ground: float) -> float:
        floor = self.capsules.floor
        height = points[..., 2][:, floor] - ground - self.capsules.radii[floor][:, None]
        value, slope = self._barrier(height)
        upward = weights[..., 2]
        upward[:, floor] += slope
        return value

    def _barrier(self, distance: np.ndarray) -> tuple[float, np.ndarray]:
        if distance.min(initial=np.inf) <= 0.0:
            return np.inf, np.zeros_like(distance)
        s = np.minimum(distance / self.near, 1.0)
        return float((s - 1.0 - np.log(s)).sum()), (1.0 - 1.0 / s) / self.near


def bar_ends(mechanism: Mechanism, links: tuple[int, ...], ends: np.ndarray, q: Any) -> Any:
    """Ends of bars in the world, (bars, 2, 3), from those in the frames of their links."""
    T = link_poses(mechanism, q)
    return np.array(
        [[T[i][:3, :3] @ end + T[i][:3, 3] for end in both] for i, both in zip(links, ends, strict=True)]
    )


def bar_end_slopes(mechanism: Mechanism, links: tuple[int, ...], ends: np.ndarray, q: Any, weights: Any) -> Any:
    """The derivative of Σ weights · `bar_ends` by q, (n_q,), for weights (bars, 2, 3)."""
    program = trace(bar_ends, {"q": (mechanism.n_q,)}, outputs=("points",), constants=(mechanism, links, ends))
    return call(derivatives.reverse(program), q, weights)

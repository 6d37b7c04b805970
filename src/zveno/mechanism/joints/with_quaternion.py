"""Joint types whose orientation is a unit quaternion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...kernels.ops import sqrt
from ...spatial import rotations, transforms
from ...spatial.transforms import transform
from .joint_type import JointType, Step, finite_range

NEWTON_STEPS = 8
"""Steps after which an angle is exact: the first guess is within a third, and errors are squared."""


def _random_quaternion(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def turned_less(quaternion: np.ndarray, most: float) -> np.ndarray:
    """Return random rotations (..., 4) turned less, so that uniform ones become uniform within an angle, rad.

    An angle θ of uniform rotations has the distribution (θ − sin θ)/π. Newton's method inverts it, from above.
    """
    most, sine = min(most, np.pi), np.linalg.norm(quaternion[..., 1:], axis=-1)
    θ = 2.0 * np.arctan2(sine, abs(quaternion[..., 0]))
    share = (θ - np.sin(θ)) / np.pi * (most - np.sin(most))
    x = most * np.cbrt(share / (most - np.sin(most)))
    for _ in range(NEWTON_STEPS):
        slope = 1.0 - np.cos(x)
        x = x - np.divide(x - np.sin(x) - share, slope, out=np.zeros_like(x), where=slope > 0)
    half = 0.5 * np.clip(x, 0.0, most)
    axis = quaternion[..., 1:] / np.where(sine > 0, sine, 1.0)[..., None]
    return np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], axis=-1)


def _quaternion_tangent(q):
    columns = [rotations.quaternion_product(q, 0.5 * unit) for unit in np.eye(4)[1:]]
    return np.stack(columns, axis=1)


def _ball(first: int) -> tuple[Step, ...]:
    """Rotations about z, y and x whose angles, numbered from `first`, stand for a quaternion."""
    return tuple(Step("R", axis, 0.0, first + k) for k, axis in enumerate(np.eye(3)[::-1]))


def _unit(quaternion):
    return quaternion / sqrt(quaternion @ quaternion)


@dataclass(frozen=True, repr=False, eq=False)
class Spherical(JointType):
    """Rotation about a point: q = unit quaternion `[w, x, y, z]`, v = angular velocity in the child's axes."""

    kind = "spherical"
    n_q: ClassVar[int] = 4
    n_v: ClassVar[int] = 3
    units: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad")
    suffixes: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")

    def motion(self, q: Any) -> Any:
        """Rotation of the quaternion."""
        return transform(rotations.from_quaternion(q))

    def subspace(self, q: Any) -> Any:
        """Matrix [0; 1] (6, 3)."""
        return np.eye(6)[:, 3:]

    def steps(self) -> tuple[Step, ...]:
        """Angles about z, y and x."""
        return _ball(0)

    def neutral(self) -> np.ndarray:
        """Identity quaternion."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def integrate(self, q: Any, v: Any) -> Any:
        """Product q ⊗ exp(v)."""
        return _unit(rotations.quaternion_product(q, rotations.quaternion_exp(v)))

    def difference(self, q0: Any, q1: Any) -> Any:
        """Rotation vector log(q0⁻¹ ⊗ q1)."""
        return rotations.quaternion_log(rotations.quaternion_product(rotations.quaternion_conjugate(q0), q1))

    def tangent(self, q: Any) -> Any:
        """Matrix (4, 3) of the map v ↦ q ⊗ [0, v/2]."""
        return _quaternion_tangent(q)

    def normalized(self, q: Any) -> Any:
        """Unit quaternion q/|q|."""
        return _unit(q)

    def quaternion_error(self, q: Any) -> Any:
        """Deviation ||q| − 1| of the norm from 1."""
        return abs(np.linalg.norm(q, axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, lower: Any, upper: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Draw uniformly over all rotations."""
        return _random_quaternion(rng, shape)


@dataclass(frozen=True, repr=False, eq=False)
class Free(JointType):
    """All six degrees of freedom: q = `[x, y, z, qw, qx, qy, qz]`, v = `[v, w]` in the child's own axes."""

    kind = "free"
    n_q: ClassVar[int] = 7
    n_v: ClassVar[int] = 6
    units: ClassVar[tuple[str, ...]] = ("m", "m", "m", "rad", "rad", "rad")
    suffixes: ClassVar[tuple[str, ...]] = ("x", "y", "z", "qw", "qx", "qy", "qz")

    def motion(self, q: Any) -> Any:
        """Translation and rotation of the quaternion."""
        return transform(rotations.from_quaternion(q[3:]), q[:3])

    def subspace(self, q: Any) -> Any:
        """Identity matrix: v is the twist."""
        return np.eye(6)

    def steps(self) -> tuple[Step, ...]:
        """Translations along x, y and z, then angles about z, y and x."""
        slides = (Step("P", axis, 0.0, k) for k, axis in enumerate(np.eye(3)))
        return (*slides, *_ball(3))

    def neutral(self) -> np.ndarray:
        """Coordinates of the identity transform."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def integrate(self, q: Any, v: Any) -> Any:
        """Coordinates of T exp(v), the screw motion with the constant body twist v."""
        step = transforms.exp(v)[:3, 3]
        turned = _unit(rotations.quaternion_product(q[3:], rotations.quaternion_exp(v[3:])))
        return np.concatenate([q[:3] + rotations.from_quaternion(q[3:]) @ step, turned])

    def difference(self, q0: Any, q1: Any) -> Any:
        """Body twist log(T0⁻¹ T1)."""
        turn = rotations.quaternion_product(rotations.quaternion_conjugate(q0[3:]), q1[3:])
        p = rotations.from_quaternion(q0[3:]).T @ (q1[:3] - q0[:3])
        return transforms.log(rotations.quaternion_log(turn), p)

    def tangent(self, q: Any) -> Any:
        """Matrix (7, 6) of ṗ = R v and the quaternion's rate."""
        R = rotations.from_quaternion(q[3:])
        upper = np.concatenate([R, np.zeros((3, 3))], axis=1)
        return np.concatenate([upper, np.concatenate([np.zeros((4, 3)), _quaternion_tangent(q[3:])], axis=1)])

    def normalized(self, q: Any) -> Any:
        """Scale the quaternion to unit length."""
        return np.concatenate([q[:3], _unit(q[3:])])

    def quaternion_error(self, q: Any) -> Any:
        """Deviation of the quaternion's norm from 1."""
        return abs(np.linalg.norm(np.asarray(q)[..., 3:], axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, lower: Any, upper: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Draw uniformly over a box (±1 m without limits) and over all rotations."""
        p = rng.uniform(*finite_range(lower[:3], upper[:3], np.ones(3)), size=(*shape, 3))
        return np.concatenate([p, _random_quaternion(rng, shape)], axis=-1)

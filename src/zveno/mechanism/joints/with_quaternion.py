"""Joints whose orientation is a unit quaternion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.math import sqrt
from ...spatial import rotations, transforms
from ...spatial.transforms import transform
from .joint_type import JointType, finite_range


def _random_quaternion(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _quaternion_tangent(q):
    columns = [rotations.quaternion_product(q, 0.5 * unit) for unit in np.eye(4)[1:]]
    return np.stack(columns, axis=1)


def _unit(quaternion):
    return quaternion / sqrt(quaternion @ quaternion)


@dataclass(frozen=True, repr=False, eq=False)
class Spherical(JointType):
    """Rotation about a point: q = unit quaternion `[w, x, y, z]`, v = angular velocity in the child's axes."""

    kind = "spherical"
    n_q, n_v = 4, 3
    units = ("rad", "rad", "rad")
    suffixes = ("qw", "qx", "qy", "qz")

    def motion(self, q):
        """The quaternion's rotation."""
        return transform(rotations.from_quaternion(q))

    def subspace(self, q):
        """[0, 1]."""
        return np.eye(6)[:, 3:]

    def neutral(self):
        """No rotation."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def integrate(self, q, v):
        """q ⊗ exp(v)."""
        return _unit(rotations.quaternion_product(q, rotations.quaternion_exp(v)))

    def difference(self, q0, q1):
        """log(q0⁻¹ ⊗ q1)."""
        return rotations.quaternion_log(rotations.quaternion_product(rotations.quaternion_conjugate(q0), q1))

    def tangent(self, q):
        """q ⊗ [0, v/2]."""
        return _quaternion_tangent(q)

    def normalized(self, q):
        """q/|q|."""
        return _unit(q)

    def quaternion_error(self, q):
        """||q| − 1|."""
        return abs(np.linalg.norm(q, axis=-1) - 1.0)

    def random(self, rng, lower, upper, shape=()):
        """Uniform over all rotations."""
        return _random_quaternion(rng, shape)


@dataclass(frozen=True, repr=False, eq=False)
class Free(JointType):
    """All six degrees of freedom: q = `[x, y, z, qw, qx, qy, qz]`, v = `[v, w]` in the child's own axes."""

    kind = "free"
    n_q, n_v = 7, 6
    units = ("m", "m", "m", "rad", "rad", "rad")
    suffixes = ("x", "y", "z", "qw", "qx", "qy", "qz")

    def motion(self, q):
        """The quaternion's rotation after the translation."""
        return transform(rotations.from_quaternion(q[3:]), q[:3])

    def subspace(self, q):
        """The identity: v is the twist itself."""
        return np.eye(6)

    def neutral(self):
        """The identity transform."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def integrate(self, q, v):
        """T exp(v): the screw motion with the constant body twist v."""
        step = transforms.exp(v)[:3, 3]
        turned = _unit(rotations.quaternion_product(q[3:], rotations.quaternion_exp(v[3:])))
        return np.concatenate([q[:3] + rotations.from_quaternion(q[3:]) @ step, turned])

    def difference(self, q0, q1):
        """log(T0⁻¹ T1)."""
        turn = rotations.quaternion_product(rotations.quaternion_conjugate(q0[3:]), q1[3:])
        p = rotations.from_quaternion(q0[3:]).T @ (q1[:3] - q0[:3])
        return transforms.log(rotations.quaternion_log(turn), p)

    def tangent(self, q):
        """ṗ = R v and the quaternion's rate."""
        R = rotations.from_quaternion(q[3:])
        upper = np.concatenate([R, np.zeros((3, 3))], axis=1)
        return np.concatenate([upper, np.concatenate([np.zeros((4, 3)), _quaternion_tangent(q[3:])], axis=1)])

    def normalized(self, q):
        """The quaternion scaled to unit length."""
        return np.concatenate([q[:3], _unit(q[3:])])

    def quaternion_error(self, q):
        """How far the quaternion's norm is from 1."""
        return abs(np.linalg.norm(np.asarray(q)[..., 3:], axis=-1) - 1.0)

    def random(self, rng, lower, upper, shape=()):
        """Uniform over a cube (±1 m without limits) and over all rotations."""
        p = rng.uniform(*finite_range(lower[:3], upper[:3], np.ones(3)), size=(*shape, 3))
        return np.concatenate([p, _random_quaternion(rng, shape)], axis=-1)

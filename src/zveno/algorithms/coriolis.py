"""The Coriolis matrix, by the recursion of Echeandia and Wensing (2021) in body axes."""

from __future__ import annotations

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import tensor
from ..spatial.vectors import skew
from .drives import independent_velocities, rotor_torque, turned_momentum
from .velocities import body_motions


def coriolis_matrix(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """C (n_v, n_v) with C v = bias − gravity torque, and Ṁ − 2C skew-symmetric.

    C = Σ J_iᵀ (M_i J̇_i + Γ_i J_i) over the links, with the body Jacobians J_i and a skew-symmetric Γ_i whose
    product with the link's twist is the wrench that its motion needs without acceleration. Rotors count.
    """
    J = [np.zeros((6, mechanism.n_v))]
    J_rate = [np.zeros((6, mechanism.n_v))]
    motions = body_motions(mechanism, q, v, np.zeros(mechanism.n_v))
    q_own, v_own = mechanism.joint_positions(q), mechanism.joint_velocities(v)
    C = _rotors(mechanism, v)
    for i, f, joint in mechanism.outward():
        T, S = joint.transform(q_own[i]), joint.subspace(q_own[i])
        own, own_rate = (_placed(mechanism, joint, part) for part in (S, joint.subspace_rate(q_own[i], v_own[i])))
        carried = _carried(T, J[f])
        J.append(carried + own)
        J_rate.append(_carried(T, J_rate[f]) - _motion_cross(S @ v_own[i]) @ carried + own_rate)
        M = _spatial_inertia(mechanism.links[i].inertia)
        twist = np.concatenate([motions[i].v, motions[i].w])
        C = C + J[i].T @ (M @ J_rate[i] + _velocity_products(M, twist) @ J[i])
    return C


def _placed(mechanism: Mechanism, joint: Joint, columns: np.ndarray) -> np.ndarray:
    """Columns of a joint among those of all velocities; a follower's act through its leader."""
    factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
    start = mechanism.v_slices[joint.name].start if columns.shape[1] else 0
    n = columns.shape[1]
    before, after = np.zeros((6, start)), np.zeros((6, mechanism.n_v - start - n))
    return np.concatenate([before, factor * columns, after], axis=1)


def _carried(T: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Twists of the parent (columns) at the child's origin in the child's axes."""
    R, p = T[:3, :3], T[:3, 3]
    return np.concatenate([R.T @ (J[:3] - skew(p) @ J[3:]), R.T @ J[3:]])


def _motion_cross(twist: np.ndarray) -> np.ndarray:
    """V× of a twist [v, w], (6, 6), which acts on twists."""
    v, w = skew(twist[:3]), skew(twist[3:])
    return np.concatenate([np.concatenate([w, v], axis=1), np.concatenate([np.zeros((3, 3)), w], axis=1)])


def _spatial_inertia(p: np.ndarray) -> np.ndarray:
    """M, (6, 6), about the link's origin: momentum [p, l] = M [v, w]."""
    h = skew(p[1:4])
    return np.concatenate([np.concatenate([p[0] * np.eye(3), -h], axis=1), np.concatenate([h, tensor(p)], axis=1)])


def _velocity_products(M: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Γ = ½ (V×* M + (M V)×̄* + M V×), skew-symmetric, with Γ V = V×* M V."""
    V = _motion_cross(twist)
    momentum = M @ twist
    p, l = skew(momentum[:3]), skew(momentum[3:])
    turned = np.concatenate([np.concatenate([np.zeros((3, 3)), -p], axis=1), np.concatenate([-p, -l], axis=1)])
    return 0.5 * (turned + M @ V - V.T @ M)


def _rotors(mechanism: Mechanism, v: np.ndarray) -> np.ndarray:
    """The part of rotors on ball and free joints, whose momentum turns with the body."""
    momentum, units = rotor_torque(mechanism, v), np.eye(mechanism.n_v)
    joints = independent_velocities(mechanism)
    columns = [
        np.concatenate([turned_momentum(kind, units[k, at], momentum[at]) for kind, at in joints])
        for k in range(mechanism.n_v)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

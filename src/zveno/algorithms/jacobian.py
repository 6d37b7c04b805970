"""The geometric Jacobian of a frame, in three references."""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from ..spatial.vectors import cross, skew
from .forward_kinematics import link_poses
from .references import checked_reference
from .velocities import frame_motion, world_motions


def jacobian(
    mechanism: Mechanism, q: np.ndarray, frame: str | None = None, reference: str = "aligned"
) -> np.ndarray:
    """J (6, n_v) with `[v, w] = J q̇` for the twist of a frame.

    Args:
        mechanism: the mechanism.
        q: coordinates, (n_q,).
        frame: the frame's name; the default frame if none is given.
        reference: "aligned": velocity of the frame's origin in world axes; "local": the same in the frame's
            own axes; "world": world axes, velocity of the point of the body that passes the world's origin.
    """
    checked_reference(reference)
    target = mechanism.frame(frame)
    link = mechanism.link_number(target.link)
    T = link_poses(mechanism, q)
    T_world_frame = T[link] @ target.T_link_frame
    point = np.zeros(3) if reference == "world" else T_world_frame[:3, 3]
    J = twist_columns(mechanism, q, T, link, point)
    if reference == "local":
        Rt = T_world_frame[:3, :3].T
        J = np.concatenate([Rt @ J[:3], Rt @ J[3:]])
    return J


def twist_columns(
    mechanism: Mechanism, q: np.ndarray, T: list[np.ndarray], link: int, point: np.ndarray
) -> np.ndarray:
    """(6, n_v): twist in world axes, at a world point carried by a link, for unit velocities.

    Column of joint j: w = R_j S_w, v = R_j S_v + w × (point − p_j); zero unless j lies on the way to the link.
    """
    q_own = mechanism.joint_positions(q)
    columns = [np.zeros(6) for _ in range(mechanism.n_v)]
    for i in (*mechanism.tree.ancestors(link), link):
        if i == 0:
            continue
        joint = mechanism.joint_of(i)
        R, p = T[i][:3, :3], T[i][:3, 3]
        S = joint.subspace(q_own[i])
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        start = mechanism.v_slices[joint.name].start
        for k in range(joint.type.n_v):
            w = R @ S[3:, k]
            v = R @ S[:3, k] + cross(w, point - p)
            columns[start + k] = columns[start + k] + factor * np.concatenate([v, w])
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def jacobian_derivative(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, frame: str | None = None, reference: str = "aligned"
) -> np.ndarray:
    """J̇ (6, n_v): the derivative by time of `jacobian` in the same reference, at the velocity v (n_v,).

    With "aligned" and "world" the frame's acceleration is J a + J̇ v. Column of joint j in world axes:
    ẇ = ω × w + R Ṡ_w and v̇ = ω × R S_v + R Ṡ_v + ẇ × (point − p_j) + w × (ṗ − ṗ_j).
    """
    checked_reference(reference)
    target = mechanism.frame(frame)
    link = mechanism.link_number(target.link)
    T = link_poses(mechanism, q)
    T_world_frame = T[link] @ target.T_link_frame
    rest = np.zeros(mechanism.n_v)
    twist = frame_motion(mechanism, q, v, rest, target.name)[0]
    fixed = reference == "world"
    point, velocity = (np.zeros(3), np.zeros(3)) if fixed else (T_world_frame[:3, 3], twist[:3])
    motions = world_motions(mechanism, q, v, rest)
    q_own, v_own = mechanism.joint_positions(q), mechanism.joint_velocities(v)
    columns = [np.zeros(6) for _ in range(mechanism.n_v)]
    for i in (*mechanism.tree.ancestors(link), link):
        if i == 0:
            continue
        joint, motion = mechanism.joint_of(i), motions[i]
        R, p = T[i][:3, :3], T[i][:3, 3]
        S, S_rate = joint.subspace(q_own[i]), joint.subspace_rate(q_own[i], v_own[i])
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        start = mechanism.v_slices[joint.name].start
        for k in range(joint.type.n_v):
            w, along = R @ S[3:, k], R @ S[:3, k]
            w_rate = cross(motion.w, w) + R @ S_rate[3:, k]
            v_rate = cross(motion.w, along) + R @ S_rate[:3, k]
            v_rate = v_rate + cross(w_rate, point - p) + cross(w, velocity - motion.v)
            columns[start + k] = columns[start + k] + factor * np.concatenate([v_rate, w_rate])
    J_rate = np.stack(columns, axis=1) if columns else np.zeros((6, 0))
    if reference != "local":
        return J_rate
    J, Rt = twist_columns(mechanism, q, T, link, point), T_world_frame[:3, :3].T
    turn = skew(twist[3:])
    return np.concatenate([Rt @ (J_rate[:3] - turn @ J[:3]), Rt @ (J_rate[3:] - turn @ J[3:])])

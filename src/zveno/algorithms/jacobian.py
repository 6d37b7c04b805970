"""Geometric Jacobian of a frame, in three references, and its time derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.vectors import cross
from .forward_kinematics import body_poses
from .references import checked_reference
from .tree import POSE, VELOCITIES, WRENCH, Tree, tree_of
from .velocities import world_motions_of


def jacobian(mechanism: Mechanism | Tree, q: Any, frame: str | None = None, reference: str = "aligned") -> Any:
    """Return J (6, n_v) with `[v, w] = J q̇` for the twist of a frame.

    Args:
        mechanism: the mechanism.
        q: coordinates, (n_q,).
        frame: the frame's name; the default frame if none is given.
        reference: "aligned": velocity of the frame's origin in world axes; "local": the same in the frame's
            own axes; "world": world axes, velocity of the body point at the world's origin.
    """
    checked_reference(reference)
    tree = tree_of(mechanism).carrying(frame)
    J, target, at = tree.result("J", 6, VELOCITIES), tree.cell(POSE), tree.positions(q)
    T = body_poses(tree, q)
    for k in tree.frames():
        target.value = T[k.body] @ k.T_body_frame
    for i in tree.outward():
        T_world_frame = target.value
        point = np.zeros(3) if reference == "world" else T_world_frame[:3, 3]
        columns = unit_twists(i.joint, at[i], T[i], point)
        if reference == "local":
            columns = _turned(T_world_frame[:3, :3].T, columns)
        J[i] = columns
    return J.whole()


def twist_columns(mechanism: Mechanism, q: np.ndarray, T: Any, link: int, point: np.ndarray) -> np.ndarray:
    """Return the twists (6, n_v) in world axes, at a world point carried by a link, for unit velocities.

    Args:
        mechanism: the mechanism.
        q: coordinates, (n_q,).
        T: T_world_link by link number.
        link: the number of the link.
        point: (3,).
    """
    tree = tree_of(mechanism).carrying(mechanism.links[link].name)
    J, at = tree.result("J", 6, VELOCITIES), tree.positions(q)
    for i in tree.outward():
        J[i] = unit_twists(i.joint, at[i], T[i.number], point)
    return J.whole()


def unit_twists(joint: Joint, q: Any, T: Any, point: Any) -> Any:
    """Return the columns of a joint, (6, n_v): w = R S_w, v = R S_v + w × (point − p), T being the child's pose."""
    R, p, S = T[:3, :3], T[:3, 3], joint.subspace(q)
    columns = []
    for k in range(S.shape[1]):
        w = R @ S[3:, k]
        columns.append(np.concatenate([R @ S[:3, k] + cross(w, point - p), w]))
    return np.stack(columns, axis=1) if columns else S


def jacobian_derivative(
    mechanism: Mechanism | Tree, q: Any, v: Any, frame: str | None = None, reference: str = "aligned"
) -> Any:
    """Return J̇ (6, n_v): the time derivative of `jacobian` in the same reference, at the velocity v (n_v,).

    With "aligned" and "world" the frame's acceleration is J a + J̇ v. Column of joint j in world axes:
    ẇ = ω × w + R Ṡ_w and v̇ = ω × R S_v + R Ṡ_v + ẇ × (point − p_j) + w × (ṗ − ṗ_j).
    """
    checked_reference(reference)
    tree = tree_of(mechanism).carrying(frame)
    J_rate, at, rate = tree.result("J_rate", 6, VELOCITIES), tree.positions(q), tree.velocities(v)
    target, twist = tree.cell(POSE), tree.cell(WRENCH)
    T, motion = world_motions_of(tree, q, v)
    for k in tree.frames():
        target.value = T_world_frame = T[k.body] @ k.T_body_frame
        twist.value = motion[k.body].at(T_world_frame[:3, 3] - T[k.body][:3, 3]).twist
    for i in tree.outward():
        fixed = reference == "world"
        point, velocity = (np.zeros(3), np.zeros(3)) if fixed else (target.value[:3, 3], twist.value[:3])
        R, p, link = T[i][:3, :3], T[i][:3, 3], motion[i]
        S, S_rate = i.joint.subspace(at[i]), i.joint.subspace_rate(at[i], rate[i])
        columns = []
        for k in range(S.shape[1]):
            w, along = R @ S[3:, k], R @ S[:3, k]
            w_rate = cross(link.w, w) + R @ S_rate[3:, k]
            v_rate = cross(link.w, along) + R @ S_rate[:3, k]
            v_rate = v_rate + cross(w_rate, point - p) + cross(w, velocity - link.v)
            if reference == "local":
                turn = twist.value[3:]
                w_rate = w_rate - cross(turn, w)
                v_rate = v_rate - cross(turn, along + cross(w, point - p))
            columns.append(np.concatenate([v_rate, w_rate]))
        changes = np.stack(columns, axis=1) if columns else S
        J_rate[i] = _turned(target.value[:3, :3].T, changes) if reference == "local" else changes
    return J_rate.whole()


def _turned(R: Any, columns: Any) -> Any:
    return np.concatenate([R @ columns[:3], R @ columns[3:]])

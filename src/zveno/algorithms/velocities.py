"""Velocities and accelerations of every link, in body axes and in world axes (document 003, (4)–(5)).

Linear quantities are the true velocity and acceleration of a point; gravity plays no part here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import center_of_mass
from ..spatial.vectors import cross
from .forward_kinematics import link_poses
from .references import checked_reference


class Motion(NamedTuple):
    """Motion of a link and of one point on it, all (3,) in the same axes."""

    v: Any
    """velocity of the point, m/s"""
    w: Any
    """angular velocity ω, rad/s"""
    a: Any
    """acceleration of the point, m/s²"""
    e: Any
    """angular acceleration ε, rad/s²"""

    def at(self, r: np.ndarray) -> Motion:
        """The motion of another point of the same link, at r from this one: v + ω×r, a + Ω r."""
        return Motion(self.v + cross(self.w, r), self.w, self.a + self.rates @ r, self.e)

    @property
    def rates(self) -> np.ndarray:
        """Ω = [ε]× + [ω]×[ω]×, (3, 3): the acceleration of a point of the link at r from another is Ω r.

        Its entries serve every point and the link's own inertia forces, so they are written to be shared.
        """
        (wx, wy, wz), (ex, ey, ez) = self.w, self.e
        xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
        return np.array(
            [[-(yy + zz), xy - ez, xz + ey], [xy + ez, -(xx + zz), yz - ex], [xz - ey, yz + ex, -(xx + yy)]]
        )


AT_REST = Motion(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))


def body_motions(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, base: Motion = AT_REST
) -> list[Motion]:
    """Motion of every link's frame origin in the link's own axes, by link number.

    Args:
        q, v, a: coordinates (n_q,), velocities and accelerations (n_v,).
        base: the motion of link 0, at rest unless given.
    """
    q_own = mechanism.joint_positions(q)
    v_own, a_own = mechanism.joint_velocities(v), mechanism.joint_velocities(a)
    motions = [base]
    for i, f, joint in mechanism.outward():
        motions.append(carried_motion(joint, q_own[i], v_own[i], a_own[i], motions[f]))
    return motions


def carried_motion(joint: Joint, q: np.ndarray, v: np.ndarray, a: np.ndarray, parent: Motion) -> Motion:
    """Motion of a joint's child in its own axes, from the parent's motion and the joint's own coordinates.

    ω = Rᵀω_f + ω_J, ε = Rᵀε_f + Rᵀω_f × ω_J + ε_J, and likewise the origin's velocity and acceleration with
    the Coriolis term 2 Rᵀω_f × v_J (document 003, the equations in body axes, for any joint type).
    """
    T = joint.transform(q)
    Rt = T[:3, :3].T
    carried = parent.at(T[:3, 3])
    S = joint.subspace(q)
    relative = S @ v
    change = S @ a + joint.bias(q, v)
    v_J, w_J = relative[:3], relative[3:]
    w_f = Rt @ carried.w
    return Motion(
        Rt @ carried.v + v_J,
        w_f + w_J,
        Rt @ carried.a + 2.0 * cross(w_f, v_J) + change[:3] + cross(w_J, v_J),
        Rt @ carried.e + cross(w_f, w_J) + change[3:],
    )


def world_motions(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, base: Motion = AT_REST
) -> list[Motion]:
    """Motion of every link's frame origin in world axes, by link number: the document's absolute form.

    Only the joint's own motion is rotated; the rest is carried along the vector between the two origins.
    """
    q_own = mechanism.joint_positions(q)
    v_own, a_own = mechanism.joint_velocities(v), mechanism.joint_velocities(a)
    T = link_poses(mechanism, q)
    motions = [base]
    for i, f, joint in mechanism.outward():
        R = T[i][:3, :3]
        carried = motions[f].at(T[i][:3, 3] - T[f][:3, 3])
        S = joint.subspace(q_own[i])
        relative = S @ v_own[i]
        change = S @ a_own[i] + joint.bias(q_own[i], v_own[i])
        v_J, w_J = R @ relative[:3], R @ relative[3:]
        motions.append(
            Motion(
                carried.v + v_J,
                carried.w + w_J,
                carried.a + 2.0 * cross(carried.w, v_J) + R @ change[:3] + cross(w_J, v_J),
                carried.e + cross(carried.w, w_J) + R @ change[3:],
            )
        )
    return motions


def child_frame_motion(mechanism: Mechanism, motions: list[Motion], i: int, k: int) -> Motion:
    """v_{i,k} and a_{i,k}: the motion of the origin of link i's k-th child's joint frame, from body motions."""
    return motions[i].at(mechanism.auxiliary_transform(i, k)[:3, 3])


def center_of_mass_motion(mechanism: Mechanism, motions: list[Motion], i: int) -> Motion:
    """v_{ci} and a_{ci}: the motion of link i's centre of mass, from body motions."""
    return motions[i].at(center_of_mass(mechanism.links[i].inertia))


def frame_motion(
    mechanism: Mechanism,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    frame: str | None = None,
    reference: str = "aligned",
) -> tuple[np.ndarray, np.ndarray]:
    """Twist `[v, w]` of a frame and the true accelerations `[a, e]` that go with it, (6,) each.

    Args:
        mechanism: the mechanism.
        q, v, a: (n_q,), (n_v,), (n_v,).
        frame: the frame's name; the default frame if none is given.
        reference: "aligned": of the frame's origin, in world axes; "local": the same in the frame's own axes;
            "world": of the point of the body that passes the world's origin, in world axes.
    """
    checked_reference(reference)
    target = mechanism.frame(frame)
    link = mechanism.link_number(target.link)
    motion = body_motions(mechanism, q, v, a)[link].at(target.T_link_frame[:3, 3])
    T_world_link = link_poses(mechanism, q)[link]
    R = target.T_link_frame[:3, :3].T if reference == "local" else T_world_link[:3, :3]
    motion = Motion(*(R @ part for part in motion))
    if reference == "world":
        motion = motion.at(-(T_world_link @ target.T_link_frame)[:3, 3])
    return np.concatenate([motion.v, motion.w]), np.concatenate([motion.a, motion.e])

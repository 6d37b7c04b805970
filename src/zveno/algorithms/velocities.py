"""Velocities and accelerations of every link, in body axes and in world axes (document 003, (4)–(5)).

Linear quantities are the true velocity and acceleration of a point; gravity plays no part here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import center_of_mass
from ..spatial.vectors import cross
from .motion import AT_REST, Motion
from .references import checked_reference
from .tree import LINKS, MOTION, POSE, Tree, tree_of


def body_motions(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, base: Motion = AT_REST
) -> list[Motion]:
    """Return the motion of every link's frame origin in the link's own axes, by link number.

    Args:
        q, v, a: coordinates (n_q,), velocities and accelerations (n_v,).
        base: the motion of link 0, at rest unless given.
    """
    return motions(tree_of(mechanism), q, v, a, base).by_link(mechanism)


def motions(tree: Tree, q: Any, v: Any, a: Any = None, base: Motion = AT_REST) -> Any:
    """Return the motion of every body's frame origin in the body's own axes, by body; missing rates are zero."""
    motion, at, rate, change = tree.column(MOTION), tree.positions(q), tree.velocities(v), tree.velocities(a)
    motion[tree.base] = base
    for i in tree.outward():
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
    return motion


def carried_motion(joint: Joint, q: np.ndarray, v: np.ndarray, a: np.ndarray, parent: Motion) -> Motion:
    """Return the motion of a joint's child in its own axes, from the parent's motion and the joint's state.

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
    mechanism: Mechanism | Tree, q: Any, v: Any, a: Any = None, base: Motion = AT_REST
) -> list[Motion]:
    """Return the motion of every link's frame origin in world axes, by link number."""
    tree = tree_of(mechanism)
    return world_motions_of(tree, q, v, a, base)[1].by_link(mechanism)


def world_motions_of(tree: Tree, q: Any, v: Any, a: Any = None, base: Motion = AT_REST) -> tuple[Any, Any]:
    """Return T_world_body, and the motion of every body's frame origin in world axes, by body.

    Only the joint's own motion is rotated; the rest is carried along the vector between the two origins.
    """
    T, motion = tree.column(POSE), tree.column(MOTION)
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    motion[tree.base] = base
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        R = T[i][:3, :3]
        carried = motion[i.parent].at(T[i][:3, 3] - T[i.parent][:3, 3])
        S = i.joint.subspace(at[i])
        relative = S @ rate[i]
        joint_acceleration = S @ change[i] + i.joint.bias(at[i], rate[i])
        v_J, w_J = R @ relative[:3], R @ relative[3:]
        motion[i] = Motion(
            carried.v + v_J,
            carried.w + w_J,
            carried.a + 2.0 * cross(carried.w, v_J) + R @ joint_acceleration[:3] + cross(w_J, v_J),
            carried.e + cross(carried.w, w_J) + R @ joint_acceleration[3:],
        )
    return T, motion


def child_frame_motion(mechanism: Mechanism, motions: list[Motion], i: int, k: int) -> Motion:
    """Return v_{i,k} and a_{i,k}: the motion of the joint frame of link i's k-th child, from body motions."""
    return motions[i].at(mechanism.auxiliary_transform(i, k)[:3, 3])


def center_of_mass_motion(mechanism: Mechanism, motions: list[Motion], i: int) -> Motion:
    """Return v_{ci} and a_{ci}: the motion of link i's centre of mass, from body motions."""
    return motions[i].at(center_of_mass(mechanism.links[i].inertia))


def link_velocities(mechanism: Mechanism | Tree, q: Any, v: Any) -> Any:
    """Return the twist `[v, w]` of every link in its own axes at its origin, (n_links, 6)."""
    tree = tree_of(mechanism)
    twists, at, rate = tree.result("twists", LINKS, 6), tree.positions(q), tree.velocities(v)
    motion = tree.column(MOTION)
    for i in tree.outward():
        motion[i] = carried_motion(i.joint, at[i], rate[i], np.zeros(i.joint.type.n_v), motion[i.parent])
        twists[i] = seen_from(motion[i], i.T_body_link).twist
    twists[tree.base] = np.zeros(6)
    return twists.whole()


def link_accelerations(mechanism: Mechanism | Tree, q: Any, v: Any, a: Any) -> Any:
    """Return the true accelerations `[a, e]` of every link in its own axes at its origin, (n_links, 6)."""
    tree = tree_of(mechanism)
    accelerations, motion = tree.result("accelerations", LINKS, 6), tree.column(MOTION)
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    for i in tree.outward():
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
        accelerations[i] = seen_from(motion[i], i.T_body_link).acceleration
    accelerations[tree.base] = np.zeros(6)
    return accelerations.whole()


def seen_from(motion: Motion, T_body_frame: np.ndarray) -> Motion:
    """Return the motion of a frame on a body, in its own axes."""
    Rt = T_body_frame[:3, :3].T
    return Motion(*(Rt @ part for part in motion.at(T_body_frame[:3, 3])))


def frame_velocity(
    mechanism: Mechanism | Tree, q: Any, v: Any, frame: str | None = None, reference: str = "aligned"
) -> Any:
    """Return the twist `[v, w]` of a frame, (6,).

    Args:
        mechanism: the mechanism.
        q, v: (n_q,), (n_v,).
        frame: the frame's name; the default frame if none is given.
        reference: "aligned": of the frame's origin, in world axes; "local": the same in the frame's own axes;
            "world": of the body point at the world's origin, in world axes.
    """
    tree = tree_of(mechanism).carrying(frame)
    twist = tree.result("twist", 6)
    for motion in _frame_motion(tree, q, v, None, reference):
        twist.value = motion.twist
    return twist.whole()


def frame_acceleration(
    mechanism: Mechanism | Tree, q: Any, v: Any, a: Any, frame: str | None = None, reference: str = "aligned"
) -> Any:
    """Return the true accelerations `[a, e]` of a frame, (6,); arguments as in `frame_velocity`."""
    tree = tree_of(mechanism).carrying(frame)
    acceleration = tree.result("acceleration", 6)
    for motion in _frame_motion(tree, q, v, a, reference):
        acceleration.value = motion.acceleration
    return acceleration.whole()


def _frame_motion(tree: Tree, q: Any, v: Any, a: Any, reference: str) -> Iterator[Motion]:
    """Yield the motion of the only frame, in a loop over frames."""
    checked_reference(reference)
    T, motion = tree.column(POSE), tree.column(MOTION)
    at, rate, change = tree.positions(q), tree.velocities(v), tree.velocities(a)
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], change[i], motion[i.parent])
    for k in tree.frames():
        frame_motion = motion[k.body].at(k.T_body_frame[:3, 3])
        R = k.T_body_frame[:3, :3].T if reference == "local" else T[k.body][:3, :3]
        turned = Motion(*(R @ part for part in frame_motion))
        yield turned.at(-(T[k.body] @ k.T_body_frame)[:3, 3]) if reference == "world" else turned

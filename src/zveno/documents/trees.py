"""Document 003: mechanisms with a tree structure, a floating base and external constraints.

- `motions`, `torques`, `mass_matrix`: the recursions in body axes, as the document writes them, corrected or with
  one misprint at a time (`Reading`). `absolute_motions`, `absolute_torques`: those in absolute axes, (3) to (5).
- `auxiliary_motion`: v_{i,k} and a_{i,k} of the frame in which the k-th child of a link is mounted.
- `partitioned`: the blocks of the last equation, for a robot on a trunk or a free joint. `trunk_regularity` is the
  distance of a trunk from its singularity.

The recursions use the document's notation: σ, the index functions of the tree, M_{i,k}, A_i and l_{i,k}. They take
any mechanism with revolute and prismatic joints.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ZvenoWarning
from ..mechanism import Frame, Joint, Link, Mechanism, Prismatic, Revolute, assemble
from ..robot_functions import RobotFunctions
from ..spatial import inertia
from ..spatial.rotations import elementary
from ..spatial.transforms import transform
from ..spatial.vectors import cross


@dataclass(frozen=True)
class Reading:
    """Misprints of the document that are followed to the letter."""

    arm_is_c: bool = False
    """Use c_i × (…) in body axes instead of the arm l_{i,1} + c_i from the joint."""
    own_inside_sum: bool = False
    """Put the link's own inertia inside Σ_k of H."""
    sum_stops_early: bool = False
    """Apply Σ_k to the moments only, and l_{i,k} × f to the last child alone."""
    own_outside_turn: bool = False
    """Leave the link's own moment outside ^{f(i),ns(i)}R_i (…) in body axes."""
    turned_twice: bool = False
    """Rotate ⁱf of the mass matrix, a force in frame i, by R_M once more."""
    backward_runs_forward: bool = False
    """Run the backward recursion for n = 1 … N, before the forces of children are known."""
    sigma_of: int | None = None
    """Use σ of this link, that of the column, for every link."""
    center_of: int | None = None
    """Use a_c of this link, that of the column, for every link it carries."""


CORRECT = Reading()


class Motion(NamedTuple):
    """Motion of one link in its own axes: ω, ε, v and a of its origin, a_c of its centre, and A_i with its l_i."""

    w: np.ndarray
    e: np.ndarray
    v: np.ndarray
    a: np.ndarray
    a_c: np.ndarray
    A: np.ndarray
    l: np.ndarray


def motions(
    mechanism: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, reading: Reading = CORRECT
) -> list[Motion]:
    """Run the forward recursion in body axes, i = Dnum⁻¹(1 … N)."""
    still = np.zeros(3)
    links = [Motion(still, still, still, still, still, np.eye(4), still)] * mechanism.n_links
    for i, f, joint in mechanism.outward():
        sigma = mechanism.sigma(i if reading.sigma_of is None else reading.sigma_of)
        M, A = joint.T_parent_joint, joint.motion(q[i - 1 : i])
        R, z = M[:3, :3] @ A[:3, :3], M[:3, :3] @ _k(joint)
        father = links[f]
        w = R.T @ (father.w + mechanism.sigma(i) * z * dq[i - 1])
        e = R.T @ (father.e + sigma * z * ddq[i - 1] + mechanism.sigma(i) * cross(father.w, z * dq[i - 1]))
        # a_{f(i),ns(i)}: the origin of the auxiliary frame on the parent
        a_joint = father.a + cross(father.e, M[:3, 3]) + cross(father.w, cross(father.w, M[:3, 3]))
        slide = (1 - sigma) * z * ddq[i - 1] + (1 - mechanism.sigma(i)) * 2 * cross(father.w, z * dq[i - 1])
        l = A[:3, :3].T @ A[:3, 3]
        v_joint = father.v + cross(father.w, M[:3, 3])
        v = R.T @ (v_joint + (1 - mechanism.sigma(i)) * z * dq[i - 1]) + cross(w, l)
        a = R.T @ (a_joint + slide) + cross(e, l) + cross(w, cross(w, l))
        c = center(mechanism, i)
        links[i] = Motion(w, e, v, a, a + cross(e, c) + cross(w, cross(w, c)), A, l)
    return links


def auxiliary_motion(mechanism: Mechanism, links: list[Motion], i: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return v_{i,k} and a_{i,k}, (3,) each: the frame of link i for its k-th child, in axes of link i.

    Args:
        mechanism: the mechanism.
        links: motions of all links, from `motions`.
        i, k: number of the link and of the child, k = 1 … dg⁺(i).
    """
    motion, r = links[i], mechanism.auxiliary_transform(i, k)[:3, 3]
    return motion.v + cross(motion.w, r), motion.a + cross(motion.e, r) + cross(motion.w, cross(motion.w, r))


def torques(
    mechanism: Mechanism,
    q: np.ndarray,
    dq: np.ndarray,
    ddq: np.ndarray,
    external: np.ndarray | None = None,
    reading: Reading = CORRECT,
) -> np.ndarray:
    """Compute τ by the backward recursion in body axes.

    `external` holds a force F and a moment M about the centre of mass per link, (n_links, 6), in link axes.
    """
    moving = motions(mechanism, q, dq, ddq, reading)
    external = np.zeros((mechanism.n_links, 6)) if external is None else external
    f, M = np.zeros((mechanism.n_links, 3)), np.zeros((mechanism.n_links, 3))
    tau = np.zeros(len(mechanism.joints))
    turn = _turns(mechanism, moving)
    for i in _backward(mechanism, reading):
        motion, link, c = moving[i], mechanism.links[i], center(mechanism, i)
        a_c = motion.a_c
        if reading.center_of is not None and mechanism.tree.reachability[i, reading.center_of]:
            a_c = moving[reading.center_of].a_c
        F = (turn[i].T @ mechanism.gravity - a_c) * link.inertia[0] + external[i, :3]
        J = inertia.tensor_at_center(link.inertia) if link.inertia[0] else np.zeros((3, 3))
        arm = c if reading.arm_is_c else motion.l + c
        moment = -J @ motion.e - cross(motion.w, J @ motion.w) + external[i, 3:] + cross(arm, F)
        times = mechanism.tree.out_degree(i) if reading.own_inside_sum else 1
        forces, moments = times * F, times * moment
        children = mechanism.tree.children(i)
        for k, s in enumerate(children, start=1):
            M_ik = mechanism.auxiliary_transform(i, k)
            R_M, l = M_ik[:3, :3], motion.l + M_ik[:3, 3]
            forces = forces + (R_M @ R_M if reading.turned_twice else R_M) @ f[s]
            moments = moments + R_M @ M[s]
            if not reading.sum_stops_early or k == len(children):
                moments = moments + cross(l, R_M @ f[s])
        R = motion.A[:3, :3]
        f[i], M[i] = R @ forces, R @ moments
        if reading.own_outside_turn:
            M[i] += moment - R @ moment
        sigma, k_axis = mechanism.sigma(i), _k(mechanism.joint_of(i))
        tau[i - 1] = -k_axis @ (sigma * M[i] + (1 - sigma) * f[i])
    return tau


def mass_matrix(mechanism: Mechanism, q: np.ndarray, reading: Reading = CORRECT, columns: str = "") -> np.ndarray:
    """Compute the mass matrix by columns: torques of unit accelerations, at rest and without gravity.

    Args:
        mechanism: the mechanism.
        q: coordinates.
        reading: misprints that apply to every column.
        columns: "sigma" or "center" follows the misprints σ_i e_ij and a_ci; "entries" that of i_ij, which takes
            every entry of column i from link i.
    """
    n = len(mechanism.joints)
    weightless = replace(mechanism, gravity=np.zeros(3))
    I = np.zeros((n, n))
    for i in range(1, n + 1):
        of_column = replace(
            reading,
            sigma_of=i if columns == "sigma" else None,
            center_of=i if columns == "center" else None,
        )
        I[:, i - 1] = torques(weightless, q, np.zeros(n), np.eye(n)[i - 1], reading=of_column)
    if columns == "entries":
        D = mechanism.tree.reachability[1:, 1:]
        I = np.where(D, np.diag(I)[None, :], np.where(D.T, np.diag(I)[:, None], 0.0))
    return I


class AbsoluteMotions(NamedTuple):
    """Motion of all links in absolute axes, one row per link; row 0 is the base at rest."""

    T: list[np.ndarray]
    """Poses T_i of (3), (4, 4) each."""
    w: np.ndarray
    """Angular velocities ω_i of (4)."""
    e: np.ndarray
    """Angular accelerations ε_i."""
    v: np.ndarray
    """Velocities v_{i,1} of (5)."""
    a: np.ndarray
    """Accelerations a_{i,1}."""
    l: np.ndarray
    """Vectors l_{i,1} from the joint to the frame of link i."""
    z: np.ndarray
    """Axes z_{f(i),ns(i)} of the joints."""


def absolute_motions(mechanism: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> AbsoluteMotions:
    """Run the forward recursion in absolute axes: (3), (4), (5) and the accelerations."""
    n = mechanism.n_links
    T, (w, e, v, a, l, z) = [np.eye(4)] * n, np.zeros((6, n, 3))
    for i, p, joint in mechanism.outward():
        sigma, T_joint = mechanism.sigma(i), T[p] @ joint.T_parent_joint
        T[i] = T_joint @ joint.motion(q[i - 1 : i])
        z[i] = T_joint[:3, :3] @ _k(joint)
        w[i] = w[p] + sigma * z[i] * dq[i - 1]
        e[i] = e[p] + sigma * (z[i] * ddq[i - 1] + cross(w[p], z[i] * dq[i - 1]))
        on_father = T_joint[:3, 3] - T[p][:3, 3]
        l[i] = T[i][:3, 3] - T_joint[:3, 3]
        v[i] = v[p] + cross(w[p], on_father) + cross(w[i], l[i]) + (1 - sigma) * z[i] * dq[i - 1]
        a_joint = a[p] + cross(e[p], on_father) + cross(w[p], cross(w[p], on_father))
        slide = (1 - sigma) * (z[i] * ddq[i - 1] + 2 * cross(w[i], z[i] * dq[i - 1]))
        a[i] = a_joint + cross(e[i], l[i]) + cross(w[i], cross(w[i], l[i])) + slide
    return AbsoluteMotions(T, w, e, v, a, l, z)


def absolute_torques(
    mechanism: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, reading: Reading = CORRECT
) -> np.ndarray:
    """Compute τ by the recursions in absolute axes, `absolute_motions` and those of f_i and M_i."""
    n = mechanism.n_links
    T, w, e, _, a, l, z = absolute_motions(mechanism, q, dq, ddq)
    f, M, tau = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n - 1)
    for i in _backward(mechanism, reading):
        R, link = T[i][:3, :3], mechanism.links[i]
        c = R @ center(mechanism, i)
        J = R @ inertia.tensor_at_center(link.inertia) @ R.T if link.inertia[0] else np.zeros((3, 3))
        F = (mechanism.gravity - a[i] - cross(e[i], c) - cross(w[i], cross(w[i], c))) * link.inertia[0]
        f[i] = F
        M[i] = -J @ e[i] - cross(w[i], J @ w[i]) + cross(l[i] + c, F)
        children = mechanism.tree.children(i)
        for k, s in enumerate(children, start=1):
            f[i] += f[s]
            M[i] += M[s]
            if not reading.sum_stops_early or k == len(children):
                M[i] += cross(l[i] + R @ mechanism.auxiliary_transform(i, k)[:3, 3], f[s])
        sigma = mechanism.sigma(i)
        tau[i - 1] = -z[i] @ (sigma * M[i] + (1 - sigma) * f[i])
    return tau


def example_tree() -> Mechanism:
    """Build a tree of seven links, branching at 1, 2 and 4, with five revolute and two prismatic joints."""
    fathers = (0, 1, 2, 2, 4, 4, 1)
    sigmas = (1, 1, 0, 1, 1, 0, 1)
    twists = (-0.5, 0.0, 0.5, 0.5, -0.5, 0.0, 0.5)
    # Link 0 has a mass, which matters if the base floats.
    links = [Link("link0", inertia.parameters(2.0, (0.05, 0.0, 0.02), np.diag([0.03, 0.04, 0.05])))]
    joints, born = [], [0] * 8
    for i, (f, sigma, twist) in enumerate(zip(fathers, sigmas, twists, strict=True), start=1):
        born[f] += 1
        k = born[f]
        M = np.eye(4) if k == 1 else _dh(0.3 * k, 0.1 * k, -0.2, np.pi / 2 / k)
        # Rz(θ) and Tz(d) commute, so either may be the joint.
        rest = (0.0, 0.05 * i) if sigma else (0.1 * i, 0.0)
        A = _dh(*rest, 0.3 - 0.04 * i, np.pi * twist)
        J = np.array([[0.02 + 0.001 * i, 0.001, -0.002], [0.001, 0.03, 0.0015], [-0.002, 0.0015, 0.025]])
        kind = Revolute() if sigma else Prismatic()
        joints.append(Joint(f"joint{i}", f"link{f}", f"link{i}", kind, M, A))
        links.append(Link(f"link{i}", inertia.parameters(1 + 0.1 * i, np.array([-0.1, 0.02 * i, 0.03]), J)))
    return assemble("document 003 tree", links, joints, [Frame("foot", "link6")])


def _dh(theta: float, d: float, a: float, alpha: float) -> np.ndarray:
    Rz, Rx = elementary("z", theta), elementary("x", alpha)
    return transform(Rz, [0.0, 0.0, d]) @ transform(Rx, [a, 0.0, 0.0])


def _backward(mechanism: Mechanism, reading: Reading) -> Iterable[int]:
    order = range(mechanism.n_links - 1, 0, -1)
    return reversed(order) if reading.backward_runs_forward else order


def _turns(mechanism: Mechanism, moving: list[Motion]) -> list[np.ndarray]:
    turn = [np.eye(3)] * mechanism.n_links
    for i, f, joint in mechanism.outward():
        turn[i] = turn[f] @ joint.T_parent_joint[:3, :3] @ moving[i].A[:3, :3]
    return turn


def center(mechanism: Mechanism, i: int) -> np.ndarray:
    """Centre of mass c_i of link i in its own frame, zero for a massless link."""
    p = mechanism.links[i].inertia
    return p[1:4] / p[0] if p[0] else np.zeros(3)


def _k(joint: Joint) -> np.ndarray:
    return np.asarray(joint.type.parameters()["axis"])


# --- the last equation, on a floating base

N_BASE = 6
TRUNK_MARGIN = 1e-3
"""Threshold of |cos pitch| for the trunk's singularity, where velocities are 1000 times too large."""


class Partitioned(NamedTuple):
    """Blocks of the mass matrix and the bias; I is the base (trunk or free joint), R the real joints."""

    I_II: np.ndarray
    """Inertia of the base, (..., 6, 6)."""
    I_IR: np.ndarray
    """Coupling between joints and base, the lower left block, (..., n, 6)."""
    I_RR: np.ndarray
    """Inertia of the joints, (..., n, n)."""
    H_I: np.ndarray
    """Bias of the base, (..., 6)."""
    H_R: np.ndarray
    """Bias of the joints, (..., n)."""


def partitioned(robot: RobotFunctions, q: ArrayLike, v: ArrayLike) -> Partitioned:
    """Return I_II, I_IR, I_RR, H_I, H_R of the last equation at states (..., n_q), (..., n_v); the base must float.

    The base has six undriven velocities, those of a free joint or of the document's trunk:

        [I_II  I_IRᵀ] [q̈_I]   [H_I]   [0]
        [I_IR  I_RR ] [q̈_R] + [H_R] = [τ]
    """
    mechanism = robot.mechanism
    if not (has_trunk(mechanism) or [joint.type.kind for joint in mechanism.joints[:1]] == ["free"]):
        raise ModelError(
            "its base is fixed, but the partitioned equations need a floating base",
            element=mechanism.name,
            remedy='Use with_base("free"), or with_base("trunk") for the form of document 003',
        )
    if np.any(near_trunk_singularity(mechanism, q)):
        warnings.warn(
            f"{mechanism.name}: the trunk's axes 4 and 6 nearly align, {mechanism.joints[4].name} near ±90°; "
            'there its mass matrix is singular; with_base("free") has no such place',
            ZvenoWarning,
            stacklevel=2,
        )
    M, h = robot.mass_matrix(q), robot.bias(q, v)
    return Partitioned(
        M[..., :N_BASE, :N_BASE],
        M[..., N_BASE:, :N_BASE],
        M[..., N_BASE:, N_BASE:],
        h[..., :N_BASE],
        h[..., N_BASE:],
    )


def has_trunk(mechanism: Mechanism) -> bool:
    """Return True if the first six joints are a trunk: three prismatic, three revolute, undriven and massless."""
    first = mechanism.joints[:N_BASE]
    return (
        [joint.type.sigma for joint in first] == [0, 0, 0, 1, 1, 1]
        and mechanism.tree.parents[: N_BASE + 1] == tuple(range(-1, N_BASE))
        and all(mechanism.tree.out_degree(i) == 1 for i in range(1, N_BASE))
        and not any(np.any(mechanism.links[i].inertia) for i in range(1, N_BASE))
        and all(joint.drive is None and joint.mimic is None for joint in first)
    )


def trunk_regularity(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Regularity |e₄ · (e₅ × e₆)| of the trunk's revolute axes, (...): 1 if they are perpendicular, 0 if two align.

    For the trunk of `with_base` it is |cos pitch|. It depends on the fifth coordinate alone, because joints 4 and 6
    rotate about axes that are factors of the product.
    """
    _, _, _, fourth, fifth, sixth = mechanism.joints[:N_BASE]
    # Axes 4 and 6 in the two frames of joint 5.
    e4 = (fourth.T_joint_child @ fifth.T_parent_joint)[:3, :3].T @ fourth.type.parameters()["axis"]
    e6 = (fifth.T_joint_child @ sixth.T_parent_joint)[:3, :3] @ sixth.type.parameters()["axis"]
    e5 = fifth.type.parameters()["axis"]
    angle = mechanism.checked_q(q)[..., N_BASE - 2]
    normal = cross(e4, e5)
    return abs((normal @ e6) * np.cos(angle) + (normal @ cross(e5, e6)) * np.sin(angle))


def near_trunk_singularity(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Return True (...) if the trunk's axes 4 and 6 nearly align at q (..., n_q); False without a trunk."""
    if not has_trunk(mechanism):
        return np.zeros(mechanism.checked_q(q).shape[:-1], dtype=bool)
    return trunk_regularity(mechanism, q) < TRUNK_MARGIN

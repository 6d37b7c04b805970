"""The recursions of document 003 as it writes them, corrected or with one misprint at a time.

They are read beside the page: σ, the index functions of the tree, M_{i,k}, A_i and l_{i,k} are the document's.
Only joints that turn about or slide along one axis exist here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...mechanism import Frame, Joint, Link, Mechanism, Prismatic, Revolute, assemble
from ...spatial import inertia
from ...spatial.rotations import elementary
from ...spatial.transforms import transform
from ...spatial.vectors import cross


@dataclass(frozen=True)
class Reading:
    """Where the equations are followed to the letter instead of to their meaning."""

    arm_is_c: bool = False
    """c_i × (…) in body axes, where the arm from the joint is l_{i,1} + c_i"""
    own_inside_sum: bool = False
    """the link's own inertia inside Σ_k of H"""
    sum_stops_early: bool = False
    """Σ_k over the moments only, l_{i,k} × f for the last child alone"""
    turned_twice: bool = False
    """ⁱf of the mass matrix: a force in frame i, turned by R_M once more"""
    backward_runs_forward: bool = False
    """n = 1 … N in the backward recursion, with forces of children not yet known"""
    sigma_of: int | None = None
    """σ of this link, the column's, for every link"""
    center_of: int | None = None
    """a_c of this link, the column's, for every link it carries"""


CORRECT = Reading()


class Motion(NamedTuple):
    """Of one link, in its own axes: ω, ε, accelerations of its origin and centre, and A_i with its vector l_i."""

    w: np.ndarray
    e: np.ndarray
    a: np.ndarray
    a_c: np.ndarray
    A: np.ndarray
    l: np.ndarray


def motions(
    mechanism: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, reading: Reading = CORRECT
) -> list[Motion]:
    """The forward recursion in body axes, i = Dnum⁻¹(1 … N)."""
    still = np.zeros(3)
    links = [Motion(still, still, still, still, np.eye(4), still)] * mechanism.n_links
    for i, f, joint in mechanism.outward():
        sigma = mechanism.sigma(i if reading.sigma_of is None else reading.sigma_of)
        M, A = joint.T_parent_joint, joint.motion(q[i - 1 : i])
        R, z = M[:3, :3] @ A[:3, :3], M[:3, :3] @ _k(joint)
        father = links[f]
        w = R.T @ (father.w + mechanism.sigma(i) * z * dq[i - 1])
        e = R.T @ (father.e + sigma * z * ddq[i - 1] + mechanism.sigma(i) * cross(father.w, z * dq[i - 1]))
        # a_{f(i),ns(i)}: the origin of the auxiliary frame on the father
        a_joint = father.a + cross(father.e, M[:3, 3]) + cross(father.w, cross(father.w, M[:3, 3]))
        slide = (1 - sigma) * z * ddq[i - 1] + (1 - mechanism.sigma(i)) * 2 * cross(father.w, z * dq[i - 1])
        l = A[:3, :3].T @ A[:3, 3]
        a = R.T @ (a_joint + slide) + cross(e, l) + cross(w, cross(w, l))
        c = center(mechanism, i)
        links[i] = Motion(w, e, a, a + cross(e, c) + cross(w, cross(w, c)), A, l)
    return links


def torques(
    mechanism: Mechanism,
    q: np.ndarray,
    dq: np.ndarray,
    ddq: np.ndarray,
    external: np.ndarray | None = None,
    reading: Reading = CORRECT,
) -> np.ndarray:
    """τ by the backward recursion in body axes.

    `external` has a force F and a moment M about the centre of mass for every link, (n_links, 6), in link axes.
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
        sigma, k_axis = mechanism.sigma(i), _k(mechanism.joint_of(i))
        tau[i - 1] = -k_axis @ (sigma * M[i] + (1 - sigma) * f[i])
    return tau


def mass_matrix(mechanism: Mechanism, q: np.ndarray, reading: Reading = CORRECT, columns: str = "") -> np.ndarray:
    """The document's way: column i is the torque of a unit acceleration i, at rest and without weight.

    Args:
        mechanism: the mechanism.
        q: its coordinates.
        reading: misprints that are the same for every column.
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


def absolute_torques(
    mechanism: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, reading: Reading = CORRECT
) -> np.ndarray:
    """τ by the recursions in absolute axes, (4), (5) and those of f_i and M_i."""
    n = mechanism.n_links
    T, w, e, a = [np.eye(4)] * n, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    l, z = np.zeros((n, 3)), np.zeros((n, 3))
    for i, p, joint in mechanism.outward():
        sigma, T_joint = mechanism.sigma(i), T[p] @ joint.T_parent_joint
        T[i] = T_joint @ joint.motion(q[i - 1 : i])
        z[i] = T_joint[:3, :3] @ _k(joint)
        w[i] = w[p] + sigma * z[i] * dq[i - 1]
        e[i] = e[p] + sigma * (z[i] * ddq[i - 1] + cross(w[p], z[i] * dq[i - 1]))
        on_father = T_joint[:3, 3] - T[p][:3, 3]
        a_joint = a[p] + cross(e[p], on_father) + cross(w[p], cross(w[p], on_father))
        l[i] = T[i][:3, 3] - T_joint[:3, 3]
        slide = (1 - sigma) * (z[i] * ddq[i - 1] + 2 * cross(w[i], z[i] * dq[i - 1]))
        a[i] = a_joint + cross(e[i], l[i]) + cross(w[i], cross(w[i], l[i])) + slide
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
    """Seven links, branches at 1, 2 and 4, five hinges and two sliders, by DH tables as the document has them."""
    fathers = (0, 1, 2, 2, 4, 4, 1)
    sigmas = (1, 1, 0, 1, 1, 0, 1)
    twists = (-0.5, 0.0, 0.5, 0.5, -0.5, 0.0, 0.5)
    # Link 0 has a mass for when the tree floats.
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


def _backward(mechanism: Mechanism, reading: Reading):
    order = range(mechanism.n_links - 1, 0, -1)
    return reversed(order) if reading.backward_runs_forward else order


def _turns(mechanism: Mechanism, moving: list[Motion]) -> list[np.ndarray]:
    turn = [np.eye(3)] * mechanism.n_links
    for i, f, joint in mechanism.outward():
        turn[i] = turn[f] @ joint.T_parent_joint[:3, :3] @ moving[i].A[:3, :3]
    return turn


def center(mechanism: Mechanism, i: int) -> np.ndarray:
    """c_i: the centre of mass of link i in its own frame, zero for a massless link."""
    p = mechanism.links[i].inertia
    return p[1:4] / p[0] if p[0] else np.zeros(3)


def _k(joint: Joint) -> np.ndarray:
    return np.asarray(joint.type.parameters()["axis"])

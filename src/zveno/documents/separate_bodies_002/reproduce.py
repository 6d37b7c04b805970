"""Document 002, the method of separate bodies: its equations and its MATLAB program against the library.

The program is ported line by line, in the plane and with the same names, so that "as printed" means what it says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import linear
from ...algorithms.energy import kinetic_energy, total_energy
from ...algorithms.forward_dynamics import forward_dynamics
from ...algorithms.forward_kinematics import link_poses
from ...algorithms.inverse_dynamics import joint_wrenches
from ...algorithms.mass_matrix import mass_matrix
from ...algorithms.velocities import AT_REST, world_motions
from ...kernels.operations import count_operations
from ...mechanism import Mechanism
from ...programs import program
from ...robots.chain import chain
from ..reproduce import Document, Row

N, MASS, GRAVITY = 10, 10.0, 9.81
START = np.array([-1.0] + [0.0] * (N - 1)), np.zeros(N)
"""q0 and velocities of the program's initial conditions."""
MOVING = 0.1 * np.arange(1, N + 1), 0.2 * np.arange(N, 0, -1) - 1.0
"""A second state, where everything moves."""
START_A = (-67.2059430825, 85.2137212612, -22.832947811)
START_ENERGY = -41.2741518048
MOVING_A = (
    *(-119.185726547, 156.095076766, -41.5229143874, 8.6762152684, -5.93703406609),
    *(-2.29390228546, -2.33353827449, -0.919046363587, 0.499514777395, -0.130586786324),
)
MOVING_ENERGY = 23.4465893186
"""What the program gives at both states, to the digits noted when it was run for the first time."""
DIGITS, ROUNDING = 1e-10, 1e-11
"""Relative: eleven digits are noted; the chain of ten rods loses four to its condition."""
DOCUMENT = Document("002", ROUNDING)

QUARTER = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""The program's [0 1; -1 0], A_{−π/2} of the slides."""


class Body(NamedTuple):
    """C_k, S_k and a'_k of one rod, by getCk, getSk and getWprim."""

    C: np.ndarray
    S: np.ndarray
    a: np.ndarray


def masses(n: int = N) -> np.ndarray:
    """`mass{i}` of the program."""
    return np.diag([MASS / n, MASS / n, MASS / (12 * n * n * n)])


def bodies(q: np.ndarray, dq: np.ndarray, c_before: float = 0.5) -> list[Body]:
    """getCk, getSk and getWprim of the program; `c_before` is c_{k−1,k} in rod lengths."""
    n = len(q)
    angles = np.cumsum(q)
    A0 = [np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]) for x in angles]
    rods = []
    for k in range(n):
        to_joint = A0[k] @ [-0.5 / n, 0.0]
        before = A0[k - 1] @ [c_before / n, 0.0] if k else np.zeros(2)
        C = np.eye(3)
        C[:2, 2] = -QUARTER @ (before - to_joint)
        w = dq[:k].sum()
        a = (dq[k] + w) ** 2 * to_joint - w * w * before
        rods.append(Body(C, np.array([*(QUARTER @ to_joint), 1.0]), np.array([*a, 0.0])))
    return rods


def program_a(q: np.ndarray, dq: np.ndarray, sign: float = -1.0, a0: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
    """q̈ by dqdt, under the known acceleration a0 of body 0.

    `sign` stands before Cᵀ(…) of (18): − in the program, + in the formula.
    """
    parts = bodies(q, dq)
    M, Q, U = inward(parts, sign)
    w, ddq = np.array(a0), []
    for k, (C, S, a) in enumerate(parts):
        ddq.append(S @ (Q[k] - M[k] @ (C @ w + a)) / U[k])
        w = C @ w + S * ddq[-1] + a
    return np.array(ddq)


def inward(parts: list[Body], sign: float = -1.0) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """M*, Q* and U* of all rods by getMkQkiUk."""
    n = len(parts)
    M_own, Q_own = masses(n), np.array([0.0, -MASS / n * GRAVITY, 0.0])
    M, Q, U = [M_own] * n, [Q_own] * n, np.zeros(n)
    for k in range(n - 1, -1, -1):
        C, S, a = parts[k]
        U[k] = S @ M[k] @ S
        if k:
            M[k - 1] = M_own + C.T @ M[k] @ C - C.T @ np.outer(M[k] @ S, S @ M[k]) @ C / U[k]
            Q[k - 1] = Q_own + sign * C.T @ (M[k] @ (S / U[k] * (S @ (Q[k] - M[k] @ a)) + a) - Q[k])
    return M, Q, U


def rows() -> list[Row]:
    """Everything of document 002 that can be checked, except its simulation."""
    rods = chain(N)
    return [*_model(rods), *_kinematics(rods), *_reactions(rods), *_recursion(rods), *_numbers(rods), _order_of_n()]


def _model(rods: Mechanism) -> list[Row]:
    p = rods.links[1].inertia
    c = p[1] / p[0]
    q, dq = MOVING
    poses, motions = link_poses(rods, q), world_motions(rods, q, dq, np.zeros(N))
    energy = 0.0
    for T, motion in zip(poses[1:], motions[1:], strict=True):
        center = motion.at(T[:3, :3] @ [c, 0.0, 0.0])
        twist = np.array([center.v[0], center.v[1], center.w[2]])
        energy += 0.5 * twist @ masses() @ twist
    return [
        DOCUMENT.compared("mass{i}: m/n and m/(12 n³)", np.diag(masses())[[0, 2]], [p[0], p[9] - p[0] * c * c]),
        DOCUMENT.compared("joint vectors c_kk, c_{k,k+1}: half a rod", [0.5 / N, 0.5 / N], [c, _hinge(rods) - c]),
        DOCUMENT.compared("(2): M_k at the centre of mass; kinetic energy, J", energy, kinetic_energy(rods, q, dq)),
    ]


def _kinematics(rods: Mechanism) -> list[Row]:
    """a_k = C_k a_{k−1} + S_k q̈_k + a'_k, against the library's motion of the same points."""
    q, dq = MOVING
    ddq = np.array(MOVING_A)
    poses, motions = link_poses(rods, q), world_motions(rods, q, dq, ddq)
    centers = [motions[k].at(poses[k][:3, :3] @ [0.5 / N, 0.0, 0.0]) for k in range(1, N + 1)]
    ours = [[center.a[0], center.a[1], center.e[2]] for center in centers]

    def theirs(c_before: float = 0.5) -> np.ndarray:
        w, accelerations = np.zeros(3), []
        for (C, S, a), x in zip(bodies(q, dq, c_before), ddq, strict=True):
            w = C @ w + S * x + a
            accelerations.append(w)
        return np.array(accelerations)

    return [
        DOCUMENT.compared("(4), (5), (21)–(26): accelerations of the rods by C, S, a'", theirs(), ours),
        DOCUMENT.compared(
            "(27), (28): a'_k as the slide has it", _slide_a(q, dq), [body.a[:2] for body in bodies(q, dq)]
        ),
        DOCUMENT.corrected(
            "slide of getCk: c with indices k, k−1",
            theirs(0.0),
            theirs(),
            ours,
            "the program leaves c{k,k−1} zero; meant, and used in getCk.m, is c_{k−1,k}",
        ),
    ]


def _slide_a(q: np.ndarray, dq: np.ndarray) -> list:
    accelerations, angles = [], np.cumsum(q)
    half = 0.5 / N * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for k in range(N):
        w = dq[:k].sum()
        before = half[k - 1] if k else np.zeros(2)
        to_joint = -half[k]
        accelerations.append(-before * w**2 + to_joint * w**2 + 2 * to_joint * dq[k] * w + to_joint * dq[k] ** 2)
    return accelerations


def _reactions(rods: Mechanism) -> list[Row]:
    """(1), (3), (9): forces between the rods, in the plane about their centres of mass."""
    q, dq = MOVING
    ddq = forward_dynamics(rods, q, dq, np.zeros(N))
    poses, wrenches = link_poses(rods, q), joint_wrenches(rods, q, dq, ddq)
    R = []
    for k in range(1, N + 1):
        f = poses[k][:3, :3] @ wrenches[k][:3]
        to_center = poses[k][:3, :3] @ [0.5 / N, 0.0, 0.0]
        R.append([f[0], f[1], wrenches[k][5] - (to_center[0] * f[1] - to_center[1] * f[0])])
    R = np.array(R)
    parts, w, needed = bodies(q, dq), np.zeros(3), []
    for (C, S, a), x in zip(parts, ddq, strict=True):
        w = C @ w + S * x + a
        needed.append(masses() @ w - np.array([0.0, -MASS / N * GRAVITY, 0.0]))
    # What is left for R*_n after R_{n−1}, and what the slide says it is: R_n moved to the centre of n − 1.
    left = needed[-2] - R[-2]
    slide = parts[-1].C.T @ R[-1]
    along = [body.S @ reaction for body, reaction in zip(parts, R, strict=True)]
    return [
        DOCUMENT.compared("(1): M_n a_n = Q_n + R_n, the last rod's reaction", needed[-1], R[-1]),
        DOCUMENT.corrected(
            "(3): R*_n = [F, M + ρ × F] acts on body n − 1",
            slide,
            -slide,
            left,
            "action and reaction: body n − 1 receives R*_n = −C_nᵀ R_n",
        ),
        DOCUMENT.law("(9): Sᵀ R = 0, ideal joints", np.max(np.abs(along)) / np.max(np.abs(R)), ROUNDING),
    ]


def _recursion(rods: Mechanism) -> list[Row]:
    q, dq = MOVING
    ours = forward_dynamics(rods, q, dq, np.zeros(N))
    two = chain(2)
    ours_two = forward_dynamics(two, q[:2], dq[:2], np.zeros(2))
    a0 = (0.3, -0.2, 0.5)
    moving = AT_REST._replace(a=np.array([a0[0], a0[1], 0.0]), e=np.array([0.0, 0.0, a0[2]]))
    why = "the sign before Cᵀ(…) is −, as in getMkQkiUk.m"
    pivots = 1.0 / np.array(linear.factor(mass_matrix(rods, q))[1])
    return [
        DOCUMENT.compared(
            "(12), (17), (19): U*_k are the pivots of the mass matrix", inward(bodies(q, dq))[2], pivots
        ),
        DOCUMENT.corrected(
            "Q*_{n−1} (slide before (17)), two rods",
            program_a(q[:2], dq[:2], +1.0),
            program_a(q[:2], dq[:2]),
            ours_two,
            why,
        ),
        DOCUMENT.corrected("(18): Q*_{k−1}, ten rods", program_a(q, dq, +1.0), program_a(q, dq), ours, why),
        DOCUMENT.compared("the program, (13)–(21): q̈ of ten rods, rad/s²", program_a(q, dq), ours),
        DOCUMENT.compared(
            "known acceleration of body 0: q̈, rad/s²",
            program_a(q, dq, a0=a0),
            forward_dynamics(rods, q, dq, np.zeros(N), base=moving),
        ),
    ]


def _numbers(rods: Mechanism) -> list[Row]:
    zero = np.zeros(N)
    q, dq = START
    at_start, moving = forward_dynamics(rods, q, dq, zero), forward_dynamics(rods, *MOVING, zero)
    return [
        DOCUMENT.noted("the program at q0: q̈1, q̈2, q̈3, rad/s²", START_A, at_start[:3], DIGITS),
        DOCUMENT.noted("the program at q0: energy, J", START_ENERGY, total_energy(rods, q, dq), DIGITS),
        DOCUMENT.noted("the program at q = 0.1·(1…10), q̇ = 0.2·(10…1) − 1: q̈", MOVING_A, moving, DIGITS),
        DOCUMENT.noted("the same state: energy, J", MOVING_ENERGY, total_energy(rods, *MOVING), DIGITS),
    ]


def _order_of_n() -> Row:
    counts = {n: count_operations(program(chain(n), "forward_dynamics")).total for n in (10, 20, 40)}
    first, second = (counts[20] - counts[10]) / 10, (counts[40] - counts[20]) / 20
    return DOCUMENT.equal(
        "effort is proportional to the number of bodies",
        "O(n)",
        f"{first:.0f} and {second:.0f} operations for one more rod (10 … 20, 20 … 40)",
        abs(second - first) <= 0.02 * first,
    )


def _hinge(rods: Mechanism) -> float:
    return float(rods.joints[1].T_parent_joint[0, 3])

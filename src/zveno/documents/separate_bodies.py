"""Document 002: the method of separate bodies (the articulated-body algorithm, Vereshchagin 1974).

`separate_bodies` is the method for any robot: the quantities C, S, a', M*, Q*, U*, q̈, a and R of every body, by (1)
to (21). `robot.forward_dynamics` is the same recursion, compiled. `required_torques` is the inverse: τ for given q̈.

The document's MATLAB program is ported line by line, in the plane and with its names, for its own mechanism: a
chain of n equal rods of total length 1 that hang on each other by hinges.

- `bodies`: C_k, S_k and a'_k of (4), (5) and (21) to (28), by getCk, getSk and getWprim.
- `inward`: M*, Q* and U* of (12) and (17) to (19), by getMkQkiUk.
- `accelerations`: q̈ by dqdt. `body_accelerations`: a_k of every rod.
- `reactions`: R_k of (1), (3) and (9).
- `falling_chain`: the motion over time by a variable-order Adams method, as the document's ode113.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.forward_kinematics import link_poses
from ..algorithms.inverse_dynamics import inverse_dynamics
from ..algorithms.motion import AT_REST
from ..algorithms.velocities import world_motions
from ..errors import ModelError, ShapeError, ZvenoError
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from ..spatial import inertia
from ..spatial.vectors import cross, skew


class SeparateBody(NamedTuple):
    """Quantities of one body in world axes, about its centre of mass; k is the number of velocities of its joint.

    A massless body has its centre in its frame. Linear parts come first in all vectors.
    """

    C: np.ndarray
    """Matrix C of (5), (6, 6): carries the acceleration of the previous body."""
    S: np.ndarray
    """Directions S of the joint's motion, (6, k)."""
    a_prime: np.ndarray
    """Acceleration a' that does not depend on q̈, (6,)."""
    M: np.ndarray
    """Inertia M* of (17), (6, 6)."""
    Q: np.ndarray
    """Force Q* of (18), (6,)."""
    U: np.ndarray
    """Matrix U* of (19), (k, k)."""
    ddq: np.ndarray
    """Joint accelerations q̈ of (20), (k,)."""
    a: np.ndarray
    """Acceleration of (21), (6,)."""
    R: np.ndarray
    """Force and moment R of (1) and (3) that act on the body in its joint, (6,); SᵀR is the joint's torque."""


def separate_bodies(
    robot: RobotFunctions | Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    external: ArrayLike | None = None,
    a0: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
) -> list[SeparateBody]:
    """Return the quantities of links 1 … N of a tree with any joints, by the method of separate bodies.

    The document's chain becomes a tree if M* and Q* of a body are the sums over all bodies that follow it. Its
    ideal joints, (9), have SᵀR = 0; a driven joint has SᵀR = τ. Rotors and friction are not part of the method.

    Args:
        robot: any robot without mimic joints.
        q, v: state, (n_q,), (n_v,).
        tau: joint torques (n_v,), zero by default.
        external: active forces and moments about the centres of mass besides weight, (n_links, 6), in world axes.
        a0: known acceleration [a, ε] of body 0, (6,), at its origin.
    """
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    if any(joint.mimic is not None for joint in mechanism.joints) or mechanism.loops:
        raise ModelError(
            "the method of separate bodies needs a tree of independent joints",
            element=mechanism.name,
            remedy="Use constrained_dynamics",
        )
    n = mechanism.n_links
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    if q.shape != (mechanism.n_q,) or v.shape != (mechanism.n_v,):
        raise ShapeError(
            f"q and v must have shapes ({mechanism.n_q},), ({mechanism.n_v},), got {q.shape}, {v.shape}"
        )
    torques = mechanism.joint_velocities(np.zeros_like(v) if tau is None else np.asarray(tau, dtype=float))
    active = np.zeros((n, 6)) if external is None else np.array(external, dtype=float)
    poses, positions = link_poses(mechanism, q), mechanism.joint_positions(q)
    arms = [T[:3, :3] @ _center(link.inertia) for T, link in zip(poses, mechanism.links, strict=True)]
    arms[0] = np.zeros(3)
    motions = [motion.at(arm) for motion, arm in zip(world_motions(mechanism, q, v), arms, strict=True)]
    C, S, a_prime = [np.eye(6)] * n, [np.zeros((6, 0))] * n, [np.zeros(6)] * n
    M, Q, U = [np.zeros((6, 6))] * n, list(active), [np.zeros((0, 0))] * n
    for i, f, joint in mechanism.outward():
        R, link = poses[i][:3, :3], mechanism.links[i]
        rho = poses[i][:3, 3] + arms[i] - poses[f][:3, 3] - arms[f]
        C[i] = np.block([[np.eye(3), -skew(rho)], [np.zeros((3, 3)), np.eye(3)]])
        linear, angular = np.split(joint.subspace(positions[i]), 2)
        S[i] = np.concatenate([R @ linear - skew(arms[i]) @ R @ angular, R @ angular])
        a_prime[i] = motions[i].acceleration - C[i] @ motions[f].acceleration
        mass = link.inertia[0]
        J = R @ inertia.tensor_at_center(link.inertia) @ R.T if mass else np.zeros((3, 3))
        M[i] = np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), J]])
        w = motions[i].w
        Q[i] = active[i] + np.concatenate([mass * mechanism.gravity, -cross(w, J @ w)])
    for i, f, _ in mechanism.inward():
        U[i] = S[i].T @ M[i] @ S[i]
        MS = M[i] @ S[i]
        ddq = np.linalg.solve(U[i], torques[i] + S[i].T @ (Q[i] - M[i] @ a_prime[i]))
        M[f] = M[f] + C[i].T @ (M[i] - MS @ np.linalg.solve(U[i], MS.T)) @ C[i]
        Q[f] = Q[f] - C[i].T @ (M[i] @ (S[i] @ ddq + a_prime[i]) - Q[i])
    a, quantities = [np.array(a0, dtype=float)] * n, []
    for i, f, _ in mechanism.outward():
        carried = C[i] @ a[f] + a_prime[i]
        ddq = np.linalg.solve(U[i], torques[i] + S[i].T @ (Q[i] - M[i] @ carried))
        a[i] = carried + S[i] @ ddq
        reaction = M[i] @ a[i] - Q[i]
        quantities.append(SeparateBody(C[i], S[i], a_prime[i], M[i], Q[i], U[i], ddq, a[i], reaction))
    return quantities


def required_torques(
    robot: RobotFunctions | Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    ddq: ArrayLike,
    a0: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
) -> np.ndarray:
    """Return the torques (n_v,) for accelerations ddq under the known acceleration a0 of body 0: (20) solved for τ.

    Rotors of drives count, as in `robot.inverse_dynamics`. Arguments as in `separate_bodies`.
    """
    base = np.array(a0, dtype=float)
    moving = AT_REST._replace(a=base[:3], e=base[3:])
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    q, v, ddq = (np.asarray(x, dtype=float) for x in (q, v, ddq))
    return inverse_dynamics(mechanism, q, v, ddq, base=moving)


def _center(p: np.ndarray) -> np.ndarray:
    return inertia.center_of_mass(p) if p[0] else np.zeros(3)


# --- the document's program, for its chain of rods

MASS, GRAVITY = 10.0, 9.81
"""Mass of the whole chain, kg, and acceleration of free fall along −y, m/s², of the document's program."""
QUARTER = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""Matrix [0 1; -1 0] of the program, A_{−π/2} of the slides."""


class Body(NamedTuple):
    """Terms C_k, S_k, a'_k of one rod: a_k = C_k a_{k−1} + S_k q̈_k + a'_k, with a_k = [ẍ, ÿ, ω̇] of its centre."""

    C: np.ndarray
    S: np.ndarray
    a: np.ndarray


def masses(n: int, mass: float = MASS) -> np.ndarray:
    """Mass matrix M_k (3, 3) of (2), `mass{i}` of the program, of one of n rods at its centre."""
    return np.diag([mass / n, mass / n, mass / (12 * n * n * n)])


def weight(n: int, mass: float = MASS, gravity: float = GRAVITY) -> np.ndarray:
    """Weight Q_k of one of n rods, (3,)."""
    return np.array([0.0, -mass / n * gravity, 0.0])


def bodies(q: ArrayLike, dq: ArrayLike, c_before: float = 0.5) -> list[Body]:
    """Return C_k, S_k and a'_k of all rods, by getCk, getSk and getWprim.

    Args:
        q, dq: angles between adjacent rods and their rates, (n,).
        c_before: c_{k−1,k} in rod lengths. The slide of getCk reads it with swapped indices, which is zero.
    """
    q, dq = np.asarray(q, dtype=float), np.asarray(dq, dtype=float)
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


def slide_a(q: ArrayLike, dq: ArrayLike) -> np.ndarray:
    """Vectors a'_k of all rods as on slides (27) and (28), (n, 2)."""
    q, dq = np.asarray(q, dtype=float), np.asarray(dq, dtype=float)
    angles = np.cumsum(q)
    half = 0.5 / len(q) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    accelerations = []
    for k in range(len(q)):
        w = dq[:k].sum()
        before = half[k - 1] if k else np.zeros(2)
        to_joint = -half[k]
        accelerations.append(-before * w**2 + to_joint * w**2 + 2 * to_joint * dq[k] * w + to_joint * dq[k] ** 2)
    return np.array(accelerations)


def inward(
    parts: list[Body], sign: float = -1.0, *, mass: float = MASS, gravity: float = GRAVITY
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Return M*, Q* and U* of all rods, by getMkQkiUk.

    `sign` is the sign of Cᵀ(…) in (18): − in the program, + in the formula.
    """
    n = len(parts)
    M_own, Q_own = masses(n, mass), weight(n, mass, gravity)
    M, Q, U = [M_own] * n, [Q_own] * n, np.zeros(n)
    for k in range(n - 1, -1, -1):
        C, S, a = parts[k]
        U[k] = S @ M[k] @ S
        if k:
            M[k - 1] = M_own + C.T @ M[k] @ C - C.T @ np.outer(M[k] @ S, S @ M[k]) @ C / U[k]
            Q[k - 1] = Q_own + sign * C.T @ (M[k] @ (S / U[k] * (S @ (Q[k] - M[k] @ a)) + a) - Q[k])
    return M, Q, U


def accelerations(
    q: ArrayLike,
    dq: ArrayLike,
    sign: float = -1.0,
    a0: ArrayLike = (0.0, 0.0, 0.0),
    *,
    mass: float = MASS,
    gravity: float = GRAVITY,
) -> np.ndarray:
    """Return q̈ (n,) by dqdt, under the known acceleration a0 of body 0; `sign` as in `inward`."""
    parts = bodies(q, dq)
    M, Q, U = inward(parts, sign, mass=mass, gravity=gravity)
    w, ddq = np.array(a0, dtype=float), []
    for k, (C, S, a) in enumerate(parts):
        ddq.append(S @ (Q[k] - M[k] @ (C @ w + a)) / U[k])
        w = C @ w + S * ddq[-1] + a
    return np.array(ddq)


def body_accelerations(parts: list[Body], ddq: ArrayLike) -> np.ndarray:
    """Return a_k = C_k a_{k−1} + S_k q̈_k + a'_k of all rods, (n, 3)."""
    w, every = np.zeros(3), []
    for (C, S, a), x in zip(parts, np.asarray(ddq, dtype=float), strict=True):
        w = C @ w + S * x + a
        every.append(w)
    return np.array(every)


def reactions(parts: list[Body], ddq: ArrayLike, *, mass: float = MASS, gravity: float = GRAVITY) -> np.ndarray:
    """Return R_k of all rods, (n, 3): force and moment about the centre that act on rod k in its hinge to k − 1.

    (1): M_n a_n = Q_n + R_n. (3), with the sign of reactions corrected: M_k a_k = Q_k + R_k − C_{k+1}ᵀ R_{k+1}.
    """
    n = len(parts)
    needed = body_accelerations(parts, ddq) @ masses(n, mass) - weight(n, mass, gravity)
    for k in range(n - 2, -1, -1):
        needed[k] += parts[k + 1].C.T @ needed[k + 1]
    return needed


def falling_chain(
    q0: ArrayLike,
    times: ArrayLike,
    *,
    dq0: ArrayLike | None = None,
    mass: float = MASS,
    gravity: float = GRAVITY,
    rtol: float = 1e-10,
) -> np.ndarray:
    """Return the angles (len(times), n) of the chain after a start at time 0, by a variable-order Adams method."""
    from scipy.integrate import ode

    q = np.asarray(q0, dtype=float)
    n = len(q)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[n:], accelerations(state[:n], state[n:], mass=mass, gravity=gravity)])

    solver = ode(rates).set_integrator("vode", method="adams", rtol=rtol, atol=1e-3 * rtol, nsteps=1_000_000)
    solver.set_initial_value(np.concatenate([q, np.zeros(n) if dq0 is None else np.asarray(dq0, dtype=float)]))
    angles = []
    for t in np.asarray(times, dtype=float):
        angles.append(q if t == 0.0 else solver.integrate(t)[:n])
        if not solver.successful():
            raise ZvenoError(f"the Adams method failed before {t:g} s", element="rtol", remedy="Give a larger one")
    return np.array(angles)

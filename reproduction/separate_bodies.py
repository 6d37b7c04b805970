"""Document 002, the method of separate bodies (the articulated-body algorithm, Vereshchagin 1974).

The equations and the MATLAB program of the document against the library, and the falling chain over time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import zveno
from zveno.algorithms import linear
from zveno.algorithms.energy import kinetic_energy, total_energy
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.inverse_dynamics import joint_wrenches
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.algorithms.motion import AT_REST
from zveno.algorithms.velocities import world_motions
from zveno.documents import separate_bodies as program
from zveno.documents.trees import example_tree
from zveno.kernels.program import count_operations
from zveno.programs import program as traced_program
from zveno.robots.chain import chain
from zveno.simulation import DOP853
from zveno.spatial import inertia

from .table import NOTED, Document, Row

N = 10
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
STATES = {
    1.0: (-2.00569708643, -0.0252592468, 0.0066548482),
    2.0: (-1.40104663514, 0.0215159135, 0.1059134577),
}
"""q1, q2 and q10 of the document's program at two times, from an independent run of it at tight tolerance."""
DRIFTS = {1e-3: 1.2e-4, 1e-6: 3.6e-8, 1e-10: 1.8e-12}
"""Energy drift over 10 s by relative tolerance, with an integrator of order 8."""


def rows() -> list[Row]:
    """Everything of document 002 that can be checked."""
    rods = chain(N)
    return [
        *_model(rods),
        *_kinematics(rods),
        *_reactions(rods),
        *_recursion(rods),
        *_any_tree(),
        *_numbers(rods),
        _order_of_n(),
        *_falling(),
    ]


def _model(rods: zveno.Mechanism) -> list[Row]:
    p = rods.links[1].inertia
    c = p[1] / p[0]
    q, dq = MOVING
    poses, motions = link_poses(rods, q), world_motions(rods, q, dq, np.zeros(N))
    energy = 0.0
    for T, motion in zip(poses[1:], motions[1:], strict=True):
        center = motion.at(T[:3, :3] @ [c, 0.0, 0.0])
        twist = np.array([center.v[0], center.v[1], center.w[2]])
        energy += 0.5 * twist @ program.masses(N) @ twist
    return [
        DOCUMENT.compared(
            "mass{i}: m/n and m/(12 n³)", np.diag(program.masses(N))[[0, 2]], [p[0], p[9] - p[0] * c * c]
        ),
        DOCUMENT.compared("joint vectors c_kk, c_{k,k+1}: half a rod", [0.5 / N, 0.5 / N], [c, _hinge(rods) - c]),
        DOCUMENT.compared("(2): M_k at the centre of mass; kinetic energy, J", energy, kinetic_energy(rods, q, dq)),
    ]


def _kinematics(rods: zveno.Mechanism) -> list[Row]:
    """a_k = C_k a_{k−1} + S_k q̈_k + a'_k, against the library's motion of the same points."""
    q, dq = MOVING
    ddq = np.array(MOVING_A)
    poses, motions = link_poses(rods, q), world_motions(rods, q, dq, ddq)
    centers = [motions[k].at(poses[k][:3, :3] @ [0.5 / N, 0.0, 0.0]) for k in range(1, N + 1)]
    ours = [[center.a[0], center.a[1], center.e[2]] for center in centers]

    def theirs(c_before: float = 0.5) -> np.ndarray:
        return program.body_accelerations(program.bodies(q, dq, c_before), ddq)

    return [
        DOCUMENT.compared("(4), (5), (21)–(26): accelerations of the rods by C, S, a'", theirs(), ours),
        DOCUMENT.compared(
            "(27), (28): a'_k as the slide has it",
            program.slide_a(q, dq),
            [body.a[:2] for body in program.bodies(q, dq)],
        ),
        DOCUMENT.corrected(
            "slide of getCk: c with indices k, k−1",
            theirs(0.0),
            theirs(),
            ours,
            "the program leaves c{k,k−1} zero; meant, and used in getCk.m, is c_{k−1,k}",
        ),
    ]


def _reactions(rods: zveno.Mechanism) -> list[Row]:
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
    parts = program.bodies(q, dq)
    needed = program.body_accelerations(parts, ddq) @ program.masses(N) - program.weight(N)
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


def _recursion(rods: zveno.Mechanism) -> list[Row]:
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
            "(12), (17), (19): U*_k are the pivots of the mass matrix",
            program.inward(program.bodies(q, dq))[2],
            pivots,
        ),
        DOCUMENT.corrected(
            "Q*_{n−1} (slide before (17)), two rods",
            program.accelerations(q[:2], dq[:2], +1.0),
            program.accelerations(q[:2], dq[:2]),
            ours_two,
            why,
        ),
        DOCUMENT.corrected(
            "(18): Q*_{k−1}, ten rods", program.accelerations(q, dq, +1.0), program.accelerations(q, dq), ours, why
        ),
        DOCUMENT.compared("the program, (13)–(21): q̈ of ten rods, rad/s²", program.accelerations(q, dq), ours),
        DOCUMENT.compared(
            "known acceleration of body 0: q̈, rad/s²",
            program.accelerations(q, dq, a0=a0),
            forward_dynamics(rods, q, dq, np.zeros(N), base=moving),
        ),
    ]


def _any_tree() -> list[Row]:
    """The method on the tree of document 003, in space: torques, a moving base, and the equation of every body."""
    tree, rng = example_tree(), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, tree.n_v))
    a0 = rng.normal(size=6)
    moving = AT_REST._replace(a=a0[:3], e=a0[3:])
    bodies = program.separate_bodies(tree, q, v, tau, a0=a0)
    worst = largest = 0.0
    for k, body in enumerate(bodies, start=1):
        link, T = tree.links[k], link_poses(tree, q)[k]
        J = T[:3, :3] @ inertia.tensor_at_center(link.inertia) @ T[:3, :3].T
        w = world_motions(tree, q, v)[k].w
        own = np.concatenate([link.inertia[0] * (body.a[:3] - tree.gravity), J @ body.a[3:] + np.cross(w, J @ w)])
        passed = sum(bodies[s - 1].C.T @ bodies[s - 1].R for s in tree.tree.children(k))
        worst = max(worst, float(np.abs(own - body.R + passed).max()))
        largest = max(largest, float(np.abs(own).max()))
    return [
        DOCUMENT.compared(
            "(20) for the tree of document 003 with torques and a moving body 0: q̈",
            np.concatenate([body.ddq for body in bodies]),
            forward_dynamics(tree, q, v, tau, base=moving),
        ),
        DOCUMENT.law(
            "(1), (3), corrected, for all bodies of that tree: M a = Q + R − Σ Cᵀ R", worst / largest, 1e-11
        ),
        DOCUMENT.compared(
            "(7), (8), (9) for that tree: Sᵀ R is the torque of the joint",
            np.concatenate([body.S.T @ body.R for body in bodies]),
            tau,
        ),
    ]


def _numbers(rods: zveno.Mechanism) -> list[Row]:
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
    counts = {n: count_operations(traced_program(chain(n), "forward_dynamics")).total for n in (10, 20, 40)}
    first, second = (counts[20] - counts[10]) / 10, (counts[40] - counts[20]) / 20
    return DOCUMENT.statement(
        "effort is proportional to the number of bodies",
        "O(n)",
        f"{first:.0f} and {second:.0f} operations for one more rod (10 … 20, 20 … 40)",
        abs(second - first) <= 0.02 * first,
    )


def _hinge(rods: zveno.Mechanism) -> float:
    return float(rods.joints[1].T_parent_joint[0, 3])


def _falling() -> list[Row]:
    """States and energy drift of the document's chain over time."""
    robot, q0 = zveno.load(f"chain({N})"), START[0]
    exact = robot.simulate(q0, duration=2.0, integrator=DOP853(1e-11, atol=1e-13), sample_time=1.0)
    statements = [
        DOCUMENT.noted(f"the program: q1, q2, q10 at {t:g} s, rad", before, exact.q[int(t), [0, 1, 9]], 1e-9)
        for t, before in STATES.items()
    ]
    for rtol, before in DRIFTS.items():
        low, high = drift_range(robot, q0, rtol)
        statements.append(
            Row(
                DOCUMENT.number,
                f"energy drift over 10 s, order 8, rtol {rtol:g}, J",
                f"{NOTED}{before:.1e}",
                f"{low:.2e} … {high:.2e}",
                "regression" if 0.95 * low <= before <= 1.05 * high else "differs",
                "the range over starts that differ by 1e-15 rad: roundings decide where steps end; absolute "
                "tolerance is a thousandth of the relative one",
            )
        )
    adams = program.falling_chain(q0, [2.0])
    statements.append(
        DOCUMENT.noted(
            "the same by a variable-order Adams method (for ode113)", STATES[2.0], adams[0, [0, 1, 9]], 1e-6
        )
    )
    return statements


def drift_range(robot: zveno.Robot, q0: ArrayLike, rtol: float, n: int = 7) -> tuple[float, float]:
    """Smallest and largest energy drift over 10 s of n runs whose starts differ by 1e-15 rad, J."""
    drifts = []
    for k in range(n):
        start = np.array(q0)
        start[3] += k * 1e-15
        drifts.append(abs(float(robot.simulate(start, duration=10.0, integrator=DOP853(rtol)).energy_error[-1])))
    return min(drifts), max(drifts)

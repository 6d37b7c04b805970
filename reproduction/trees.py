"""Document 003, mechanisms with a tree structure, a floating base and external constraints.

Its equations, as printed and corrected, against the library.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno import simulation
from zveno.algorithms import inverse_dynamics as ours
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.jacobian import jacobian
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.algorithms.velocities import body_motions, frame_acceleration, world_motions
from zveno.documents import trees as theirs
from zveno.documents.base_parameters import Row as DhRow
from zveno.documents.base_parameters import parts
from zveno.documents.trees import Reading
from zveno.mechanism import Mechanism
from zveno.mechanism.base import with_base
from zveno.simulation import DOP853
from zveno.spatial import inertia
from zveno.spatial.rotations import to_quaternion
from zveno.spatial.transforms import move_wrench, transform

from .table import Document, Row, error

Q = np.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6, -0.7])
V = np.array([1.0, -0.5, 0.3, 0.8, -0.2, 0.4, 0.6])
A = np.array([0.5, 1.0, -1.0, 0.2, 0.3, -0.4, 0.7])
TAU = (3.62814726651, -18.895149572, -1.62040542687, -8.89018789821, 0.366033636302, -7.88566302144, 1.12834856583)
BIAS = (2.25033316996, -19.7557777768, -0.683241915722, -9.94364534306, 0.38276960051, -7.4061178862, 1.10373872028)
DIAGONAL = (4.0343751345, 1.04837039663, 1.3, 0.960596410637, 0.03135, 1.6, 0.04241)
"""Torques, bias and diagonal of the inertia matrix of the example tree, from an independent program; 12 digits."""
DIGITS, ROUNDING, CONDITIONED = 1e-10, 1e-12, 1e-10
"""Relative tolerances: of noted numbers, of sums of seven links, and of solutions with the mass matrix."""
DOCUMENT = Document("003", ROUNDING)


def rows() -> list[Row]:
    """Everything of document 003 that can be checked."""
    tree = theirs.example_tree()
    return [
        *_structure(tree),
        *_kinematics(tree),
        *_torques(tree),
        *_inertia_matrix(tree),
        *_bias(tree),
        *_numbers(tree),
        _constraints(tree),
        *_floating(tree),
        *_feet_and_held_joints(),
    ]


def _structure(tree: Mechanism) -> list[Row]:
    """Index functions, each from its definition in words."""
    index = tree.tree
    n = tree.n_links
    edges = [(index.parent(i), i) for i in range(1, n)]
    reach = np.linalg.matrix_power(np.eye(n) + [[(j, i) in edges for j in range(n)] for i in range(n)], n) > 0
    children = {i: [c for f, c in edges if f == i] for i in range(n)}
    ranks = [children[f].index(c) + 1 for f, c in edges]
    ancestors = [[j for j in range(n) if reach[i, j] and j != i] for i in range(n)]

    def visited(i: int) -> list[int]:
        return [i] + [j for c in children[i] for j in visited(c)]

    T, q_own = link_poses(tree, Q), tree.joint_positions(Q)
    products = [
        T[f] @ tree.auxiliary_transform(f, index.sibling_rank(i)) @ joint.motion(q_own[i])
        for i, f, joint in tree.outward()
    ]
    return [
        DOCUMENT.self_check("D: reachability of links", reach, index.reachability),
        DOCUMENT.self_check(
            "Γ(i), s(i,k), dg⁺(i)",
            [c for i in range(n) for c in children[i]],
            [index.child(i, k) for i in range(n) for k in range(1, index.out_degree(i) + 1)],
        ),
        DOCUMENT.self_check("ns(i): rank among the children", ranks, [index.sibling_rank(i) for i in range(1, n)]),
        DOCUMENT.self_check(
            "nan(i), an(i,j): ancestors from the root",
            [j for above in ancestors for j in above],
            [index.ancestor(i, j) for i in range(n) for j in range(1, index.n_ancestors(i) + 1)],
        ),
        DOCUMENT.self_check("Dnum⁻¹(n): depth-first order", visited(0), [index.link_at(k) for k in range(n)]),
        DOCUMENT.self_check(
            "Dnum_k⁻¹(n): depth-first order from link 2",
            visited(2),
            [index.link_at_from(2, k) for k in range(1, index.subtree_size(2) + 1)],
        ),
        DOCUMENT.self_check("(3): T_i = T_f(i) M_f(i),ns(i) A_i", products, T[1:]),
        DOCUMENT.self_check(
            "(1): M_{i,1} = E",
            [np.eye(4) for i in range(n) if index.out_degree(i)],
            [tree.auxiliary_transform(i, 1) for i in range(n) if index.out_degree(i)],
        ),
        DOCUMENT.self_check(
            "(2): A_1, d = 0.05, a = 0.26, α = −90°",
            np.tensordot([1.0, np.cos(Q[0]), np.sin(Q[0])], parts(DhRow(1, 0.0, -np.pi / 2, 0.26, 0.05)), axes=1),
            tree.joint_of(1).motion(Q[:1]),
        ),
    ]


def _kinematics(tree: Mechanism) -> list[Row]:
    body, world = body_motions(tree, Q, V, A), world_motions(tree, Q, V, A)
    document = theirs.motions(tree, Q, V, A)
    T = link_poses(tree, Q)
    absolute = theirs.absolute_motions(tree, Q, V, A)
    centers = [motion.at(inertia.center_of_mass(tree.links[i].inertia)).a for i, motion in enumerate(body) if i]
    frames = [(i, k) for i in range(1, tree.n_links) for k in range(1, tree.tree.out_degree(i) + 1)]
    at_frames = [body[i].at(tree.auxiliary_transform(i, k)[:3, 3]) for i, k in frames]
    return [
        DOCUMENT.compared(
            "ω, ε in body axes",
            [[*m.w, *m.e] for m in document[1:]],
            [[*motion.w, *motion.e] for motion in body[1:]],
        ),
        DOCUMENT.compared(
            "a_{i,j} in body axes",
            [m.a for m in document[1:]],
            [motion.a for motion in body[1:]],
            why="with (1 − σ) read as (1 − σ_i)",
        ),
        DOCUMENT.compared(
            "v_{i,j} in body axes, of every frame of a link",
            [theirs.auxiliary_motion(tree, document, i, k)[0] for i, k in frames],
            [motion.v for motion in at_frames],
            why="with (1 − σ) read as (1 − σ_i)",
        ),
        DOCUMENT.compared(
            "a_{i,j} in body axes, of every frame of a link",
            [theirs.auxiliary_motion(tree, document, i, k)[1] for i, k in frames],
            [motion.a for motion in at_frames],
            why="with (1 − σ) read as (1 − σ_i)",
        ),
        DOCUMENT.compared("a_ci in body axes", [m.a_c for m in document[1:]], centers),
        DOCUMENT.self_check("(3): T_i in absolute axes", absolute.T, T),
        DOCUMENT.compared(
            "(4): ω, ε in absolute axes",
            np.concatenate([absolute.w, absolute.e], axis=1),
            [[*m.w, *m.e] for m in world],
        ),
        DOCUMENT.compared(
            "(5): v_{i,j} in absolute axes",
            absolute.v,
            [m.v for m in world],
            why="with (1 − σ) read as (1 − σ_i)",
        ),
        DOCUMENT.compared("a_{i,j} in absolute axes", absolute.a, [m.a for m in world]),
    ]


def _torques(tree: Mechanism) -> list[Row]:
    computed = ours.inverse_dynamics(tree, Q, V, A)
    rng = np.random.default_rng(0)
    at_center = rng.normal(size=(tree.n_links, 6))
    external = np.array(
        [move_wrench(transform(None, theirs.center(tree, i)), wrench) for i, wrench in enumerate(at_center)]
    )

    def body(**misprint) -> np.ndarray:
        return theirs.torques(tree, Q, V, A, reading=Reading(**misprint))

    def absolute(**misprint) -> np.ndarray:
        return theirs.absolute_torques(tree, Q, V, A, Reading(**misprint))

    outside = error(body(own_outside_turn=True), computed)
    last_child = error(absolute(sum_stops_early=True), computed)
    return [
        DOCUMENT.compared(
            "τ by f_i and M_i in absolute axes", absolute(), computed, why="with Σ_k read as the next row says"
        ),
        DOCUMENT.assumed(
            "M_i in absolute axes: Σ M + l × f",
            "τ as computed",
            f"off by {error(absolute(), computed):.0e}; {100 * last_child:.0f} % with the last child alone",
            error(absolute(), computed) <= ROUNDING < last_child,
            "there are no brackets: Σ_k covers both terms, as those of later formulas say",
        ),
        DOCUMENT.assumed(
            "M_i in body axes: R_i (Σ_k …) − J ε_i − …",
            "τ as computed",
            f"off by {error(body(), computed):.0e} within the bracket; {100 * outside:.0f} % outside",
            error(body(), computed) <= ROUNDING < outside,
            "in our copy, read by a machine, the bracket closes after Σ_k; in f_i and in H it holds all terms",
        ),
        DOCUMENT.corrected(
            "M_i in body axes: c_i × (…)",
            body(arm_is_c=True),
            body(),
            computed,
            "the moment is about the joint, so the arm is l_{i,1} + c_i, as in absolute axes",
        ),
        DOCUMENT.corrected(
            "order of the backward recursion: n = 1, …, N",
            body(backward_runs_forward=True),
            body(),
            computed,
            "children come first: n = N, …, 1, as is said of H; the sentence says reverse order, the formula not",
        ),
        DOCUMENT.compared(
            "external F and M about the centre of mass",
            theirs.torques(tree, Q, V, A, at_center),
            ours.inverse_dynamics(tree, Q, V, A, external),
            why="with M_i and the order as the rows before correct them",
        ),
    ]


def _inertia_matrix(tree: Mechanism) -> list[Row]:
    computed = mass_matrix(tree, Q)

    def document(columns: str = "", **misprint) -> np.ndarray:
        return theirs.mass_matrix(tree, Q, Reading(**misprint), columns)

    right = document()
    corrected = "with f_i, M_i and the entries as the rows below correct them"
    D = tree.tree.reachability[1:, 1:]
    unreached = computed[~(D | D.T)]
    return [
        DOCUMENT.compared("inertia matrix by unit accelerations", right, computed, why=corrected),
        DOCUMENT.law("inertia matrix is symmetric", error(right, right.T), ROUNDING, corrected),
        DOCUMENT.self_check(
            f"{len(unreached)} entries that neither D nor Dᵀ reaches are zero", 0.0 * unreached, unreached, 0.0
        ),
        DOCUMENT.compared(
            "ε_j and a_{j,k} of a column: σ_i e_ij",
            document("sigma"),
            computed,
            why="σ_j is meant; no harm done, since e_ij is zero unless i = j",
        ),
        DOCUMENT.corrected(
            "a_cj of a column: a_ci", document("center"), right, computed, "every link has its own a_cj"
        ),
        DOCUMENT.corrected(
            "entries i_ij = −k·(σ_i M_i + (1 − σ_i) f_i)",
            document("entries"),
            right,
            computed,
            "the torque of link j in column i is i_ji = −k·(σ_j M_j + (1 − σ_j) f_j)",
        ),
        DOCUMENT.corrected(
            "f_i of a column: R_M · ⁱf",
            document(turned_twice=True),
            right,
            computed,
            "the child's force is given in its own auxiliary frame: ^{i,k}f",
        ),
        DOCUMENT.corrected(
            "M_i of a column: c_i × a_ci m_i",
            document(arm_is_c=True),
            right,
            computed,
            "the arm is l_{i,1} + c_i",
        ),
    ]


def _bias(tree: Mechanism) -> list[Row]:
    computed = ours.bias(tree, Q, V)

    def document(**misprint) -> np.ndarray:
        return theirs.torques(tree, Q, V, np.zeros(7), reading=Reading(**misprint))

    return [
        DOCUMENT.compared(
            "H: torques without accelerations",
            document(),
            computed,
            why="with f_i and M_i as the rows below correct them",
        ),
        DOCUMENT.corrected(
            "f_i and M_i of H: own inertia inside Σ_k",
            document(own_inside_sum=True),
            document(),
            computed,
            "the link's own share stands outside; inside, leaves have none and branching links two",
        ),
        DOCUMENT.corrected(
            "M_i of H: c_i × (…)", document(arm_is_c=True), document(), computed, "the arm is l_{i,1} + c_i"
        ),
    ]


def _numbers(tree: Mechanism) -> list[Row]:
    M = mass_matrix(tree, Q)
    return [
        DOCUMENT.noted("example tree of 7 links: τ", TAU, ours.inverse_dynamics(tree, Q, V, A), DIGITS),
        DOCUMENT.noted("example tree of 7 links: H", BIAS, ours.bias(tree, Q, V), DIGITS),
        DOCUMENT.noted("example tree of 7 links: diagonal of I", DIAGONAL, np.diag(M), DIGITS),
        DOCUMENT.noted(
            "example tree: forward dynamics of τ", A, forward_dynamics(tree, Q, V, np.array(TAU)), DIGITS
        ),
    ]


def _constraints(tree: Mechanism) -> Row:
    """A foot held in place: it stays, and the reaction as an external force asks for the same τ."""
    tau = np.linspace(-1.0, 1.0, 7)
    M, h, J = mass_matrix(tree, Q), ours.bias(tree, Q, V), jacobian(tree, Q, "foot")[:3]
    P = frame_acceleration(tree, Q, V, np.zeros(7), "foot")[:3]
    solution = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((3, 3))]]), np.concatenate([tau - h, -P]))
    a, reaction = solution[:7], solution[7:]
    foot = frame_acceleration(tree, Q, V, a, "foot")[:3]
    external = np.zeros((tree.n_links, 6))
    external[6, :3] = link_poses(tree, Q)[6][:3, :3].T @ reaction
    residual = max(error(ours.inverse_dynamics(tree, Q, V, a, external), tau), abs(foot).max() / abs(P).max())
    return DOCUMENT.self_checked(
        "[I −Jᵀ; J 0][q̈; R] + [H; P] = [τ; 0], a foot held in place",
        "τ with R as an external force",
        f"residual {residual:.0e}",
        residual <= CONDITIONED,
    )


def _floating(tree: Mechanism) -> list[Row]:
    trunk, free = with_base(tree, "trunk"), with_base(tree, "free")
    q, v = np.concatenate([[0.2, -0.1, 0.4, 0.5, -0.6, 0.7], Q]), np.concatenate([np.linspace(-1, 1, 6), V])
    tau = np.concatenate([np.zeros(6), A])
    a = forward_dynamics(trunk, q, v, tau)
    T, motion = link_poses(trunk, q)[6], body_motions(trunk, q, v, a)[6]
    q_free = np.concatenate([T[:3, 3], to_quaternion(T[:3, :3]), Q])
    a_free = forward_dynamics(free, q_free, np.concatenate([motion.v, motion.w, V]), tau)
    parts = theirs.partitioned(zveno.Robot(trunk), q, v)
    # The document's equation, its base eliminated.
    reduced = parts.I_RR - parts.I_IR @ np.linalg.solve(parts.I_II, parts.I_IR.T)
    right = A - parts.H_R + parts.I_IR @ np.linalg.solve(parts.I_II, parts.H_I)
    return [
        DOCUMENT.self_check(
            "a trunk does not change the motion: q̈ of the joints on a trunk", a[6:], a_free[6:], CONDITIONED
        ),
        DOCUMENT.self_check("the same: angular acceleration of the body", motion.e, a_free[3:6], CONDITIONED),
        DOCUMENT.self_check(
            "the same: acceleration of the body",
            motion.a,
            a_free[:3] + np.cross(motion.w, motion.v),
            CONDITIONED,
        ),
        DOCUMENT.self_check(
            "last equation, I_II, I_IR, I_RR, H_I, H_R: q̈_R", np.linalg.solve(reduced, right), a[6:], CONDITIONED
        ),
        _singularity(trunk, q),
    ]


def _singularity(trunk: Mechanism, q: np.ndarray) -> Row:
    def condition(off: float) -> float:
        near = np.concatenate([q[:4], [np.pi / 2 - off], q[5:]])
        return float(np.linalg.cond(mass_matrix(trunk, near)[:6, :6]))

    far, near = condition(1.0), condition(1e-4)
    return DOCUMENT.wrong(
        "a trunk ties any motion to the absolute axes",
        "no exception named",
        f"condition of I_II: {far:.2g} at 1 rad from pitch 90°, {near:.1e} at 1e-4 rad",
        near > 1e5 * far,
        "axes 4 and 6 align at a pitch of ±90°; a free joint with a quaternion has no such place",
    )


def _feet_and_held_joints() -> list[Row]:
    """Accelerations and reactions of the constrained equation, and the work of its reactions."""
    trunk = zveno.load("quadruped").with_base("trunk")
    rng = np.random.default_rng(3)
    q, v, tau = 0.3 * rng.normal(size=(3, trunk.n_v))
    tau[:6] = 0.0
    feet = [simulation.BallJoint(name) for name in trunk.frame_names if name.endswith("foot")]
    parts = theirs.partitioned(trunk, q, v)
    constraints = simulation.evaluate_constraints(trunk, q, v, feet)
    J_I, J_R, P = constraints.J[:, :6], constraints.J[:, 6:], constraints.bias
    whole = np.block(
        [
            [parts.I_II, parts.I_IR.T, -J_I.T],
            [parts.I_IR, parts.I_RR, -J_R.T],
            [J_I, J_R, np.zeros((len(P), len(P)))],
        ]
    )
    x = np.linalg.solve(whole, np.concatenate([-parts.H_I, tau[6:] - parts.H_R, -P]))
    found = simulation.constrained_dynamics(trunk, q, v, tau, feet)
    size = abs(x).max()
    gap = max(abs(x[: trunk.n_v] - found.a).max(), abs(x[trunk.n_v :] - found.reactions).max()) / size
    chain = zveno.load("chain(3)")
    held = chain.simulate(
        [-1.0, 0.3, 0.2], duration=1.0, constraints=[simulation.JointMotion("joint2")], integrator=DOP853(1e-9)
    )
    work = abs(held.work).max() / abs(held.kinetic).max()
    return [
        DOCUMENT.self_checked(
            "constrained equation on a trunk, parted into I and R: quadruped on four feet",
            "constrained_dynamics",
            f"residual {gap:.0e}",
            gap <= 1e-9,
        ),
        DOCUMENT.self_checked(
            "reactions of constraints at rest do no work", "no work", f"residual {work:.0e}", work <= 1e-7
        ),
    ]

"""Document 004, inverse kinematics by scanning in functions of numbers.

The numbers of its example; then coding, operators and tricks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import zveno
from zveno.documents.scanning import (
    OBJECTIVES,
    POSITION_AND_DIRECTION,
    around,
    counted_decoding,
    counted_encoding,
    objective,
    percentages,
    plot_numbers,
    pose_system,
    printed_decoding_cost,
    printed_dichotomy,
    printed_encoding_cost,
    printed_intervals,
    reduced_scan,
    rotation_constraints,
)
from zveno.scanning import (
    CellTable,
    Grid,
    admissible,
    compress,
    decode,
    dichotomy,
    extrema,
    flat_extrema,
    global_extremum,
)
from zveno.spatial.rotations import exp, log

from .table import Document, Row, error

DOCUMENT = Document("004")
P0 = np.array([916.2691, 112.6498, 1385.9482])
S0 = np.array([915.8874, 111.8144, 1316.3436])
"""As printed, mm."""
S0_Z = 1386.3436
"""The third component that makes |S_0 − P_0| = 1, as the characteristic vector has unit length."""
GOAL = np.array([*P0, *S0[:2], S0_Z])
Q = np.array([4.7663, 3.3411, 1.5177, 2.3376, 5.4647, 1.4027])
Q5 = 5.4657
DELTA_P, DELTA_S = np.array([0.019, 0.0013, 0.0052]), np.array([0.005, 0.006, 0.0105])
LOWER = np.array([4.5650, 3.1569, 1.3988, 2.2015, 5.2453, 1.3263])
UPPER = np.array([4.8443, 3.4363, 1.6782, 2.4808, 5.5246, 1.6056])
ADMITTED = 1e-3
"""δ_adm, percent."""
ITERATIONS = 12
BOXES = 100
START = np.where(np.arange(6) == 4, Q5, Q)
"""The printed configuration, its fifth angle corrected."""
PRINTED_P = (916.55511079, 113.02762547, 1386.31369647)
PRINTED_S = (-0.40554438, -0.83119232, 0.38033287)
"""P and S − P of the printed configuration by an independent program, mm."""
LENGTHS = (485.0, 520.0, 550.0, 620.0, 530.0, 610.0, 480.0)
"""d_1 … d_6 and a_6 of figure 2, mm."""


def rows() -> list[Row]:
    """Everything of document 004 that can be checked."""
    return [
        _full_scan(),
        *_geometry(),
        *_statements(),
        *_printed_errors(),
        *_iterations(),
        _all_solutions(),
        *_coding(),
        *_admissible(),
        *_operators(),
        _objectives(),
        _several_equations(),
        *_dichotomies(),
        _teaching(),
        _reduction(),
        _compression(),
        _workers(),
        _path(),
    ]


def _full_scan() -> Row:
    what, count = "numbers of a full scan at 0.001 rad, six joints", (2 * np.pi / 0.001) ** 6
    return DOCUMENT.same(what, "6.153e+22", f"{count:.3e}")


@cache
def arm() -> zveno.Robot:
    """The document's arm."""
    return zveno.load("doc004_arm")


def u(q: np.ndarray) -> np.ndarray:
    """Its pose vector in mm, (k, 6)."""
    return pose_system(arm(), unit=1e-3)(q)


def pose_slopes(q: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """∂u/∂q (6, 6) of the arm's pose vector by central differences."""
    return np.stack([(u((q + h * e)[None])[0] - u((q - h * e)[None])[0]) / (2 * h) for e in np.eye(6)], axis=1)


def _geometry() -> list[Row]:
    """Lengths of figure 2, and the pose of the printed configuration."""
    T = arm().link_poses(np.zeros(6))
    steps = [1e3 * (T[k - 1, :3, :3].T @ (T[k, :3, 3] - T[k - 1, :3, 3])) for k in range(1, 7)]
    lengths = [step[2] for step in steps] + [steps[5][0]]
    pose = u(Q[None])[0]
    length = float(np.linalg.norm(GOAL[3:] - GOAL[:3]))
    return [
        DOCUMENT.assumed(
            "figure 2: d_1 … d_6, a_6, mm",
            ", ".join(f"{x:.0f}" for x in LENGTHS),
            ", ".join(f"{x:.0f}" for x in lengths),
            error(LENGTHS, lengths) <= 1e-12,
            "the twists are lost in our copy; those of the built-in arm are the only multiples of 90° that fit",
        ),
        DOCUMENT.noted("(9): P of the printed configuration, mm", PRINTED_P, pose[:3], 1e-9),
        DOCUMENT.noted("(10): S − P of the printed configuration", PRINTED_S, pose[3:] - pose[:3], 1e-7),
        DOCUMENT.wrong(
            "step 1.1: the pose vector ends in T s",
            "u = [P | T s]",
            f"|S_0| = {np.linalg.norm(GOAL[3:]):.0f} mm, |S_0 − P_0| = {length:.4f} mm",
            abs(length - 1.0) < 1e-3 and np.linalg.norm(GOAL[3:]) > 1e3,
            "(8), (10) and step 2.1 have S = P + T s, and so have the printed numbers",
        ),
    ]


def _printed_errors() -> list[Row]:
    """ΔP and ΔS of the example."""
    share = 100.0 * np.linalg.norm(DELTA_S) / np.linalg.norm(GOAL[3:])
    seen = abs(u(START[None])[0] - GOAL)
    # What half a unit of the fourth decimal of every angle may do.
    rounding = abs(pose_slopes(START)).sum(axis=1) * 5e-5
    turn = float(np.linalg.norm(DELTA_S - DELTA_P))
    return [
        DOCUMENT.statement(
            "the document's own ΔS against its tolerance of 0.001 %",
            "≤ 0.001",
            f"{share:.5f}",
            share <= ADMITTED,
            f"in percent of |S_0| = {np.linalg.norm(GOAL[3:]):.0f} mm; ΔS − ΔP is a turn of s by at least "
            f"{np.degrees(turn):.1f}° all the same",
        ),
        DOCUMENT.not_reproduced(
            "ΔP, ΔS of the printed solution, mm",
            ", ".join(f"{x:g}" for x in (*DELTA_P, *DELTA_S)),
            ", ".join(f"{x:.2g}" for x in seen),
            bool(np.all(seen <= rounding + np.array([*DELTA_P, *DELTA_S]))),
            f"with q_5 = {Q5}, inferred; q is printed to four decimals, which moves P by up to "
            f"{rounding[:3].max():.2f} mm",
        ),
    ]


def _statements() -> list[Row]:
    goal = GOAL
    at_printed, at_right = u(Q[None])[0], u(START[None])[0]
    off, left = (max(percentages(reached, goal)) for reached in (at_printed, at_right))
    their_error = 100.0 * np.linalg.norm(DELTA_P) / np.linalg.norm(P0)
    singular = np.linalg.svd(pose_slopes(Q), compute_uv=False)
    rank = int(np.sum(singular > 1e-6 * singular[0]))
    length = np.linalg.norm(S0 - P0)
    right = np.linalg.norm(goal[3:] - goal[:3])
    return [
        DOCUMENT.wrong(
            "|S_0 − P_0| of the example, mm",
            "1",
            f"{length:.2f} with S_0z = {S0[2]}, {right:.4f} with {S0_Z}",
            length > 60 and abs(right - 1) < 1e-3,
            "a digit of S_0z is wrong; s has unit length",
        ),
        DOCUMENT.assumed(
            "error of the printed solution, percent of |P_0|",
            "≤ 0.001",
            f"{off:.2g} with q_5 = {Q[4]}, {left:.2g} with {Q5}",
            bool(off > 0.03 and left < 0.005),
            "with the twists of the built-in arm, since those of the document are lost, a digit of q_5 is wrong "
            "(inferred); what is left is the rounding of q to four decimals",
        ),
        DOCUMENT.wrong(
            "the document's own ΔP against its tolerance of 0.001 %",
            "≤ 0.001",
            f"{their_error:.5f}",
            bool(their_error > ADMITTED),
            "its answer misses its own tolerance",
        ),
        DOCUMENT.wrong(
            "rank of the pose vector u = [P | S] in six joints",
            "6 (a solution is a point)",
            str(rank),
            rank == 5,
            "turning about s leaves u as it is: a curve of false solutions; the whole rotation is needed",
        ),
    ]


def _iterations() -> list[Row]:
    """П8 as printed on the printed box, and on boxes that round to it; and with c_1, c_2 of step 2.4."""
    rng = np.random.default_rng(0)
    off = [np.zeros((2, 6)), *rng.uniform(-5e-5, 5e-5, (BOXES, 2, 6))]
    runs = [
        printed_dichotomy(u, GOAL, LOWER + low, UPPER + high, ADMITTED, 40, groups=POSITION_AND_DIRECTION)
        for low, high in off
    ]
    needed = [run.iterations for run in runs[1:] if run.converged]
    first = f"{runs[0].iterations}" if runs[0].converged else "not in 40"
    within = bool(needed) and min(needed) <= ITERATIONS <= max(needed)
    by_length = [
        printed_dichotomy(
            *(u, GOAL, LOWER + low, UPPER + high, ADMITTED, 40),
            groups=POSITION_AND_DIRECTION,
            compared=lambda pose: np.linalg.norm(pose[:3]),
        )
        for low, high in off[1:]
    ]
    reached = sum(run.converged for run in by_length)
    return [
        DOCUMENT.not_reproduced(
            "iterations of the printed dichotomy (П8) on the document's box",
            str(ITERATIONS),
            f"{first}; {min(needed, default=0)} … {max(needed, default=0)} on boxes that round to the printed one",
            within,
            f"{len(needed)} of {BOXES} such boxes converge, and not all to the printed configuration: γ = 1e-15 is "
            "one unit of the last place of q, so rounding decides which half is kept",
        ),
        DOCUMENT.wrong(
            "step 2.4: c_1 = |P_0(η, γ)|, c_2 = |P_0(η, γ_1)|",
            "as in П8, where c_1 = f(η, γ)",
            f"{reached} of {BOXES} boxes converge with |P|, {len(needed)} with f",
            reached < len(needed),
            "P_0 is given and does not depend on γ; the length of P says nothing about the distance from P_0",
        ),
    ]


def _all_solutions() -> Row:
    """The configuration, its fifth angle corrected, from the pose that the library computes of it."""
    robot, q = arm(), START
    solutions = robot.ik(robot.forward_kinematics(q), method="scan")
    d = solutions.q - q
    near = float(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1).min())
    return DOCUMENT.self_checked(
        "the configuration with the corrected q_5 among the solutions of its pose",
        "a solution",
        f"one of {int(solutions.count)} solutions, to {near:.0e} rad",
        near < 1e-9,
    )


def _coding() -> list[Row]:
    J, radices, numbers = 6, (3,) * 6, range(1, 730)
    nodes = np.unique(decode(np.array(numbers), radices), axis=0)
    K, seen = np.arange(729), []
    for _ in range(J):
        seen.append(K % 2)
        K = K // 2
    literal = len(np.unique(np.stack(seen, axis=1), axis=0))
    from_I = np.unique(decode(np.full(729, 729), radices), axis=0)
    encoding = [counted_encoding(theta, radices) for theta in nodes.tolist()]
    decoded, decoding = counted_decoding(numbers, radices)
    right = [number for number, _ in encoding] == [
        1 + sum((x - 1) * 3**j for j, x in enumerate(theta)) for theta in nodes.tolist()
    ] and np.array_equal(decoded, decode(np.array(numbers), radices))
    (each,) = {cost for _, cost in encoding}
    printed, all_numbers = printed_encoding_cost(J), printed_decoding_cost(J, len(numbers))
    return [
        DOCUMENT.wrong(
            "nodes that the decoder of the example visits, of I = 729",
            "729",
            f"{literal} with Θ, {len(nodes)} with Θ + 1",
            (literal, len(nodes)) == (64, 729),
            "with I = (Θ + 1)^J nodes the decoder must divide by Θ + 1",
        ),
        DOCUMENT.wrong(
            "step 1.2: K_0(i) = I",
            "every node",
            f"{len(from_I)} node with K_0 = I, {len(nodes)} with K_0 = i",
            (len(from_I), len(nodes)) == (1, 729),
            "(2) begins with K_0(i) = i",
        ),
        DOCUMENT.statement(
            "additions and multiplications of one encoding (1), J = 6",
            _pair(printed),
            f"{_pair(each)} counted",
            right and each == printed,
        ),
        DOCUMENT.assumed(
            "multiplications of decoding (2) I = 729 numbers, J = 6",
            str(all_numbers.multiplications),
            f"{decoding.multiplications} counted",
            right and decoding.multiplications == all_numbers.multiplications,
            "2JI if θ_j and K_j share one quotient, which is not said; as written there are (3J − 1)I",
        ),
        DOCUMENT.not_reproduced(
            "additions of decoding (2) I = 729 numbers, J = 6",
            str(all_numbers.additions),
            f"{decoding.additions} counted",
            right and decoding.additions == 3 * J * len(numbers),
            "3JI if K − 1 and its quotient are formed once, which the document does not say",
        ),
    ]


def _pair(cost: tuple[int, int]) -> str:
    return f"{cost[0]}, {cost[1]}"


def _admissible() -> list[Row]:
    """П1 to П4 and П6 by their formulas, number by number, against the operators of `zveno.scanning`."""
    grid = Grid.by_count([-np.pi, -np.pi], [np.pi, np.pi], 24)

    def height(q: np.ndarray) -> np.ndarray:
        return np.sin(q[:, 0]) + np.sin(q.sum(axis=1))

    def reach(q: np.ndarray) -> np.ndarray:
        return 2.0 * np.abs(np.cos(q[:, 1] / 2.0))

    constraints, objectives = [(height, 0.0, 2.0)], [(reach, 0.5, 1.5)]
    numbers = range(1, grid.size + 1)
    zeta_1, zeta_2 = (
        np.array([low <= f(grid.points(i)[None])[0] <= high for i in numbers], dtype=int)
        for [(f, low, high)] in (constraints, objectives)
    )
    both = zeta_1 * zeta_2
    whole = admissible(grid, constraints, objectives)
    every = 1, grid.size + 1
    D = np.sort(np.array(numbers) * both)
    sigma = int(both.sum())
    listed = [int(D[s + grid.size - sigma - 1]) for s in range(1, sigma + 1)]
    kept = compress(grid, whole)
    heights = height(grid.range_points(1, grid.size + 1))
    least = heights[both == 1].min()
    lowest = [i for i in numbers if both[i - 1] and heights[i - 1] == least]
    return [
        DOCUMENT.compared("П1, (3): ζ of constraints", zeta_1, admissible(grid, constraints)(*every)),
        DOCUMENT.compared("П2, (4): ζ of objectives", zeta_2, admissible(grid, (), objectives)(*every)),
        DOCUMENT.compared("П3, (5): ζ of both", both, whole(*every)),
        DOCUMENT.compared("П4: i_s = D_{s+I−Σ}, D = sort(i ζ)", listed, kept.numbers),
        DOCUMENT.compared("П4: K_c = I/Σ", grid.size / sigma, kept.coefficient),
        DOCUMENT.compared(
            "П6, (7): global minimum among admissible numbers",
            lowest,
            global_extremum(grid, height, mask=whole).numbers,
        ),
    ]


def _objectives() -> Row:
    """Least values of the three objectives for a point in reach and one out of reach of an arm of two links."""
    grid = Grid.by_count([-0.3, -0.3], [0.3, 0.3], 120, ends=True)
    q = grid.range_points(1, grid.size + 1)
    first, second = q[:, 0], q.sum(axis=1)
    P = np.stack([np.cos(first) + np.cos(second), np.sin(first) + np.sin(second)], axis=1)
    best = {kind: q[np.argmin(phi(P - [2.4, 0.4]))] for kind, phi in OBJECTIVES.items()}
    apart = float(np.abs(best["absolute"] - best["norm"]).max())
    reached = [q[np.argmin(phi(P - P[4000]))] for phi in OBJECTIVES.values()]
    within = float(np.ptp(reached, axis=0).max())
    return DOCUMENT.assumed(
        "(11), (12), (13): equivalent objectives, at a point in reach and at one out of reach",
        "one configuration",
        f"in reach {within:.0e} rad apart; out of reach (13) and (11) at one, (12) {apart:.3f} rad away",
        within == 0.0 and np.array_equal(best["norm"], best["squares"]) and apart > 0.01,
        "(13) is damaged in our copy and taken as a sum of squares; that the goal is reached is not said, and only "
        "there is (12) equivalent",
    )


def _operators() -> list[Row]:
    grid = Grid.by_count([-1.0, -1.0], [1.0, 1.0], 20, ends=True)

    def paraboloid(points: np.ndarray) -> np.ndarray:
        return np.sum(points**2, axis=1)

    flat, real = len(flat_extrema(grid, paraboloid)), len(extrema(grid, paraboloid))
    return [
        DOCUMENT.wrong(
            "minima that operator П5 finds on a 21 × 21 paraboloid",
            "all extrema",
            f"{flat} as printed, {real} among neighbours in the grid",
            (flat, real) == (21, 1),
            "neighbours in the row of numbers are not neighbours in the space of parameters",
        ),
    ]


def _several_equations() -> Row:
    """П7 on the position of a planar arm with two links: does the table keep the cell of the solution?"""

    def position(q: np.ndarray) -> np.ndarray:
        first, second = q[:, 0], q.sum(axis=1)
        return np.stack([np.cos(first) + np.cos(second), np.sin(first) + np.sin(second)], axis=1)

    grid = Grid.by_count([-np.pi, 0.2], [np.pi, 2.9], 40, ends=True)
    table, rng, trials = CellTable.of(grid, position), np.random.default_rng(0), 30
    kept = {"printed": 0, "cells": 0}
    for q in rng.uniform([-3.0, 0.3], [3.0, 2.8], (trials, 2)):
        target = position(q[None])[0]
        corners = printed_intervals(grid, position, target)
        kept["printed"] += _encloses(corners.min(axis=1), corners.max(axis=1), q)
        kept["cells"] += _encloses(*table.cells(target), q)
    return DOCUMENT.wrong(
        "targets of a two-link arm whose solution is in an interval of П7, two equations",
        "all",
        f"{kept['printed']} of {trials} as printed, {kept['cells']} of {trials} by cells of the grid",
        kept["printed"] < 0.2 * trials and kept["cells"] == trials,
        "extrema in the row of numbers are at the ends of its rows, and tables of two functions share no pair",
    )


def _encloses(lower: np.ndarray, upper: np.ndarray, q: np.ndarray) -> bool:
    return bool(np.any(np.all((lower <= q) & (q <= upper), axis=1)))


def _dichotomies() -> list[Row]:
    rng, trials = np.random.default_rng(0), 60
    reached = {printed_dichotomy: 0, dichotomy: 0}
    for _ in range(trials):
        q = rng.uniform(0.0, 2 * np.pi, 6)
        low = q - rng.uniform(0.05, 0.23, 6)
        box = low, low + UPPER[0] - LOWER[0]
        for procedure in reached:
            end = procedure(u, u(q[None])[0], *box, ADMITTED, iterations=40, groups=POSITION_AND_DIRECTION)
            reached[procedure] += end.converged
    return [
        DOCUMENT.wrong(
            "random targets that the printed dichotomy (П8) reaches from 16° intervals, to 0.001 %",
            "converges",
            f"{reached[printed_dichotomy]} of {trials}, {reached[dichotomy]} of {trials} corrected",
            reached[printed_dichotomy] <= 0.2 * trials and reached[dichotomy] > 0.8 * trials,
            "the minimum of the norm is not separable: half of every side is kept on the value at one node; "
            "corrected: the box follows the best point and is halved only where no node is better",
        ),
    ]


def _teaching() -> Row:
    """Trick 1: a scan of the printed box alone, and the solutions within limits about a taught configuration."""
    robot, T = arm(), arm().forward_kinematics(START)
    every, near = robot.ik(T, limits=False), robot.ik(T, limits=around(robot, START + 0.02, 0.14))
    taught = float(np.prod((UPPER - LOWER) / 0.001))
    off = float(np.abs(near.q[0] - START).max()) if int(near.count) else np.inf
    return DOCUMENT.self_checked(
        "trick 1: limits about a taught configuration",
        "the solution within narrow limits",
        f"{int(near.count)} of {int(every.count)} solutions, {off:.0e} rad from it; {taught:.1e} numbers to scan",
        int(near.count) == 1 and off < 1e-9,
    )


def _compression() -> Row:
    """Trick 3: nine constraints on the entries of the rotation, each on what the ones before have left."""
    robot = arm()
    grid = Grid.by_count(START - 0.6, START + 0.6, 6, ends=True)
    constraints = rotation_constraints(robot, robot.forward_kinematics(START), 0.4)
    kept = compress(grid, admissible(grid, constraints[:1]))
    sizes = [grid.size, kept.size]
    for constraint in constraints[1:]:
        kept = kept.compress([constraint])
        sizes.append(kept.size)
    holds = int(grid.number_of(START)) in kept.numbers.tolist()
    return DOCUMENT.statement(
        "trick 3: constraints |T_0 − T(q)| one after the other compress the numbers",
        "I_1 < I, and so on",
        f"{sizes[0]} → {sizes[1]} → {sizes[-1]}, with the node of the solution",
        sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[1] < sizes[0] and holds,
    )


def _reduction() -> Row:
    robot, counts = arm(), 12
    T = robot.forward_kinematics(START)
    solutions = reduced_scan(robot, T, limits=False, counts=counts)
    every = robot.ik(T, method="scan").q
    turn = solutions[:, None] - every
    far = float(np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi))).max(axis=2).min(axis=0).max())
    return DOCUMENT.statement(
        "trick 2, (14), (15): scan of three joints, the other three solved for the position",
        "finds the solutions",
        f"{len(solutions)} of {len(every)} of the example from {counts}³ numbers, to {far:.0e} rad",
        len(solutions) == len(every) and far < 1e-6,
    )


def _workers() -> Row:
    grid = Grid.by_count(LOWER, UPPER, 3)
    distance = objective(arm(), arm().forward_kinematics(START))
    whole = global_extremum(grid, distance)
    workers = (2, 3, 5, 8)
    parts = []
    for K in workers:
        with ThreadPoolExecutor(K) as pool:
            parts.append(global_extremum(grid, distance, executor=pool, piece=grid.size // K))
    same = all(np.array_equal(part.numbers, whole.numbers) for part in parts)
    return DOCUMENT.self_checked(
        f"trick 4: range of {grid.size} numbers split over K = {', '.join(map(str, workers))} workers",
        "least of K minima is the global one",
        f"number {int(whole.numbers[0])} for every K" if same else "another number",
        same,
    )


def _path() -> Row:
    """q̇ = (∂u/∂q)⁻¹ V from the example's configuration: 0.1 m along a line while the tool turns by 0.3 rad."""
    robot = arm()
    twist = np.array([0.06, -0.08, 0.0, 0.1, 0.2, -0.2])  # linear, angular, in base axes

    def rates(_: float, q: np.ndarray) -> np.ndarray:
        return np.linalg.solve(robot.jacobian(q), twist)

    end = solve_ivp(rates, (0.0, 1.0), START, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    first, last = robot.forward_kinematics(START), robot.forward_kinematics(end)
    position = abs(last[:3, 3] - first[:3, 3] - twist[:3]).max()
    angle = np.linalg.norm(log(last[:3, :3].T @ exp(twist[3:]) @ first[:3, :3]))
    miss = max(float(position), float(angle))
    condition = np.linalg.cond(pose_slopes(START))
    return DOCUMENT.wrong(
        "path by integrating q̇ = (∂u/∂q)⁻¹ V, u = [P | S]",
        "det ∂u/∂q ≠ 0",
        f"condition {condition:.0e} as printed; with the whole twist the end is met to {miss:.0e} m, rad",
        condition > 1e8 and miss < 1e-8,
        "∂u/∂q has rank 5 everywhere, since u does not see a turn about s; the twist has six components",
    )


def draw_example() -> Figure:
    """Graph of f(i) over the 729 nodes of the printed box, and ζ(i) of those that miss by less than 100 mm."""
    grid = Grid.by_count(LOWER, UPPER, 2, ends=True)

    def distance(q: np.ndarray) -> np.ndarray:
        return np.linalg.norm(u(q) - GOAL, axis=1)

    return plot_numbers(grid, distance, admissible(grid, objectives=[(distance, 0.0, 100.0)]))

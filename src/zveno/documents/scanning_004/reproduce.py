"""Document 004: the numbers of scanning in functions of numbers and of its inverse kinematics example."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..reproduce import Row, compared

P0 = np.array([916.2691, 112.6498, 1385.9482])
S0 = np.array([915.8874, 111.8144, 1316.3436])
"""As printed, mm."""
S0_Z = 1386.3436
"""The third component that makes |S_0 − P_0| = 1, as the characteristic vector has unit length."""
Q = np.array([4.7663, 3.3411, 1.5177, 2.3376, 5.4647, 1.4027])
Q5 = 5.4657
DELTA_P, DELTA_S = np.array([0.019, 0.0013, 0.0052]), np.array([0.005, 0.006, 0.0105])
LOWER = np.array([4.5650, 3.1569, 1.3988, 2.2015, 5.2453, 1.3263])
UPPER = np.array([4.8443, 3.4363, 1.6782, 2.4808, 5.5246, 1.6056])
ADMITTED = 1e-3
"""δ_adm, percent."""


def rows() -> list[Row]:
    """What document 004 states, beside what comes out."""
    return [*_coding(), *_operators(), *_example()]


def _coding() -> list[Row]:
    from ...ik.numbers import coding_cost, decode

    nodes = np.unique(decode(np.arange(1, 730), (3,) * 6), axis=0)
    K, seen = np.arange(729), []
    for _ in range(6):
        seen.append(K % 2)
        K = K // 2
    literal = len(np.unique(np.stack(seen, axis=1), axis=0))
    additions = sum(2 for _ in range(5))  # one product less one, and one sum, for every parameter after the first
    products = sum(range(1, 6))  # Θ_1 … Θ_{j−1} (θ_j − 1), each multiplied out
    cost = coding_cost(6)
    return [
        compared(
            "004", "numbers of a full scan at 0.001 rad, six joints", 6.153e22, (2 * np.pi / 0.001) ** 6, 1e-4
        ),
        Row(
            "004",
            "nodes that the decoder of the example visits, of I = 729",
            "729",
            f"{literal} with Θ, {len(nodes)} with Θ + 1",
            "document wrong" if (literal, len(nodes)) == (64, 729) else "differs",
            "with I = (Θ + 1)^J nodes the decoder must divide by Θ + 1",
        ),
        compared(
            "004",
            "additions and multiplications of one encoding, J = 6",
            (cost["encode_additions"], cost["encode_multiplications"]),
            (additions, products),
            0.0,
        ),
    ]


def _operators() -> list[Row]:
    from ...ik.numbers import Grid, extrema, flat_extrema

    grid = Grid.by_count([-1.0, -1.0], [1.0, 1.0], 20, ends=True)

    def paraboloid(points):
        return np.sum(points**2, axis=1)

    flat, real = len(flat_extrema(grid, paraboloid)), len(extrema(grid, paraboloid))
    good, tried = _printed_dichotomy(60)
    return [
        Row(
            "004",
            "minima that operator П5 finds on a 21 × 21 paraboloid",
            "all extrema",
            f"{flat} as printed, {real} among neighbours in the grid",
            "document wrong" if (flat, real) == (21, 1) else "differs",
            "neighbours in the row of numbers are not neighbours in the space of parameters",
        ),
        Row(
            "004",
            "random targets that the printed dichotomy (П8) reaches from 16° intervals, to 0.001 %",
            "converges",
            f"{good} of {tried}",
            "document wrong" if good <= 0.2 * tried else "differs",
            "the minimum of the norm is not separable: half of every side is kept on the value at one node",
        ),
    ]


@cache
def _arm():
    from ...ik.ik_problem import problem_of
    from ...io.load import load_mechanism
    from .pose_vectors import pose_system

    problem = problem_of(load_mechanism("doc004_arm"), limits=False)
    return problem, pose_system(problem, unit=1e-3)


def _printed_dichotomy(count: int) -> tuple[int, int]:
    from ...ik.numbers import dichotomy

    _, u = _arm()
    rng, good = np.random.default_rng(0), 0
    groups = (slice(0, 3), slice(3, 6))
    for _ in range(count):
        q = rng.uniform(0.0, 2 * np.pi, 6)
        low = q - rng.uniform(0.05, 0.23, 6)
        found = dichotomy(u, u(q[None])[0], low, low + UPPER[0] - LOWER[0], ADMITTED, "printed", 40, groups=groups)
        good += found.converged
    return good, count


def _example() -> list[Row]:
    from .pose_vectors import percentages

    _, u = _arm()
    goal = np.concatenate([P0, [S0[0], S0[1], S0_Z]])
    at_printed, at_right = u(Q[None])[0], u(np.where(np.arange(6) == 4, Q5, Q)[None])[0]
    off, left = (max(percentages(found, goal)) for found in (at_printed, at_right))
    own = 100.0 * np.linalg.norm(DELTA_P) / np.linalg.norm(P0)
    h = 1e-6
    J = np.stack([(u((Q + h * e)[None])[0] - u((Q - h * e)[None])[0]) / (2 * h) for e in np.eye(6)], axis=1)
    singular = np.linalg.svd(J, compute_uv=False)
    rank = int(np.sum(singular > 1e-6 * singular[0]))
    length = np.linalg.norm(S0 - P0)
    right = np.linalg.norm(goal[3:] - goal[:3])
    return [
        Row(
            "004",
            "|S_0 − P_0| of the example, mm",
            "1",
            f"{length:.2f} with S_0z = {S0[2]}, {right:.4f} with {S0_Z}",
            "document wrong" if length > 60 and abs(right - 1) < 1e-3 else "differs",
            "a digit of S_0z is wrong; s has unit length",
        ),
        Row(
            "004",
            "error of the printed solution, percent of |P_0|",
            "≤ 0.001",
            f"{off:.2g} with q_5 = {Q[4]}, {left:.2g} with {Q5}",
            "document wrong" if off > 0.03 and left < 0.005 else "differs",
            "q_5 lost a digit (inferred); what is left is the rounding of q to four decimals",
        ),
        Row(
            "004",
            "the document's own ΔP against its tolerance of 0.001 %",
            "≤ 0.001",
            f"{own:.5f}",
            "document wrong" if own > ADMITTED else "differs",
            "its answer misses its own tolerance",
        ),
        Row(
            "004",
            "rank of the pose vector u = [P | S] in six joints",
            "6 (a solution is a point)",
            str(rank),
            "document wrong" if rank == 5 else "differs",
            "turning about s leaves u as it is: a curve of false solutions; the whole rotation is needed",
        ),
        _all_solutions(),
    ]


def _all_solutions() -> Row:
    from ...ik import solve_ik

    problem, _ = _arm()
    q = np.where(np.arange(6) == 4, Q5, Q)
    T = problem.forward(q)
    found = solve_ik(problem.mechanism, T, method="scan")
    d = found.q - q
    near = float(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1).min())
    return Row(
        "004",
        "the printed configuration among the solutions of its pose",
        "one solution",
        f"{int(found.count)} solutions, {near:.0e} rad from one of them",
        "equal" if near < 1e-9 else "differs",
    )

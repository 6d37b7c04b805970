"""Document 004: the numbers of its inverse kinematics example."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...ik.ik_problem import IkProblem, problem_of
from ...ik.numbers.unimodal import System
from ...io.load import load_mechanism
from ..reproduce import Document, Row
from .as_printed import printed_dichotomy
from .pose_vectors import percentages, pose_system

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
POSITION_AND_DIRECTION = (slice(0, 3), slice(3, 6))
"""Parts of u that have a tolerance each."""


def rows() -> list[Row]:
    """The example of document 004, beside what comes out."""
    return [_full_scan(), *_statements(), _iterations(), _all_solutions()]


def _full_scan() -> Row:
    what, count = "numbers of a full scan at 0.001 rad, six joints", (2 * np.pi / 0.001) ** 6
    return DOCUMENT.compared(what, 6.153e22, count, 1e-4)


@cache
def arm() -> tuple[IkProblem, System]:
    """The document's arm, and its pose vector in mm."""
    problem = problem_of(load_mechanism("doc004_arm"), limits=False)
    return problem, pose_system(problem, unit=1e-3)


def pose_slopes(q: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """∂u/∂q (6, 6) of the arm's pose vector by central differences."""
    _, u = arm()
    return np.stack([(u((q + h * e)[None])[0] - u((q - h * e)[None])[0]) / (2 * h) for e in np.eye(6)], axis=1)


def _statements() -> list[Row]:
    _, u = arm()
    goal = GOAL
    at_printed, at_right = u(Q[None])[0], u(np.where(np.arange(6) == 4, Q5, Q)[None])[0]
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
        DOCUMENT.wrong(
            "error of the printed solution, percent of |P_0|",
            "≤ 0.001",
            f"{off:.2g} with q_5 = {Q[4]}, {left:.2g} with {Q5}",
            bool(off > 0.03 and left < 0.005),
            "q_5 lost a digit (inferred); what is left is the rounding of q to four decimals",
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


def _iterations() -> Row:
    """П8 as printed on the printed box, and on boxes that round to it."""
    _, u = arm()
    rng = np.random.default_rng(0)
    off = [np.zeros((2, 6)), *rng.uniform(-5e-5, 5e-5, (BOXES, 2, 6))]
    runs = [
        printed_dichotomy(u, GOAL, LOWER + low, UPPER + high, ADMITTED, 40, groups=POSITION_AND_DIRECTION)
        for low, high in off
    ]
    needed = [run.iterations for run in runs[1:] if run.converged]
    first = f"{runs[0].iterations}" if runs[0].converged else "not in 40"
    within = bool(needed) and min(needed) <= ITERATIONS <= max(needed)
    return DOCUMENT.equal(
        "iterations of the printed dichotomy (П8) on the document's box",
        str(ITERATIONS),
        f"{first}; {min(needed, default=0)} … {max(needed, default=0)} on boxes that round to the printed one",
        within,
        f"{len(needed)} of {BOXES} such boxes converge, and not all to the printed configuration: γ = 1e-15 is one "
        "unit of the last place of q, so rounding decides which half is kept",
    )


def _all_solutions() -> Row:
    from ...ik import solve_ik

    problem, _ = arm()
    q = np.where(np.arange(6) == 4, Q5, Q)
    T = problem.forward(q)
    solutions = solve_ik(problem.mechanism, T, method="scan")
    d = solutions.q - q
    near = float(np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1).min())
    return DOCUMENT.equal(
        "the printed configuration among the solutions of its pose",
        "one solution",
        f"{int(solutions.count)} solutions, {near:.0e} rad from one of them",
        near < 1e-9,
    )

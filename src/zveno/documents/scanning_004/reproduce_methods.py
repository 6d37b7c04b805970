"""Document 004: coding, operators and tricks of scanning in functions of numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.integrate import solve_ivp

from ...ik import solve_ik
from ...ik.numbers import CellTable, Grid, decode, dichotomy, extrema, flat_extrema, global_extremum
from ...robot import Robot
from ...spatial.rotations import exp, log
from ..reproduce import Row
from .as_printed import (
    counted_decoding,
    counted_encoding,
    printed_decoding_cost,
    printed_dichotomy,
    printed_encoding_cost,
    printed_intervals,
)
from .dimension_reduction import solver as reduction
from .pose_vectors import objective
from .reproduce import ADMITTED, DOCUMENT, LOWER, POSITION_AND_DIRECTION, Q5, UPPER, Q, arm, pose_slopes

START = np.where(np.arange(6) == 4, Q5, Q)
"""The printed configuration, its fifth angle corrected."""


def rows() -> list[Row]:
    """What document 004 states about its methods, beside what comes out."""
    return [*_coding(), *_operators(), _several_equations(), *_dichotomies(), _reduction(), _workers(), _path()]


def _coding() -> list[Row]:
    J, radices, numbers = 6, (3,) * 6, range(1, 730)
    nodes = np.unique(decode(np.array(numbers), radices), axis=0)
    K, seen = np.arange(729), []
    for _ in range(J):
        seen.append(K % 2)
        K = K // 2
    literal = len(np.unique(np.stack(seen, axis=1), axis=0))
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
        DOCUMENT.equal(
            "additions and multiplications of one encoding (1), J = 6",
            _pair(printed),
            f"{_pair(each)} counted",
            right and each == printed,
        ),
        DOCUMENT.equal(
            "multiplications of decoding (2) I = 729 numbers, J = 6",
            str(all_numbers.multiplications),
            f"{decoding.multiplications} counted",
            right and decoding.multiplications == all_numbers.multiplications,
        ),
        DOCUMENT.wrong(
            "additions of decoding (2) I = 729 numbers, J = 6",
            str(all_numbers.additions),
            f"{decoding.additions} counted",
            right and decoding.additions == 3 * J * len(numbers),
            "(2) takes three for every parameter and number, 3JI, if K − 1 and its quotient are formed once",
        ),
    ]


def _pair(cost: tuple[int, int]) -> str:
    return f"{cost[0]}, {cost[1]}"


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
    _, u = arm()
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


def _reduction() -> Row:
    problem, _ = arm()
    T = problem.forward(START)
    raw = reduction.solve(problem, T[None])
    solutions = raw.x[0, : raw.count[0]]
    every = solve_ik(problem.mechanism, T, method="scan").q
    turn = solutions[:, None] - every
    far = float(np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi))).max(axis=2).min(axis=0).max())
    return DOCUMENT.equal(
        "trick 2, (14), (15): scan of three joints, the other three solved for the position",
        "finds the solutions",
        f"{len(solutions)} of {len(every)} of the example from {reduction.counts}³ numbers, to {far:.0e} rad",
        len(solutions) == len(every) and far < 1e-6,
    )


def _workers() -> Row:
    problem, _ = arm()
    grid = Grid.by_count(LOWER, UPPER, 3)
    distance = objective(problem, problem.forward(START))
    whole = global_extremum(grid, distance)
    workers = (2, 3, 5, 8)
    parts = []
    for K in workers:
        with ThreadPoolExecutor(K) as pool:
            parts.append(global_extremum(grid, distance, on=pool, piece=grid.size // K))
    same = all(np.array_equal(part.numbers, whole.numbers) for part in parts)
    return DOCUMENT.equal(
        f"trick 4: range of {grid.size} numbers split over K = {', '.join(map(str, workers))} workers",
        "least of K minima is the global one",
        f"number {int(whole.numbers[0])} for every K" if same else "another number",
        same,
    )


def _path() -> Row:
    """q̇ = (∂u/∂q)⁻¹ V from the example's configuration: 0.1 m along a line while the tool turns by 0.3 rad."""
    robot = Robot(arm()[0].mechanism)
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

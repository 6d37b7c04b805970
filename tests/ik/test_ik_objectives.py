"""Objectives (11) to (13) of document 004 in `solve_ik`, and tolerances absolute and in percent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import zveno
from zveno.errors import ShapeError, UnknownNameError
from zveno.ik import problem_of, scan, solve_ik
from zveno.ik.newton import lanes_of
from zveno.ik.objectives import percentages
from zveno.ik.scan_table import table_of
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

PUMA = zveno.load("puma560")
PLANAR = zveno.load("planar2")
PHI = {
    "squares": lambda d: np.sum(d * d, axis=-1),
    "norm": lambda d: np.linalg.norm(d, axis=-1),
    "absolute": lambda d: np.sum(np.abs(d), axis=-1),
}


@pytest.mark.parametrize("objective", PHI)
def test_the_nearest_makes_the_objective_least(objective):
    """Against a search that knows nothing of derivatives, from many starts."""
    problem = problem_of(PLANAR, task="position")
    point = np.array([1.7, 1.3, 0.4])
    assert np.linalg.norm(PLANAR.forward_kinematics(np.zeros(2))[:3, 3]) < np.linalg.norm(point[:2])

    def phi(q):
        return PHI[objective]((PLANAR.forward_kinematics(q)[..., :3, 3] - point) / problem.length)

    found = solve_ik(PLANAR, point, task="position", objective=objective, limits=False)
    rng = np.random.default_rng(0)
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    best = min(
        minimize(phi, rng.uniform(-np.pi, np.pi, 2), method="Nelder-Mead", options=options).fun for _ in range(12)
    )
    assert found.status == "unreachable"
    assert found.objective == objective
    assert phi(found.nearest) == pytest.approx(best, abs=1e-6)
    assert found.value == pytest.approx(phi(found.nearest), abs=1e-9)


def test_sums_of_squares_and_of_absolute_values_have_different_ends():
    T = PUMA.forward_kinematics(PUMA.random(4, 0))
    T[:, :3, 3] *= 2.0 / np.linalg.norm(T[:, :3, 3], axis=1, keepdims=True)
    ends = {objective: solve_ik(PUMA, T, objective=objective, method="scan") for objective in PHI}
    assert np.allclose(ends["norm"].distance, ends["squares"].distance, atol=1e-5)
    assert np.allclose(ends["norm"].value ** 2, ends["squares"].value, rtol=1e-9)
    # Absolute values make some of the differences zero altogether, here those of the rotation.
    assert ends["absolute"].distance[:, 1].max() < 1e-6
    assert ends["squares"].distance[:, 1].min() > 1e-3
    assert np.all(ends["absolute"].distance[:, 0] > ends["squares"].distance[:, 0])


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_solutions_are_the_same_whatever_ranks_the_numbers(name):
    robot = zveno.load(name)
    T = robot.forward_kinematics(robot.random(12, 2))
    whole = solve_ik(robot, T, method="scan")
    other = solve_ik(robot, T, method="scan", objective="absolute")
    assert np.array_equal(whole.count, other.count)
    assert np.allclose(whole.q, other.q, atol=1e-6, equal_nan=True)


def test_numbers_are_compared_by_the_objective():
    problem = problem_of(PUMA)
    T = PUMA.forward_kinematics(PUMA.random(2, 5))
    table, lanes = table_of(problem), lanes_of(problem, T)
    D = table.distances(lanes, "absolute")
    for k in range(2):
        pose = np.full(table.size, k)
        F = PUMA.forward_kinematics(table.seeds(lanes, pose, np.arange(table.size)))
        E = F[:, :3, :3] @ T[k, :3, :3].T
        trace = np.trace(E, axis1=1, axis2=2)
        near = trace > 1.0  # beyond, half a turn and so the sine alone would mislead, and a penalty is added
        sines = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
        turned = sines / np.sqrt(np.maximum(1 + trace, 1e-6))[:, None]
        away = (F[:, :3, 3] - T[k, :3, 3]) / problem.length
        expected = np.abs(away).sum(axis=1) + np.abs(turned).sum(axis=1)
        assert np.allclose(D[k][near], expected[near], atol=1e-9)
        assert np.all(D[k][~near] > expected[~near] + 0.5)
    squares = table.distances(lanes)
    assert not np.array_equal(np.argsort(D[0]), np.argsort(squares[0]))


def test_percentages_are_the_documents():
    problem = problem_of(PUMA)
    T = transform(exp(np.array([0.3, -0.2, 0.5])), [0.4, -0.3, 1.2])
    moved = T.copy()
    moved[:3, 3] *= 1.01
    dP, *dS = percentages(problem, moved, T)
    assert dP == pytest.approx(1.0)
    for k in range(3):
        assert dS[k] == pytest.approx(100 * 0.01 * 1.3 / np.linalg.norm(T[:3, 3] + T[:3, k]))
    turned = T.copy()
    turned[:3, :3] = T[:3, :3] @ exp(np.array([0.0, 0.0, 0.01]))
    dP, *dS = percentages(problem, turned, T)
    assert dP == 0.0
    assert dS[2] == pytest.approx(0.0, abs=1e-12)
    assert dS[0] == pytest.approx(100 * 2 * np.sin(0.005) / np.linalg.norm(T[:3, 3] + T[:3, 0]))
    assert percentages(problem_of(PUMA, task="position"), turned, T).shape == (1,)


def test_tolerances_in_metres_and_radians_and_in_percent():
    reach = np.linalg.norm(PLANAR.forward_kinematics(np.zeros(2))[:3, 3])
    point = [1.02 * reach, 0.0, 0.0]  # misses by 2 parts of 102
    exact = 100 * 0.02 / 1.02
    for options, status in [
        ({}, "unreachable"),
        ({"percent": 1.001 * exact}, "within tolerance"),
        ({"percent": 0.999 * exact}, "unreachable"),
        ({"tolerance": (0.021 * reach, 0.0)}, "within tolerance"),
        ({"tolerance": (0.019 * reach, 0.0)}, "unreachable"),
        ({"tolerance": (0.021 * reach, 0.0), "percent": 0.9 * exact}, "unreachable"),
        ({"tolerance": (0.021 * reach, 0.0), "percent": 1.1 * exact}, "within tolerance"),
    ]:
        found = solve_ik(PLANAR, point, task="position", **options)
        assert found.status == status, options
        assert found.count == (status == "within tolerance")
    T = PUMA.forward_kinematics([0.1, -0.5, 0.4, 0.2, 0.6, 0.3])
    inside = solve_ik(PUMA, T, percent=5.0)
    assert inside.status == "complete"
    assert np.nanmax(inside.residual) < 1e-9


def test_a_turn_alone_counts_in_percent():
    """A wrist that cannot turn far enough: the origin is reached, the axes are not."""
    T = PUMA.forward_kinematics([0.1, -0.5, 0.4, 0.2, 0.6, 0.3])
    free = solve_ik(PUMA, T)
    at = free.q[np.abs(free.q - [0.1, -0.5, 0.4, 0.2, 0.6, 0.3]).max(axis=1).argmin()]
    narrow = {name: (value - 1e-9, value + 1e-9) for name, value in zip(PUMA.joint_names, at, strict=True)}
    narrow["joint6"] = (0.32, 0.4)
    limited = solve_ik(PUMA, T, limits=narrow)
    assert limited.status == "excluded by limits"
    points = T[:3, 3] + T[:3, :3].T
    needed = max(100 * 2 * np.sin(0.01) / np.linalg.norm(points[k]) for k in (0, 1))
    assert solve_ik(PUMA, T, limits=narrow, percent=1.01 * needed).status == "within tolerance"
    assert solve_ik(PUMA, T, limits=narrow, percent=0.99 * needed).status == "excluded by limits"


def test_bad_aims():
    T = PUMA.forward_kinematics(np.zeros(6))
    with pytest.raises(UnknownNameError, match="squares, norm, absolute"):
        solve_ik(PUMA, T, objective="cubes")
    with pytest.raises(ShapeError, match="tolerance"):
        solve_ik(PUMA, T, tolerance=(0.1,))  # pyright: ignore[reportArgumentType]  (on purpose)
    with pytest.raises(ShapeError, match="tolerance"):
        solve_ik(PUMA, T, tolerance=(0.1, -0.1))
    with pytest.raises(ShapeError, match="percent"):
        solve_ik(PUMA, T, percent=float("nan"))
    assert scan.solver.objective == "squares"

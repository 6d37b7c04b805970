"""Document 004's own procedures and tricks."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.documents.scanning_004 import dimension_reduction
from zveno.documents.scanning_004.as_printed import (
    counted_decoding,
    counted_encoding,
    printed_decoding_cost,
    printed_encoding_cost,
)
from zveno.documents.scanning_004.pose_vectors import (
    around,
    objective,
    percentages,
    pose_system,
    pose_vector,
    refined,
    rotation_constraints,
)
from zveno.documents.scanning_004.reproduce import ADMITTED, GOAL, LOWER, POSITION_AND_DIRECTION, UPPER
from zveno.errors import UnknownNameError
from zveno.ik import problem_of, solve_ik
from zveno.ik.numbers import Grid, admissible, compress, dichotomy, encode, global_extremum

ROBOT = zveno.load("doc004_arm")
PROBLEM = problem_of(ROBOT, limits=False)
Q = np.array([4.7663, 3.3411, 1.5177, 2.3376, 5.4657, 1.4027])
T = ROBOT.forward_kinematics(Q)


def wrapped(d):
    return d - 2 * np.pi * np.round(d / (2 * np.pi))


def test_pose_vectors_are_those_of_the_robot():
    x = np.random.default_rng(0).uniform(-3, 3, (7, 6))
    u = pose_system(PROBLEM, unit=1e-3)(x)
    assert np.allclose(u, pose_vector(ROBOT.forward_kinematics(x), unit=1e-3), atol=1e-9)
    assert np.allclose(np.linalg.norm(u[:, 3:] - u[:, :3], axis=1), 1.0)


@pytest.mark.parametrize("kind", ["norm", "absolute", "squares"])
def test_objectives_vanish_at_the_solution_and_nowhere_near(kind):
    f = objective(PROBLEM, T, kind)
    assert f(Q[None])[0] < 1e-12
    away = f(Q + 0.01 * np.eye(6))
    assert np.all(away > 1e-5)
    d = pose_vector(ROBOT.forward_kinematics(Q + 0.01 * np.eye(6))) - pose_vector(T)
    expected = {"norm": np.linalg.norm(d, axis=1), "absolute": abs(d).sum(1), "squares": (d**2).sum(1)}
    assert np.allclose(away, expected[kind])


def test_an_unknown_objective():
    with pytest.raises(UnknownNameError, match="squares"):
        objective(PROBLEM, T, "cubes")


def test_percentages():
    u = pose_vector(T)
    dP, dS = percentages(u * 1.01, u)
    assert dP == pytest.approx(1.0)
    assert dS == pytest.approx(1.0)


def test_the_trivial_procedure_with_expert_limits():
    """A scan of the taught box alone brings the document's configuration to within its step."""
    grid = Grid.by_count(Q - 0.14, Q + 0.14, 6, ends=True)
    best = global_extremum(grid, objective(PROBLEM, T), on="threads", piece=50_000)
    assert np.abs(grid.points(best.numbers[0]) - Q).max() < 0.15
    assert objective(PROBLEM, T)(grid.points(best.numbers[:1]))[0] < 0.03


def test_teach_coarsely_and_search_narrowly():
    found = solve_ik(ROBOT, T, limits=around(ROBOT, Q + 0.02, 0.1), method="scan")
    assert found.count == 1
    assert np.abs(found.q[0] - Q).max() < 1e-9


def test_dichotomy_solves_the_example_of_the_document():
    """The printed pose and box, to the printed tolerance; along the curved valley of its pose vector."""
    u = pose_system(PROBLEM, unit=1e-3)
    end = dichotomy(u, GOAL, LOWER, UPPER, ADMITTED, groups=POSITION_AND_DIRECTION)
    assert end.converged
    assert end.iterations <= 12
    assert np.all((end.alpha >= LOWER) & (end.alpha <= UPPER))
    assert max(percentages(u(end.alpha[None])[0], GOAL)) <= ADMITTED


def test_printed_costs_and_counted_ones():
    assert printed_encoding_cost(6) == (10, 15)
    assert printed_decoding_cost(6, 729) == (6 * (3 * 729 + 1) - 1, 2 * 6 * 729)
    rng = np.random.default_rng(0)
    for J in (1, 2, 4, 7):
        radices = rng.integers(1, 5, J)
        theta = [int(rng.integers(1, radix + 1)) for radix in radices]
        number, cost = counted_encoding(theta, radices.tolist())
        assert number == encode(theta, radices)
        assert cost == printed_encoding_cost(J)
        assert counted_decoding([number], radices.tolist()) == ([theta], (3 * J, 2 * J))


def test_dichotomy_seeds_the_refinement():
    rng = np.random.default_rng(1)
    good = 0
    for _ in range(10):
        q = rng.uniform(-np.pi, np.pi, 6)
        low = q - rng.uniform(0.05, 0.23, 6)
        _, x = refined(PROBLEM, ROBOT.forward_kinematics(q), low, low + 0.28)
        good += x is not None and bool(np.abs(wrapped(x - q)).max() < 1e-6)
    assert good >= 9


def test_constraints_from_the_rotation_compress_one_after_the_other():
    """Trick 3: nine constraints, each on what the ones before have left; the solution's cell always survives."""
    grid = Grid.by_count(Q - 0.6, Q + 0.6, 6, ends=True)
    constraints = rotation_constraints(PROBLEM, T, 0.4)
    kept = compress(grid, admissible(grid, constraints[:1]))
    sizes = [kept.size]
    for constraint in constraints[1:]:
        kept = kept.compress([constraint])
        sizes.append(kept.size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.2 * sizes[0]
    assert kept.coefficient > 5
    assert int(grid.number_of(Q)) in kept.numbers.tolist()
    together = compress(grid, admissible(grid, constraints))
    assert np.array_equal(together.numbers, kept.numbers)


def test_dimension_reduction_finds_the_solutions():
    whole = solve_ik(ROBOT, T, limits=False, method="scan")
    found = dimension_reduction.solver.solve(PROBLEM, T[None])
    q = found.x[0, : found.count[0]]
    assert len(q) == whole.count
    assert np.abs(wrapped(q[:, None] - whole.q[None])).max(axis=2).min(axis=1).max() < 1e-6

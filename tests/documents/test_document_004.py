"""Document 004's own procedures and tricks."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.scanning import ADMITTED, GOAL, LOWER, UPPER

import zveno
from zveno.documents.scanning import (
    POSITION_AND_DIRECTION,
    around,
    counted_decoding,
    counted_encoding,
    objective,
    percentages,
    plot_numbers,
    pose_system,
    pose_vector,
    printed_decoding_cost,
    printed_encoding_cost,
    reduced_scan,
    refined,
    rotation_constraints,
)
from zveno.errors import ModelError, ZvenoError
from zveno.ik.solve import solve_ik
from zveno.scanning import Grid, admissible, compress, dichotomy, encode, global_extremum

ROBOT = zveno.load("doc004_arm")
Q = np.array([4.7663, 3.3411, 1.5177, 2.3376, 5.4657, 1.4027])
T = ROBOT.forward_kinematics(Q)


def wrapped(d):
    return d - 2 * np.pi * np.round(d / (2 * np.pi))


def test_pose_vectors_are_those_of_the_robot():
    x = np.random.default_rng(0).uniform(-3, 3, (7, 6))
    u = pose_system(ROBOT, unit=1e-3)(x)
    assert np.allclose(u, pose_vector(ROBOT.forward_kinematics(x), unit=1e-3), atol=1e-9)
    assert np.allclose(np.linalg.norm(u[:, 3:] - u[:, :3], axis=1), 1.0)


def test_percentages():
    u = pose_vector(T)
    dP, dS = percentages(u * 1.01, u)
    assert dP == pytest.approx(1.0)
    assert dS == pytest.approx(1.0)


def test_the_trivial_procedure_with_expert_limits():
    """A scan of the taught box alone brings the document's configuration to within its step."""
    grid = Grid.by_count(Q - 0.14, Q + 0.14, 6, ends=True)
    best = global_extremum(grid, objective(ROBOT, T), piece=50_000)
    assert np.abs(grid.points(best.numbers[0]) - Q).max() < 0.15
    assert objective(ROBOT, T)(grid.points(best.numbers[:1]))[0] < 0.03


def test_teach_coarsely_and_search_narrowly():
    found = solve_ik(ROBOT, T, limits=around(ROBOT, Q + 0.02, 0.1), method="scan")
    assert found.count == 1
    assert np.abs(found.q[0] - Q).max() < 1e-9


def test_dichotomy_solves_the_example_of_the_document():
    """The printed pose and box, to the printed tolerance; along the curved valley of its pose vector."""
    u = pose_system(ROBOT, unit=1e-3)
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
        _, x = refined(ROBOT, ROBOT.forward_kinematics(q), low, low + 0.28)
        good += x is not None and bool(np.abs(wrapped(x - q)).max() < 1e-6)
    assert good >= 9


def test_constraints_from_the_rotation_compress_one_after_the_other():
    """Trick 3: nine constraints, each on what the ones before have left; the solution's cell always survives."""
    grid = Grid.by_count(Q - 0.6, Q + 0.6, 6, ends=True)
    constraints = rotation_constraints(ROBOT, T, 0.4)
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
    q = reduced_scan(ROBOT, T, limits=False)
    assert len(q) == whole.count
    assert np.abs(wrapped(q[:, None] - whole.q[None])).max(axis=2).min(axis=1).max() < 1e-6


def test_dimension_reduction_needs_six_joints():
    panda = zveno.load("panda")
    with pytest.raises(ModelError, match="six joints"):
        reduced_scan(panda, panda.forward_kinematics(panda.neutral()))


def test_graphs_of_numbers():
    grid = Grid.by_count([-1.0, -1.0], [1.0, 1.0], 20)

    def f(points):
        return np.sum(points**2, axis=1)

    figure = plot_numbers(grid, f, admissible(grid, [(f, 0.0, 0.5)]), start=11, stop=211)
    above, below = figure.axes
    np.testing.assert_allclose(above.lines[0].get_xydata(), np.c_[11:211, f(grid.points(np.arange(11, 211)))])
    assert below.lines[0].get_ydata().sum() == np.sum(f(grid.points(np.arange(11, 211))) <= 0.5)
    assert len(plot_numbers(grid, f).axes) == 1
    with pytest.raises(ZvenoError, match="cannot be drawn"):
        plot_numbers(Grid.by_count([0.0] * 6, [1.0] * 6, 20), lambda q: q[:, 0])

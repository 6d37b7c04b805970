"""Scanning in functions of numbers: coding, operators П1 to П8, answers that do not depend on the cut."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiers import examples
from zveno.errors import ShapeError, ZvenoError
from zveno.scanning import (
    CellTable,
    ExtremumTable,
    Grid,
    admissible,
    compile_function,
    compress,
    decode,
    dichotomy,
    encode,
    evaluate,
    extrema,
    flat_extrema,
    global_extremum,
    step_from_bandwidth,
)

radices = st.lists(st.integers(1, 50), min_size=1, max_size=8)


@given(radices, st.data())
def test_coding_round_trips(counts, data):
    total = math.prod(counts)
    numbers = data.draw(st.lists(st.integers(1, total), min_size=1, max_size=20))
    theta = decode(numbers, counts)
    assert theta.shape == (len(numbers), len(counts))
    assert np.all((theta >= 1) & (theta <= np.array(counts)))
    assert encode(theta, counts).tolist() == numbers


@given(st.lists(st.integers(2, 10**6), min_size=5, max_size=20), st.data())
def test_coding_round_trips_beyond_64_bits(counts, data):
    number = data.draw(st.integers(1, math.prod(counts)))
    theta = decode(number, counts)
    assert encode(theta, counts) == number
    by_hand = 1 + sum((int(t) - 1) * math.prod(counts[:j]) for j, t in enumerate(theta))
    assert by_hand == number


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_every_number_has_its_own_point(counts):
    total = math.prod(counts)
    theta = decode(np.arange(1, total + 1), counts)
    assert len(np.unique(theta, axis=0)) == total
    assert theta[0].tolist() == [1] * len(counts)
    if counts[0] > 1:
        assert theta[1].tolist() == [2] + [1] * (len(counts) - 1)  # the first parameter changes fastest


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=4), st.data())
def test_ranges_of_points_are_the_points_one_by_one(counts, data):
    grid = Grid.by_count(np.zeros(len(counts)), np.ones(len(counts)), counts)
    start = data.draw(st.integers(1, grid.size))
    stop = min(start + 50, grid.size + 1)
    assert np.array_equal(grid.range_points(start, stop), grid.points(np.arange(start, stop)))


def test_the_documents_decoder_needs_the_number_of_nodes():
    """With I = (Θ + 1)^J nodes the decoder must use Θ + 1; with Θ it visits 64 of 729."""
    assert len(np.unique(decode(np.arange(1, 730), (3,) * 6), axis=0)) == 729
    K, seen = np.arange(729), []
    for _ in range(6):
        seen.append(K % 2)
        K = K // 2
    assert len(np.unique(np.stack(seen, axis=1), axis=0)) == 64


def test_numbers_outside_are_refused():
    for bad in (0, 13, [1, 13]):
        with pytest.raises(ShapeError, match="from 1 to 12"):
            decode(bad, (3, 4))
    with pytest.raises(ShapeError, match="local number"):
        encode([4, 1], (3, 4))
    with pytest.raises(ShapeError, match="whole numbers"):
        decode(1, (3, 0))


def test_grids_by_step_and_by_count():
    assert Grid.by_step(0.0, 1.0, 0.3).counts == (3,)
    assert Grid.by_step(0.0, 1.0, 0.3, "ceil").counts == (4,)
    assert Grid.by_step(0.0, 0.3, 0.1).counts == (3,)  # 0.3/0.1 is a little less than 3 in floating point
    ends = Grid.by_count([0.0, -1.0], [1.0, 1.0], [2, 4], ends=True)
    assert ends.counts == (3, 5)
    assert ends.points(ends.size).tolist() == [1.0, 1.0]
    assert Grid.by_count(0.0, 1.0, 4, centred=True).range_points(1, 5)[:, 0].tolist() == [
        0.125,
        0.375,
        0.625,
        0.875,
    ]
    full = Grid.by_step(np.zeros(6), np.full(6, 2 * np.pi), 0.001)
    assert full.size == 6283**6
    assert (2 * np.pi / 0.001) ** 6 == pytest.approx(6.153e22, rel=1e-4)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 10**6))
def test_the_nearest_number_of_a_point_of_the_grid_is_its_own(counts, pick):
    grid = Grid.by_count(np.zeros(len(counts)), np.arange(1.0, len(counts) + 1), counts)
    number = 1 + pick % grid.size
    assert grid.number_of(grid.points(number)) == number


def test_the_sampling_theorems_step_tells_a_sine_from_zero():
    step = step_from_bandwidth(3.0, oversampling=1.01)
    t = Grid.by_step(0.0, 10.0, step).range_points(1, 60)[:, 0]
    assert step < 1 / 6
    assert np.ptp(np.sin(2 * np.pi * 3.0 * t + 0.5)) > 1.5


def bowl(points):
    return np.sum((points - 0.31) ** 2, axis=1)


def egg_box(points):
    return np.prod(np.cos(3.0 * points), axis=1) + points @ [0.1, 0.037, 0.0213]  # no two values are equal


GRID = Grid.by_count([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [20, 14, 9], ends=True)


def test_admissible_numbers_are_those_of_the_definition():
    alpha = GRID.range_points(1, GRID.size + 1)
    expected = (bowl(alpha) <= 0.5) & (alpha[:, 0] >= 0.1) & (alpha[:, 1] > 0)
    mask = admissible(
        GRID,
        constraints=[(lambda a: a[:, 0], 0.1, np.inf)],
        objectives=[(bowl, -np.inf, 0.5)],
        others=[lambda a: a[:, 1] > 0],
    )
    assert np.array_equal(mask(1, GRID.size + 1), expected)
    kept = compress(GRID, mask)
    assert np.array_equal(kept.numbers, 1 + np.flatnonzero(expected))
    assert kept.coefficient == pytest.approx(GRID.size / expected.sum())
    again = kept.compress([(egg_box, 0.0, 1.0)])
    assert np.array_equal(again.points(), alpha[expected & (egg_box(alpha) >= 0) & (egg_box(alpha) <= 1)])


@pytest.mark.parametrize("piece", [1 << 16, 997, 97])
def test_the_answer_does_not_depend_on_the_cut(piece):
    mask = admissible(GRID, constraints=[(bowl, 0.0, 1.1)])
    cut = {"piece": piece}
    assert np.array_equal(compress(GRID, mask).numbers, compress(GRID, mask, **cut).numbers)
    for kind in ("min", "max"):
        for operator in (extrema, flat_extrema, global_extremum):
            whole, pieces = operator(GRID, egg_box, kind, mask), operator(GRID, egg_box, kind, mask, **cut)
            assert np.array_equal(whole.numbers, pieces.numbers)
            assert np.array_equal(whole.values, pieces.values)


def test_compiled_functions_travel_to_processes():
    function = compile_function(lambda a: (a[0] - 0.3) ** 2 + (a[1] + 0.2) ** 2 * (1 + a[2] * a[2]), 3)
    mask = admissible(GRID, constraints=[(function, 0.0, 0.9)])
    least = global_extremum(GRID, function, mask=mask)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        answer = global_extremum(GRID, function, mask=mask, executor=pool, piece=2000)
    assert np.array_equal(least.numbers, answer.numbers)
    assert np.array_equal(least.values, answer.values)
    table, cut = CellTable.of(GRID, rows), CellTable.of(GRID, rows, piece=500)
    assert np.array_equal(table.low, cut.low)
    assert np.array_equal(table.high, cut.high)


def rows(alpha):
    return np.stack([bowl(alpha), egg_box(alpha)], axis=1)


def test_a_paraboloid_has_one_minimum_on_the_grid_and_21_in_the_row_of_numbers():
    grid = Grid.by_count([-1.0, -1.0], [1.0, 1.0], 20, ends=True)

    def paraboloid(a):
        return np.sum(a**2, axis=1)

    assert len(flat_extrema(grid, paraboloid)) == 21
    found = extrema(grid, paraboloid)
    assert len(found) == 1
    assert np.allclose(grid.points(found.numbers), 0.0)
    assert len(extrema(grid, paraboloid, "max")) == 4


def test_extrema_are_those_of_brute_force():
    counts = GRID.counts
    F = evaluate(GRID, egg_box).reshape(counts[::-1]).transpose()
    expected = []
    for place in np.ndindex(*counts):
        window = tuple(slice(max(0, k - 1), k + 2) for k in place)
        if F[place] == F[window].min():
            expected.append(int(encode(np.array(place) + 1, counts)))
    assert sorted(expected) == extrema(GRID, egg_box).numbers.tolist()


def test_a_periodic_parameter_has_no_ends():
    grid = Grid.by_count(0.0, 2 * np.pi, 24)
    f = lambda a: np.cos(a[:, 0])  # noqa: E731
    assert extrema(grid, f, "max").numbers.tolist() == [1, 24]
    assert extrema(grid, f, "max", periodic=(0,)).numbers.tolist() == [1]


def test_global_extrema_are_all_returned():
    grid = Grid.by_count(0.0, 4 * np.pi, 64)
    found = global_extremum(grid, lambda a: np.round(np.cos(a[:, 0]), 9))
    assert np.allclose(grid.points(found.numbers)[:, 0], [np.pi, 3 * np.pi])
    with pytest.raises(ZvenoError, match="no number is admissible"):
        global_extremum(grid, bowl, mask=lambda a, b: np.zeros(b - a, bool))


def test_a_huge_range_streams():
    """Ten million numbers are looked at in pieces; twenty digits of them can be addressed."""
    grid = Grid.by_count(np.zeros(7), np.ones(7), 10)
    best = global_extremum(grid, compile_function(lambda a: sum((a[k] - 0.3) ** 2 for k in range(7)), 7))
    assert np.allclose(grid.points(best.numbers[0]), 0.3)
    huge = Grid.by_count(np.zeros(20), np.ones(20), 100)
    assert huge.size == 10**40
    assert np.allclose(huge.points(huge.size), 0.99)
    assert np.allclose(huge.range_points(huge.size - 1, huge.size + 1)[0][1:], 0.99)


def test_the_table_of_extrema_finds_all_roots_for_any_right_hand_side():
    grid = Grid.by_count(0.0, 10.0, 400, ends=True)
    table = ExtremumTable.of(grid, lambda a: np.sin(2.0 * a[:, 0]) + 0.2 * a[:, 0])
    for target in (0.3, 1.0, 1.7, -0.5):
        t = np.linspace(0, 10, 200_001)
        expected = np.count_nonzero(np.diff(np.sign(np.sin(2 * t) + 0.2 * t - target)))
        intervals = table.intervals(target)
        assert len(intervals) == expected
        for a, b in intervals:
            f = np.sin(2 * np.array([a, b])) + 0.2 * np.array([a, b]) - target
            assert f[0] * f[1] <= 0


def planar(a):
    """A two-link arm: what is solved in the table tests."""
    return np.stack([np.cos(a[:, 0]) + np.cos(a.sum(1)), np.sin(a[:, 0]) + np.sin(a.sum(1))], axis=1)


@examples(6, 30)
@given(st.floats(-3.1, 3.1), st.floats(0.2, 2.9))
def test_the_cell_table_keeps_the_cells_with_solutions(first, second):
    q = np.array([first, second])
    target = planar(q[None])[0]
    lower, upper = TABLE.cells(target)
    assert np.any(np.all((lower <= q) & (q <= upper), axis=1))
    assert len(lower) < 0.2 * len(TABLE.numbers)


TABLE = CellTable.of(Grid.by_count([-np.pi, -np.pi], [np.pi, np.pi], 40, ends=True), planar)


class Watched:
    """A system that remembers the points it was asked for."""

    def __init__(self, system):
        self.system, self.points = system, []

    def __call__(self, points):
        self.points.append(np.array(points))
        return self.system(points)


@examples(10, 50)
@given(
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 3.0]),
    st.booleans(),
)
def test_dichotomy_stays_in_its_box_and_says_why_it_stopped(J, seed, curvature, inside):
    """Any smooth system, solution inside the box or not: no point outside is asked for, and no success invented."""
    rng = np.random.default_rng(seed)
    A, b, phase = rng.normal(size=(J, J)), rng.normal(size=J), rng.normal(size=J)

    def smooth(a):
        return a @ A.T + b + curvature * np.sin(a + phase)

    low = rng.uniform(-1, 1, J)
    high = low + rng.uniform(0.1, 1, J)
    solution = rng.uniform(low, high) if inside else high + rng.uniform(0.1, 1, J)
    target = smooth(solution[None])[0]
    watched = Watched(smooth)
    end = dichotomy(watched, target, low, high)
    points = np.concatenate(watched.points)
    assert np.all((low <= points) & (points <= high))
    assert np.all((low <= end.alpha) & (end.alpha <= high))
    miss = np.linalg.norm(smooth(end.alpha[None])[0] - target)
    assert end.percent == pytest.approx(100 * miss / np.linalg.norm(target), rel=1e-9, abs=1e-12)
    assert end.converged == (end.percent <= 1e-3)
    assert miss == pytest.approx(min(np.linalg.norm(smooth(points) - target, axis=1)), abs=1e-12)
    assert end.reason
    if not end.converged:
        assert "small enough" not in end.reason


def test_dichotomy_converges():
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform([-2.0, 0.5], [2.0, 2.5])
        start = q - rng.uniform(0.05, 0.23, 2)
        end = dichotomy(planar, planar(q[None])[0], start, start + 0.28, percent=1e-4)
        assert end.converged
        assert np.all(abs(end.alpha - q) < 1e-3)


def test_dichotomy_says_when_it_did_not_arrive():
    end = dichotomy(planar, [3.0, 0.0], [-0.1, -0.1], [0.1, 0.1], percent=1e-3, iterations=20)
    assert not end.converged
    assert end.percent == pytest.approx(100 / 3, rel=1e-3)
    beyond = dichotomy(lambda x: x, [1.2], [0.0], [1.0])
    assert beyond.alpha.tolist() == [1.0]
    assert not beyond.converged
    assert "edge of the box" in beyond.reason


def test_dichotomy_refuses_what_has_no_relative_error_or_no_value():
    with pytest.raises(ZvenoError, match="target"):
        dichotomy(lambda x: x, [0.0], [-1.0], [1.0])
    with pytest.raises(ZvenoError, match="no finite value"):
        dichotomy(lambda x: np.nan * x, [1.0], [-1.0], [1.0])


def test_a_function_of_the_wrong_shape_is_refused():
    with pytest.raises(ShapeError, match="one value per point"):
        evaluate(GRID, lambda a: a)

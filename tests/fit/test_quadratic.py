"""Quadratic programs: the conditions of an optimum for every answer, daqp as reference, and awkward programs."""

from __future__ import annotations

from ctypes import c_int

import numpy as np
import pytest

from tiers import every
from zveno.fit.quadratic import QuadraticAnswer, quadratic_kernel, solve_quadratic

OPTIMAL = 1e-9
"""Worst violation of a condition, relative to 1 + |g|: rounding of programs with a condition of 1e6."""
SAME = 1e-8
"""Distance to daqp's answer."""
SIZES = ((1, 0), (2, 3), (6, 0), (9, 12))


def random_program(rng: np.random.Generator, n: int, m: int, n_equal: int = 0) -> tuple[np.ndarray, ...]:
    """A feasible program whose Hessian has a condition of about 1e6, with bounds missing here and there."""
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-2, 0, n)
    H = A.T @ A + 1e-4 * np.eye(n)
    g = H @ rng.normal(size=n) * rng.uniform(0.1, 3.0)
    lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    lower[rng.uniform(size=n) < 0.2], upper[rng.uniform(size=n) < 0.2] = -np.inf, np.inf
    C = rng.normal(size=(m, n))
    value = C @ np.clip(0.3 * rng.normal(size=n), lower, upper)
    low, high = value - rng.uniform(0, 0.3, m), value + rng.uniform(0, 0.3, m)
    low[:n_equal] = high[:n_equal] = value[:n_equal]
    return H, g, lower, upper, C, low, high


def random_programs(seed: int, count: int, n: int, m: int, n_equal: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        np.stack(part) for part in zip(*(random_program(rng, n, m, n_equal) for _ in range(count)), strict=True)
    ]


def solved(programs, **options) -> QuadraticAnswer:
    """The answers; without rows none are given."""
    return solve_quadratic(*(programs if programs[4].shape[-2] else programs[:4]), **options)


def violation(answer: QuadraticAnswer, programs) -> np.ndarray:
    """The worst violation of the conditions of an optimum (...): stationarity, bounds, signs, complementarity."""
    H, g, lower, upper, C, low, high = programs
    x, u, row_u = answer.x, answer.multipliers, answer.row_multipliers
    size = 1.0 + abs(g).max(axis=-1, keepdims=True)
    slope = np.einsum("...ij,...j->...i", H, x) + g - np.einsum("...ji,...j->...i", C, row_u)
    parts = [abs(slope - u) / size]
    value = np.einsum("...ji,...i->...j", C, x)
    sides = ((x, u, answer.side, lower, upper), (value, row_u, answer.row_side, low, high))
    for p, multiplier, side, below, above in sides:
        bound = np.where(side < 0, below, np.where(side > 0, above, p))
        wrong = np.where(below == above, 0.0, side * multiplier) / size
        loose = np.where(side == 0, abs(multiplier), 0.0) / size
        parts += [below - p, p - above, abs(p - bound), wrong, loose]
    return np.concatenate(parts, axis=-1).max(axis=-1)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_every_answer_satisfies_the_conditions_of_an_optimum(n, m):
    programs = random_programs(n, 300, n, m, n_equal=m // 4)
    answer = solved(programs)
    assert answer.solved.all()
    assert violation(answer, programs).max() < OPTIMAL
    # The conditions can fail: with another sign, bound or value they do.
    other = solved([*programs[:1], -programs[1], *programs[2:]])
    assert violation(other, programs).max() > 1e-3


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_warm_starts_change_nothing_but_the_number_of_steps(n, m):
    programs = random_programs(n + 50, 100, n, m)
    cold = solved(programs)
    warm = solved(programs, warm=cold.side)
    assert abs(warm.x - cold.x).max() < SAME
    if not m:  # rows are taken up anew every time
        assert not warm.steps.any()
        assert cold.steps.sum() > 20
    wrong = np.random.default_rng(0).integers(-1, 2, cold.side.shape).astype(float)
    misled = solved(programs, warm=wrong)
    assert misled.solved.all()
    assert abs(misled.x - cold.x).max() < SAME


@pytest.mark.laws
def test_many_unknowns():
    programs = random_programs(5, 8, 60, 0)
    answer = solved(programs)
    assert answer.solved.all()
    assert violation(answer, programs).max() < OPTIMAL
    assert not solved(programs, warm=answer.side).steps.any()


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_how_often_the_hessian_is_factored_changes_nothing(n, m):
    """After every exchange, or after every third, with rows that are then swept again."""
    programs = random_programs(n + 3, 100, n, m, n_equal=m // 4)
    given = programs if m else programs[:4]
    warm = np.random.default_rng(1).integers(-1, 2, programs[1].shape).astype(float)
    usual = solved(programs, warm=warm)
    for sweeps in (1, 3):
        answer = quadratic_kernel(n, m, sweeps)(*given[:4], warm, *given[4:])
        assert (answer[-2] == 0).all()
        assert abs(answer[0] - usual.x).max() < SAME


def test_one_program_is_a_batch_of_shape_empty():
    programs = random_programs(1, 7, 6, 0)
    answers = solved(programs)
    for k in range(7):
        assert np.array_equal(solve_quadratic(*(part[k] for part in programs[:4])).x, answers.x[k])


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_answers_equal_those_of_daqp(n, m):
    programs = random_programs(n + 7, 100, n, m, n_equal=m // 4)
    answer = solved(programs)
    for k in range(100):
        assert abs(answer.x[k] - by_daqp(*(part[k] for part in programs))).max() < SAME


def by_daqp(H, g, lower, upper, C, low, high) -> np.ndarray:
    daqp = pytest.importorskip("daqp")
    above, below = np.concatenate([upper, high]), np.concatenate([lower, low])
    sense = np.zeros(len(above), dtype=c_int)
    sense[above == below] = 5  # an equality
    above, below = np.clip(above, -1e30, 1e30), np.clip(below, -1e30, 1e30)
    C = np.ascontiguousarray(C)
    x, _, flag, _ = daqp.solve(H, g, C, above, below, sense, primal_tol=1e-12, dual_tol=1e-12)
    assert flag == 1
    return x


def test_bounds_and_rows_that_contradict_are_infeasible():
    H, g = np.eye(2), np.zeros(2)
    box = (-np.ones(2), np.ones(2))
    row = np.array([[1.0, 1.0]])
    assert solve_quadratic(H, g, *box, row, np.array([1.9]), np.array([9.0])).solved
    far = solve_quadratic(H, g, *box, row, np.array([2.1]), np.array([9.0]))
    assert far.infeasible
    two = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert solve_quadratic(H, g, *box, two, np.array([0.5, -9.0]), np.array([9.0, 0.4])).infeasible
    assert solve_quadratic(H, g, *box, two, np.array([0.5, -9.0]), np.array([9.0, 0.6])).solved


def scaled_program(
    rng: np.random.Generator, n: int, m: int, spread: float, feasible: bool
) -> tuple[np.ndarray, ...]:
    """Unknowns, rows and weights of all sizes; one row is out of reach if the program is not feasible."""
    weights, half = 10 ** rng.uniform(-spread, spread, n), 10 ** rng.uniform(-3, 1, n)
    A = rng.normal(size=(n, n))
    H = (A.T @ A / n + 0.1 * np.eye(n)) * np.outer(weights, weights)
    g = -3.0 * H @ (half * rng.normal(size=n))
    C = rng.normal(size=(m, n)) * 10 ** rng.uniform(-2, 2, (m, 1))
    reach, value = abs(C) @ half, C @ (half * rng.uniform(-1, 1, n))
    low, high = value - 0.2 * reach * rng.uniform(size=m), value + 0.2 * reach * rng.uniform(size=m)
    if not feasible:
        row = rng.integers(m)
        low[row], high[row] = reach[row] * (1.0 + 10 ** rng.uniform(-6, 1)), np.inf
    return H, g, -half, half, C, low, high


def missed(answer: QuadraticAnswer, programs) -> np.ndarray:
    """By how much the worst row or bound is missed, relative to what the box can move and the bound, (...)."""
    _, _, lower, upper, C, low, high = programs
    value, reach = np.einsum("...ji,...i->...j", C, answer.x), np.einsum("...ji,...i->...j", abs(C), upper)
    at_low, at_high = (reach + np.where(np.isfinite(side), abs(side), 0.0) for side in (low, high))
    rows = np.maximum((low - value) / at_low, (value - high) / at_high)
    return np.maximum(rows.max(axis=-1), np.maximum(lower - answer.x, answer.x - upper).max(axis=-1) / upper.min())


@pytest.mark.parametrize(
    ("n", "m", "spread"), every([(3, 1, s) for s in (1, 3, 5, 7)] + [(8, 5, s) for s in (1, 3)])
)
def test_no_claim_is_false_whatever_the_weights_are(n, m, spread):
    """ "solved" meets every row and bound in its own units; rows out of reach are infeasible, others never."""
    rng = np.random.default_rng(10 * n + spread)
    for feasible in (True, False):
        programs = [
            np.stack(part)
            for part in zip(*(scaled_program(rng, n, m, spread, feasible) for _ in range(300)), strict=True)
        ]
        answer = solve_quadratic(*programs)
        if feasible:
            assert not answer.infeasible.any()
            assert missed(answer, programs)[answer.solved].max() < OPTIMAL
            assert answer.solved.mean() > (0.99 if spread < 3 else 0.8)  # the others are open
        else:
            assert answer.infeasible.all()


def test_rows_that_contradict_each_other_are_infeasible():
    """No row alone is out of reach: the claim rests on a sum of rows."""
    rng = np.random.default_rng(4)
    H, g, lower, upper, C, low, high = (
        np.stack(part) for part in zip(*(scaled_program(rng, 5, 3, 1.0, True) for _ in range(200)), strict=True)
    )
    weights = rng.uniform(0.5, 2.0, (200, 3, 1))
    C = np.concatenate([C, -(weights * C).sum(axis=1, keepdims=True)], axis=1)
    reach = np.einsum("kji,ki->kj", abs(C), upper)
    least = (weights[..., 0] * low).sum(axis=1)
    low = np.concatenate([low, (-least + 1e-3 * reach[:, -1])[:, None]], axis=1)
    high = np.concatenate([high, np.full((200, 1), np.inf)], axis=1)
    answer = solve_quadratic(H, g, lower, upper, C, low, high)
    assert not answer.solved.any()
    assert answer.infeasible.mean() > 0.9  # the others are open


def test_dependent_rows_and_what_cannot_move():
    rng = np.random.default_rng(3)
    H, g, lower, upper, C, low, high = random_program(rng, 6, 4, n_equal=2)
    twice = (
        np.concatenate([C, C, 2 * C]),
        np.concatenate([low, low, 2 * low]),
        np.concatenate([high, high, 2 * high]),
    )
    once, again = solve_quadratic(H, g, lower, upper, C, low, high), solve_quadratic(H, g, lower, upper, *twice)
    assert again.solved
    assert abs(once.x - again.x).max() < SAME
    fixed = 0.1 * rng.normal(size=6)
    assert np.array_equal(solve_quadratic(H, g, fixed, fixed).x, fixed)
    free = solve_quadratic(H, g, np.full(6, -np.inf), np.full(6, np.inf))
    assert np.allclose(free.x, -np.linalg.solve(H, g), atol=1e-10)


@pytest.mark.laws
def test_a_hundred_thousand_programs():
    pytest.importorskip("daqp")
    failed, worst = 0, 0.0
    for seed in range(10):
        programs = random_programs(1000 + seed, 10_000, 12, 6, n_equal=1)
        answer = solved(programs)
        failed += int((~answer.solved).sum())
        assert violation(answer, programs).max() < OPTIMAL
        for k in range(0, 10_000, 10):
            worst = max(worst, abs(answer.x[k] - by_daqp(*(part[k] for part in programs))).max())
    assert failed == 0
    assert worst < SAME

"""Choosing from candidates: exchange never lowers the criterion, bounds hold, small cases are solved exactly."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from zveno.calibration.planning._criteria import CRITERIA, named_criterion, reduced
from zveno.calibration.planning._exchange import exchange, greedy, information, rounded, select, upper_bound


def candidates(seed, N=400, m=3, k=10):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, m, k)) * rng.uniform(0.3, 1.5, (N, 1, 1)) * np.linspace(1, 4, k)


def made(name, k):
    return named_criterion(name, np.random.default_rng(7).normal(size=(20, 3, k)))


@pytest.mark.parametrize("name", CRITERIA)
def test_exchange_never_lowers_the_criterion(name):
    J = candidates(1)
    start = np.random.default_rng(2).integers(0, len(J), 12)
    found = exchange(J, start, made(name, 10), prior=np.zeros((10, 10)), interest=10)
    assert np.all(np.diff(found.history) > 0)
    assert len(found.history) > 1
    assert found.value == pytest.approx(found.history[-1], rel=1e-9)
    assert len(found.members) == 12
    direct = made(name, 10).value(information(J, found.members))
    assert found.value == pytest.approx(float(direct), rel=1e-9)


@pytest.mark.parametrize("name", ["D", "A", "E"])
def test_small_cases_are_solved_like_trying_everything(name):
    J = candidates(3, N=9, m=1, k=3)
    one = named_criterion(name)
    best = max(float(one.value(information(J, c))) for c in combinations_with_replacement(range(9), 5))
    found = select(J, 5, one)
    assert found.value == pytest.approx(best, rel=1e-9)
    assert found.bound >= best * (1 - 1e-12)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("name", ["D", "A"])
def test_nothing_exceeds_the_bound(name):
    J = candidates(4)
    found = select(J, 15, named_criterion(name))
    assert found.value <= found.bound * (1 + 1e-12)
    assert found.efficiency > 0.9
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = exchange(
            J, rng.integers(0, 400, 15), named_criterion(name), prior=np.zeros((10, 10)), interest=10, most=5
        )
        assert other.value <= found.bound
        assert other.value <= found.value * 1.02


def test_the_bound_is_the_continuous_optimum():
    """Kiefer and Wolfowitz: at the D-optimal weights no candidate's variance exceeds the number of parameters."""
    J = candidates(5)
    first = select(J, 20, named_criterion("D"))
    bound, weights, _ = upper_bound(J, 20, named_criterion("D"), first, np.zeros((10, 10)), 10, rounds=40)
    M = np.einsum("n,nij,nik->jk", weights / weights.sum(), J, J)
    variances = np.einsum("nij,jk,nik->n", J, np.linalg.inv(M), J)
    assert variances.max() == pytest.approx(10.0, rel=2e-3)
    assert bound == pytest.approx(20 * np.exp(np.linalg.slogdet(M)[1] / 10), rel=2e-3)


def test_with_unknowns_in_the_way_the_others_are_estimated_best():
    J = candidates(6, k=12)
    blind = select(J, 10, named_criterion("D"), bound=False)
    aware = select(J, 10, named_criterion("D"), interest=5)
    value = named_criterion("D").value
    assert aware.value > float(value(reduced(blind.information, 5)))
    assert aware.value <= aware.bound


def test_what_is_known_before_counts():
    J = candidates(7)
    prior = information(J, range(5))
    found = select(J, 6, named_criterion("D"), prior=prior)
    assert np.allclose(found.information, prior + information(J, found.members))
    alone = select(J, 6, named_criterion("D"))
    together = float(named_criterion("D").value(prior + information(J, alone.members)))
    assert found.value >= together


def test_the_best_candidates_are_repeated():
    # One candidate far better than the others in its direction: chosen again and again.
    J = np.zeros((6, 1, 2))
    J[0, 0], J[1, 0] = (10.0, 0.0), (0.0, 10.0)
    J[2:, 0] = np.random.default_rng(0).normal(size=(4, 2))
    assert sorted(set(select(J, 6, named_criterion("D")).members)) == [0, 1]


def test_greedy_is_not_singular_where_it_need_not_be():
    J = candidates(8, N=200, m=1, k=10)
    members = greedy(J, 10, np.zeros((10, 10)), 10)
    assert np.linalg.matrix_rank(J[members, 0]) == 10


def test_rounding_keeps_the_number():
    weights = np.random.default_rng(0).dirichlet(np.full(30, 0.3))
    for n in (1, 7, 40):
        assert len(rounded(weights, n)) == n
        assert np.all(abs(np.bincount(rounded(weights, n), minlength=30) - n * weights) < 1)

"""Criteria of information matrices: values, gradients, laws; unknowns in the way; the engines."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.calibration.planning._criteria import CRITERIA, lifted, named_criterion, reduced
from zveno.calibration.planning._exchange import Determinant, Screened, information


def random_information(seed, k=6, rows=20):
    J = np.random.default_rng(seed).normal(size=(rows, k)) * np.linspace(1, 3, k)
    return J.T @ J


def made(name, k=6):
    return named_criterion(name, np.random.default_rng(99).normal(size=(15, 3, k)))


@pytest.mark.parametrize("name", CRITERIA)
def test_gradients_against_differences(name):
    one = made(name)
    S = random_information(3)
    G = one.gradient(S)
    rng = np.random.default_rng(0)
    for _ in range(5):
        D = rng.normal(size=S.shape)
        D = (D + D.T) * 1e-4
        change = (one.value(S + D) - one.value(S - D)) / 2
        assert np.sum(G * D) == pytest.approx(float(change), rel=2e-4, abs=1e-9 * float(one.value(S)))


@pytest.mark.parametrize("name", CRITERIA)
def test_value_from_singular_values(name):
    """Each criterion as it is defined, on the singular values of the Jacobian."""
    J = np.random.default_rng(5).normal(size=(24, 6))
    s = np.linalg.svd(J, compute_uv=False)
    F = made(name).workspace
    C = np.linalg.inv(J.T @ J)
    expected = {
        "D": np.prod(s**2) ** (1 / 6),
        "A": 6 / np.trace(C),
        "E": s[-1] ** 2,
        "G": 0.0 if F is None else 1 / max(np.trace(f @ C @ f.T) for f in F),
    }[name]
    assert float(made(name).value(J.T @ J)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", CRITERIA)
def test_more_information_is_never_worse(name):
    one = made(name)
    for seed in range(10):
        M = random_information(seed)
        more = np.random.default_rng(seed + 50).normal(size=(2, 6))
        assert one.value(M + more.T @ more) >= one.value(M) * (1 - 1e-12)


@pytest.mark.parametrize("name", CRITERIA)
def test_concave_and_doubling(name):
    """What the upper bound rests on."""
    one = made(name)
    for seed in range(10):
        A, B = random_information(seed), random_information(seed + 30)
        assert float(one.value(2.0 * A)) == pytest.approx(2.0 * float(one.value(A)))
        assert one.value(0.5 * (A + B)) >= 0.5 * (one.value(A) + one.value(B)) * (1 - 1e-12)
        assert np.sum(one.gradient(A) * B) >= float(one.value(B)) * (1 - 1e-9)


@pytest.mark.parametrize("name", CRITERIA)
def test_batches_are_the_same_one_by_one(name):
    one = made(name)
    S = np.stack([random_information(seed) for seed in range(5)])
    assert np.allclose(one.value(S), [one.value(M) for M in S])


def test_unknowns_in_the_way_are_eliminated():
    M = random_information(1, k=8, rows=30)
    S = reduced(M, 5)
    assert np.allclose(np.linalg.inv(S), np.linalg.inv(M)[:5, :5])
    G = lifted(named_criterion("D").gradient(S), M)
    D = random_information(2, k=8) * 1e-5
    change = named_criterion("D").value(reduced(M + D, 5)) - named_criterion("D").value(reduced(M - D, 5))
    assert np.sum(G * D) == pytest.approx(float(change) / 2, rel=1e-5)


@pytest.mark.parametrize("k", [7, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_engine_of_determinants_tracks_every_change(k, rows):
    rng = np.random.default_rng(rows)
    J = rng.normal(size=(50, rows, 7))
    members = list(range(20))
    state = Determinant(J, information(J, members), k, named_criterion("D"))
    for step in range(100):
        i = int(rng.integers(50))
        state.change(i, 1.0)
        members.append(i)
        if step % 2:
            state.change(members.pop(0), -1.0)
    M = information(J, members)
    log = np.linalg.slogdet(reduced(M, k))[1]
    for sign, gains in ((1.0, state.gains(1.0)), (-1.0, state.gains(-1.0, members))):
        for place, i in enumerate(range(50) if sign > 0 else members):
            direct = np.linalg.slogdet(reduced(M + sign * J[i].T @ J[i], k))[1] - log
            assert gains[place] == pytest.approx(direct, abs=1e-8)


@pytest.mark.parametrize("name", ["A", "E", "G"])
def test_screened_engine_finds_what_trying_all_finds(name):
    J = np.random.default_rng(1).normal(size=(300, 2, 6))
    M = information(J, range(8))
    one = made(name)
    gains = Screened(J, M, 6, one).gains(1.0)
    everything = np.array([one.value(M + Ji.T @ Ji) - one.value(M) for Ji in J])
    assert gains.max() >= 0.95 * everything.max()
    looked = np.isfinite(gains)
    assert np.allclose(gains[looked], everything[looked])


def test_unknown_criterion_is_refused_with_the_known_ones():
    with pytest.raises(zveno.ZvenoError, match="Known: D, A, E, G"):
        named_criterion("B")

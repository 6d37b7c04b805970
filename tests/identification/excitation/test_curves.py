"""Curves of exciting trajectories: derivatives, bounds between samples, ends."""

import numpy as np
import pytest

from zveno.identification.excitation._curves import FourierBasis, FourierCurve

BASES = [FourierBasis(7.0, 5), FourierBasis(0.8, 2)]


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.m}")
def test_curves_close_and_rest(basis):
    free = basis.free()
    curve = FourierCurve(basis.duration, free @ np.random.default_rng(1).normal(size=(free.shape[1], 3)))
    size = [abs(curve(np.linspace(0.0, basis.duration, 300), order)).max() for order in range(3)]
    assert abs(curve(0.0) - curve(basis.duration)).max() < 1e-12 * size[0]
    for order in (1, 2):
        assert max(abs(curve(t, order)).max() for t in (0.0, basis.duration)) < 1e-12 * size[order]


def test_every_direction_that_rests_is_free():
    free = FourierBasis(3.0, 4).free()
    assert free.shape == (9, 7)
    assert np.allclose(free.T @ free, np.eye(7), atol=1e-14)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_derivatives_against_formula(order):
    rng, T = np.random.default_rng(order), 4.0
    t = np.linspace(0.0, T, 57)
    c = rng.normal(size=(11, 2))
    w = 2 * np.pi / T * np.arange(1, 6)
    expected = np.zeros((57, 2))
    if order == 0:
        expected += c[0]
    for k in range(5):  # d/dt of e^{iwt} is a product
        wave = (1j * w[k]) ** order * np.exp(1j * w[k] * t)[:, None] / w[k]
        expected += c[1 + k] * wave.imag - c[6 + k] * wave.real
    np.testing.assert_allclose(FourierCurve(T, c)(t, order), expected, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.m}")
def test_bounds_hold_between_samples_and_are_tight(basis):
    rng = np.random.default_rng(3)
    t = np.linspace(0.0, basis.duration, 20_001)
    for trial in range(8):
        c = rng.normal(size=(basis.m, 5)) * rng.uniform(0.0, 1.0, (basis.m, 1)) ** (2 * trial)
        for order in range(4):
            true = abs(FourierCurve(basis.duration, c)(t, order)).max(axis=0)
            bound = abs(basis.bounds(order) @ c).max(axis=0)
            assert (bound >= true * (1.0 - 1e-12)).all()
            assert (bound <= 1.06 * true).all()


def test_a_bound_from_samples_alone_would_be_exceeded():
    """The sharpest case of the theorem: a cosine whose peaks lie between the samples."""
    basis = FourierBasis(1.0, 5)
    n = len(basis.bounds(0))
    c = np.zeros((11, 1))
    phase = np.pi * 5 / n  # half a step
    c[5], c[10] = np.sin(phase) * basis.rates[4], -np.cos(phase) * basis.rates[4]
    curve = FourierCurve(1.0, c)
    samples = abs(curve(np.arange(n) / n)).max()
    true = abs(curve(np.linspace(0.0, 1.0, 100_001))).max()
    assert samples < true * 0.9975
    assert abs(basis.bounds(0) @ c).max() >= true * (1.0 - 1e-9)

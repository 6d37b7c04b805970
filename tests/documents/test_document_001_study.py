"""The document's simulation study: fixtures, agreement of theory and Monte Carlo, constant errors."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction import plan_study as study

USUAL = (0.118968, 0.091251, 0.000476, 0.000893, 0.091251, 0.091251)
PROPOSED = (0.05, 0.05, 0.0002, 0.000371, 0.05, 0.05)
RATIOS = (2.379, 1.825, 2.379, 2.408, 1.825, 1.825)


def test_predicted_accuracy_of_both_plans():
    usual, proposed = study.predicted_std(study.usual_plan()), study.predicted_std(study.proposed_plan())
    assert np.allclose(usual, USUAL, atol=6e-7)
    assert np.allclose(proposed, PROPOSED, atol=6e-7)
    assert np.allclose(usual / proposed, RATIOS, atol=6e-4)


def test_jacobian_against_differences():
    q = study.usual_plan()
    J = study.jacobian(study.TRUE, q)
    for k, h in enumerate(1e-6 * np.eye(6)):
        change = study.positions(study.TRUE + h, q) - study.positions(study.TRUE - h, q)
        assert np.allclose(J[:, k], change.ravel() / 2e-6, atol=1e-6)


def closed_form(y, q):
    """Least squares in complex numbers, linear in x0 + i y0, (a1 + Δa1) e^{iΔq1}, (a2 + Δa2) e^{i(Δq1 + Δq2)}."""
    z1 = np.exp(1j * q[:, 0])
    A = np.stack([np.ones_like(z1), z1, z1 * np.exp(1j * q[:, 1])], axis=1)
    base, one, two = np.moveaxis((y[..., 0] + 1j * y[..., 1]) @ np.linalg.pinv(A).T, -1, 0)
    first = np.angle(one)
    return np.stack(
        [
            abs(one) - study.LENGTHS[0],
            abs(two) - study.LENGTHS[1],
            first,
            np.angle(two * np.exp(-1j * first)),
            base.real,
            base.imag,
        ],
        axis=-1,
    )


def test_least_squares_is_the_closed_form():
    q = study.usual_plan()
    y = study.positions(study.TRUE, q) + 0.2 * np.random.default_rng(0).normal(size=(200, 16, 2))
    assert np.allclose(study.calibrated(y, q), closed_form(y, q), atol=1e-9)


def test_without_noise_the_truth_comes_back():
    q = study.proposed_plan()
    assert np.allclose(study.calibrated(study.positions(study.TRUE, q), q), study.TRUE, atol=1e-12)


@pytest.mark.parametrize("plan", [study.usual_plan, study.proposed_plan])
def test_predicted_covariance_is_that_of_monte_carlo(plan):
    found = study.simulate_study(plan(), 10_000, seed=3)
    assert found.agrees
    J = study.jacobian(np.zeros(6), plan())
    C = study.SIGMA**2 * np.linalg.inv(J.T @ J)
    size = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.all(abs(np.cov(found.errors.T) - C) < 0.05 * size)


def test_ratios_seen_in_a_hundred_experiments_are_in_their_band():
    one = study.simulate_study(study.usual_plan(), 100, seed=1)
    two = study.simulate_study(study.proposed_plan(), 100, seed=2)
    low, high = study.ratio_band(100, 0.999)
    seen = one.std / two.std / np.array(RATIOS)
    assert np.all((seen > low) & (seen < high))


def test_a_constant_error_of_the_instrument_goes_to_the_base():
    bias = (0.5, -0.4)
    found = study.simulate_study(study.proposed_plan(), 4000, bias=bias, seed=4)
    limits = 5 * found.predicted / np.sqrt(4000)
    assert np.all(abs(found.mean - (0, 0, 0, 0, *bias)) < limits)
    without = study.simulate_study(study.proposed_plan(), 4000, seed=4)
    assert np.allclose(found.std, without.std, rtol=1e-6)

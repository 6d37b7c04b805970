"""Least squares, covariance and robust weights shared by fits."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from threadpoolctl import threadpool_info

from tiers import few
from zveno.fit import robust
from zveno.fit.covariance import correlations, factors, leverages, variance_factors
from zveno.fit.levenberg_marquardt import minimize
from zveno.fit.threads import in_one_thread, one_thread
from zveno.fit.triangle import triangle


def _add(state, step):
    return state + step


def test_linear_problems_are_solved_at_once():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(50, 7)), rng.normal(size=50)
    fit = minimize(lambda x: (A @ x - b, A), np.zeros(7), _add)
    np.testing.assert_allclose(fit.state, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)
    assert fit.converged
    assert fit.iterations < 8


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(60, 5)), rng.normal(size=60)
    D = np.array([1e-6, 1e3, 1.0, 1e5, 1e-3])
    plain = minimize(lambda x: (np.tanh(A @ x) - b, (1 - np.tanh(A @ x) ** 2)[:, None] * A), np.zeros(5), _add)
    scaled = minimize(
        lambda x: (np.tanh(A @ (D * x)) - b, (1 - np.tanh(A @ (D * x)) ** 2)[:, None] * A * D), np.zeros(5), _add
    )
    np.testing.assert_allclose(D * scaled.state, plain.state, rtol=1e-6)


def test_rosenbrock():
    def evaluate(x):
        return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), np.array([[-20 * x[0], 10.0], [-1.0, 0.0]])

    fit = minimize(evaluate, np.array([-1.2, 1.0]), _add)
    np.testing.assert_allclose(fit.state, 1.0, atol=1e-8)


def test_a_flat_direction_does_not_blow_up():
    A = np.random.default_rng(2).normal(size=(30, 4))
    A[:, 3] = A[:, 2]
    fit = minimize(lambda x: (A @ x - 1.0, A), np.zeros(4), _add)
    assert abs(fit.state).max() < 10
    assert fit.converged


def _boxed(low, high):
    return {"room": lambda x: (low - x, high - x), "move": lambda x, d: np.clip(x + d, low, high)}


@pytest.mark.parametrize("seed", few(range(8)))
def test_bounded_fits_satisfy_the_conditions_at_their_bounds(seed):
    """No gradient inside, one that points out at a bound; and the same minimum as another solver."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(40, 6)), rng.normal(size=40)
    A[:, 1] += 2.0 * A[:, 0]  # clipping the free minimum would be far from the bounded one
    low, high = np.full(6, -0.05), np.full(6, 0.08)
    low[5], high[4] = -np.inf, np.inf

    def evaluate(x):
        return np.tanh(A @ x) - b, (1 - np.tanh(A @ x) ** 2)[:, None] * A

    box = _boxed(low, high)
    fit = minimize(evaluate, np.zeros(6), box["move"], room=box["room"])
    g = fit.jacobian.T @ fit.residual
    scale = np.linalg.norm(fit.jacobian, axis=0) * np.linalg.norm(fit.residual)
    assert abs(g[fit.free] / scale[fit.free]).max() < 1e-4
    assert (g[fit.active == -1] > 0).all()
    assert (g[fit.active == 1] < 0).all()
    assert fit.active.any()
    np.testing.assert_array_equal(fit.state[fit.active == 1], high[fit.active == 1])
    np.testing.assert_array_equal(fit.state[fit.active == -1], low[fit.active == -1])
    other = least_squares(lambda x: evaluate(x)[0], np.zeros(6), bounds=(low, high), xtol=1e-14, ftol=1e-14)
    assert fit.cost <= other.cost * (1 + 1e-9)
    np.testing.assert_allclose(fit.state, other.x, atol=1e-5)


def test_a_bound_that_does_not_hold_changes_nothing():
    A, b = np.random.default_rng(3).normal(size=(20, 3)), np.ones(20)
    box = _boxed(np.full(3, -5.0), np.full(3, 5.0))
    inside = minimize(lambda x: (A @ x - b, A), np.zeros(3), box["move"], room=box["room"])
    assert not inside.active.any()
    np.testing.assert_allclose(inside.state, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)


def test_bounds_that_meet_hold_a_parameter_where_it_is():
    A, b = np.random.default_rng(5).normal(size=(20, 3)), np.ones(20)
    low, high = np.array([0.3, -np.inf, -np.inf]), np.array([0.3, np.inf, np.inf])
    box = _boxed(low, high)
    fit = minimize(lambda x: (A @ x - b, A), np.array([0.3, 0.0, 0.0]), box["move"], room=box["room"])
    expected = np.linalg.lstsq(A[:, 1:], b - 0.3 * A[:, 0], rcond=None)[0]
    np.testing.assert_allclose(fit.state, [0.3, *expected], atol=1e-9)


def test_one_thread_and_back():
    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = threads()
    assert before
    with one_thread():
        assert set(threads()) == {1}
    assert threads() == before
    with pytest.raises(ZeroDivisionError):
        in_one_thread(lambda: 1 / 0)()
    assert threads() == before
    assert in_one_thread(lambda x, y=1: x + y)(2, y=3) == 5


def test_nothing_to_fit():
    fit = minimize(lambda x: (np.ones(3), np.zeros((3, 0))), 0.0, lambda x, d: x)
    assert fit.converged
    assert fit.cost == 1.5


@pytest.mark.parametrize("m", [5, 150, 4001])
def test_triangle_in_pieces(m):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(m, 21))
    R = triangle(A)
    assert len(R) <= 21
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-10)


def test_covariance_and_leverage():
    rng = np.random.default_rng(4)
    J = rng.normal(size=(80, 6)) * [1, 1e3, 1e-3, 1, 1, 1]
    found = factors(J)
    np.testing.assert_allclose(found.covariance(), np.linalg.inv(J.T @ J), rtol=1e-9)
    np.testing.assert_allclose(leverages(J), np.diag(J @ np.linalg.solve(J.T @ J, J.T)), atol=1e-9)
    np.testing.assert_allclose(found.leverage(), leverages(J), atol=1e-9)
    assert leverages(J).sum() == pytest.approx(6)
    assert np.diag(correlations(found.covariance())) == pytest.approx(1.0)


def test_variance_components_are_unbiased():
    rng = np.random.default_rng(5)
    J = rng.normal(size=(60, 10))
    group = np.repeat([0, 1], 30)
    Q = np.linalg.qr(J)[0]
    found = []
    for _ in range(600):
        r = np.where(group == 0, 1.0, 1.0) * rng.normal(size=60)
        r -= Q @ (Q.T @ r)
        found.append(variance_factors(r, leverages(J), group, np.ones(60)))
    np.testing.assert_allclose(np.mean(found, axis=0), 1.0, atol=0.05)


def test_weights_fall_with_the_distance():
    w = robust.weights(np.array([0.0, 1.0, 3.0, 30.0]), np.full(4, 3))
    assert w[0] == 1.0
    assert (np.diff(w) < 0).all()
    assert w[-1] == 0.0


def test_limits_are_wider_where_the_noise_was_judged_from_few_residuals():
    n = np.array([1, 3, 3, 6])
    known, judged = robust.limit(1 - 1e-6, n), robust.limit(1 - 1e-6, n, 20)
    assert (judged > 1.2 * known).all()
    np.testing.assert_allclose(robust.limit(1 - 1e-6, n, 10**7), known, rtol=1e-4)


def test_leverage_of_other_rows_is_the_variance_of_their_prediction():
    rng = np.random.default_rng(7)
    J, at = rng.normal(size=(40, 5)), rng.normal(size=(3, 5))
    np.testing.assert_allclose(leverages(J, at), np.diag(at @ np.linalg.inv(J.T @ J) @ at.T), rtol=1e-9)

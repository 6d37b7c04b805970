"""Damped steps are the least-squares solutions of the stacked problem."""

from __future__ import annotations

import numpy as np
import pytest

from zveno.fit.gauss_newton import damped_steps


@pytest.mark.parametrize("shape", [(3, 6), (6, 3), (4, 4), (0, 3)])
@pytest.mark.parametrize("each", [False, True])
def test_steps_solve_the_stacked_least_squares(shape, each):
    rng = np.random.default_rng(sum(shape))
    m, n = shape
    J, e = rng.normal(size=(5, m, n)), rng.normal(size=(5, m))
    damping = rng.uniform(0.01, 1.0, 5) if each else 0.3
    steps = damped_steps(J, e, damping)
    for k, mu in enumerate(np.broadcast_to(damping, 5)):
        stacked = np.vstack([J[k], np.sqrt(mu) * np.eye(n)])
        expected = np.linalg.lstsq(stacked, np.append(e[k], np.zeros(n)), rcond=None)[0]
        np.testing.assert_allclose(steps[k], expected, atol=1e-12)

"""How many rows of a residual count as one: 1 for white rows, (1 + ρ)/(1 − ρ) where each is ρ of the one before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from zveno.identification._validation import _Statistics

RATE = 200.0
N = 100_000


def counted(e: np.ndarray, cuts: list[int]) -> np.ndarray:
    """Rows that count as one, of residuals (N, n) that come in blocks."""
    statistics = _Statistics.__new__(_Statistics)
    statistics.interval, statistics.before = 1.0 / RATE, None
    statistics.squares, statistics.sums = np.zeros(e.shape[1]), np.zeros(e.shape[1])
    for k, block in enumerate(np.split(e, cuts)):
        statistics._correlate(block, first=k == 0)
    return statistics.correlated()


def test_white_rows_count_as_themselves_and_correlated_ones_as_fewer():
    white = np.random.default_rng(0).normal(size=(N, 3))
    rho = np.array([0.0, 0.5, 0.9])
    e = np.stack([lfilter([1.0], [1.0, -r], white[:, k]) for k, r in enumerate(rho)], axis=1)
    window = round(RATE)  # of a second: the sum over it, exactly
    lag = np.arange(1, window)
    expected = 1.0 + 2.0 * ((1.0 - lag / window)[:, None] * rho ** lag[:, None]).sum(axis=0)
    found = counted(e, [])
    assert found == pytest.approx(expected, rel=0.15)  # 500 independent seconds: 6 % of standard deviation
    assert found[0] == pytest.approx(1.0, abs=0.15)
    assert found[2] > 10.0


def test_blocks_make_no_difference():
    e = np.random.default_rng(1).normal(size=(5000, 2)).cumsum(axis=0)
    np.testing.assert_allclose(counted(e, [1, 7, 300, 301, 4000]), counted(e, []), rtol=1e-10)

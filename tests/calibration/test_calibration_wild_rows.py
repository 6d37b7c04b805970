"""One row with another posture than stated is named, and changes nothing, wherever it would have put the target."""

from dataclasses import replace

import numpy as np
import pytest

import zveno
from slowly import rest_slow

ROBOT = zveno.load("ur5")
ROW = 7


def campaign(kind, seed, n=40):
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, 6))
    return zveno.simulated_campaign(ROBOT, kind, q, rng=seed + 1)


@pytest.mark.parametrize(
    ("kind", "seed"), rest_slow([("ball_bar", 1), ("plane", 5), ("ball_bar", 0), ("distance", 0)], 2)
)
@pytest.mark.parametrize("joint", [0, 1])
def test_one_wild_row_is_named(kind, seed, joint):
    """Half a turn of the shoulder moved spheres and planes so far that the fit changed links by 0.4 m instead."""
    data = campaign(kind, seed)
    q = np.array(data.q)
    q[ROW, joint] += 3.0
    found = ROBOT.calibrate(replace(data, q=q), joint_terms=(), folds=0)
    assert [outlier.row for outlier in found.outliers] == [ROW + 1]


def test_a_wild_row_changes_nothing():
    """The fit with it, flagged, is the fit without it."""
    data = campaign("plane", 5)
    q = np.array(data.q)
    q[ROW, 0] += 3.0
    kept = np.arange(len(q)) != ROW
    options = {"joint_terms": (), "folds": 0, "plausible": None}
    found = ROBOT.calibrate(replace(data, q=q), **options)
    without = ROBOT.calibrate(zveno.Campaign(data.measurement, q[kept]), **options)
    assert found.names == without.names
    np.testing.assert_allclose(found.values, without.values, atol=1e-7)


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_several_wild_rows(share):
    """A fifth of the touches of a plane has another posture than stated: they and no others are named."""
    data = campaign("plane", 1, 60)
    rng = np.random.default_rng(0)
    wild = np.sort(rng.choice(60, round(60 * share), replace=False))
    q = np.array(data.q)
    q[wild, 1] += rng.uniform(0.5, 2.5, len(wild))
    found = ROBOT.calibrate(replace(data, q=q), joint_terms=(), folds=0)
    assert sorted(outlier.row for outlier in found.outliers) == (wild + 1).tolist()

"""The factor of the covariance of predictions: regions that hold what they promise."""

import numpy as np
import pytest
from benchmarks.calibration_honesty import campaign, judged
from benchmarks.calibration_real import DATA, covered, sets
from scipy.stats import chi2

import zveno
from tiers import few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.covariance_factor import _quantile, _quantile_elsewhere, _sizes
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements.datasets import Dataset


def test_the_quantile_is_that_of_order_statistics():
    """The 58th of 60; the largest of few; flagged postures count as the farthest of the others."""
    size = np.random.default_rng(0).permutation(np.arange(1.0, 61.0))
    good = np.zeros(60)
    assert _quantile(_sizes(np.column_stack([size, good]))) == 58.0
    assert _quantile(_sizes(np.column_stack([size[:5], good[:5]]))) == size[:5].max()
    flagged = np.where(size > 55, 1.0, 0.0)
    assert _quantile(_sizes(np.column_stack([np.where(size > 55, 1e6, size), flagged]))) == 55.0
    assert _quantile(_sizes(np.zeros((0, 2)))) == 0.0


@pytest.mark.parametrize(
    ("n_places", "spread"), few([(8, 0.3), (4, 1.0), (4, 0.0), (6, 0.6), (8, 0.0), (8, 1.0), (12, 0.6)], 2)
)
def test_regions_hold_95_percent_at_a_place_not_seen(n_places, spread):
    """The quantile of the worst place held 98 to 99 %."""
    rng, inside = np.random.default_rng(n_places), []
    for _ in range(60):
        sizes = np.exp(spread * rng.normal(size=n_places))
        places = [np.sort(size * rng.chisquare(3, 50) / chi2.ppf(0.95, 3)) for size in sizes]
        elsewhere = np.exp(spread * rng.normal(size=2000)) * rng.chisquare(3, 2000) / chi2.ppf(0.95, 3)
        inside.append(np.mean(elsewhere < _quantile_elsewhere(places)))
    assert 0.93 <= np.mean(inside) <= 0.97


@pytest.mark.laws
def test_regions_hold_95_percent_of_readings_not_seen():
    total = judged("clean", 6)
    assert 0.93 < total.inside / total.readings < 0.985
    assert total.inside >= total.inside_plain


@pytest.mark.laws
def test_predictions_have_the_factor_and_parameters_do_not():
    robot, seen, q, _ = campaign("hysteresis", 1)
    found, plain = calibrate(robot, seen), calibrate(robot, seen, folds=0)
    assert found.covariance_factor > 1.0 == plain.covariance_factor
    np.testing.assert_array_equal(found.covariance, plain.covariance)
    wide, narrow = found.predict(q).covariance, plain.predict(q).covariance
    np.testing.assert_allclose(wide, found.covariance_factor * narrow, rtol=1e-12, atol=1e-12 * abs(wide).max())
    maps = [one.accuracy_map(50).sigma_position for one in (found, plain)]
    np.testing.assert_allclose(maps[0], np.sqrt(found.covariance_factor) * maps[1], rtol=1e-12)


def test_gross_errors_do_not_make_predictions_worthless():
    robot, seen, _, _ = campaign("clean", 1)
    y = seen.y.copy()
    y[[7, 21, 30, 44]] += 0.05
    found = calibrate(robot, Dataset(seen.measurement, seen.q, y))
    assert len(found.outliers) == 4
    assert found.covariance_factor < 4.0


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_few_places_say_that_they_cannot_tell():
    robot = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    groups = tuple(f"place{k % 3}/hole{k % 2}" for k in range(120))
    data = calibration.simulate_dataset(robot, calibration.Sockets(), robot.random(120, 1), groups=groups, rng=1)
    found = calibrate(robot, data, model=CalibrationModel(joint_terms=()))
    assert any("3 places cannot tell" in note for note in found.notes)


@pytest.mark.attack
@pytest.mark.skipif(not DATA.exists(), reason="the folder of real measurements is not on this machine")
def test_regions_hold_95_percent_of_real_postures_not_seen():
    """Of sets of 34 to 114 postures, an eighth is held out in four ways; of sockets, every place.

    One of nine places of panda_2 is worse than all others: fits without it hold a tenth of it, which leaves 89 %.
    That set misses the 90 % that all others reach.
    """
    missed = []
    for name, robot, data, parts in sets():
        shuffled = [np.random.default_rng(seed).permutation(parts) for seed in range(3)]
        ways = [parts] if name.startswith("panda") else [parts, *shuffled]
        size, plain, inside = np.mean([covered(robot, data, way) for way in ways], axis=0)
        print(f"{name}: χ² {size:.2f}, {plain:.3f} without the factor, {inside:.3f} with it")
        missed += [] if 0.90 <= inside <= 0.98 else [name]
        assert plain < inside, name
    assert missed == ["panda_2"]

"""Directions: two angles a posture, whatever the three numbers read; and what readings are not directions."""

from dataclasses import replace

import numpy as np
import pytest
from calibration_arms import arm, simulated, truth
from scipy.stats import binom

import tiers
import zveno
from mechanisms import relative_error
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import AxisDirection, Pose
from zveno.calibration.measurements._fit_problem import residual_kernel
from zveno.calibration.measurements.datasets import Dataset, prepared
from zveno.calibration.measurements.kinds.direction import angle_across
from zveno.calibration.measurements.kinds.pose import rotation_vector
from zveno.calibration.models import redundant_model
from zveno.calibration.planning._information import PlannedRows
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

PAN_TILT = "Rz(q1) Tz(0.3) Ry(q2) Tx(0.2)"
SIGMA = 1e-3


def _units(n, rng):
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def clean_fits():
    """Calibrations of a pan-tilt head from directions with noise, nothing else wrong."""
    robot = zveno.load(PAN_TILT)
    names = identifiability(robot, "direction").chosen
    fits = []
    for seed in range(6 if tiers.tier == "test" else 60):
        rng = np.random.default_rng(seed)
        values = truth(robot, names, rng)
        fits.append(
            calibrate(robot, simulated(robot, AxisDirection(), values, 12, rng, {"direction": SIGMA}), folds=0)
        )
    return fits


def test_the_residual_is_the_angle_and_grows_up_to_half_a_turn():
    rng = np.random.default_rng(0)
    for y, side in zip(_units(40, rng), _units(40, rng), strict=True):
        axis = np.cross(y, side)
        axis /= np.linalg.norm(axis)
        for angle in (0.0, 1e-9, 1e-6, 0.1, 1.0, 2.0, 2.2, 3.0, 3.14, np.pi):
            assert np.linalg.norm(angle_across(y, exp(angle * axis) @ y)) == pytest.approx(angle, abs=1e-8)


def test_half_a_turn_is_not_taken_for_none():
    rng = np.random.default_rng(1)
    for axis in [*np.eye(3), *-np.eye(3), *_units(20, rng)]:
        for angle in (np.pi, np.pi - 1e-9, np.pi - 1e-4, 1e-9, 1e-3, 2.0):
            found = rotation_vector(exp(angle * axis))
            assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-6)
            assert abs(found @ axis) == pytest.approx(angle, abs=1e-6)
    turned = transform(exp(np.array([0.0, np.pi, 0.0])))
    one = np.eye(4)
    read = Pose.reading(one, None)
    for result in residual_kernel(Pose)(turned, one, one, one, read):
        assert np.isfinite(result).all()


def test_the_slopes_are_those_of_the_angle():
    """At a large residual, against differences."""
    rng = np.random.default_rng(2)
    one = np.eye(4)
    for y in [*_units(20, rng), np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])]:
        T = transform(exp(rng.normal(size=3)))
        _, by_T, *_ = residual_kernel(AxisDirection)(T, one, one, one, y)
        h = 1e-6
        for k in range(3):
            d = h * np.eye(3)[k]
            ahead, behind = (angle_across(y, (T[:3, :3] @ exp(s * d))[:, 2]) for s in (1.0, -1.0))
            np.testing.assert_allclose(by_T[:, 3 + k], (ahead - behind) / (2 * h), atol=1e-7)
        assert not by_T[:, :3].any()


def test_identifiability_counts_what_directions_tell():
    """Rank and information agree with differences of the directions themselves, three numbers a posture."""
    robot = arm("puma560")
    kind = AxisDirection(axis=(0.6, 0.0, 0.8), sigma=SIGMA)
    found = identifiability(robot, kind)
    model = redundant_model(robot.mechanism)
    q = robot.random(40, 3)
    axis = np.array([0.6, 0.0, 0.8])

    def directions(values):
        return (frame_motion(model, "tool", q, values)[0][:, :3, :3] @ axis).ravel()

    h = 1e-6
    J = np.stack([(directions(h * e) - directions(-h * e)) / (2 * h) for e in np.eye(len(model.terms))], axis=1)
    s = np.linalg.svd(J, compute_uv=False)
    assert int((s > 1e-6 * s[0]).sum()) == found.rank
    planned = PlannedRows(robot, kind)
    rows = planned.jacobians(q).reshape(-1, len(planned.names)) / planned.scales
    own = J[:, [model.numbers[name] for name in planned.names]] / SIGMA
    assert relative_error(rows.T @ rows, own.T @ own) < 1e-6


def test_noise_is_estimated_without_bias(clean_fits):
    """Three components of which two are free would give √(2/3) of it."""
    ratio = np.array([fit.sigma["direction: direction"] ** 2 / SIGMA**2 for fit in clean_fits])
    freedom = clean_fits[0].scalar_rows - len(clean_fits[0].names)
    assert freedom == 2 * 12 - 6
    # The variance of χ²_f / f is 2 / f.
    assert ratio.mean() == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / freedom / len(clean_fits)))


def test_clean_fits_are_rarely_flagged(clean_fits):
    """A chance of 1 % each: five or more of 60, or two of 6, happen once in 500 times or less."""
    assert sum(bool(fit.outliers) for fit in clean_fits) <= binom.isf(1e-3, len(clean_fits), 0.01)


@pytest.mark.parametrize("seed", tiers.few(range(4, 7), 1))
def test_reversed_directions_are_named(seed):
    robot = arm("puma560")
    rng = np.random.default_rng(seed)
    kind = AxisDirection(axis=(0.6, 0.0, 0.8))
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 60, rng, {"direction": SIGMA})
    campaign.y[[7, 30]] *= -1.0
    found = calibrate(robot, campaign, folds=0)
    assert sorted(one.row for one in found.outliers) == [8, 31]
    assert found.sigma["direction: direction"] == pytest.approx(SIGMA, rel=0.3)


def test_readings_that_are_no_directions():
    robot = arm("puma560")
    rng = np.random.default_rng(6)
    kind = AxisDirection()
    campaign = simulated(robot, kind, np.zeros(50), 30, rng, {"direction": SIGMA})
    y = campaign.y.copy()
    y[3, 0, 1] = np.nan
    y[5] = 0.0
    y[9] *= 1.02
    y[10] *= 250.0
    with pytest.warns(ZvenoWarning) as said:
        ready, notes = prepared(replace(campaign, y=y), robot.mechanism)
    assert len(said) == len(notes) == 3
    words = " | ".join(notes)
    assert "rows 10, 11 have directions that are not unit vectors (1.02 to 250 long)" in words
    assert "row 4 has directions with a number missing" in words
    assert "row 6 has directions of length zero; it is left out" in words
    kept = [k for k in range(30) if k not in (3, 5)]
    np.testing.assert_allclose(ready[0].y, campaign.y[kept], atol=1e-12)
    with pytest.raises(ZvenoError, match="no usable row"):
        prepared(Dataset(kind, campaign.q, np.zeros((30, 3))), robot.mechanism)

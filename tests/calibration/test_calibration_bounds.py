"""Fits that are restricted: parameters chosen or fixed, priors, bounds."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._output import calibrated_mechanism
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import (
    Pose,
    RelativePose,
)
from zveno.errors import ZvenoError

SIGMA = 5e-5


def test_restricted_fits_priors_bounds_and_fixed():
    robot = arm("puma560")
    rng = np.random.default_rng(11)
    values = truth(robot, [f"Rzq{k}" for k in range(2, 7)], rng)
    campaign = simulated(
        robot, RelativePose(), values, 40, rng, {"position": SIGMA, "rotation": 1e-4}, {"tracker": FAR}
    )
    offsets = calibrate(robot, campaign, model=CalibrationModel(parameters="offsets"), folds=0)
    assert set(offsets.names) == {f"Rzq{k}" for k in range(2, 7)}
    true = values[[offsets.model.numbers[name] for name in offsets.names]]
    assert abs((offsets.values - true) / offsets.std).max() < 4.0
    fixed = calibrate(robot, campaign, model=CalibrationModel(fixed=["Tx*", "Rzq3"]), folds=0)
    assert not any(name.startswith("Tx") or name == "Rzq3" for name in fixed.names)
    held = calibrate(robot, campaign, model=CalibrationModel(parameters="offsets"), prior={"Rzq4": 1e-7}, folds=0)
    assert abs(held.parameters["Rzq4"]) < 1e-6


@pytest.mark.laws
def test_bounds_are_the_best_fit_inside_them():
    """A parameter at its bound is as good as one fixed there; the others move to make up for it."""
    robot = arm("puma560")
    rng = np.random.default_rng(11)
    values = truth(robot, [f"Rzq{k}" for k in range(2, 7)], rng)
    sigma = {"position": SIGMA, "rotation": 1e-4}
    campaign = simulated(robot, RelativePose(sigma=sigma), values, 40, rng, sigma, {"tracker": FAR})
    plain = calibrate(robot, campaign, model=CalibrationModel(parameters="offsets"), loss="none", folds=0)
    assert not plain.at_bounds
    edge = 0.5 * plain.parameters["Rzq2"]
    sides = (-abs(edge), abs(edge))
    bounded = calibrate(
        robot, campaign, model=CalibrationModel(parameters="offsets"), bounds={"Rzq2": sides}, loss="none", folds=0
    )
    assert bounded.parameters["Rzq2"] == edge
    assert bounded.at_bounds == {"Rzq2": "upper" if edge > 0 else "lower"}
    assert "Rzq2" in bounded.verdict
    place = bounded.names.index("Rzq2")
    assert bounded.std[place] == 0.0
    shifted = zveno.Robot(
        calibrated_mechanism(plain.model, np.where(np.array(plain.model.names) == "Rzq2", edge, 0.0))
    )
    fixed = calibrate(
        shifted, campaign, model=CalibrationModel(parameters="offsets", fixed=["Rzq2"]), loss="none", folds=0
    )
    others = [k for k in range(len(bounded.names)) if k != place]
    np.testing.assert_allclose(bounded.values[others], fixed.values, atol=1e-7)
    np.testing.assert_allclose(bounded.std[others], fixed.std, rtol=1e-3)
    clipped = np.delete(plain.values, place)
    assert abs(bounded.values[others] - clipped).max() > 1e-5  # not merely clipped
    wide = calibrate(
        robot,
        campaign,
        model=CalibrationModel(parameters="offsets"),
        bounds={"Rz*": (-1.0, 1.0)},
        loss="none",
        folds=0,
    )
    np.testing.assert_allclose(wide.values, plain.values, atol=1e-9)


def test_bad_bounds_are_refused():
    robot = arm("puma560")
    campaign = simulated(robot, Pose(), np.zeros(50), 40, np.random.default_rng(0), {"position": SIGMA})
    for bad in ((1e-3, -1e-3), (np.nan, 1.0), 3.0, "ab"):
        with pytest.raises(ZvenoError, match="the bounds of Rzq2"):
            calibrate(robot, campaign, bounds={"Rzq2": bad})  # type: ignore[dict-item]

"""Real recordings: held-out errors of the consistent estimate, and parameters beside a published reference."""

import numpy as np
import pytest
from benchmarks.identification import DATA, REFERENCE_BAND, deviations, recording

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real measurements are not at {DATA}")


def test_tx40():
    robot, log = recording("tx40")
    found = robot.identify(log, band=10.0)
    assert found.validation.overall["identified"] <= 0.042
    assert (found.validation.errors["identified"][:3] <= [0.036, 0.031, 0.060]).all()
    assert found.status == "usable"
    assert "link6" in found.repaired


def test_tx40_beside_its_reference():
    robot, log = recording("tx40", whole=True)
    found = robot.identify(log, band=REFERENCE_BAND, friction="basic", rest=0.1, delay=0.0)
    away = {key: abs(part) for key, part in deviations(found, found.base_values).items()}
    assert (away["fv"] <= 0.03).all()
    assert (away["coupling"] <= 0.03).all()
    assert (away["fs"][:5] <= 0.05).all()
    assert (away["Ia"][2:] <= 0.05).all()


def test_ur10():
    robot, log = recording("ur10")
    found = robot.identify(log, band=5.0)
    errors = found.validation.errors["identified"]
    assert found.validation.overall["identified"] <= 0.034
    assert errors[1] <= 0.024
    assert errors[5] <= 0.095


def test_tiago():
    robot, log = recording("tiago")
    found = robot.identify(log, band=3.0)
    errors = found.validation.errors["identified"]
    assert (errors[[0, 1, 2, 4]] <= [0.145, 0.135, 0.048, 0.105]).all()
    assert errors[3] <= 0.111
    assert set(found.judgement.reasons) == {"arm_5_joint", "arm_6_joint", "arm_7_joint"}
    assert not found.choices.recorded_velocity.any()
    assert "were not used" in found.verdict
    assert np.nanmin(found.choices.velocity_lag) > 0.06

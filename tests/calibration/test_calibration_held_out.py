"""Postures not used: what the fits without them leave, also where constants of the instrument are estimated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration_recovery import CASES, simulated

import zveno

NAMES = ("pixels, marker, eye in hand, lens estimated", "ball bar, unknown length")
OPTIONS: dict[str, Any] = {"joint_terms": (), "plausible": None, "loss": "none", "events": "ignored"}


@pytest.mark.parametrize("name", NAMES)
def test_postures_not_used_tell_nothing_of_the_instrument(name):
    """The lens and the length are those of the fit that has not seen the posture."""
    robot, data, _ = simulated(replace(CASES[name], groups="", n=100), 1)
    found = robot.calibrate(data, folds=len(data), **OPTIONS)
    held_out = found.residuals[0].held_out
    assert found.held_out[0].rms > found.training[0].rms
    for row in (0, 17, 53):
        others = robot.calibrate(data.only(np.arange(len(data)) != row), folds=0, **OPTIONS)
        alone = others.score(data.only([row]))[0].rms
        assert np.linalg.norm(held_out[row]) == pytest.approx(alone, rel=0.05)


def test_a_posture_is_scored_where_everything_is_known():
    """One image is enough, though it could not place camera and marker."""
    robot, data, _ = simulated(CASES["pixels, marker, eye in hand"], 1)
    found = robot.calibrate(data, **(OPTIONS | {"folds": 0}))
    errors = [found.score(data.only([row]))[0].rms for row in range(5)]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(found.score(data.only(np.arange(5)))[0].rms)
    with pytest.raises(zveno.ZvenoError, match="do not place camera and marker"):
        robot.calibrate(data.only(np.arange(5)))

"""Postures not used: what the fits without them leave, also where constants of the instrument are estimated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration_recovery import CASES, simulated

import zveno
from zveno.calibration.fit.held_out import folds_of
from zveno.calibration.measurements.assembly import fit_problem
from zveno.calibration.measurements.campaigns import prepared
from zveno.calibration.model.models import redundant_model

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


def test_rows_of_known_targets_are_dealt_out_and_those_of_unknown_ones_held_out_together():
    """A known plane tells nothing of itself through its other rows; without all of them less would be known."""
    robot, data, _ = simulated(replace(CASES["planes, three of six known"], n=90), 1)
    campaigns, _ = prepared(data, robot.mechanism)
    problem = fit_problem(redundant_model(robot.mechanism), campaigns)
    groups = np.array(problem.campaigns[0].groups)
    folds = folds_of(problem, 10, 0)
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(data)))
    known = np.isin(groups, list(data.measurement.planes))
    whole = [fold for fold in folds if not known[fold].any()]
    assert {frozenset(groups[fold]) for fold in whole} == {frozenset([group]) for group in groups[~known]}
    assert len(folds) == len(whole) + 10
    assert all(known[fold].all() for fold in folds if known[fold].any())


def test_constants_of_instruments_are_printed_with_what_they_rest_on():
    """The length of a bar is as good as the drawing where nothing else says how large the robot is."""
    robot, data, _ = simulated(CASES["ball bar, unknown length"], 1)
    found = robot.calibrate(data, **(OPTIONS | {"folds": 0}))
    (line,) = [line for line in str(found).splitlines() if line.startswith("bar.length")]
    assert f"{1e3 * found.numbers['bar.length']:.4f}" in line
    assert "nominal size" in " ".join(str(found).split())
    assert "would hardly reduce that" in " ".join(str(found).split())
    assert "measure first at" not in str(found)

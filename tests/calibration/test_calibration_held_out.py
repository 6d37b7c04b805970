"""Postures not used: what the fits without them leave, also where constants of the instrument are estimated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration_recovery import CASES, simulated

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.held_out import folds_of
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import prepared
from zveno.calibration.models import redundant_model

NAMES = ("pixels, marker, eye in hand, lens estimated", "ball bar, unknown length")
OPTIONS: dict[str, Any] = {"model": CalibrationModel(joint_terms=()), "prior": None, "loss": "none"}


@pytest.mark.laws(after=1)
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


def _problem(name: str, n: int):
    robot, data, _ = simulated(replace(CASES[name], n=n), 1)
    campaigns, _ = prepared(data, robot.mechanism)
    return fit_problem(redundant_model(robot.mechanism), campaigns), data


@pytest.mark.parametrize("name", ["planes, three of six known", "ball bar, known length", "lines, unknown"])
def test_touches_of_planes_lines_and_spheres_are_dealt_out(name):
    """One touch does not tell where such a target is, and without all of them too little is known of the robot: the
    touches that are left place every target."""
    problem, data = _problem(name, 90)
    groups = np.array(data.groups)
    dealt, whole = folds_of(problem, 10, 0)
    assert not whole
    assert sorted(np.concatenate(dealt).tolist()) == list(range(len(data)))
    for fold in dealt:
        left = np.setdiff1d(np.arange(len(data)), fold)
        for group in set(groups) - set(getattr(data.measurement, "planes", ())):
            held, kept = (int((groups[rows] == group).sum()) for rows in (fold, left))
            assert 10 * (held - 1) < held + kept
            assert kept >= 4


def test_targets_with_few_touches_are_held_out_whole():
    """Three touches place a plane; two do not."""
    problem, data = _problem("planes, three of six known", 18)
    _, whole = folds_of(problem, 10, 0)
    groups, known = np.array(data.groups), list(data.measurement.planes)
    few = [group for group in np.unique(groups) if group not in known and (groups == group).sum() <= 3]
    assert few
    assert {frozenset(groups[fold]) for fold in whole} == {frozenset([group]) for group in few}


def test_touches_of_a_socket_are_held_out_together():
    """One touch of a socket tells where it is, and that of its neighbour too."""
    robot = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    groups = tuple(f"place{k % 3}/hole{k % 2}" for k in range(60))
    data = calibration.simulate_dataset(robot, calibration.Sockets(), robot.random(60, 1), groups=groups, rng=1)
    campaigns, _ = prepared(data, robot.mechanism)
    problem = fit_problem(redundant_model(robot.mechanism), campaigns)
    dealt, whole = folds_of(problem, 10, 0)
    assert not dealt
    places = np.array([group.partition("/")[0] for group in data.groups])
    assert [set(places[fold]) for fold in whole] == [{place} for place in dict.fromkeys(places)]
    assert sorted(np.concatenate(whole).tolist()) == list(range(len(data)))


def test_constants_of_instruments_are_printed_with_what_they_rest_on():
    """The length of a bar is as good as the drawing where nothing else says how large the robot is."""
    robot, data, _ = simulated(CASES["ball bar, unknown length"], 1)
    found = robot.calibrate(data, **(OPTIONS | {"folds": 0}))
    (line,) = [line for line in str(found).splitlines() if line.startswith("bar.length")]
    assert f"{1e3 * found.numbers['bar.length']:.4f}" in line
    assert "no length is known" in " ".join(str(found).split())

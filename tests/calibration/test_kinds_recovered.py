"""Every kind and term of calibration finds simulated robots again, as well as it says; campaigns of all kinds."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.calibration_recovery import CASES, recovery, robot_of

from tiers import few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.errors import ZvenoError


@pytest.mark.laws
@pytest.mark.parametrize("name", CASES)
def test_robots_are_found_again(name):
    """Three robots of each: `python -m benchmarks.calibration_recovery 200` is the long form."""
    outcome = recovery(name, 3, first=500)
    assert outcome.found == 3
    assert outcome.within(4.0) == 1.0
    assert 0.6 < outcome.rms < 1.6


@pytest.mark.parametrize(
    "kind",
    [
        calibration.BallBar(length=0.4),
        calibration.Line(),
        calibration.Plane(group_planes=True),
        calibration.SelfTouch(),
        calibration.Sockets(),
    ],
    ids=lambda kind: kind.kind,
)
def test_simulated_contacts_touch(kind):
    robot = robot_of("puma560")
    groups = ("a/1", "a/2", "b/1", "b/2") * 15
    exact = calibration.simulate_dataset(robot, kind, robot.random(60, 1), groups=groups, noise=0.0, rng=2)
    found = robot.calibrate(exact, model=CalibrationModel(parameters=["Rx3"], joint_terms=()), folds=0)
    assert found.baseline[0].rms < 1e-8


@pytest.mark.parametrize("given", few(["a/1", "a/2", "a/3"], 1))
def test_sockets_are_drawn_at_their_distance_from_those_that_are_given(given):
    """Every one of three sockets of a place may be the one whose place is known."""
    robot, holes = robot_of("puma560"), ("a/1", "a/2", "a/3")
    q, at = robot.random(60, 1), np.eye(4)
    at[:3, 3] = [0.4, 0.2, 0.3]
    frames = {f"socket:{given}": at}
    exact = calibration.simulate_dataset(robot, "sockets", q, groups=holes * 20, frames=frames, noise=0.0, rng=2)
    tip = robot.forward_kinematics(exact.q)[:, :3, 3]
    places = {hole: tip[np.array(exact.groups) == hole] for hole in holes}
    assert all(np.ptp(points, axis=0).max() < 1e-8 for points in places.values())
    np.testing.assert_allclose(places[given][0], at[:3, 3], atol=1e-8)
    for one, other in pairwise(holes):
        assert np.linalg.norm(places[one][0] - places[other][0]) == pytest.approx(0.05, abs=1e-8)


@pytest.mark.parametrize("mount", few(["hand", "world"], 1))
def test_simulated_images_show_what_is_before_the_camera(mount):
    robot, kind = (
        robot_of("puma560"),
        calibration.Pixels(grid=(3, 2, 0.05), intrinsics=(600, 600, 320, 240), mount=mount),
    )
    images = calibration.simulate_dataset(robot, kind, robot.random(2000, 1), noise=0.0, rng=2)
    assert 20 < len(images) < 2000
    assert abs(images.y - [320, 240]).max() < 0.81 * 600
    found = robot.calibrate(images, model=CalibrationModel(parameters=["Rx3"], joint_terms=()), folds=0)
    assert found.baseline[0].rms < 1e-6


def test_simulated_joints_yield_and_lag():
    """What joint terms add is what a calibration with them finds, without noise."""
    robot, q = robot_of("panda"), robot_of("panda").random(60, 1)
    errors = {"Cq2": 1e-4, "Cq4": 5e-5, "Hq1": 3e-4, "Hq6": -5e-4}
    campaign = calibration.simulate_dataset(robot, "position", q, joint_errors=errors, noise=1e-3)
    assert campaign.approach is not None
    np.testing.assert_array_equal(campaign.approach[1:], np.sign(np.diff(q, axis=0)))
    found = robot.calibrate(
        campaign, model=CalibrationModel(joint_terms=["compliance", "hysteresis"]), prior=None, folds=0
    )
    for name, value in errors.items():
        assert found.parameters[name] == pytest.approx(value, abs=2e-6), name
    with pytest.raises(ZvenoError, match="Hq9"):
        calibration.simulate_dataset(robot, "position", q, joint_errors={"Hq9": 1e-4})
    blind = calibration.Pixels(intrinsics=(600, 600, 320, 240), board=np.eye(4), camera=np.eye(4))
    with pytest.raises(ZvenoError, match="in none of 2 postures everything can be seen"):
        calibration.simulate_dataset(robot, blind, q[:2])

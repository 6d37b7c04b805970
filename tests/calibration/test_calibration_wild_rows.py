"""One row with another posture than stated is named, and changes nothing, wherever it would have put the target."""

from dataclasses import replace

import numpy as np
import pytest

import zveno
from tiers import few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.prior import usual
from zveno.calibration._joint_terms import WORDS
from zveno.calibration._kinematics import frame_motion
from zveno.calibration._loads import holding_torques
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import transform

ROBOT = zveno.load("ur5")
ROW = 7


def campaign(kind, seed, n=40):
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, 6))
    return calibration.simulate_dataset(ROBOT, kind, q, rng=seed + 1)


@pytest.mark.parametrize(
    ("kind", "seed", "joint"),
    few(
        [
            (*case, joint)
            for joint in (0, 1)
            for case in (("ball_bar", 1), ("plane", 5), ("ball_bar", 0), ("distance", 0))
        ]
    ),
)
def test_one_wild_row_is_named(kind, seed, joint):
    """Half a turn of the shoulder moved spheres and planes so far that the fit changed links by 0.4 m instead."""
    data = campaign(kind, seed)
    q = np.array(data.q)
    q[ROW, joint] += 3.0
    found = ROBOT.calibrate(replace(data, q=q), model=CalibrationModel(joint_terms=()), folds=0)
    assert [outlier.row for outlier in found.outliers] == [ROW + 1]


def test_a_wild_row_changes_nothing():
    """The fit with it, flagged, is the fit without it."""
    data = campaign("plane", 5)
    q = np.array(data.q)
    q[ROW, 0] += 3.0
    kept = np.arange(len(q)) != ROW
    options = {"model": CalibrationModel(joint_terms=()), "folds": 0, "prior": None}
    found = ROBOT.calibrate(replace(data, q=q), **options)
    without = ROBOT.calibrate(calibration.Dataset(data.measurement, q[kept]), **options)
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
    found = ROBOT.calibrate(replace(data, q=q), model=CalibrationModel(joint_terms=()), folds=0)
    assert sorted(outlier.row for outlier in found.outliers) == (wild + 1).tolist()


TOUCHES = [
    (kind, groups, robot, size)
    for size in (0.5, 0.1)
    for robot in ("puma560", "ur5", "panda")
    for kind, groups in (("plane", 3), ("ball_bar", 2), ("line", 3))
]
"""Kind, number of targets, robot, and size of joint terms in units of the usual one."""


@pytest.mark.parametrize(("kind", "groups", "name", "size"), few(TOUCHES, 1))
def test_rows_that_joint_terms_explain_are_not_flagged(kind, groups, name, size):
    """Few planes, lines and spheres, and joints with every term at once: no touch is a bad one."""
    rng = np.random.default_rng([groups, len(name), int(10 * size)])
    robot = zveno.load(name).with_tool(transform(None, [0.05, 0.04, 0.1]))
    model = redundant_model(robot.mechanism, None, WORDS)
    off = {"m": 1e-3, "rad": 2e-3}
    links = {term.name: off[term.unit] * rng.normal() for term in model.terms if term.role in ("link", "joint")}
    joints = {
        term.name: size * usual(term) * rng.normal()
        for term in model.terms
        if term.role in WORDS and term.role != "hysteresis"
    }
    data = calibration.simulate_dataset(
        calibration.apply_deviations(robot, links),
        calibration.BallBar(length=0.4) if kind == "ball_bar" else kind,
        robot.random(120, rng),
        groups=[f"target{k % groups}" for k in range(120)],
        joint_errors=joints,
        rng=rng,
    )
    found = robot.calibrate(data, folds=0)
    assert found.joint_terms or size < 0.5
    assert not found.outliers


def test_simulated_robots_touch_where_their_joints_yield():
    """Joints yield under the torques of the posture in contact, not of the one before it."""
    robot = zveno.load("ur5").with_tool(transform(None, [0.05, 0.04, 0.1]))
    plane = calibration.Plane(normal=(0.0, 0.0, 1.0), offset=0.2)
    soft = {"Cq2": 2e-4, "Cq3": 1e-4}
    data = calibration.simulate_dataset(robot, plane, robot.random(30, 1), joint_errors=soft, noise=0.0)
    model = redundant_model(robot.mechanism, None, ("compliance",))
    values = np.zeros(len(model.terms))
    values[[model.numbers[name] for name in soft]] = list(soft.values())
    height = frame_motion(model, model.frames[0], data.q, values, holding_torques(model, data.q))[0][:, 2, 3]
    np.testing.assert_allclose(height, 0.2, atol=1e-9)

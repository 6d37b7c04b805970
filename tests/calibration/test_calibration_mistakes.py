"""Joint values, readings and units that are wrong in a usual way: recognised, and the cure named."""

from dataclasses import replace

import numpy as np
import pytest
from calibration_arms import arm, measured_puma, simulated, truth

from tiers import every, few
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import (
    AxisDirection,
    Camera,
    Distance,
    Pose,
    Position,
    RelativePose,
    RelativePosition,
    Sockets,
)
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

BOARD = transform(exp(np.array([0.4, 1.1, -0.7])), np.array([1.2, -0.8, 0.3]))
CAMERA = transform(exp(np.array([-1.0, 0.2, 2.0])), np.array([0.05, 0.02, 0.1]))


@pytest.fixture(scope="module")
def measured():
    return measured_puma(Position(), 60, {"position": 5e-5})


def test_millimetres_read_as_metres(measured):
    robot, campaign = measured
    with pytest.raises(ZvenoError, match="millimetres"):
        calibrate(robot, replace(campaign, y=1e3 * campaign.y))


@pytest.mark.parametrize(
    ("spoil", "said"),
    every(
        [
            (lambda q: q[:, [0, 2, 1, 3, 4, 5]], "columns joint2 and joint3 were swapped"),
            (lambda q: q[:, [0, 1, 2, 4, 3, 5]], "columns joint4 and joint5 were swapped"),
            (lambda q: q * [1, -1, 1, 1, 1, 1], "joint joint2 had the opposite sign"),
            (lambda q: q * [1, 1, 1, 1, -1, 1], "joint joint5 had the opposite sign"),
            (lambda q: q - np.eye(6)[2] * q[:, [1]], "joint joint3 was counted from the one before"),
            (np.rad2deg, "joint values were degrees"),
            (np.deg2rad, "joint values were radians and taken for degrees"),
            (lambda q: q + [0, 0, np.pi / 2, 0, 0, 0], "joint joint3 counted from elsewhere, 90° off"),
            (lambda q: np.roll(q, 1, axis=0), "readings belonged to the next posture"),
        ]
    ),
)
def test_wrong_joint_values_are_recognised(measured, spoil, said):
    """Also those of the wrist, which move the point little; and with a base that is not where it should be."""
    robot, campaign = measured
    moved = replace(campaign, q=spoil(campaign.q), y=campaign.y + [0.1, 0.0, -0.05])
    with pytest.warns(ZvenoWarning, match=said):
        found = calibrate(robot, moved, folds=0)
    assert any("misses the readings" in note for note in found.notes)


SPOILT = (
    (np.array([1, 1, 1, 1, -1, 1]), np.zeros(6), "joint joint5 had the opposite sign"),
    (np.ones(6), np.array([0, 0, np.pi / 2, 0, 0, 0]), "joint joint3 counted from elsewhere"),
)
"""Factor and offset of joint values, and what is said."""


@pytest.mark.parametrize(
    ("kind", "spoilt"),
    few([(kind, spoilt) for kind in (Distance(centres=2), Sockets(sigma_distance=1e-6)) for spoilt in SPOILT], 1),
)
def test_wrong_joint_values_are_recognised_without_positions(kind, spoilt):
    """Contacts and distances; where a fit of such data breaks down, one sentence says so."""
    robot = arm("puma560")
    rng = np.random.default_rng(3)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    sigma = {"position": 5e-5, "distance": 5e-5}
    places = {"centre1": BOARD, "centre2": CAMERA}
    campaign = simulated(robot, kind, values, 110, rng, sigma, places)
    factor, offset, said = spoilt
    with pytest.warns(ZvenoWarning, match=said):
        _calibrated_or_refused(robot, replace(campaign, q=factor * campaign.q + offset))


def _calibrated_or_refused(robot, campaign):
    try:
        assert np.isfinite(calibrate(robot, campaign, folds=0).values).all()
    except ZvenoError as error:
        if "the fit broke down" not in str(error):
            raise


def _xyzw(y):
    from zveno.spatial.rotations import to_quaternion

    quaternions = np.array([to_quaternion(R.reshape(3, 3)) for R in y[:, 0, 3:]])
    return np.column_stack([y[:, 0, :3], quaternions[:, [1, 2, 3, 0]]])


def _transposed(y):
    return np.concatenate([y[..., :3], np.swapaxes(y[..., 3:].reshape(-1, 3, 3), 1, 2).reshape(-1, 1, 9)], axis=2)


def _inverse(y):
    T = np.tile(np.eye(4), (len(y), 1, 1))
    T[:, :3, 3], T[:, :3, :3] = y[:, 0, :3], y[:, 0, 3:].reshape(-1, 3, 3)
    return np.linalg.inv(T)


@pytest.mark.parametrize(
    ("kind", "sigma", "spoil", "said"),
    every(
        [
            (Pose(), {"position": 5e-5, "rotation": 1e-4}, _xyzw, "quaternions were x y z w"),
            (RelativePose(), {"position": 5e-5, "rotation": 1e-4}, _xyzw, "quaternions were x y z w"),
            (Pose(), {"position": 5e-5, "rotation": 1e-4}, _transposed, "orientations were those of the inverse"),
            (Camera(), {"position": 5e-5, "rotation": 1e-4}, _inverse, "poses were those of the inverse"),
            (
                RelativePosition(),
                {"position": 5e-5},
                lambda y: y * [1, -1, 1],
                "positions were given in a left-handed",
            ),
            (AxisDirection(), {"direction": 1e-4}, lambda y: -y, "directions were the opposite"),
        ]
    ),
)
def test_wrong_readings_are_recognised(kind, sigma, spoil, said):
    robot = arm("puma560")
    rng = np.random.default_rng(1)
    values = truth(robot, [one for one in identifiability(robot, kind).chosen if "." not in one], rng)
    campaign = simulated(robot, kind, values, 40, rng, sigma, {"board": BOARD, "camera": CAMERA, "tracker": BOARD})
    assert not calibrate(robot, campaign, folds=0).notes
    with pytest.warns(ZvenoWarning, match=said):
        calibrate(robot, replace(campaign, y=spoil(campaign.y)), folds=0)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1e3, "millimetres.*unit=mm"),
        (1e2, "centimetres.*unit=cm"),
        (1 / 0.0254, "inches.*unit=in"),
        (1e6, "micrometres"),
        (1e-3, "metres taken for millimetres"),
        (0.0, "all readings are the same"),
    ],
)
def test_wrong_units_of_readings_are_named(measured, factor, said):
    robot, campaign = measured
    with pytest.raises(ZvenoError, match=said):
        calibrate(robot, replace(campaign, y=factor * campaign.y + [2.0, 0.0, 1.0]))


def test_one_campaign_in_another_unit_is_named(measured):
    robot, campaign = measured
    good, bad = campaign.only(range(30)), campaign.only(range(30, 60))
    with pytest.raises(ZvenoError, match=r"second: readings.*millimetres"):
        calibrate(robot, [replace(good, name="first"), replace(bad, y=1e3 * bad.y, name="second")])


def _spoil(q, rng):
    """Joint values with one column of the opposite sign, or with two columns swapped."""
    a, b = rng.choice(q.shape[1], 2, replace=False)
    q = q.copy()
    if rng.random() < 0.5:
        q[:, a] *= -1.0
    else:
        q[:, [a, b]] = q[:, [b, a]]
    return q


KINDS = (
    (Position(), {"position": 1e-4}),
    (Pose(), {"position": 1e-4, "rotation": 1e-4}),
    (Distance(), {"distance": 1e-4}),
    (Distance(centres=2), {"distance": 1e-4}),  # from one of them a shoulder moves nothing
)


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize(
    ("name", "kind", "sigma"),
    few([(name, *kind) for kind in KINDS for name in ("puma560", "ur5", "panda", "scara")], 1),
)
def test_one_joint_column_in_degrees_is_in_doubt(name, kind, sigma):
    """No data error that is tried explains it, and no geometry does: more than 2 % of the size are left.

    A distance from a centre on the axis of a joint tells nothing about that joint, so that the centre is elsewhere.
    """
    robot, rng = arm(name), np.random.default_rng(len(name))
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    places = {"centre1": BOARD, "tracker": BOARD, "centre2": CAMERA}
    campaign = simulated(robot, kind, values, 60, rng, sigma, places)
    good = calibrate(robot, campaign, folds=0, model=CalibrationModel(joint_terms=()))
    assert (good.status, good.doubt) == ("calibrated", "")
    for joint in robot.mechanism.joints:
        if joint.type.kind != "revolute":
            continue
        k = robot.mechanism.q_slices[joint.name].start
        q = campaign.q.copy()
        q[:, k] = np.rad2deg(q[:, k])
        try:
            found = calibrate(robot, replace(campaign, q=q), folds=0, model=CalibrationModel(joint_terms=()))
        except ZvenoError as error:
            if "do not belong" in str(error) or "the fit broke down" in str(error):
                continue
            raise
        assert found.status == "data in doubt", joint.name
        assert found.doubt in found.verdict


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize("seed", few(range(24), 2))
def test_data_of_another_robot_have_a_status_that_says_so(seed):
    """A random joint with the wrong sign, or two that were swapped, of random arms and kinds."""
    rng = np.random.default_rng([seed, 41])
    robot = arm(("puma560", "ur5", "panda")[seed % 3])
    kind, sigma = ((Position(), {"position": 1e-4}), (Pose(), {"position": 1e-4, "rotation": 1e-4}))[seed // 3 % 2]
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 50, rng, sigma)
    good = calibrate(robot, campaign, folds=0, model=CalibrationModel(joint_terms=()))
    assert (good.status, good.doubt) == ("calibrated", "")
    try:
        found = calibrate(
            robot, replace(campaign, q=_spoil(campaign.q, rng)), folds=0, model=CalibrationModel(joint_terms=())
        )
    except ZvenoError as error:
        if "do not belong" not in str(error):
            raise
        return
    assert found.status == "data in doubt"
    assert found.doubt in found.verdict

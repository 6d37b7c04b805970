"""Hysteresis and backlash: found where it is, never where it is not, and taken into account."""

import numpy as np
import pytest
from calibration_arms import FAR, arm

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import Dataset, in_order
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError

SIGMA = 1e-4
TERMS = ("hysteresis",)


def measured(robot, size, n, seed, approach=None):
    """A campaign of a robot whose joints stop by about `size` to the sides they come from, and its parameters."""
    rng = np.random.default_rng(seed)
    model = redundant_model(robot.mechanism, None, TERMS)
    sizes = {"m": 1e-3, "rad": 2e-3}
    values = np.array([rng.normal() * (size if term.kind == "H" else sizes[term.unit]) for term in model.terms])
    q = robot.random(n, rng)
    side = in_order(q) if approach is None else approach
    T, _ = frame_motion(model, robot.mechanism.frame().name, q, values, None, side)
    y = (FAR @ T)[:, :3, 3] + SIGMA * rng.normal(size=(n, 3))
    return Dataset(RelativePosition(), q, y, approach=approach), values


def test_sides_follow_from_the_order_of_rows():
    q = np.array([[0.0, 1.0], [0.5, 0.5], [0.5, 0.7], [np.nan, 0.7], [0.1, 0.7]])
    assert in_order(q).tolist() == [[0, 0], [1, -1], [1, 1], [1, 1], [-1, 1]]
    campaign = Dataset(RelativePosition(), q, np.zeros((5, 3))).only([1, 4])
    assert campaign.approach.tolist() == [[1, -1], [-1, 1]]  # those of the whole campaign


@pytest.mark.laws
@pytest.mark.parametrize("said", [False, True])
def test_it_is_found_again(said):
    robot = arm("puma560")
    approach = np.random.default_rng(9).choice([-1.0, 1.0], (60, 6)) if said else None
    campaign, values = measured(robot, 4e-4, 60, 3, approach)
    found = robot.calibrate(campaign)
    assert "hysteresis" in found.joint_terms
    assert found.evidence > 20
    assert "joints that stop elsewhere from either side" in found.verdict
    at = [k for k, name in enumerate(found.names) if name.startswith("H")]
    assert len(at) == 6
    numbers = redundant_model(robot.mechanism, None, TERMS).numbers
    z = [(found.values[k] - values[numbers[found.names[k]]]) / found.std[k] for k in at]
    assert np.abs(z).max() < 4.0
    plain = robot.calibrate(campaign, model=CalibrationModel(joint_terms=()))
    assert found.held_out[0].rms < 0.8 * plain.held_out[0].rms
    if said:  # in the order of rows nothing would have been found
        lost = robot.calibrate(calibration.Dataset(RelativePosition(), campaign.q, campaign.y), folds=0)
        assert not lost.joint_terms


@pytest.mark.laws
def test_a_command_takes_the_side_into_account(tmp_path):
    robot = arm("puma560")
    campaign, _ = measured(robot, 1e-3, 80, 5)
    found = robot.calibrate(campaign, folds=0)
    q = robot.random(40, 6)
    q = q[np.linalg.svd(robot.jacobian(q), compute_uv=False)[:, -1] > 0.05]
    side = np.random.default_rng(2).choice([-1.0, 1.0], q.shape)
    target = found.planning_robot.forward_kinematics(q)
    known, unknown = found.compensate(q, approach=side), found.compensate(q)
    reached = known.reached & unknown.reached
    assert reached.sum() > 0.8 * len(q)
    true = found.predict(known.q, approach=side).T_world_frame
    np.testing.assert_allclose(true[reached], target[reached], atol=1e-6)
    off = np.linalg.norm((found.predict(unknown.q, approach=side).T_world_frame - target)[reached, :3, 3], axis=1)
    assert np.median(off) > 2e-4
    same = found.compensate(q, approach=1), found.compensate(q, approach=np.ones(6))
    np.testing.assert_array_equal(same[0].q, same[1].q)
    source = found.export_compensation(tmp_path)[1].read_text()
    assert "approach" in source
    with pytest.raises(ZvenoError, match="is not the sign of a motion"):
        found.predict(q, approach=0.5)
    stiff = robot.calibrate(campaign, model=CalibrationModel(joint_terms=()), folds=0)
    np.testing.assert_array_equal(stiff.compensate(q, approach=side).q, stiff.compensate(q).q)


def test_files_say_where_joints_came_from(tmp_path):
    robot = zveno.load("puma560")
    q, before = robot.random(4, 1), robot.random(4, 2)
    names = [f"q{k}" for k in range(1, 7)]
    file = tmp_path / "sides.csv"

    def read(columns, values):
        rows = np.column_stack([q, q[:, :3], values])
        lines = [",".join([*names, "x", "y", "z", *columns]), *(",".join(map(str, row)) for row in rows.tolist())]
        file.write_text("\n".join(["# kind = position", *lines]))
        return calibration.read_dataset(file, robot.mechanism).approach

    np.testing.assert_array_equal(read([f"from_{name}" for name in names], before), np.sign(q - before))
    one = read(["from_q2"], before[:, 1])
    np.testing.assert_array_equal(one[:, 1], np.sign(q - before)[:, 1])
    assert not one[:, [0, 2, 3, 4, 5]].any()
    np.testing.assert_array_equal(read(["approach_q1", "approach_q3"], np.ones((4, 2)))[:, :3], [[1, 0, 1]] * 4)
    assert read([], np.zeros((4, 0))) is None
    with pytest.raises(ZvenoError, match="no column named 'q9'"):
        read(["from_q9"], before[:, 1])
    file.write_text(file.read_text().replace("from_q9", "approach_q1").replace(f",{before[0, 1]}", ",left"))
    with pytest.raises(ZvenoError, match="'left' is not a side"):
        calibration.read_dataset(file, robot.mechanism)
    with pytest.raises(ZvenoError, match="is not -1, 0 or 1"):
        robot.calibrate(calibration.Dataset(RelativePosition(), q, q[:, :3], approach=q))


def test_random_sides_make_it_identifiable():
    robot = arm("puma560")
    plain, sided = (
        calibration.identifiability(robot, "position", model=CalibrationModel(joint_terms=terms))
        for terms in ((), TERMS)
    )
    assert sided.rank == plain.rank + 6


@pytest.mark.laws
def test_it_is_found_as_often_as_it_should_be():
    """20 robots with clear hysteresis (sizes are drawn: of 200, 4 are too small to be seen), and 20 without.

    Bounds are what 120 independent errors of a normal distribution keep with a chance of 99 %: 95 % ± 5 % of them
    within 1.96 standard deviations, a root mean square of 1 ± 0.17.
    """
    robot, z, named, false = arm("puma560"), [], 0, 0
    numbers = redundant_model(robot.mechanism, None, TERMS).numbers
    for seed in range(20):
        campaign, values = measured(robot, 3e-4, 60, 100 + seed)
        found = robot.calibrate(campaign, folds=0)
        named += "hysteresis" in found.joint_terms
        z += [
            (value - values[numbers[name]]) / std
            for name, value, std in zip(found.names, found.values, found.std, strict=True)
            if name.startswith("H")
        ]
        false += bool(robot.calibrate(measured(robot, 0.0, 60, seed)[0], folds=0).joint_terms)
    assert named >= 18
    assert not false
    assert 0.83 < np.sqrt(np.mean(np.square(z))) < 1.17
    assert np.mean(np.abs(z) < 1.96) >= 0.90


@pytest.mark.laws
def test_plans_ask_for_both_sides(tmp_path):
    robot = arm("puma560")
    plan = calibration.plan_poses(
        robot, "position", 12, model=CalibrationModel(joint_terms=TERMS), candidates=100, clearance=None
    )
    assert plan.both_sides
    assert np.isfinite(plan.sigma).all()
    assert sum(name.startswith("H") for name in plan.names) == 6
    assert any("measured twice" in note for note in plan.notes)
    file = plan.write_csv(tmp_path / "plan.csv")
    rows = file.read_text().splitlines()
    assert len(rows) == 25
    campaign = calibration.read_dataset(file, robot.mechanism, "position", planned=True)
    np.testing.assert_array_equal(campaign.approach, np.tile([[1.0], [-1.0]], (12, 6)))
    np.testing.assert_allclose(campaign.q[::2], campaign.q[1::2])
    plain = calibration.plan_poses(robot, "position", 12, candidates=100, clearance=None)
    assert not plain.both_sides
    with pytest.raises(ZvenoError, match="contacts from both sides"):
        calibration.plan_poses(robot, "point", 40, model=CalibrationModel(joint_terms=TERMS), candidates=100)

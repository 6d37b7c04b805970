"""Calibrations as controllers take them: what a form holds is the robot, what it loses is computed."""

import re

import numpy as np
import pytest
from calibration_arms import TOOL, arm, simulated, truth

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.controller import FORMS, controller_form
from zveno.calibration.measurements import Pose
from zveno.calibration.models import redundant_model
from zveno.errors import ModelError, ZvenoError
from zveno.spatial.rotations import elementary, from_rpy
from zveno.spatial.transforms import inverse, transform

SIGMA = {"position": 1e-5, "rotation": 1e-5}


def calibrated(name="ur5", parameters="all", joint_terms=()):
    robot, rng = zveno.load(name).with_tool(TOOL), np.random.default_rng(4)
    names = identifiability(robot, "pose", model=CalibrationModel(parameters=parameters)).chosen
    campaign = simulated(robot, Pose(), truth(robot, names, rng), 60, rng, SIGMA)
    return robot.calibrate(
        campaign, model=CalibrationModel(parameters=parameters, joint_terms=joint_terms), folds=0
    )


@pytest.fixture(scope="module")
def found():
    return calibrated()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_lost_is_the_distance_of_two_robots(found, form):
    made = found.controller(form)
    values = np.zeros(len(found.model.terms))
    for name, value in made.values.items():
        values[found.model.numbers[name]] = value
    for name in found.model.choose("tcp") if made.tool_apart else ():
        values[found.model.numbers[name]] = found.deviations[found.model.numbers[name]]
    from zveno.calibration._output import calibrated_mechanism

    held = zveno.Robot(calibrated_mechanism(found.model, values))
    q = found.robot.random(2000, 9)
    frame = found.frames[0]
    off = held.forward_kinematics(q, frame) - found.robot.forward_kinematics(q, frame)
    rms = np.sqrt(np.mean(np.sum(off[:, :3, 3] ** 2, axis=1)))
    assert made.position == pytest.approx(rms, rel=0.15, abs=1e-9)
    assert made.position < made.nominal
    assert made.worst >= made.position
    assert f"{1e3 * made.nominal:.3g} mm rms" in made.summary
    assert bool(made.lost) == (form != "ur")


def test_more_that_is_held_loses_less(found):
    offsets, kuka, ur = (found.controller(form) for form in ("offsets", "kuka", "ur"))
    assert ur.lost == ()
    assert "set the tool as it was measured" in ur.summary
    assert "lengths and angles of links" in kuka.lost
    assert kuka.position < offsets.position
    assert "joint offsets" not in kuka.summary


@pytest.mark.parametrize("form", ["kuka", "abb"])
def test_what_a_form_can_hold_is_held(form):
    found = calibrated(parameters="controller")
    made = found.controller(form)
    assert not made.lost
    assert made.position < 1e-9
    assert "holds the whole calibration" in made.summary
    robot = dict(zip(found.model.names, found.deviations.tolist(), strict=True))
    assert made.values == pytest.approx({name: robot[name] for name in made.values}, abs=1e-9)


def test_the_yaml_of_ur_is_the_robot(found):
    """The chain of its joints, as the driver's URDF has them, ends where the calibrated robot's last link is."""
    text = found.controller("ur").text
    assert re.findall(r"^  (\w+):$", text, re.MULTILINE) == [
        "shoulder",
        "upper_arm",
        "forearm",
        "wrist_1",
        "wrist_2",
        "wrist_3",
    ]
    numbers = np.array([float(x) for x in re.findall(r": (-?[\d.e-]+)$", text, re.MULTILINE)]).reshape(6, 6)
    steps = [transform(from_rpy(row[3:]), row[:3]) for row in numbers]
    q = found.robot.random(5, 3)
    ends = []
    for posture in q:
        T = np.eye(4)
        for step, angle in zip(steps, posture, strict=True):
            T = T @ step @ transform(elementary("z", float(angle)))
        ends.append(inverse(T) @ found.robot.forward_kinematics(posture, found.frames[0]))
    np.testing.assert_allclose(ends, [ends[0]] * 5, atol=2e-5)  # a constant: the tool, which the form has not
    near = controller_form(found.model, found.frames[0], found.deviations, found.deviation_covariance, "ur")
    assert near.position < 2e-3


def test_offsets_are_in_degrees_and_dh_has_four_columns():
    found = calibrated(parameters="offsets")
    rows = found.controller("offsets").text.splitlines()[1:]
    values = [float(row.split(", ")[1]) for row in rows]
    expected = [found.parameters.get(f"Rzq{k}", 0.0) for k in range(1, 7)]
    np.testing.assert_allclose(values, np.degrees(expected), atol=1e-5)
    table = found.controller("dh").text.splitlines()
    assert len(table) == 7
    assert all(len(row.split(", ")) == 5 for row in table[1:])
    assert "$TOOL={X " in found.controller("kuka").text
    assert "PERS pose tool_frame := [[" in found.controller("abb").text
    assert found.controller("frames").text.count("\n") == 3


def test_joint_terms_are_lost():
    robot = arm("puma560")
    model = redundant_model(robot.mechanism, None, ("gear",))
    exact = np.zeros((len(model.terms),) * 2)
    values = np.array([1e-3 if term.kind == "K" else 0.0 for term in model.terms])
    with pytest.raises(ModelError, match="orientations worse"):  # 4.02 for 4.03 mrad: other postures may differ
        controller_form(model, "tool", values, exact, "kuka")
    values = np.where(np.array(model.names) == "Kq2", 1e-3, 0.0)  # the range of joint 2 is not centred on zero
    made = controller_form(model, "tool", values, exact, "kuka")
    assert made.lost == ("gear ratios that are off",)
    assert made.position > 1e-4


def test_forms_that_do_not_fit_are_refused(found):
    with pytest.raises(ZvenoError, match="no form named 'fanuc'"):
        found.controller("fanuc")
    model = redundant_model(zveno.load("panda").mechanism)
    with pytest.raises(ZvenoError, match="The form is for six that turn"):
        controller_form(model, model.frames[0], np.zeros(len(model.terms)), np.zeros((len(model.terms),) * 2), "ur")

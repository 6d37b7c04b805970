"""Models of elementary transforms: poses, derivatives, kernels, notation."""

import numpy as np
import pytest
from calibration_arms import TWO_LINKS

import zveno
from mechanisms import random_mechanism
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion, pose_kernel
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError
from zveno.spatial.transforms import exp


def _twist(A):
    return np.stack([A[..., 0, 3], A[..., 1, 3], A[..., 2, 3], A[..., 2, 1], A[..., 0, 2], A[..., 1, 0]], -1)


@pytest.mark.parametrize("seed", range(12))
def test_pose_at_nominal_is_the_mechanisms_own(seed):
    mechanism = random_mechanism(seed, n=6)
    robot = zveno.Robot(mechanism)
    model = redundant_model(mechanism, "tool")
    q = robot.random(4, seed)
    T, _ = frame_motion(model, "tool", q, np.zeros(len(model.terms)), np.zeros((4, mechanism.n_v)))
    np.testing.assert_allclose(T, robot.forward_kinematics(q, frame="tool"), atol=1e-12)


@pytest.mark.laws(after=11)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("joint_terms", [(), ("gear", "compliance"), ("eccentricity", "ovality")])
def test_derivatives_are_those_of_the_pose(seed, joint_terms):
    mechanism = random_mechanism(seed, n=5)
    model = redundant_model(mechanism, "tool", joint_terms)
    rng = np.random.default_rng(seed)
    q, tau = mechanism.random(rng), rng.normal(size=mechanism.n_v)
    values = 0.2 * rng.normal(size=len(model.terms))
    T, J = frame_motion(model, "tool", q, values, tau)
    h = 1e-6
    for k in range(len(values)):
        e = h * np.eye(len(values))[k]
        change = (
            frame_motion(model, "tool", q, values + e, tau)[0] - frame_motion(model, "tool", q, values - e, tau)[0]
        )
        np.testing.assert_allclose(J[:, k], _twist(np.linalg.inv(T) @ change / (2 * h)), atol=2e-8)


def test_the_kernel_computes_the_same():
    robot = zveno.load("ur5")
    model = redundant_model(robot.mechanism)
    rng = np.random.default_rng(1)
    q, values = robot.random(9, 1), 0.1 * rng.normal(size=len(model.terms))
    for ours, kernels in zip(
        frame_motion(model, model.frames[0], q, values),
        pose_kernel(model, model.frames[0])(q, values, *np.zeros((2, 6))),
        strict=True,
    ):
        np.testing.assert_allclose(kernels, ours, atol=1e-12)


def test_two_frames_share_the_way_they_have_in_common():
    mechanism = random_mechanism(3, n=6, kinds=("revolute",), branching=0.0)
    one, both = redundant_model(mechanism, "tool"), redundant_model(mechanism, ["tool", "mark"])
    assert set(one.names) - set(both.names) == {
        name for name in one.names if name.endswith("1") and "q" not in name
    }
    assert len(both.terms) == len(one.terms) + 6
    q = mechanism.random(3)
    for frame in ("tool", "mark"):
        T, J = frame_motion(both, frame, q, np.zeros(len(both.terms)))
        np.testing.assert_allclose(T, zveno.Robot(mechanism).forward_kinematics(q, frame=frame), atol=1e-12)
    assert not J[:, both.numbers["Rzq6" if "Rzq6" in both.numbers else one.names[-7]]].any()


def test_notation_of_the_document():
    model = redundant_model(zveno.load(TWO_LINKS).mechanism)
    assert model.text() == "[Tx Ty Tz Rx Ry Rz]o Rz(q1) [Tx Ty Tz Rx Ry Rz]1 Rz(q2) [Tx Ty Tz Rx Ry Rz]2"
    assert model.text(["Txo", "Rzq1", "Rx1"]) == "[Tx]o Rz(q1) [Tx° Rx]1 Rz(q2)° [Tx°]2"
    assert len(model.terms) == 20


def test_classes_of_parameters():
    model = redundant_model(zveno.load("puma560").mechanism)
    assert len(model.choose("controller")) == 6 + 6 + 6
    assert model.choose("dh")[:5] == ["Rzq1", "Tx1", "Tz1", "Rx1", "Rzq2"]
    assert len(model.choose("dh")) == 24
    assert model.choose(["tcp", "Rzq*"])[:2] == ["Rzq1", "Rzq2"]
    with pytest.raises(ZvenoError, match="no parameter or class"):
        model.choose("Txx")


def test_any_axis_and_sign():
    robot = zveno.load("Ry(-q1) Tz(0.3) Rx(q2) Ty(0.2) Tx(-q3)")
    model = redundant_model(robot.mechanism)
    assert "Ry(-q1)" in model.text()
    assert "Tx(-q3)" in model.text()
    q = robot.random(5, 0)
    T, _ = frame_motion(model, model.frames[0], q, np.zeros(len(model.terms)))
    np.testing.assert_allclose(T, robot.forward_kinematics(q), atol=1e-14)


def test_a_frame_that_does_not_move_is_refused():
    robot = zveno.load(TWO_LINKS)
    with pytest.raises(ZvenoError, match="nothing to calibrate"):
        redundant_model(robot.mechanism, robot.link_names[0])


def test_elementary_order_of_a_link():
    """Translations, then the nominal rotation, then rotations: the derivative of Tx is along the axis before it."""
    robot = zveno.load("Rz(q1) Rx(90deg) Tx(0.1)")
    model = redundant_model(robot.mechanism)
    T, J = frame_motion(model, model.frames[0], np.zeros(1), np.zeros(len(model.terms)))
    # Link 1 is Tx(0.1) Rx(90°): its Ty is the axis y before Rx, the −z axis of the frame.
    np.testing.assert_allclose(J[:3, model.numbers["Ty1"]], [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(T @ exp(np.zeros(6)), T)


def test_joint_terms_are_printed_where_they_are_kept():
    robot = zveno.load("puma560")
    found = identifiability(robot, "pose", model=CalibrationModel(joint_terms=["gear", "compliance"]))
    assert found.text.startswith("[Tx Ty Tz Rx Ry]o Rz(q1; K) [Tx Ty Rx]1 Rz(q2; K C)")
    model = redundant_model(robot.mechanism, None, ["gear", "eccentricity"])
    assert "Rz(q3; K Es Ec) " in model.text()
    assert "Rz(q3)° " in model.text(["Txo"])


def test_one_fixed_name_is_a_name_and_not_its_letters():
    model = redundant_model(zveno.load("puma560").mechanism, None, ())
    alone = CalibrationModel(fixed="Tx1").choose(model)
    assert alone == CalibrationModel(fixed=["Tx1"]).choose(model)
    assert "Tx1" not in alone

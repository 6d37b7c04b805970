"""Exact and near-exact angles of MJCF models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mjcf_models import (
    INERTIAL,
    model_of,
)

from zveno.algorithms.forward_kinematics import frame_pose
from zveno.io.mjcf import parse_mjcf
from zveno.spatial.rotations import from_quaternion

mujoco = pytest.importorskip("mujoco")


@pytest.mark.parametrize(
    "turn", ["euler='90 0 0'", "euler='0 -90 180'", "quat='0.5 0.5 -0.5 0.5'", "quat='1 1 0 0'"]
)
def test_right_angles_are_exact(turn):
    mechanism = parse_mjcf(model_of(f"<body pos='1 2 3' {turn}>{INERTIAL}<joint/></body>"))
    T = mechanism.joints[0].T_parent_joint
    np.testing.assert_array_equal(T, np.round(T))
    assert mechanism.notes == ()


@pytest.mark.parametrize("turn", ["euler='15 30 45'", "euler='60 75 -105'", "euler='33 20 11'", "euler='12 90 77'"])
def test_exact_and_arbitrary_angles_are_not_reported(turn):
    assert parse_mjcf(model_of(f"<body {turn}>{INERTIAL}<joint/></body>")).notes == ()


@pytest.mark.parametrize(
    ("turn", "meant"),
    [
        ("euler='1.5708 0 0'", [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        ("euler='0 1.57079 0.78539'", None),
        ("quat='0.92388 0 0 0.382683'", np.array([[1, -1, 0], [1, 1, 0], [0, 0, np.sqrt(2)]]) / np.sqrt(2)),
        ("quat='0.653281 0.270598 0.653281 0.270598'", None),
    ],
)
def test_near_exact_rotations_are_reported_and_snapped_on_request(turn, meant):
    text = model_of(
        f"<body name='arm' {turn}>{INERTIAL}<joint/></body>", "<compiler angle='radian' eulerseq='XYZ'/>"
    )
    kept, snapped = parse_mjcf(text), parse_mjcf(text, snap=True)
    assert "body arm" in kept.notes[0]
    assert "kept" in kept.notes[0]
    assert snapped.notes[0].startswith("snapped at ")
    before, after = (mechanism.joints[0].T_parent_joint[:3, :3] for mechanism in (kept, snapped))
    np.testing.assert_allclose(
        before, from_quaternion(mujoco.MjModel.from_xml_string(text).body_quat[1]), atol=1e-15
    )
    assert 1e-8 < abs(before - after).max() < 2e-4
    np.testing.assert_allclose(after.T @ after, np.eye(3), atol=1e-15)
    if meant is not None:
        np.testing.assert_allclose(after, meant, atol=1e-15)


def test_the_initial_pose_of_a_free_body_is_not_part_of_the_mechanism():
    text = model_of(f"<body pos='1 2 3' quat='0.7071 0.7072 0 0'>{INERTIAL}<freejoint/></body>")
    mechanism = parse_mjcf(text)
    np.testing.assert_array_equal(mechanism.joints[0].T_parent_joint, np.eye(4))
    assert not any("near-exact" in note for note in mechanism.notes)


def test_roll_and_yaw_are_told_apart_at_a_pitch_of_90_degrees():
    # Six digits leave the split of one turn into roll and yaw open; only the sum, 45°, is in the numbers.
    text = model_of(f"<body quat='0.653281 -0.270598 0.653282 0.270599'>{INERTIAL}<joint/></body>")
    R = parse_mjcf(text, snap=True).joints[0].T_parent_joint[:3, :3]
    half = math.sqrt(0.5)
    np.testing.assert_allclose(R, [[0, -half, half], [0, half, half], [-1, 0, 0]], atol=1e-15)


def test_near_exact_ref_and_axis():
    text = model_of(
        f"<body>{INERTIAL}<joint name='j' ref='1.5708' axis='0 0.00001 1'/><site name='t' pos='1 0 0'/></body>",
        "<compiler angle='radian'/>",
    )
    kept, snapped = parse_mjcf(text), parse_mjcf(text, snap=True)
    for mechanism in (kept, snapped):
        assert len(mechanism.notes) == 1
        assert "at 2 places" in mechanism.notes[0]
    np.testing.assert_array_equal(snapped.joints[0].type.axis, [0, 0, 1])
    np.testing.assert_array_equal(snapped.joints[0].T_parent_joint[:3, :3], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(frame_pose(kept, np.array([1.5708]), "t")[:3, 3], [1, 0, 0], atol=1e-15)


def test_many_near_exact_angles_make_one_note():
    bodies = "".join(f"<body name='b{k}' euler='1.5708 0 0'/>" for k in range(20))
    notes = parse_mjcf(model_of(bodies, "<compiler angle='radian'/>")).notes
    assert len(notes) == 1
    assert "b19" in notes[0]

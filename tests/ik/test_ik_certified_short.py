"""`method="certified"` for slides, wrists and three joints: every solution, and none where a pose is singular."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest

import zveno
from tiers import every

pytest.importorskip("flint")

CHAINS = {
    "elbow arm": ("Rz(q1) Tz(0.3) Rx(90deg) Rz(q2) Tx(0.4) Tz(0.1) Rz(q3) Tx(0.35)", "position"),
    "skew axes": (
        "Rz(q1) Tz(0.3) Tx(0.1) Rx(60deg) Rz(q2) Tx(0.4) Tz(0.1) Rx(1.1) Rz(q3) Tx(0.35) Tz(0.2)",
        "position",
    ),
    "polar arm": ("Rz(q1) Tz(0.3) Rx(90deg) Rz(q2) Tx(0.1) Ry(90deg) Tz(q3) Tx(0.05)", "position"),
    "cylinder": ("Rz(q1) Tx(0.1) Tz(q2) Ry(90deg) Tz(q3) Tx(0.05)", "position"),
    "gantry": ("Tz(q1) Ry(90deg) Tz(q2) Rx(60deg) Tz(q3) Tx(0.1)", "position"),
    "wrist": ("Rz(q1) Rx(90deg) Rz(q2) Rx(60deg) Rz(q3) Tx(1)", "rotation"),
    "gantry with a wrist": (
        "Tz(q1) Ry(90deg) Tz(q2) Rx(90deg) Tz(q3) Rz(q4) Rx(90deg) Rz(q5) Rx(-90deg) Rz(q6) Tx(0.1)",
        "pose",
    ),
    "slides among turns": (
        "Rz(q1) Rx(90deg) Tz(q2) Rx(60deg) Rz(q3) Tx(0.2) Rx(45deg) Tz(q4) Ry(60deg) Rz(q5) Ry(30deg) Tz(q6)",
        "pose",
    ),
    "stanford": ("stanford", "pose"),
}


@pytest.mark.parametrize("name", every(CHAINS))
def test_every_solution_is_proved_and_the_floating_solver_agrees(name):
    model, task = CHAINS[name]
    robot = zveno.load(model)
    q = robot.random(3, 7)
    T = robot.forward_kinematics(q)
    proved = robot.ik(T, task=task, method="certified", limits=False)
    floating = robot.ik(T, task=task, limits=False)
    assert list(proved.status) == ["proved"] * 3
    for k in range(3):
        assert nearest(q[k], proved.of(k)) < 1e-12
        assert np.all(proved.residual[k, : proved.count[k]] < 1e-12)
        assert all(nearest(each, proved.of(k)) < 1e-8 for each in floating.of(k)), "one is missing in the proof"
        if floating.status[k] == "complete":
            assert proved.count[k] == floating.count[k]


def test_points_out_of_reach_and_singular_ones():
    arm = "Rz({}) Tz(0.3) Rx(90deg) Rz({}) Tx(0.4) Rz({}) Tx(0.35)"
    robot = zveno.load(arm.format("q1", "q2", "q3"))
    far = robot.ik("Tx(0.6) Tz(0.9)", task="position", method="certified")
    assert far.status == "proved unreachable"
    stretched = arm.format("0.3", "0.4", "0")
    assert robot.ik(stretched, task="position", method="certified").status == "not proved"
    above = robot.ik("Tz(0.6)", task="position", method="certified")
    assert above.status == "not proved", "the first joint is free there"


def test_a_wrist_whose_axes_only_nearly_meet_is_not_proved():
    near = (
        "Rz(q1) Tz(0.4) Rx(90deg) Rz(q2) Tx(0.1) Ry(90deg) Tz(q3) Rz(q4) Rx(90deg) Tz(1e-9) Rz(q5) Rx(90deg) Rz(q6)"
    )
    robot = zveno.load(near)
    answer = robot.ik(robot.forward_kinematics(robot.random((), 2)), method="certified", limits=False)
    assert answer.status == "not proved"
    assert "meet in a point" in answer.summary

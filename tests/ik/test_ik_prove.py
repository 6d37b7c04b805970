"""`prove`: right answers are proved, wrong ones refuted, whatever the solver was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ik_answers import robot_of
from ik_arms import dh_arm, general_arms, industrial_arms, known_arms

import zveno
from tiers import every
from zveno import ik
from zveno.ik.solutions import COMPLETE, EXCLUDED, FAMILY, STATUSES, UNDECIDED, UNREACHABLE

pytest.importorskip("flint")

ARMS = [known_arms()["ur5"], known_arms()["manseur_doty"], general_arms(1)[0], industrial_arms(1)[0]]


def claim(answer: ik.Solutions, q: np.ndarray, code: int = COMPLETE) -> ik.Solutions:
    """The same answer with other solutions (s, n_q) and another status."""
    return replace(answer, q=q, count=np.array(len(q)), codes=np.array(code), residual=np.zeros(len(q)))


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("arm", every(ARMS), ids=lambda arm: arm.name)
def test_falsified_claims_are_refuted(arm):
    robot = robot_of(arm)
    for T in arm.poses(2, seed=8)[1]:
        answer = robot.ik(T)
        assert answer.prove().status == "proved"
        q, extra = answer.q, np.full((1, 6), 0.1234)
        moved = q.copy()
        moved[0, 2] += 1e-6
        for wrong in (q[1:], np.concatenate([q, extra]), moved, np.concatenate([q, q[:1]])):
            assert claim(answer, wrong).prove().status == "refuted"
        assert claim(answer, q[1:], UNDECIDED).prove().status == "proved", "no claim to be all"
        assert claim(answer, moved, UNDECIDED).prove().status == "refuted"
        for code in (UNREACHABLE, EXCLUDED, FAMILY):
            assert claim(answer, q[:0], code).prove().status == "refuted"


def test_limits_belong_to_the_claim():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random((), 4))
    inside, every = robot.ik(T), robot.ik(T, limits=False)
    assert inside.count < every.count
    assert inside.prove().status == every.prove().status == "proved"
    assert claim(inside, every.q).prove().status == "refuted"
    assert claim(every, inside.q).prove().status == "refuted"
    none = robot.ik(T, limits={"joint1": (every.q[:, 0].max() + 0.01, every.q[:, 0].max() + 0.02)})
    assert none.status == "excluded by limits"
    assert none.prove().status == "proved"
    assert claim(none, none.q, UNREACHABLE).prove().status == "refuted"
    assert robot.ik(T).windings().prove().status == "proved"


def test_a_batch_has_a_verdict_each_and_survives_a_file(tmp_path):
    robot = zveno.load("ur5")
    T = robot.forward_kinematics(robot.random((2, 2), 3))
    T[1, 1, :3, 3] += 5.0
    answer = robot.ik(T)
    answer.save(tmp_path / "answer.json")
    verdict = zveno.load_result(tmp_path / "answer.json").prove()
    assert verdict.status.shape == (2, 2)
    assert (verdict.status == "proved").all()
    assert verdict.proof.count[1, 1] == 0
    codes = answer.codes.copy()
    codes[0, 1] = UNREACHABLE
    verdict = replace(answer, codes=codes).prove()
    assert verdict.status.ravel().tolist() == ["proved", "refuted", "proved", "proved"]
    assert "pose 1" in verdict.summary


def test_a_held_joint_of_seven_is_part_of_the_question():
    robot = zveno.load("panda")
    q = robot.random((), 5)
    answer = robot.ik(robot.forward_kinematics(q), limits={"joint3": (q[2], q[2])})
    assert answer.status == "complete"
    assert answer.prove().status == "proved"
    assert claim(answer, answer.q[1:]).prove().status == "refuted"


def test_singular_poses_are_not_proved_either_way():
    robot = robot_of(known_arms()["puma"])
    answer = robot.ik("Tx(0.15005) Tz(0.8636) Rz(90deg)")
    assert answer.prove().status == "not proved"


def test_a_false_family_is_refuted():
    # A regular pose of a general arm, of which a floating solver once said that it has a family.
    arm = dh_arm(
        "g102",
        [0.0743, 0.1014, 0.1788, 0.4103, 0.1388, 0.1309],
        [-1.382456, 2.606486, -2.518722, 1.634072, -0.628135, 1.592871],
        [0.206, 0.3184, -0.0586, -0.4474, -0.0957, 0.0697],
    )
    T = np.array(
        [
            [0.6140808903219256, -0.07587986301447326, 0.7855869821543227, -0.016534770965260168],
            [0.7611554693557053, -0.20624116694088077, -0.614904002693721, 0.36981288371730825],
            [0.2086792074245232, 0.9755546255580814, -0.06889238666866078, 0.5555326380119189],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    answer = robot_of(arm).ik(T)
    verdict = answer.prove()
    assert len(verdict.proof.q) == 8
    assert verdict.status == ("refuted" if STATUSES[int(answer.codes)] in ("self-motion", "sampled") else "proved")


def test_bad_input():
    answer = zveno.load("ur5").ik(np.eye(4))
    with pytest.raises(zveno.errors.ShapeError, match="tolerance"):
        answer.prove(tolerance=0.0)
    with pytest.raises(zveno.ZvenoError, match="does not hold what was asked"):
        replace(answer, question=None).prove()

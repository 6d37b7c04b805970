"""Configurations that users do not accept, and time that is over: both lower what is claimed."""

from __future__ import annotations

import numpy as np
import pytest

import zveno

PUMA = zveno.load("puma560")
PANDA = zveno.load("panda")


def elbow_up(q):
    return q[:, 2] > 0


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_what_is_not_accepted_is_left_out_and_said(shape):
    T = PUMA.forward_kinematics(PUMA.random(shape, 3))
    everything, some = PUMA.ik(T), PUMA.ik(T).where(elbow_up)
    for pose in np.ndindex(*shape):
        expected = everything.of(*pose)
        expected = expected[elbow_up(expected)]
        np.testing.assert_array_equal(some.of(*pose), expected)
        assert some.q.shape[:-2] == shape
        if len(expected):
            assert np.array(some.status)[pose] == "complete"
        left_out = int(everything.count[pose]) - len(expected)
        assert (f"{left_out} of {everything.count[pose]} not accepted" in some.reason(*pose)) == (left_out > 0)


def test_nothing_accepted_is_a_negative_only_of_a_complete_answer():
    T = PUMA.forward_kinematics(PUMA.random((), 3))
    none = PUMA.ik(T).where(lambda q: np.zeros(len(q), bool))
    assert none.status == "rejected"
    assert none.count == 0
    assert "not accepted" in none.summary
    T = PANDA.forward_kinematics((PANDA.lower + PANDA.upper) / 2)
    sample = PANDA.ik(T).where(lambda q: np.zeros(len(q), bool))
    assert sample.status == "undecided"
    assert not sample.self_motions


def test_families_hold_accepted_configurations_only():
    T = PANDA.forward_kinematics((PANDA.lower + PANDA.upper) / 2)
    some = PANDA.ik(T).where(lambda q: q[:, 0] > 0)
    assert (some.of()[:, 0] > 0).all()
    assert all((family.q[:, 0] > 0).all() for curves in some.self_motions.values() for family in curves)


def test_a_predicate_of_the_wrong_shape_is_refused():
    T = PUMA.forward_kinematics(PUMA.random((), 3))
    with pytest.raises(zveno.ZvenoError, match="where"):
        PUMA.ik(T).where(lambda q: True)


def test_poses_that_nobody_looked_at_are_undecided():
    T = PUMA.forward_kinematics(PUMA.random((40, 10), 3))
    short = PUMA.ik(T, timeout=1e-9)
    assert short.count.shape == (40, 10)
    looked = np.array(short.codes).ravel() == 0
    assert looked[0]
    assert not looked[-1]
    assert (np.array(short.status).ravel()[~looked] == "undecided").all()
    assert "not looked at" in short.reason(39, 9)
    long = PUMA.ik(T, timeout=60.0)
    np.testing.assert_array_equal(long.q, PUMA.ik(T).q)
    with pytest.raises(zveno.ZvenoError, match="timeout"):
        PUMA.ik(T, timeout=-1)


def test_limits_are_remembered_by_value_and_not_confused():
    T = PUMA.forward_kinematics(np.array([0.3, -0.8, 0.9, 0.4, 0.5, 0.7]))
    every = PUMA.ik(T).of()
    lower, upper = PUMA.lower.copy(), PUMA.upper.copy()
    for bound in (0.5, -0.5, 0.5):
        upper[0] = bound  # the same array with another value is another limit
        for limits in ((lower, upper), (lower.tolist(), upper.tolist()), {"joint1": (-9.0, bound)}):
            answer = PUMA.ik(T, limits=limits)
            np.testing.assert_allclose(answer.of(), every[every[:, 0] <= bound], atol=1e-12)
            assert answer.question.upper[0] == bound
    assert len({np.sum(every[:, 0] <= bound) for bound in (0.5, -0.5)}) == 2


def test_what_is_held_is_remembered_by_value_and_not_confused():
    held = PANDA.neutral()
    T = PANDA.forward_kinematics(np.full(7, 0.3), frame="link3")
    first = PANDA.ik(T, frame="link3", task="rotation", fixed=held)
    held[5] = 1.0
    second = PANDA.ik(T, frame="link3", task="rotation", fixed=held)
    assert (first.of()[:, 5] == 0.0).all()
    assert (second.of()[:, 5] == 1.0).all()
    assert len(first) == len(second)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_a_scan_stays_a_sample_whatever_is_left_of_it(shape):
    """Nothing that it did not find is claimed: neither by what is accepted nor by what is refused."""
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(shape, 3))
    whole = robot.ik(T, method="scan")
    assert set(np.ravel(whole.status)) == {"sampled"}
    some = robot.ik(T, method="scan").where(lambda q: np.arange(len(q)) % 2 == 0)
    assert set(np.ravel(some.status)) == {"sampled"}
    none = robot.ik(T, method="scan").where(lambda q: np.zeros(len(q), dtype=bool))
    assert set(np.ravel(none.status)) == {"undecided"}
    assert set(np.ravel(robot.ik(T).where(lambda q: np.zeros(len(q), dtype=bool)).status)) == {"rejected"}

"""A payload from its torques, and gains of drives from a payload."""

import numpy as np
import pytest
from simulated_logs import Friction, simulated_logs

import zveno
from zveno import identification

FRICTION = Friction(viscous=1.0, coulomb=2.0)
PAYLOAD = zveno.inertia.parameters(2.0, [0.05, -0.03, 0.1], np.diag([0.01, 0.012, 0.008]))
TERMS = ("viscous", "coulomb")


@pytest.fixture(scope="module")
def robot():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def logs(robot):
    """Without the payload, and with it."""
    last = robot.link_names[-1]
    loaded = robot.with_inertia({last: robot.mechanism.links[-1].inertia + PAYLOAD})
    (empty,) = simulated_logs(robot, FRICTION, seconds=12.0, rng=1)
    (full,) = simulated_logs(loaded, FRICTION, seconds=12.0, rng=2)
    return empty, full


@pytest.mark.laws
@pytest.mark.parametrize("known", [True, False], ids=["known arm", "identified arm"])
def test_a_payload_is_found_within_three_standard_deviations(robot, logs, known):
    empty, full = logs
    arm = robot if known else robot.identify(empty.log, friction_terms=TERMS)
    found = identification.identify_payload(arm, full.log, frame=robot.link_names[-1], friction_terms=TERMS)
    z = (found.least_squares - PAYLOAD) / found.std
    assert np.sqrt(np.mean(z**2)) < 2.0
    assert found.mass == pytest.approx(2.0, abs=3.0 * found.std[0] + 1e-4)
    assert found.std[0] < 0.02
    assert found.center_of_mass == pytest.approx([0.05, -0.03, 0.1], abs=5e-3)
    assert zveno.inertia.problems(found.parameters) == []
    assert found.status == "identified"


@pytest.mark.laws
def test_parameters_are_given_in_the_frame_that_is_asked_for(robot, logs):
    last = robot.link_names[-1]
    moved = robot.with_tool(zveno.transforms.transform(None, [0.0, 0.0, 0.1]), frame=last)
    found = identification.identify_payload(moved, logs[1].log, frame="tool", friction_terms=TERMS)
    assert found.center_of_mass == pytest.approx([0.05, -0.03, 0.0], abs=5e-3)


def test_what_the_motion_does_not_show_of_a_payload_is_said(robot):
    """A single vertical axis shows the moment of inertia about itself and nothing else."""
    one = zveno.load("Rz(q1) Tx(0.5)").with_inertia({"link1": [1.0, 0.2, 0, 0, 0.1, 0, 0.2, 0, 0, 0.2]})
    t = np.arange(0.0, 12.0, 2e-3)
    q = (np.sin(2 * t) + 0.5 * np.sin(5 * t + 1))[:, None]
    v, a = np.gradient(q, t, axis=0), -4 * np.sin(2 * t)[:, None] - 12.5 * np.sin(5 * t + 1)[:, None]
    tau = 1.5 * one.inverse_dynamics(q, v, a)
    found = identification.identify_payload(
        one, identification.Log.of(one, t, q, tau), frame="link1", friction_terms="none"
    )
    shown = dict(zip(zveno.inertia.PARAMETER_NAMES, found.seen, strict=True))
    assert not shown["m"]
    assert found.status == "partly identified"
    assert np.isinf(found.std[0])
    assert "not shown by the motion: m" in found.summary


def test_gains_follow_from_a_weighed_payload(robot, logs):
    true = np.array([1.0, 1.1, 0.9, 1.0, 1.2, 1.0])
    scaled = [identification.Log.of(robot, one.t, one.log.arrays().q, one.log.arrays().tau / true) for one in logs]
    found = identification.identify_drive_gains(
        robot, *scaled, PAYLOAD, frame=robot.link_names[-1], friction_terms=TERMS
    )
    assert (abs(found.gains - true) < np.maximum(4.0 * found.std, 0.01)).all()
    assert (found.std < 0.05).all()


@pytest.mark.laws
def test_a_payload_of_nonsense_is_refused(robot, logs):
    with pytest.raises(zveno.errors.ShapeError, match="payload: has shape"):
        identification.identify_drive_gains(robot, logs[0].log, logs[1].log, [1.0, 2.0])
    with pytest.raises(zveno.ZvenoError, match="friction"):
        identification.identify_payload(robot, logs[1].log, friction_terms="auto")

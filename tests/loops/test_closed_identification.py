"""Identification of machines with closed loops from their motors alone."""

import numpy as np
import pytest
from closed_logs import closed_motion, log_of, motors_of, with_other_masses
from closed_machines import five_bar, four_bar, palletiser

import zveno

NOISE = 0.02
"""Standard deviation of recorded torques, N·m."""


def misfit(result, true, **motion):
    """Error of predicted torques on another motion, over the torques."""
    closed, _, q, v, a = closed_motion(true, seconds=5.0, seed=7, **motion)
    tau = closed.inverse_dynamics(q, v, a, joint_friction=True)
    again = result.predict(motors_of(closed, q), v, a).tau
    model = zveno.loops.ClosedRobot(result.robot, q[0])
    assert np.allclose(model.inverse_dynamics(q, v, a, joint_friction=True), again, atol=1e-6 * abs(tau).max())
    return np.linalg.norm(again - tau) / np.linalg.norm(tau)


@pytest.mark.parametrize(
    "make", [four_bar, *(pytest.param(make, marks=pytest.mark.laws) for make in (five_bar, palletiser))]
)
def test_identified_torques(make):
    """A machine with other masses and friction than the model: its torques are predicted to the noise."""
    true = with_other_masses(make(), np.random.default_rng(1))
    result = make().identify(log_of(true, noise=NOISE, seconds=12.0), friction_terms="basic")
    assert result.status == "usable"
    assert result.validation.overall["nominal"] > 0.05
    assert misfit(result, true) < 0.003
    base = true.base_parameters(drives=("rotor", "offset"), q0=true.mechanism.reference)
    assert result.base.rank == base.rank
    friction = dict(zip(result.names, result.values, strict=True))
    assert friction["Fv1"] == pytest.approx(0.6, rel=0.05)
    assert friction["Fs1"] == pytest.approx(0.8, rel=0.05)


def test_result_from_a_file(tmp_path):
    true = with_other_masses(four_bar(), np.random.default_rng(2))
    result = four_bar().identify(log_of(true, noise=NOISE, seconds=12.0), friction_terms="basic")
    again = zveno.load_result(result.save(tmp_path / "result.json"))
    q, v, a = np.array([[0.5], [0.6]]), np.array([[1.0], [-1.0]]), np.array([[2.0], [0.0]])
    assert np.array_equal(again.predict(q, v, a).tau, result.predict(q, v, a).tau)
    assert "2 follow from the loops" in again.summary
    with pytest.raises(zveno.ZvenoError, match="ClosedRobot"):
        result.export_c(tmp_path)


def test_recorded_passive_joints_choose_the_branch():
    """A log of all joints on the other assembly mode is fitted there."""
    true = with_other_masses(four_bar(), np.random.default_rng(3))
    modes = zveno.loops.assembly_modes(true, {"crank": 0.4})
    other = max(modes.q, key=lambda q: np.linalg.norm(q - true.mechanism.reference))
    log = log_of(true, q0=other, everything=True, noise=NOISE)
    result = four_bar().identify(log, friction_terms="basic")
    assert any("coupler, rocker" in note for note in result.notes)
    assert result.status == "usable"
    assert misfit(result, true, q0=other) < 0.003


def test_logs_that_cannot_be_used():
    robot = five_bar()
    log = log_of(robot)
    t, q, tau = np.arange(100) / 100, np.full((100, 1), 2.2), np.arange(100.0)[:, None]
    with pytest.raises(zveno.ZvenoError, match="right was not recorded"):
        robot.identify(zveno.identification.Log.of(robot, t, q, tau, joint_names=["left"]))
    block = log.arrays()
    far = zveno.identification.Log.of(
        robot, block.t, block.q * [[-1.0, 1.0]], block.tau, joint_names=log.joint_names
    )
    with pytest.raises(zveno.ZvenoError, match=r"the loops do not close at left = -2\.2"):
        robot.identify(far)
    robot, log = four_bar(motors=("crank", "rocker")), log_of(four_bar(), seconds=1.0)
    with pytest.raises(zveno.ZvenoError, match="as many motors as freedoms"):
        robot.identify(log)

"""The simulated recordings themselves: what they record is what the equations of motion say."""

import numpy as np
import pytest
from simulated_logs import Friction, simulated_logs

import zveno


@pytest.fixture(scope="module")
def robot():
    return zveno.load("puma560")


FRICTIONS = {
    "none": Friction(),
    "viscous and coulomb": Friction(viscous=2.0, coulomb=3.0),
    "concave": Friction(coulomb=1.0, third=2.0),
    "load": Friction(viscous=1.0, coulomb=1.0, load=0.1),
    "stribeck": Friction(coulomb=1.0, stribeck=1.0, asymmetry=0.2, offset=-0.3),
}


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("name", FRICTIONS)
def test_recorded_torques_are_those_of_the_motion(robot, name):
    """Inverse dynamics of the true motion plus friction is the recorded torque: over four samples, whose mean
    removes the steps of the held torque."""
    (run,) = simulated_logs(
        robot, FRICTIONS[name], seconds=4.0, torque_noise=0.0, control_noise=0.0, resolution=0.0, rng=1
    )
    h = run.t[1] - run.t[0]
    a = (run.v[2:] - run.v[:-2]) / (2.0 * h)
    q, v, tau = run.q[1:-1], run.v[1:-1], run.tau[1:-1]
    expected = FRICTIONS[name].torque(v, robot.inverse_dynamics(q, v, a))
    moving = abs(v) > 0.05  # around rest tanh turns faster than the samples come
    error = np.where(moving, tau - expected, 0.0)[50:]
    assert abs(error).max() < 0.02 * abs(tau).max()
    assert np.sqrt((error**2).mean()) < 2e-3 * np.sqrt((tau**2).mean())


def test_what_is_recorded(robot):
    first, second = simulated_logs(robot, FRICTIONS["load"], runs=2, seconds=2.0, velocity=True, rng=2)
    assert first.log.joint_names == robot.joint_names
    assert len(first.log) == 1000
    assert first.log.step == pytest.approx(2e-3)
    whole = first.log.arrays()
    assert np.allclose(whole.t, first.t)
    assert abs(whole.q - first.q).max() <= np.pi / 2**19
    assert np.std(whole.tau - first.tau, axis=0) == pytest.approx(first.torque_noise, rel=0.1)
    assert not np.allclose(whole.q, second.log.arrays().q, atol=1e-9)
    late = whole.v[10:] - first.v[8:-2]
    assert np.sqrt((late**2).mean()) < 0.05 * np.sqrt((first.v**2).mean())

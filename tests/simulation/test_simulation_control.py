"""Controllers and drives."""

import numpy as np
import pytest

import zveno
from mechanisms import relative_error
from zveno.errors import ModelError, ShapeError, ZvenoError
from zveno.kernels import ops as zm
from zveno.simulation import DOP853, PD, ComputedTorque, Recorded, ServoDrive
from zveno.simulation.control import as_control
from zveno.simulation.drives import ServoDrive as Drive
from zveno.simulation.simulate import simulate


@pytest.mark.laws
def test_pd_holds_its_target():
    robot = zveno.load("chain(3)")
    target = np.array([0.3, -0.2, 0.4])
    run = simulate(robot, np.zeros(3), duration=6.0, control=PD(target, kp=40.0, kd=8.0))
    assert abs(run.q[-1] - target).max() < 1e-4
    assert relative_error(run.tau[-1], robot.gravity_torque(target)) < 1e-3
    assert run.energy_drift < 1e-4


def test_computed_torque_tracks_exactly():
    robot = zveno.load("chain(4)")

    def reference(t):
        return np.array([0.3 * zm.sin(2.0 * t), 0.2 * zm.cos(t), 0.1 * t, 0.5])

    start = np.array([0.0, 0.2, 0.0, 0.5])
    run = simulate(
        robot, start, [0.6, 0.0, 0.1, 0.0], duration=1.0, control=ComputedTorque(reference), integrator=DOP853(1e-8)
    )
    wanted = np.array([reference(t) for t in run.t], dtype=float)
    assert abs(run.q - wanted).max() < 1e-7
    # From elsewhere the error dies out as ë + 20 ė + 100 e = 0 says: critically damped at 10/s.
    off = simulate(
        robot,
        start + 0.1,
        [0.6, 0.0, 0.1, 0.0],
        duration=1.0,
        control=ComputedTorque(reference),
        integrator=DOP853(1e-8),
    )
    expected = 0.1 * (1 + 10 * off.t) * np.exp(-10 * off.t)
    assert abs((off.q - wanted) - expected[:, None]).max() < 1e-6


@pytest.mark.laws
def test_recorded_torques_reproduce_a_run():
    robot = zveno.load("chain(3)")
    first = simulate(
        robot, np.zeros(3), duration=0.5, control=PD(np.full(3, 0.3), kp=5.0, kd=0.2), integrator=DOP853(1e-9)
    )
    again = simulate(
        robot, np.zeros(3), duration=0.5, control=Recorded(first.t, first.tau), integrator=DOP853(1e-9)
    )
    assert abs(again.q - first.q).max() < 1e-4
    batch = simulate(
        robot, np.zeros((2, 3)), duration=0.1, control=Recorded(first.t, np.stack([first.tau, 0 * first.tau]))
    )
    assert abs(batch.q[0, -1] - first.q[np.searchsorted(first.t, 0.1)]).max() < 1e-3
    assert abs(batch.q[1, -1] - batch.q[0, -1]).max() > 1e-2
    held = as_control(Recorded([0.0, 1.0], [[1.0, 2, 3], [4.0, 5, 6]], hold=True), robot.mechanism)
    assert held is not None
    assert held.torque(robot.mechanism, 0.9, None, np.zeros(3)).tolist() == [1, 2, 3]
    assert held.torque(robot.mechanism, 1.0, None, np.zeros(3)).tolist() == [4, 5, 6]


@pytest.mark.laws
def test_servo_drive_lags_and_saturates():
    robot = zveno.load("chain(2)").with_gravity((0.0, 0.0, 0.0))
    drive = ServoDrive(gain=2.0, lag={"joint1": 0.1}, saturation={"joint1": 3.0})
    run = simulate(robot, np.zeros(2), duration=0.5, control=[10.0, 0.2], drive=drive, integrator=DOP853(1e-9))
    # 2 · 10 is cut to 3, and reached as 1 − exp(−t/lag); joint 2 has no lag and no limit.
    assert relative_error(run.tau[:, 0], 3.0 * (1 - np.exp(-run.t / 0.1))) < 1e-7
    assert relative_error(run.tau[:, 1], np.full(len(run.t), 0.4)) < 1e-12
    assert run.energy_drift < 1e-6
    half = simulate(robot, np.zeros(2), duration=0.2, control=[10.0, 0.2], drive=drive, integrator=DOP853(1e-9))
    rest = simulate(
        robot,
        half.q[-1],
        half.v[-1],
        duration=0.3,
        control=[10.0, 0.2],
        drive=drive,
        integrator=DOP853(1e-9),
        tau0=half.tau[-1],
    )
    assert relative_error(rest.q[-1], run.q[-1]) < 1e-7
    with pytest.raises(ModelError, match="lag"):
        simulate(robot, np.zeros(2), drive=Drive(lag=-1.0))
    with pytest.raises(ZvenoError, match="joint9"):
        simulate(robot, np.zeros(2), drive=Drive(lag={"joint9": 1.0}))


def test_wrong_controllers_are_refused():
    robot = zveno.load("chain(3)")
    q = np.zeros(3)
    for control, message in (
        ([1.0, 2.0], "must have 3 numbers"),
        (PD(kp=[1.0, 2.0]), "gain"),
        (Recorded([0.0, 0.0], np.zeros((2, 3))), "increasing"),
        (Recorded([0.0, 1.0], np.full((2, 3), np.nan)), "not finite"),
        (ComputedTorque(lambda t: np.zeros(2)), "shape"),
        (ComputedTorque(lambda t: np.zeros(3) if t > 0 else np.ones(3)), "traced"),
    ):
        with pytest.raises(ZvenoError, match=message):
            simulate(robot, q, control=control)
    with pytest.raises(ShapeError, match="one finite number"):
        simulate(robot, q, control=np.full(3, np.nan))

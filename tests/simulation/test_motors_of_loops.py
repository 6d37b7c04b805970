"""Controllers of mechanisms with closed loops push motors only."""

from dataclasses import replace

import numpy as np
import pytest
from plane_loops import carried_four_bar

import zveno
from zveno.errors import ModelError
from zveno.kernels.ops import sin
from zveno.simulation import PD, ComputedTorque, Recorded, Traced


def machine(motors=("crank",)):
    robot, q = carried_four_bar(6, ("x", "y"))  # on a fixed carrier
    return zveno.Robot(replace(robot.mechanism, motors=motors, reference=q)), q


def test_pd_pushes_motors_only():
    robot, q = machine()
    for control in (PD(q, kp=10.0, kd=1.0), ComputedTorque(lambda t: np.array([sin(t), 0 * t, 0 * t]))):
        run = robot.simulate(q, duration=0.02, control=control)
        crank = robot.joint_names.index("crank")
        assert run.status == "finished"
        assert abs(run.tau[:, crank]).max() > 0
        assert abs(np.delete(run.tau, crank, axis=1)).max() == 0
    everything, _ = machine(motors=None)
    assert abs(np.delete(everything.simulate(q, duration=0.01, control=PD(q)).tau, crank, axis=1)).max() > 0


@pytest.mark.parametrize(
    "control",
    [
        np.array([0.1, 0.2, 0.0]),
        lambda t, q, v: np.array([0.1, 0.0, 0.2]),
        Traced(lambda t, q, v: np.array([0.1, -v[1], 0.0])),
        Recorded([0.0, 1.0], [[0.1, 0.0, 0.0], [0.1, 0.2, 0.0]]),
    ],
)
def test_torques_on_joints_without_a_motor_are_refused(control):
    robot, q = machine()
    with pytest.raises(ModelError, match=r"(coupler|rocker) has no motor.*Motors are crank"):
        robot.simulate(q, duration=0.02, control=control)
    assert robot.simulate(q, duration=0.01, control=np.array([0.1, 0.0, 0.0])).status == "finished"

"""What a controller knows of its drives: the inertia that a pressure loop adds, by an experiment with one joint."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno import simulation
from zveno.simulation import RK4
from zveno.walking.machine import known_drive

SHARE = 0.05
"""Of the added inertia: the formula is for slow changes, and volumes and pressures change as the joint turns."""
INERTIA = 0.02
"""kg·m², about the joint's axis."""


def flywheel(axis_inertia: float = INERTIA) -> zveno.Robot:
    wheel = zveno.Link("wheel", zveno.inertia.parameters(1.0, np.zeros(3), axis_inertia * np.eye(3)))
    joint = zveno.Joint("turn", "base", "wheel", zveno.joints.Revolute((0, 0, 1)))
    return zveno.Robot(zveno.assemble("flywheel", [zveno.Link("base"), wheel], [joint]))


def oil(**cylinder) -> simulation.HydraulicDrive:
    lever = simulation.ConstantLever(0.05, middle=0.0)
    given = {"area": 2.5e-4, "stroke": 0.3, "lever": lever, "dead_volume": 1e-5} | cylinder
    return simulation.HydraulicDrive(
        {"turn": simulation.HydraulicCylinder(simulation.ServoValve(5 / 60000), **given)}
    )


@pytest.mark.parametrize("change", [{}, {"bulk_modulus": 5e8}, {"area": 2e-4, "rod_area": 1.5e-4}])
def test_a_constant_command_accelerates_the_joint_as_if_it_were_heavier(change):
    robot, drive = flywheel(), oil(**change)
    known = known_drive(robot.mechanism, drive, robot.neutral())
    added = float(np.asarray(known.mechanism.joint("turn").drive.rotor_inertia).item())
    assert added > INERTIA  # it is no small correction
    torque, seconds = 0.5, 0.2
    run = robot.simulate(
        robot.neutral(),
        duration=seconds,
        control=simulation.Traced(lambda t, q, v: np.array([torque])),
        drive=drive,
        integrator=RK4(1e-4),
    )
    late = run.t > 0.5 * seconds  # the valve has settled
    slope = np.polyfit(run.t[late], run.v[late, 0], 1)[0]
    assert torque / slope - INERTIA == pytest.approx(added, rel=SHARE)


def test_friction_is_known_and_other_drives_are_left_as_they_are():
    robot = flywheel()
    known = known_drive(robot.mechanism, oil(viscous=100.0), robot.neutral())
    assert known.viscous == pytest.approx([100.0 * 0.05**2])
    for drive in (None, simulation.ServoDrive(gain=1.0, lag=0.003, saturation=10.0)):
        known = known_drive(robot.mechanism, drive, robot.neutral())
        assert known.mechanism is robot.mechanism
        assert not known.viscous.any()

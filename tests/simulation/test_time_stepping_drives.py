"""Time stepping with drives and with friction in the joints."""

import numpy as np
import pytest
from runs import limited_pendulum, lsoda
from stepped import G, stepped

import zveno
from zveno import simulation
from zveno.mechanism import Drive, Joint, Link, Revolute, assemble
from zveno.simulation import RK4
from zveno.simulation._equations import Equations
from zveno.simulation.control import as_control
from zveno.simulation.start import initial_state
from zveno.spatial import inertia

STEP = 1e-3


def wheel(**drive) -> zveno.Robot:
    """A wheel with the moment of inertia 0.1 kg·m² about a vertical axis."""
    own = inertia.parameters(1.0, np.zeros(3), 0.1 * np.eye(3))
    joint = Joint("a", "base", "b", Revolute((0, 0, 1)), drive=Drive(**drive))
    return zveno.Robot(assemble("wheel", [Link("base"), Link("b", own)], [joint]))


def test_dry_friction_stops_a_wheel_and_holds_it():
    robot = wheel(coulomb=0.2)
    run = stepped(robot, [0.0], [1.0], 1.0, joint_friction=True)
    assert abs(run.v[:, 0] - np.maximum(1.0 - 2.0 * run.t, 0.0)).max() < 2e-6
    assert run.reaction_names == ("friction of a",)
    held = stepped(robot, [0.0], duration=0.5, joint_friction=True, control=[0.19])
    assert abs(held.q).max() < 1e-12
    assert abs(held.reactions[-1, 0] + 0.19) < 1e-9
    moved = stepped(robot, [0.0], duration=0.5, joint_friction=True, control=[0.21])
    assert abs(moved.v[-1, 0] - 0.1 * 0.5) < 1e-6


def test_viscous_friction_is_implicit_and_stable_for_any_step():
    run = stepped(wheel(viscous=1000.0), [0.0], [1.0], 0.1, step=0.01, joint_friction=True)
    assert (np.diff(run.v[:, 0]) <= 0).all()
    assert run.v[-1, 0] >= 0
    slow = stepped(wheel(viscous=0.1), [0.0], [1.0], 1.0, joint_friction=True)
    assert abs(slow.v[-1, 0] - np.exp(-1.0)) < STEP


def test_stiff_gains_do_not_bound_the_step():
    run = stepped(wheel(), [0.5], duration=1.0, step=0.01, control=simulation.PD([0.0], 1e6, 1e3, gravity=False))
    assert abs(run.q[-1, 0]) < 1e-6
    assert abs(run.q).max() <= 0.5


@pytest.mark.laws
def test_a_lagging_drive_gives_the_torques_of_the_methods_of_order_four():
    robot, drive = wheel(), simulation.ServoDrive(lag=0.05)
    options = {"drive": drive, "control": [0.3], "tau0": [0.1]}
    run = stepped(robot, [0.0], duration=0.5, **options)
    exact = robot.simulate([0.0], duration=0.5, integrator=RK4(), **options)
    assert abs(run.v - exact.v).max() < 2 * STEP * abs(exact.a).max()
    assert abs(run.drive_states - exact.drive_states).max() < 1e-9
    assert run.drive_state_names == exact.drive_state_names


def test_a_hydraulic_drive_holds_a_pendulum_as_with_adaptive_steps():
    robot = limited_pendulum()
    valve = simulation.ServoValve(rated_flow=2e-4)
    cylinder = simulation.HydraulicCylinder(valve, area=4e-4, lever=simulation.ConstantLever(0.05))
    options = {
        "drive": simulation.HydraulicDrive({"a": cylinder}),
        "control": simulation.PD([0.3], 400.0, 40.0),
    }
    run = stepped(robot, [0.0], duration=0.5, step=2e-4, **options)
    control, drive = as_control(options["control"], robot.mechanism), options["drive"].prepared(robot.mechanism)
    equations = Equations(robot, (), control, drive)
    exact = lsoda(equations, initial_state(equations, *np.zeros((2, 1)), None), 0.5, 1e-8)
    assert abs(run.q[-1] - exact[equations.q]).max() < 1e-3
    moment = G * 0.5 * np.cos(float(exact[0]))
    assert abs(abs(run.tau[-1, 0]) - moment) < 0.05 * moment


def test_the_energy_balance_counts_the_work_of_drives_and_friction():
    run = stepped(wheel(viscous=0.1, coulomb=0.05), [0.0], [1.0], 1.0, joint_friction=True, control=[0.1])
    assert run.energy_drift < 1e-12
    assert run.work[-1] == pytest.approx(run.kinetic[-1] - run.kinetic[0], abs=1e-12)

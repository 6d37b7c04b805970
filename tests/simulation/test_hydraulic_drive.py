"""Hydraulic drives in whole machines: a second model, balances of oil, the position loop, results, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hydraulic_machines import CYLINDER, PRESSURE, drive_of, pinned_arm, slides
from runs import lsoda
from scipy.integrate import solve_ivp

import zveno
from zveno import simulation
from zveno.errors import ZvenoError
from zveno.mechanism import Helical, Joint, Prismatic, Revolute
from zveno.simulation import DOP853, PD, RK4, HydraulicDrive, HydraulicSupply, PivotLever, Traced
from zveno.simulation._equations import Equations
from zveno.simulation.control import as_control
from zveno.simulation.simulate import simulate
from zveno.simulation.start import initial_state

SAME_MODEL = 1e-6
"""Two integrators at tolerances of 1e-9."""


def by_hand(t, y, cylinder, supply, opening):
    """The arm of `pinned_arm`, written out: q, v, p_a, p_b, s, ṡ, p of the supply. Nothing of the library."""
    q, v, p_a, p_b, s, s_rate, p = y
    pin = np.array([0.2 * np.cos(q), 0.2 * np.sin(q)])
    rod = pin - np.array([0.05, -0.3])
    length = np.hypot(*rod)
    arm = rod @ np.array([-pin[1], pin[0]]) / length
    x, speed = length - 0.285 - cylinder.stroke / 2, arm * v
    A, B = cylinder.area, cylinder.rod_area
    V_a = cylinder.dead_volume + A * (cylinder.stroke / 2 + x)
    V_b = cylinder.dead_volume + B * (cylinder.stroke / 2 - x)
    k = cylinder.valve.rated_flow / np.sqrt(cylinder.valve.rated_drop) * np.clip(s, -1, 1)

    def rooted(drop):
        return drop / (drop**2 + 1e8) ** 0.25

    Q_a, Q_b = (k * rooted(p - p_a), -k * rooted(p_b)) if s >= 0 else (k * rooted(p_a), -k * rooted(p - p_b))
    leak = cylinder.leakage * (p_a - p_b)
    force = A * p_a - B * p_b - cylinder.viscous * speed - cylinder.coulomb * np.tanh(speed / 2e-3)
    torque = arm * force - 20.0 * 9.81 * 0.4 * np.cos(q)
    gas = supply.accumulator * (supply.gas_pressure / p) ** (1 / supply.exponent)
    capacity = gas / (supply.exponent * p) + supply.line_volume / supply.bulk_modulus
    pump = supply.pump_flow * np.clip((PRESSURE - p) / (0.05 * PRESSURE), 0, 1)
    w = cylinder.valve.omega
    u = opening(t)
    return [
        v,
        torque / (1.1 + 20.0 * 0.16),
        1e9 / V_a * (Q_a - A * speed - leak),
        1e9 / V_b * (Q_b + B * speed + leak),
        s_rate,
        w * w * (u - s) - 2 * cylinder.valve.damping * w * s_rate,
        (pump - (Q_a if s >= 0 else Q_b)) / capacity,
    ]


@pytest.fixture(scope="module")
def swung():
    """The arm moved by its valve, with a pump that is too small, and the same by hand."""
    robot, cylinder = pinned_arm()
    supply = HydraulicSupply(PRESSURE, pump_flow=2e-5, accumulator=1e-4)
    drive = HydraulicDrive({"shoulder": cylinder}, supply, "valve")
    control = Traced(lambda t, q, v: np.array([0.4 * zveno.ops.sin(25.0 * t)]))
    run = simulate(robot, [0.1], duration=0.5, control=control, drive=drive, tau0=[80.0], integrator=DOP853(1e-9))
    y0 = [run.q[0, 0], 0.0, *run.drive_states[0]]
    scale = np.array([1.0, 1.0, 1e7, 1e7, 1.0, 100.0, 1e7])
    hand = solve_ivp(
        by_hand,
        (0.0, 0.5),
        y0,
        "Radau",
        run.t[::100],
        args=(cylinder, supply, lambda t: 0.4 * np.sin(25.0 * t)),
        rtol=1e-9,
        atol=1e-11 * scale,
    )
    return run, cylinder, supply, hand.y.T / scale, scale


@pytest.mark.laws
def test_the_same_motion_as_a_model_written_by_hand(swung):
    run, _, _, hand, scale = swung
    assert run.finished
    ours = np.column_stack([run.q, run.v, run.drive_states])[::100] / scale
    assert np.ptp(ours[:, 0]) > 0.05
    assert np.ptp(ours[:, 6]) > 0.05
    assert abs(ours - hand).max() < SAME_MODEL


def test_oil_and_energy_are_balanced(swung):
    run, cylinder, _, _, _ = swung
    robot, _ = pinned_arm()
    joint = robot.mechanism.joint("shoulder")
    x, arm = np.array([cylinder.lever.extension(joint, q, cylinder.stroke) for q in run.q[:, 0]]).T
    p_a, p_b, spool, _, supply = run.drive_states.T
    k = cylinder.valve.conductance * spool

    def rooted(drop):
        return drop / (drop**2 + 1e8) ** 0.25

    Q_a = k * np.where(spool >= 0, rooted(supply - p_a), rooted(p_a))
    Q_b = -k * np.where(spool >= 0, rooted(p_b), rooted(supply - p_b))
    leak = cylinder.leakage * (p_a - p_b)
    (A, B), half = cylinder.areas, cylinder.stroke / 2
    V_a, V_b = cylinder.dead_volume + A * (half + x), cylinder.dead_volume + B * (half - x)
    # Oil that flowed into chamber a: room that the piston made, and what pressure squeezed in.
    filled = np.trapezoid(Q_a - leak, run.t)
    assert filled == pytest.approx(A * (x[-1] - x[0]) + np.trapezoid(V_a, p_a) / 1e9, abs=1e-4 * A * np.ptp(x))
    # Hydraulic energy: into springs of oil, into leakage and friction, and the rest is work at the joint.
    speed = arm * run.v[:, 0]
    given = np.trapezoid(p_a * Q_a + p_b * Q_b, run.t)
    stored = np.trapezoid(V_a * p_a, p_a) / 1e9 + np.trapezoid(V_b * p_b, p_b) / 1e9
    lost = np.trapezoid(leak * (p_a - p_b) + 200.0 * speed**2 + 60.0 * speed * np.tanh(speed / 2e-3), run.t)
    exchanged = np.trapezoid(abs(run.tau[:, 0] * run.v[:, 0]), run.t)
    assert given - stored - lost == pytest.approx(run.work[-1], abs=1e-3 * exchanged)
    assert run.energy_drift < 1e-6 * exchanged


@pytest.mark.parametrize("kind", [Revolute((0, 0.6, 0.8)), Prismatic((0.6, 0, 0.8)), Helical((0, 0, 1), 0.2)])
def test_the_lever_arm_is_the_derivative_of_the_distance_of_the_pins(kind):
    rng = np.random.default_rng(5)
    tilted = [zveno.transforms.exp(rng.normal(size=6)) for _ in range(2)]
    mechanism = zveno.load("chain(2)").mechanism
    first = mechanism.joints[0]
    joint = Joint(first.name, first.parent, first.child, kind, *tilted)
    robot = zveno.Robot(zveno.assemble("one", mechanism.links, [joint, *mechanism.joints[1:]]))
    lever = PivotLever(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)), 0.3)
    for q in rng.uniform(-1, 1, 4):
        x, arm = lever.extension(joint, q, 0.2)
        pins = [np.append(pin, 1.0) for pin in (lever.parent, lever.child)]
        poses = robot.frame_poses([q, 0.0], frames=[joint.parent, joint.child])
        assert x + 0.4 == pytest.approx(np.linalg.norm(poses[1] @ pins[1] - poses[0] @ pins[0]), rel=1e-12)
        assert arm == pytest.approx(lever.extension(joint, q + 1e-30j, 0.2)[0].imag / 1e-30, rel=1e-12)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("dead_zone", [0.0, 0.05])
def test_position_loop(dead_zone):
    robot, cylinder = pinned_arm()
    cylinder = replace(cylinder, valve=replace(cylinder.valve, dead_zone=dead_zone))
    drive = HydraulicDrive({"shoulder": cylinder})
    control = PD([0.2], kp=3000.0, kd=250.0)
    run = simulate(robot, [0.0], duration=1.0, control=control, drive=drive, tau0=[80.0], integrator=DOP853(1e-7))
    assert run.finished
    assert run.q[0, 0] == 0.0
    # Friction of the cylinder is not known to the loop: the arm rests where the spring equals what is left of it.
    assert abs(run.q[-1, 0] - 0.2) < 60.0 * 0.2 / 3000.0
    assert run.q[:, 0].max() < 0.21
    equations = Equations(robot, (), as_control(control, robot.mechanism), drive.prepared(robot.mechanism))
    stiff = lsoda(equations, initial_state(equations, *np.zeros((2, 1)), [80.0]), 1.0, 1e-7)
    assert abs(stiff[equations.q] - run.q[-1]).max() < 1e-5


@pytest.mark.laws
def test_a_batch_with_fixed_steps_is_the_single_run():
    robot, cylinder = pinned_arm()
    drive = HydraulicDrive({"shoulder": cylinder}, command="valve")
    options = {"duration": 0.05, "control": [0.1], "drive": drive, "sample_time": 0.01}
    batch = simulate(robot, [[0.1], [0.2]], tau0=[80.0], integrator=RK4(2e-5), **options)
    single = simulate(robot, [0.2], tau0=[80.0], integrator=DOP853(1e-9), **options)
    assert batch.drive_states.shape == (2, 6, 4)
    assert abs(batch.q[1] - single.q).max() < 1e-7
    assert abs(batch.drive_states[1, :, :2] - single.drive_states[:, :2]).max() < 1e-5 * PRESSURE


def test_states_are_kept_in_files_and_joints_without_cylinder_take_torque(tmp_path):
    arm = zveno.load("chain(2)").with_gravity((0, 0, 0))
    cylinder = replace(CYLINDER, lever=simulation.ConstantLever(0.05))
    drive = HydraulicDrive({"joint2": cylinder}, HydraulicSupply(PRESSURE, pump_flow=1e-4), "valve")
    run = arm.simulate([0.0, 0.0], duration=0.02, control=[0.7, 0.1], drive=drive)
    assert (run.tau[:, 0] == 0.7).all()
    assert run.drive_state_names[0] == "joint2.pressure_a"
    assert run.drive_state_names[-1] == "supply.pressure"
    assert run.drive_state("joint2.pressure_a")[0] == pytest.approx(PRESSURE / 2)
    for name in ("run.npz", "run.json"):
        again = zveno.load_result(run.save(tmp_path / name))
        assert (again.drive_states == run.drive_states).all()
        assert again.drive_state_units == run.drive_state_units
    assert "joint2.pressure_a (Pa)" in run.save(tmp_path / "run.csv").read_text().splitlines()[0]
    with pytest.raises(ZvenoError, match=r"joint2\.pressure_a"):
        run.drive_state("pressure")


@pytest.mark.laws
def test_a_chamber_that_would_cavitate_is_named():
    heavy = slides().with_gravity((130.0, 0.0, 0.0))  # runs ahead of the oil
    cylinder = replace(CYLINDER, rod_area=3.9e-4)
    run = simulate(heavy, [0.0], duration=0.1, control=[0.3], drive=drive_of(cylinder))
    assert any("slide0.pressure_a" in note and "cavitate" in note for note in run.notes)
    calm = simulate(slides(), [0.0], duration=0.02, control=[0.05], drive=drive_of())
    assert not any("cavitate" in note for note in calm.notes)


VALVE = CYLINDER.valve
BAD = [
    ({"cylinders": {}}, "no cylinder"),
    ({"cylinders": {"slide9": CYLINDER}}, "slide9.*Known: slide0"),
    ({"cylinders": {"slide0": 4e-4}}, "joint slide0: .*HydraulicCylinder"),
    ({"command": "flow"}, "flow.*torque"),
    ({"pressure_gain": 0.0}, "pressure_gain"),
    ({"supply": 21e6}, "supply: .*HydraulicSupply"),
    ({"supply": HydraulicSupply(-1.0)}, "supply: pressure is -1"),
    ({"supply": HydraulicSupply(tank=30e6)}, "supply: the tank"),
    ({"supply": HydraulicSupply(pump_flow=np.nan)}, "supply: pump_flow is nan"),
    ({"cylinders": {"slide0": replace(CYLINDER, area=0.0)}}, "slide0: area is 0"),
    ({"cylinders": {"slide0": replace(CYLINDER, leakage=-1e-12)}}, "slide0: leakage"),
    ({"cylinders": {"slide0": replace(CYLINDER, stroke="long")}}, "slide0: stroke is 'long'"),
    ({"cylinders": {"slide0": replace(CYLINDER, lever=0.05)}}, "slide0: .*lever"),
    ({"cylinders": {"slide0": replace(CYLINDER, valve=replace(VALVE, dead_zone=1.0))}}, "slide0: dead_zone"),
    ({"cylinders": {"slide0": replace(CYLINDER, lever=simulation.ConstantLever(0.0))}}, "slide0: .*arm"),
    ({"cylinders": {"slide0": replace(CYLINDER, lever=PivotLever((0, 0), (0, 1, 0), 0.3))}}, "slide0: a pin"),
    ({"cylinders": {"slide0": replace(CYLINDER, lever=PivotLever((0, 0, 0), (1, 0, 0), -0.3))}}, "retracted"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_drives_are_refused(change, message):
    with pytest.raises(ZvenoError, match=message):
        simulate(slides(), [0.0], drive=replace(drive_of(), **change))


def test_more_bad_input():
    robot, cylinder = pinned_arm()
    on_axis = replace(cylinder, lever=PivotLever((0.0, 0.0, -0.3), (0.0, 0.1, 0.0), 0.2))
    with pytest.raises(ZvenoError, match="shoulder: the cylinder has no lever"):
        simulate(robot, [0.0], drive=HydraulicDrive({"shoulder": on_axis}))
    with pytest.raises(ZvenoError, match=r"shoulder: .*more than the cylinder gives"):
        simulate(robot, [0.0], drive=HydraulicDrive({"shoulder": cylinder}), tau0=[1e5])
    dog = zveno.load("quadruped")
    with pytest.raises(ZvenoError, match="floating_base: is free"):
        simulate(dog, dog.neutral(), drive=HydraulicDrive({"floating_base": cylinder}))

"""The affine law of a drive in an implicit step: identities, order of the method, halved steps, stiffness."""

from dataclasses import replace

import numpy as np
import pytest
from hydraulic_machines import CYLINDER, PRESSURE, drive_of, pinned_arm, slides, started_at

import zveno
from tiers import few
from zveno.kernels import ops as math
from zveno.kernels.compile import compiled_program
from zveno.kernels.trace import trace
from zveno.simulation import DOP853, HydraulicDrive, HydraulicSupply, ServoDrive, ServoValve, TimeStepping, Traced
from zveno.simulation.hydraulics.drive import spool_step
from zveno.simulation.simulate import simulate


def stepped(robot, drive, q, v, z, command, h, n):
    """n steps of size h, implicit in what the drive says: (M + h D) v⁺ = M v + h (τ₀ − bias); q, v, z, τ each."""
    mechanism = robot.mechanism

    def law(q, v, z, command, after):
        tau, damping, advance = drive.affine(mechanism, q, v, z, command, h)
        return tau, damping, advance(after)

    n_v, n_z = robot.n_v, len(z)
    inputs = {"q": (robot.n_q,), "v": (n_v,), "z": (n_z,), "command": (n_v,), "after": (n_v,)}
    kernel = compiled_program(trace(law, inputs, name="law"))
    rows = [(q, v, z, np.zeros(n_v))]
    for k in range(n):
        u = command(k * h, q, v)
        tau, damping, _ = kernel(q, v, z, u, v)
        M = robot.mass_matrix(q)
        after = np.linalg.solve(M + h * damping, M @ v + h * (tau - robot.bias(q, v)))
        z = kernel(q, v, z, u, after)[2]
        q, v = q + h * after, after
        rows.append((q, v, z, tau - damping @ after))
    return [np.array(column) for column in zip(*rows, strict=True)]


def swinging_arm(h, duration=1.0):
    """The arm follows a sine by PD and pressure loop; mean |τ − wanted| after the first tenth."""
    robot, cylinder = pinned_arm()
    drive = HydraulicDrive({"shoulder": replace(cylinder, coulomb=0.0)}).prepared(robot.mechanism)
    wanted = []

    def command(t, q, v):
        reference, speed = 0.2 * np.sin(6.0 * t), 1.2 * np.cos(6.0 * t)
        wanted.append(robot.gravity_torque(q) + 2000.0 * (reference - q) + 200.0 * (speed - v))
        return wanted[-1]

    z = drive.initial(robot.mechanism, np.zeros(1), robot.gravity_torque([0.0]))
    q, _, _, tau = stepped(robot, drive, np.zeros(1), np.zeros(1), z, command, h, round(duration / h))
    late = slice(round(0.1 / h), None)
    assert abs(q[late, 0] - 0.2 * np.sin(6.0 * h * np.arange(len(q))[late])).max() < 0.03
    return abs(tau[1:] - np.array(wanted))[late].mean()


def test_a_halved_step_changes_the_mean_torque_error_by_less_than_5_percent():
    coarse, fine = swinging_arm(1e-3), swinging_arm(5e-4)
    assert coarse > 1.0  # N·m: there is an error to compare
    assert fine == pytest.approx(coarse, rel=0.05)


def test_steps_converge_to_the_adaptive_run():
    robot, cylinder = pinned_arm()
    drive = HydraulicDrive({"shoulder": cylinder}, HydraulicSupply(PRESSURE, pump_flow=2e-5), "valve")
    run = simulate(robot, [0.1], duration=0.1, control=[0.2], drive=drive, tau0=[80.0], integrator=DOP853(1e-9))
    prepared = drive.prepared(robot.mechanism)
    z = prepared.initial(robot.mechanism, np.array([0.1]), np.array([80.0]))
    errors = []
    for h in (4e-4, 2e-4, 1e-4):
        q, _, states, _ = stepped(
            robot, prepared, np.array([0.1]), np.zeros(1), z, lambda t, q, v: np.array([0.2]), h, round(0.1 / h)
        )
        pressure = prepared.physical(states)[-1, -1] - run.drive_state("supply.pressure")[-1]
        errors.append([abs(q[-1, 0] - run.q[-1, 0]), abs(pressure)])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert ((ratios > 1.7) & (ratios < 2.4)).all()  # first order


def test_time_stepping_takes_the_affine_law():
    robot, cylinder = pinned_arm()
    drive = HydraulicDrive({"shoulder": cylinder}, HydraulicSupply(PRESSURE, pump_flow=2e-5), "valve")
    options = {"duration": 0.1, "control": [0.2], "drive": drive, "tau0": [80.0]}
    exact = simulate(robot, [0.1], integrator=DOP853(1e-9), **options)
    errors = []
    for h in (1e-3, 5e-4):
        run = simulate(robot, [0.1], integrator=TimeStepping(h), **options)
        assert run.finished
        assert run.drive_state_names == exact.drive_state_names
        errors.append(
            [abs(run.q[-1, 0] - exact.q[-1, 0]), abs(run.drive_states[-1, -1] - exact.drive_states[-1, -1])]
        )
    ratios = np.array(errors[0]) / np.array(errors[1])
    assert ((ratios > 1.7) & (ratios < 2.4)).all()  # first order


@pytest.mark.laws
@pytest.mark.parametrize(
    ("seed", "litres", "accumulator"),
    few([(0, 0.01, 0.01), (1, 0.1, 0.0), (2, 0.01, 0.0), (3, 0.1, 0.1), (4, 1.0, 0.3), (5, 0.02, 0.03)]),
)
def test_a_small_supply_is_solved_with_what_the_valves_take(seed, litres, accumulator):
    """Cylinders that empty it within some steps: an explicit supply rings between -2 and 8 GPa."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 2
    robot = slides(n)
    cylinder = replace(CYLINDER, area=rng.uniform(5e-4, 2e-3), stroke=0.2, viscous=rng.uniform(50.0, 500.0))
    supply = {"pump_flow": rng.uniform(0.1, 3) / 60000, "line_volume": litres * 1e-3}
    options = {
        "duration": 0.1,
        "control": rng.uniform(0.4, 1.0, n) * rng.choice([-1, 1], n),
        "drive": drive_of(cylinder, n, accumulator=accumulator * 1e-3, **supply),
        "sample_time": 0.01,
    }
    exact = simulate(robot, np.zeros(n), integrator=DOP853(1e-8), **options)
    assert exact.finished
    travel = abs(exact.q).max()
    errors = []
    for step in (2e-3, 5e-4, 1.25e-4):
        run = simulate(robot, np.zeros(n), integrator=TimeStepping(step), **options)
        assert run.finished
        assert abs(run.drive_states).max() < 1.1 * max(PRESSURE, abs(exact.drive_states).max())
        errors.append(abs(run.q - exact.q).max() / travel)
    assert errors[1] < 0.02
    assert errors[2] < 0.5 * errors[0]
    assert errors[2] < 0.01


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
def test_the_law_is_the_force_of_the_pressures_it_ends_with(h):
    rng = np.random.default_rng(2)
    cylinder = replace(CYLINDER, rod_area=2.5e-4, leakage=1e-12, viscous=300.0)
    drive = drive_of(cylinder, 2, pump_flow=1e-4).prepared(slides(2).mechanism)
    for _ in range(10):
        q, v, after = rng.uniform(-0.02, 0.02, 2), rng.normal(size=2), rng.normal(size=2)
        z = np.concatenate([*(np.append(rng.uniform(0.1, 0.9, 2), rng.normal(size=2)) for _ in range(2)), [0.97]])
        tau, damping, advance = drive.affine(slides(2).mechanism, q, v, z, rng.uniform(-1, 1, 2), h)
        states = drive.physical(advance(after))
        for k in range(2):
            p_a, p_b = states[4 * k : 4 * k + 2]
            force = 4e-4 * p_a - 2.5e-4 * p_b - 300.0 * after[k]
            assert tau[k] - damping[k] @ after == pytest.approx(force, rel=1e-9)
        assert (damping == damping.T).all()
        assert (np.linalg.eigvalsh(damping) > 0).all()


@pytest.mark.parametrize("zeta", [0.4, 1.0, 1.7])
def test_spool_steps_are_exact(zeta):
    valve = ServoValve(1e-4, frequency=80.0, damping=zeta)
    one = spool_step(valve, 0.2, -0.3, 0.9, 4e-3)
    two = spool_step(valve, *spool_step(valve, 0.2, -0.3, 0.9, 1.5e-3), 0.9, 2.5e-3)
    assert np.allclose(one, two, rtol=0, atol=1e-13)
    e = 1e-30j
    s, rate = spool_step(valve, 0.2, -0.3, 0.9, e)
    assert s.imag / 1e-30 == pytest.approx(valve.omega * -0.3)
    assert rate.imag / 1e-30 == pytest.approx(valve.omega * (0.9 - 0.2) + 2 * zeta * valve.omega * 0.3)


def test_large_steps_stay_stable_against_the_end_stop():
    robot, h = slides(), 5e-3  # the oil alone rings at 50 Hz, the stop at 180 Hz
    drive = drive_of(started_at(0.04, replace(CYLINDER, viscous=500.0))).prepared(robot.mechanism)
    z = drive.initial(robot.mechanism, np.zeros(1), np.zeros(1))
    q, v, _, tau = stepped(robot, drive, np.zeros(1), np.zeros(1), z, lambda t, q, v: np.array([0.5]), h, 200)
    assert 0.01 < q[-1, 0] < 0.0105
    assert abs(v[-1, 0]) < 1e-3
    assert abs(tau[-1, 0]) < 10.0  # the stop carries what the pressures push


def test_a_servo_drive_steps_exactly():
    robot = zveno.load("chain(2)").with_gravity((0, 0, 0))
    drive = ServoDrive(gain=2.0, lag={"joint1": 0.1}, saturation={"joint1": 3.0}).prepared(robot.mechanism)
    tau, damping, advance = drive.affine(
        robot.mechanism, np.zeros(2), np.zeros(2), np.array([0.5]), np.array([10.0, 0.2]), 0.05
    )
    assert tau == pytest.approx([3.0 - 2.5 * np.exp(-0.5), 0.4])
    assert not damping.any()
    assert advance(np.ones(2)) == pytest.approx(tau[:1])


def test_commands_that_are_called_and_traced_agree():
    robot, cylinder = pinned_arm()
    drive = HydraulicDrive({"shoulder": replace(cylinder, viscous=0.0, coulomb=0.0)})
    runs = [
        simulate(robot, [0.0], duration=0.1, control=control, drive=drive, tau0=[80.0], integrator=DOP853(1e-8))
        for control in (
            Traced(lambda t, q, v: np.array([80.0 + 20.0 * math.sin(40.0 * t)])),
            lambda t, q, v: np.array([80.0 + 20.0 * np.sin(40.0 * t)]),
        )
    ]
    assert abs(runs[0].q - runs[1].q).max() < 1e-6
    late = runs[0].t > 0.05  # 40 rad/s through a loop of 250 1/s and the spool: 40/250 of the amplitude and more
    assert abs(runs[0].tau[late, 0] - 80.0 - 20.0 * np.sin(40.0 * runs[0].t[late])).max() < 8.0

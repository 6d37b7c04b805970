"""Exciting trajectories: limits at all times, gradients, predicted accuracy, and bad input."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import SINGLE, random_mechanism
from zveno import MotionLimits
from zveno.algorithms.drives import friction_torque
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.base_parameters.regressor import regressor_columns
from zveno.clearance import Capsules, Clearance
from zveno.errors import ZvenoError
from zveno.fit.threads import one_thread
from zveno.identification.excitation import _optimise
from zveno.identification.excitation._curves import FourierBasis
from zveno.identification.excitation._optimise import ascended, random_motions, settled
from zveno.identification.excitation._problem import ClearanceTerm
from zveno.identification.excitation.plan_excitation import RATE, excitation_problem, plan_excitation
from zveno.motion_limits import MotionBounds, motion_bounds


@pytest.fixture(autouse=True)
def few_motions(monkeypatch):
    """Random motions and starts of a search that need not be the best."""
    monkeypatch.setattr(_optimise, "DRAWS", 64)
    monkeypatch.setattr(_optimise, "STARTS", 2)


def problem(robot, basis, clearance=None, jerk=300.0):
    limits, _ = motion_bounds(robot, None, MotionLimits(2.0, 8.0, jerk, 60.0))
    return excitation_problem(
        robot, limits, basis, drives=True, payload=None, have=None, clearance=clearance, torque_sigma=0.5
    )


@pytest.fixture(scope="module")
def arm():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def planned(arm):
    return plan_excitation(arm, 8.0, motion=MotionLimits(velocity=2.0, acceleration=8.0, jerk=200.0, torque=90.0))


@pytest.mark.laws
def test_gradient_of_the_barrier(arm):
    task = problem(arm, FourierBasis(6.0, 4), clearance=Clearance(radius=0.02, ground=-0.5))
    rng = np.random.default_rng(0)
    x = random_motions(task, 20, rng)[0].ravel()
    for mu in (0.0, 1.0):
        _, slope = task.barrier(x, mu)
        for _ in range(3):
            d, h = rng.normal(size=x.size), 1e-5
            # Two central differences: the error of order h² cancels.
            rough = [
                (task.barrier(x + k * h * d, mu)[0] - task.barrier(x - k * h * d, mu)[0]) / (2 * k * h)
                for k in (1, 2)
            ]
            assert slope @ d == pytest.approx((4 * rough[0] - rough[1]) / 3, rel=2e-5, abs=1e-5)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(4))
def test_gradient_against_complex_step(seed):
    """The same objective in plain NumPy on complex numbers, exact to rounding."""
    rng = np.random.default_rng(seed)
    robot = zveno.Robot(random_mechanism(seed, 2, kinds=SINGLE, drives=True))
    basis = FourierBasis(5.0, 3)
    limits, _ = motion_bounds(robot, None, MotionLimits(2.0, 8.0, 300.0, 500.0))
    task = excitation_problem(
        robot, limits, basis, drives=True, payload=None, have=None, clearance=None, torque_sigma=0.7
    )
    mechanism, wanted, mu = robot.mechanism, task.wanted, 0.3
    t = np.arange(task.n_samples) * basis.duration / task.n_samples
    Q, V, A = (basis.functions(t, order) for order in range(3))
    first = 10 * len(mechanism.joints) + 2 * mechanism.n_v
    smooth = tuple(
        joint if joint.drive is None else replace(joint, drive=replace(joint.drive, coulomb=0.0))
        for joint in mechanism.joints
    )
    smooth = zveno.edit.rebuilt(mechanism, joints=smooth)

    def objective(x):
        c = task.free @ x.reshape(task.shape)
        q, v, a = Q @ c, V @ c, A @ c
        W = np.array([regressor_columns(mechanism, wanted.columns, *state) for state in zip(q, v, a, strict=True)])
        for place, column in enumerate(wanted.columns):
            if 0 <= column - first < mechanism.n_v:
                joint = column - first
                W[:, joint, place] = np.tanh(v[:, joint] / (0.02 * limits.velocity[joint]))
        rows = W.reshape(-1, wanted.n) / 0.7
        M = rows.T @ rows * (RATE * 5.0 / task.n_samples)
        total = -np.log(np.linalg.det(M / np.outer(size, size)))
        tau = np.array(
            [inverse_dynamics(smooth, *s) + friction_torque(smooth, s[1]) for s in zip(q, v, a, strict=True)]
        )
        total -= mu * np.log(1.0 - (tau / task.torque_limit) ** 2).sum()
        for order in range(4):
            middle = np.outer(basis.constant, limits.middle) if order == 0 else 0.0
            share = basis.bounds(order) @ (c - middle) / limits.sizes(order)
            total -= mu * np.log(1.0 - share**2).sum()
        return total

    x = random_motions(task, 20, rng)[0].ravel()
    size = np.sqrt(np.diag(task.information(x.reshape(task.shape))))
    _, slope = task.barrier(x, mu)
    for _ in range(3):
        d = rng.normal(size=x.size)
        exact = objective(x + 1e-30j * d).imag / 1e-30
        assert slope @ d == pytest.approx(exact, rel=1e-9)


def test_clearance_term_is_infinite_where_links_touch():
    arm = zveno.load("panda")
    term = ClearanceTerm(Capsules(arm, Clearance(radius=0.07, ground=0.1), arm.random(256, 0)))
    q = arm.random(400, 1)
    clear = term.clear(q)
    assert 0 < clear.sum() < len(q)
    values = np.array([term.value_and_slope(one[None])[0] for one in q])
    np.testing.assert_array_equal(np.isfinite(values), clear)


def random_limits(rng, n):
    return {
        "velocity": rng.uniform(0.3, 3.0, n),
        "acceleration": rng.uniform(1.0, 20.0, n),
        "jerk": rng.uniform(20.0, 500.0, n) if rng.random() < 0.5 else None,
    }


PROBLEMS = int(os.environ.get("ZVENO_PROBLEMS", "6"))
"""Random problems; 500 were run once, which takes a quarter of an hour."""


def random_problem(seed):
    """A robot of up to three coordinates, and arguments of `plan_excitation`."""
    rng = np.random.default_rng(seed)
    robot = zveno.Robot(random_mechanism(seed, 3, kinds=SINGLE, branching=0.3))
    rest = rng.uniform(-0.5, 0.5, (300, robot.n_q))
    heavy = abs(robot.gravity_torque(rest)).max(axis=0) + 1.0
    asked = {
        "duration": float(rng.uniform(2.0, 12.0)),
        "harmonics": int(rng.integers(3, 7)),
        "rng": seed,
    }
    torque = heavy * rng.uniform(1.5, 4.0)
    return robot, asked | {"motion": MotionLimits(**random_limits(rng, robot.n_v), torque=torque)}


WEAK = 397
"""Of a single coordinate, which moves twelve nearly dependent parameters through mimic joints."""
SLOW = 165
"""Whose motor allows 4 % of the acceleration that is asked for."""


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_limits_are_kept_at_all_times(seed):
    """On a grid a hundred times finer than the one that was looked at, for random arms, limits and curves."""
    robot, asked = random_problem(seed)
    try:
        motion = plan_excitation(robot, **asked)
    except ZvenoError as error:
        if "in double precision" not in str(error) or robot.n_v > 1:
            raise
        pytest.skip(str(error))
    limits = motion.limits
    assert isinstance(limits, MotionBounds)
    _t, q, v, a = motion.sample(100 * 200 / motion.duration)
    jerk = motion.curve(np.linspace(0.0, motion.duration, 20_000), 3)
    tiny = 1.0 + 1e-9
    assert (q <= limits.upper + 1e-9).all()
    assert (q >= limits.lower - 1e-9).all()
    assert (abs(v) <= limits.velocity * tiny).all()
    assert (abs(a) <= limits.acceleration * tiny).all()
    assert (abs(jerk) <= limits.jerk * tiny).all()
    tau = robot.inverse_dynamics(q, v, a, joint_friction=True)
    assert (abs(tau) <= limits.torque / 0.9).all()  # the margin may be used between samples, the limit never
    assert abs(v[0]).max() < 1e-9
    assert abs(v[-1]).max() < 0.05 * limits.velocity.max()
    assert np.isfinite(motion.sigma).all()


@pytest.mark.laws
def test_optimised_beats_random_and_uses_its_limits(planned):
    assert planned.status == "planned"
    assert planned.over_random > 1.3
    assert max(peak.max() for peak in planned.peaks.values()) > 0.95
    assert max(peak.max() for peak in planned.peaks.values()) <= 1.0


@pytest.mark.laws
def test_limits_between_samples_cost_little(arm):
    """Torques that exceed a limit between samples are seen while climbing: no start ends far below its optimum."""
    limits, _ = motion_bounds(arm, None, MotionLimits(2.0, 8.0, None, 48.0))
    task = excitation_problem(
        arm, limits, FourierBasis(6.0, 6), drives=True, payload=None, have=None, clearance=None, torque_sigma=1.0
    )
    for start in random_motions(task, 6, np.random.default_rng(2))[:3]:
        with one_thread():
            top = ascended(task, start, lambda: False)
        kept = settled(task, top)
        assert task.feasible(kept, fine=True)
        lost = np.exp((task.value(top) - task.value(kept)) / (2 * task.wanted.n))
        assert lost < 1.005


def test_weak_parameters_are_said_to_be_weak(monkeypatch):
    monkeypatch.setattr(_optimise, "DRAWS", 48)
    robot, asked = random_problem(WEAK)
    with pytest.raises(ZvenoError, match="keep to the limits, but none shows every parameter"):
        plan_excitation(robot, **asked)


@pytest.mark.laws
def test_a_motor_that_allows_little_acceleration_still_moves(monkeypatch):
    monkeypatch.setattr(_optimise, "DRAWS", 600)
    robot, asked = random_problem(SLOW)
    motion = plan_excitation(robot, **asked)
    _t, q, v, a = motion.sample(2000 / motion.duration)
    tau = robot.inverse_dynamics(q, v, a, joint_friction=True)
    assert (abs(tau) <= motion.limits.torque / 0.9).all()
    assert abs(a).max() < 0.1 * motion.limits.acceleration.min()


@pytest.mark.laws
def test_predicted_accuracy_is_that_of_many_recordings(arm, planned):
    """Least squares on simulated torques with an independent regressor and true signs; 400 noisy recordings."""
    _, q, v, a = planned.sample(planned.rate)
    base = arm.base_parameters(drives=True, loops=())
    whole = np.concatenate([arm.regressor(q, v, a), arm.kernel("drive_regressor")(v, a)], axis=-1)
    W = whole[..., base.regressor_columns].reshape(-1, base.rank)
    noise = np.random.default_rng(0).normal(size=(len(W), 400))  # σ of a torque is 1
    estimates = np.linalg.lstsq(W, noise, rcond=None)[0]
    ratio = planned.sigma / estimates.std(axis=1)
    assert planned.names == base.names
    assert 0.95 < np.exp(np.log(ratio).mean()) < 1.05
    assert (abs(np.log(ratio)) < 0.25).all()


@pytest.mark.laws
def test_what_is_known_before_is_complemented(arm, planned):
    limits = {"motion": MotionLimits(velocity=2.0, acceleration=8.0, torque=90.0)}
    alone = plan_excitation(arm, 4.0, **limits)
    after = plan_excitation(arm, 4.0, existing=[planned, alone], **limits)
    assert (after.sigma < after.sigma_before).all()
    # Both together, from their states: the same information as by adding.
    states = [np.concatenate(part) for part in zip(*(m.sample(100.0)[1:] for m in (planned, alone)), strict=True)]
    again = plan_excitation(arm, 4.0, existing=tuple(states), **limits)
    np.testing.assert_allclose(again.sigma_before, after.sigma_before, rtol=1e-9)
    narrow = plan_excitation(arm, 4.0, existing=planned, **limits)
    assert (narrow.sigma_before > after.sigma_before).all()


@pytest.mark.laws
def test_a_payload_alone_needs_its_ten_parameters(arm):
    motion = plan_excitation(arm, 4.0, payload="link6", motion=MotionLimits(velocity=2.0, acceleration=8.0))
    assert len(motion.names) == 10
    assert motion.condition < 10.0


@pytest.mark.laws
def test_one_joint_prismatic_and_floating():
    pendulum = zveno.load("Rx(q1) Tz(-0.5)")
    pendulum = pendulum.with_inertia(
        {pendulum.link_names[-1]: np.array([1.0, 0.0, 0.0, -0.1, 0.03, 0.0, 0.03, 0.0, 0.0, 0.01])}
    )
    motion = plan_excitation(pendulum, 3.0, harmonics=3)
    assert motion.curve(0.0).shape == (1,)
    assert any("no limits" in note for note in motion.notes)
    arm = zveno.load("puma560")
    floating = arm.with_base("free")
    held = plan_excitation(floating, 5.0, motion=MotionLimits(velocity=1.0))
    fixed = plan_excitation(arm, 5.0, motion=MotionLimits(velocity=1.0))
    np.testing.assert_array_equal(held.curve.coefficients, fixed.curve.coefficients)
    assert any("base is held" in note for note in held.notes)


@pytest.mark.laws
def test_held_joints_stand_still(arm):
    motion = plan_excitation(arm, 4.0, fixed={arm.joint_names[0]: 0.4}, motion=MotionLimits(velocity=1.0))
    assert motion.joint_names == arm.joint_names[1:]
    assert motion.held == {arm.joint_names[0]: 0.4}


@pytest.mark.laws
def test_interruption_keeps_the_best_feasible_motion(arm):
    motion = plan_excitation(arm, 5.0, motion=MotionLimits(velocity=1.0, torque=90.0), timeout=0.0)
    assert motion.status == "interrupted"
    assert "interrupted" in motion.summary
    _, q, v, a = motion.sample(2000.0)
    assert (abs(arm.inverse_dynamics(q, v, a, joint_friction=True)) <= 90.0).all()

    def stop(done, total):
        raise KeyboardInterrupt

    motion = plan_excitation(arm, 5.0, motion=MotionLimits(velocity=1.0, torque=90.0), progress=stop)
    assert motion.status == "interrupted"
    assert motion.log_det >= motion.random.max()


def test_files(planned, tmp_path, arm):
    again = zveno.load_result(planned.save(tmp_path / "motion.json"))
    np.testing.assert_array_equal(again.curve(1.234, 2), planned.curve(1.234, 2))
    assert again.summary == planned.summary
    t, q, v, a = planned.sample(50.0)
    table = np.genfromtxt(planned.write_trajectory(tmp_path / "m.csv", 50.0), delimiter=",", skip_header=1)
    np.testing.assert_allclose(table, np.column_stack([t, q, v, a]), rtol=1e-10, atol=1e-11)
    message = json.loads(planned.write_trajectory(tmp_path / "m.json", 50.0).read_text())
    assert message["joint_names"] == list(arm.joint_names)
    seconds = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in message["points"]]
    np.testing.assert_allclose(seconds, t, atol=1e-9)
    np.testing.assert_array_equal([p["positions"] for p in message["points"]], q)
    script = planned.write_trajectory(tmp_path / "m.script", 125.0).read_text()
    assert script.count("servoj(") == len(planned.sample(125.0)[0])
    assert script.startswith("def ")
    yaml = planned.write_trajectory(tmp_path / "m.yaml", 50.0).read_text()
    assert yaml.count("- positions: [") == len(t)
    with pytest.raises(ZvenoError, match="are not written as"):
        planned.write_trajectory(tmp_path / "m.xyz")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"duration": 0.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"harmonics": 1}, "harmonics"),
        ({"motion": MotionLimits({"elbowy": 1.0})}, "elbowy"),
        ({"motion": MotionLimits([1.0, 2.0])}, "6 joints"),
        ({"motion": MotionLimits(-1.0)}, "not positive"),
        ({"motion": MotionLimits(1.0, torque=3.0)}, "torque limit"),
        ({"torque_sigma": 0.0}, "torque_sigma"),
        ({"fixed": ["nobody"]}, "nobody"),
        ({"existing": "a.csv"}, "existing"),
        ({"existing": (np.zeros((3, 2)),) * 3}, "existing"),
        ({"payload": "nowhere"}, "nowhere"),
        ({"limits": {"nobody": (0, 1)}}, "nobody"),
    ],
)
def test_bad_input_is_named(arm, options, said):
    with pytest.raises(ZvenoError, match=said):
        plan_excitation(arm, **({"duration": 5.0, "motion": MotionLimits(1.0)} | options))

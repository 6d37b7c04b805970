"""A control that returns something that is not finite ends its own run, and no other, with every integrator."""

import re

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.errors import ShapeError
from zveno.kernels import ops
from zveno.simulation import DOP853, PD, RK4, ComputedTorque, JointMotion, TimeStepping, Traced
from zveno.simulation.simulate import simulate

INTEGRATORS = (RK4, DOP853, TimeStepping)
END = 0.02
"""Time, s, beyond which functions have no value."""
KINDS = ("revolute", "prismatic", "spherical")


def machine(seed: int):
    mechanism = random_mechanism(seed, 3, KINDS, mimic=0.0)
    q, v, _ = random_state(mechanism, seed)
    return zveno.Robot(mechanism), q, v


def failing(after: float, joint: int, bad: float):
    """Torques of zero, and one that is not finite after a time."""

    def control(t, q, v):
        tau = np.zeros(np.shape(v))
        if t > after:
            tau[..., joint] = bad
        return tau

    return control


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("seed", few(range(6), 1))
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_one_run_ends_there_and_keeps_what_came_before(seed, integrator):
    robot, q, v = machine(seed)
    rng = np.random.default_rng(seed)
    joint, bad = int(rng.integers(robot.n_v)), [np.nan, np.inf, -np.inf][seed % 3]
    options = {"duration": 0.03, "integrator": integrator(), "sample_time": 1e-3}
    whole = simulate(robot, q, v, control=lambda t, q, v: np.zeros(np.shape(v)), **options)
    for after in (-1.0, 0.0125):
        run = simulate(robot, q, v, control=failing(after, joint, bad), **options)
        name = next(n for n in robot.mechanism.joint_names if joint < robot.mechanism.v_slices[n].stop)
        assert run.status == "diverged"
        assert run.reason.startswith(f"the control gave {bad} for joint {name} at t = ")
        at = float(run.reason.split("t = ")[1].split()[0])
        assert max(after, 0.0) <= at <= max(after, 0.0) + 1e-3
        assert abs(run.t[-1] - max(after, 0.0)) <= 1.001e-3
        n = len(run.t)
        assert np.isfinite(run.q).all()
        assert np.allclose(run.q, whole.q[:n], rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", few(range(6), 1))
@pytest.mark.parametrize("integrator", [RK4, TimeStepping])
def test_other_runs_of_a_batch_go_on(seed, integrator, tmp_path):
    robot, q, v = machine(seed)
    batch = np.stack([v, v, -v])

    def control(t, q, v):
        tau = np.zeros(np.shape(v))
        tau[1, 0] = np.nan if t > 0.0105 else 0.0
        return tau

    options = {"duration": 0.03, "integrator": integrator()}
    run = simulate(robot, q, batch, control=control, **options)
    whole = simulate(robot, q, batch, control=lambda t, q, v: np.zeros(np.shape(v)), **options)
    assert run.status.tolist() == ["finished", "diverged", "finished"]
    assert run.reason[1].startswith("the control gave nan for joint")
    assert "2 finished; 1 diverged, the first: the control gave nan" in run.summary
    assert np.array_equal(run.q[[0, 2]], whole.q[[0, 2]])
    kept = int(run.n_samples[1])
    assert kept in (11, 12)
    assert np.array_equal(run.q[1, :kept], whole.q[1, :kept])
    assert run.run(1).reason == run.reason[1]
    assert run.run(0).status == "finished"
    for name in ("run.npz", "run.json"):
        assert list(zveno.load_result(run.save(tmp_path / name)).reason) == list(run.reason)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("returned", [None, [None], 1j * np.ones(1), "x", np.zeros(2), np.ma.masked_all(1)])
def test_what_is_no_torque_is_one_error(integrator, returned):
    robot, q, v = zveno.Robot(random_mechanism(0, 1, ("revolute",))), [0.1], [0.0]
    with pytest.raises(ShapeError, match="control"):
        simulate(robot, q, v, duration=0.01, integrator=integrator(), control=lambda t, q, v: returned)


COMPILED = {
    "the control gave nan for joint joint1": {
        "control": Traced(lambda t, q, v: [ops.sqrt(END - t), 0.0 * t, 0.0 * t]),
    },
    "the control gave nan for joint joint2": {
        "control": Traced(lambda t, q, v: [0.0 * t, ops.sqrt(END - t - 0.0 * q[0]), 0.0 * t])
    },
    "the control gave (?:nan|-?inf) for joint joint1": {
        "control": ComputedTorque(lambda t: np.array([ops.sqrt(END - t), 0.0, 0.0])),
    },
    r"JointMotion\(joint1\) has no finite value": {
        "constraints": [JointMotion("joint1", lambda t: ops.sqrt(END - t) - np.sqrt(END))],
    },
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("cause", COMPILED)
def test_compiled_functions_that_are_not_finite_are_named_too(integrator, cause):
    """The status said that the step was too large."""
    robot, options = zveno.load("chain(3)"), {"duration": 0.05, "integrator": integrator(), "sample_time": 1e-3}
    run = simulate(robot, np.zeros(3), np.zeros(3), **options, **COMPILED[cause])
    found = re.fullmatch(f"(?:{cause}) at t = (?P<at>.*) s", run.reason)
    assert run.status == "diverged"
    assert found, run.reason
    assert abs(float(found["at"]) - END) <= 1.001e-3
    assert END - 1.001e-3 <= run.t[-1] <= END + 1.001e-3
    assert np.isfinite(run.q).all()


@pytest.mark.parametrize("integrator", [RK4, TimeStepping])
def test_compiled_controls_are_named_run_by_run(integrator):
    control = Traced(lambda t, q, v: [ops.sqrt(1.0001 - q[0]), 0.0 * t, 0.0 * t])
    q = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]])
    run = simulate(zveno.load("chain(3)"), q, duration=0.02, integrator=integrator(), control=control)
    assert run.status.tolist() == ["finished", "diverged"]
    assert run.reason[1].startswith("the control gave nan for joint joint1 at t = 0")


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_control_that_writes_into_its_arguments_changes_nothing(integrator):
    def control(t, q, v):
        q[...], v[...] = 9.0, 9.0
        return np.zeros(3)

    options = {"duration": 0.01, "integrator": integrator(), "sample_time": 1e-3}
    runs = [
        simulate(zveno.load("chain(3)"), np.zeros(3), control=called, **options)
        for called in (control, lambda t, q, v: np.zeros(3))
    ]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


def test_a_target_that_is_not_finite_is_refused():
    with pytest.raises(ShapeError, match="target: is not finite"):
        simulate(zveno.load("chain(3)"), np.zeros(3), duration=0.01, control=PD([0.0, np.nan, 0.0]))

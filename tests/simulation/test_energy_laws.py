"""Energy of runs: no impact adds any, every source is counted, and the verdict does not depend on the sampling."""

from itertools import pairwise

import numpy as np
import pytest

import zveno
from mechanisms import random_inertia, random_mechanism, random_state
from tiers import few
from zveno.kernels import ops as zm
from zveno.mechanism import Frame, Free, Joint, Limits, Link, Prismatic, Revolute, Spherical, assemble
from zveno.simulation import DOP853, PD, RK4, BallJoint, Contact, JointMotion, Sphere, TimeStepping, Traced
from zveno.simulation.simulate import simulate
from zveno.spatial import inertia
from zveno.spatial.rotations import elementary, from_quaternion, to_quaternion
from zveno.spatial.transforms import transform


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(12), 2))
def test_no_impact_adds_energy(seed):
    """Elastic impacts with friction, one to three points: the law of Newton alone adds energy."""
    rng = np.random.default_rng(seed)
    frames = [Frame(f"p{k}", "b", transform(None, rng.uniform(-0.2, 0.2, 3))) for k in range(1 + seed % 3)]
    robot = zveno.Robot(
        assemble("body", [Link("w"), Link("b", random_inertia(rng))], [Joint("z", "w", "b", Free())], frames)
    )
    quaternions = rng.normal(size=(6, 4))
    q = np.concatenate([np.zeros((6, 3)), quaternions / np.linalg.norm(quaternions, axis=1)[:, None]], axis=1)
    heights = robot.frame_poses(q, frames=[frame.name for frame in frames])[..., 2, 3].min(axis=1)
    q[:, 2] = 0.005 - heights
    v = rng.normal(size=(6, 6)) * [1, 1, 1, 6, 6, 6]
    contacts = [
        Contact(frame.name, Sphere(0.0), friction=rng.uniform(0, 1.5), restitution=rng.uniform(0.5, 1.0))
        for frame in frames
    ]
    for step in (1e-3, 2e-4):
        run = simulate(robot, q, v, 0.1, constraints=contacts, integrator=TimeStepping(step), sample_time=1e-3)
        growth = np.diff(run.energy, axis=-1).max()
        assert growth < 0.3 * step * run.energy.max(), (step, growth)
        assert (run.kinetic + run.potential)[:, -1].min() > 0


P = inertia.parameters(1.0, np.array([0.0, 0.0, 0.3]), np.diag([0.01, 0.01, 0.02]))
RIGHT_AXIS = np.array([-0.071761, 0.65968, 0.748113])
"""of the heavy top after 5 s, by Euler's equations in angles with rtol 1e-13"""


@pytest.mark.parametrize(
    ("kind", "steps"), [("ball", (1e-3, 5e-4, 2e-4)), pytest.param("held", (1e-3, 5e-4), marks=pytest.mark.laws)]
)
def test_the_error_of_a_fast_top_falls_with_the_step(kind, steps):
    tilted = to_quaternion(elementary("y", 0.5))
    held = kind == "held"
    joint = Joint("j", "w", "b", Free() if held else Spherical())
    robot = zveno.Robot(assemble("top", [Link("w"), Link("b", P)], [joint], [Frame("tip", "b", np.eye(4))]))
    q, v = (np.r_[0, 0, 0, tilted], [0, 0, 0, 0, 0, 60.0]) if held else (tilted, [0, 0, 60.0])
    errors = []
    for step in steps:
        run = simulate(
            *(robot, q, v, 5.0),
            integrator=TimeStepping(step),
            sample_time=0.05,
            constraints=[BallJoint("tip")] if held else [],
        )
        assert run.status == "finished"
        assert run.energy_drift < 0.01
        errors.append(np.linalg.norm(from_quaternion(run.q[-1, -4:])[:, 2] - RIGHT_AXIS))
    assert errors[0] < 0.1
    assert all(fine < 0.75 * coarse for coarse, fine in pairwise(errors))


@pytest.mark.parametrize("seed", few(range(4), 1))
@pytest.mark.parametrize("integrator", [RK4, DOP853, TimeStepping])
def test_work_of_moving_constraints_closes_the_balance(seed, integrator):
    robot = zveno.Robot(random_mechanism(seed, 3, ("revolute", "prismatic"), mimic=0.0))
    q, _, _ = random_state(robot.mechanism, seed)
    name = robot.mechanism.joint_names[seed % 2]
    at = robot.mechanism.q_slices[name].start
    q[at], v = 0.0, np.eye(robot.n_v)[robot.mechanism.v_slices[name].start]
    moved = JointMotion(name, lambda t: zm.sin(t))
    run = simulate(robot, q, v, 0.5, constraints=[moved], integrator=integrator())
    assert run.status == "finished"
    exchanged = (run.kinetic + abs(run.work)).max()
    assert run.energy_drift < (0.01 if integrator is TimeStepping else 1e-5) * exchanged
    assert abs(run.work).max() > 1e-3 * exchanged


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_forces_of_inertia_belong_to_the_balance(seed):
    """A base that moves and turns, under gravity."""
    robot = zveno.Robot(random_mechanism(seed, 3, ("revolute", "prismatic", "spherical"), mimic=0.0))
    q, v, _ = random_state(robot.mechanism, seed)

    def base(t):
        c, s, zero, one = zm.cos(2 * t), zm.sin(2 * t), 0 * t, 0 * t + 1
        return np.array([[c, -s, zero, 0.3 * s], [s, c, zero, c], [zero, zero, one, 0.1 * s], [zero] * 3 + [one]])

    run = simulate(robot, q, v, 0.3, base_motion=base, integrator=RK4(1e-3))
    assert run.status == "finished"
    assert run.energy_drift < 1e-5 * (run.kinetic + abs(run.work)).max()


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("seed", few(range(4), 1))
@pytest.mark.parametrize("integrator", [RK4, DOP853, TimeStepping])
def test_the_verdict_does_not_depend_on_the_sampling(seed, integrator):
    """A stiff oscillator that is at rest where coarse samples see it."""
    rng = np.random.default_rng(seed)
    body = inertia.parameters(1.0, np.zeros(3), 0.5 * np.eye(3))
    wheel = zveno.Robot(
        assemble("wheel", [Link("w"), Link("a", body)], [Joint("x", "w", "a", Revolute((0, 0, 1)))])
    )
    control = PD([0.1], kp=rng.uniform(0.5, 2) * 1e4, kd=rng.uniform(0.5, 2) * 1e2)
    said = {
        simulate(wheel, [0.5], duration=1.0, control=control, integrator=integrator(), sample_time=sample).status
        for sample in (1.0, 0.5, 0.1, 1e-3)
    }
    assert said == {"finished"}
    batch = simulate(wheel, [[0.5], [0.4]], duration=1.0, control=control, integrator=RK4(), sample_time=0.5)
    assert list(batch.status) == ["finished"] * 2


def test_a_free_slide_on_a_moving_base():
    body = inertia.parameters(1.0, np.zeros(3), 0.01 * np.eye(3))
    robot = zveno.Robot(
        assemble("slide", [Link("w"), Link("b", body)], [Joint("x", "w", "b", Prismatic((1, 0, 0)))])
    )

    def base(t):
        zero, one = 0 * t, 0 * t + 1
        rows = [[one, zero, zero, 0.3 * np.sin(5 * t)], [zero, one, zero, zero], [zero, zero, one, zero]]
        return np.array([*rows, [zero, zero, zero, one]])

    run = simulate(robot, [0.0], [0.0], 2.0, base_motion=base, integrator=RK4(), sample_time=0.01)
    assert run.status == "finished"
    assert abs(run.q[:, 0] - (1.5 * run.t - 0.3 * np.sin(5 * run.t))).max() < 1e-11


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_a_blow_up_between_limits_has_diverged(seed):
    """Limits stop what a control throws from one end of the range to the other in every step."""
    rng = np.random.default_rng(seed)
    body = inertia.parameters(1.0, np.array([0.5, 0, 0]), 1e-6 * np.eye(3))
    joint = Joint("x", "w", "b", Revolute((0, -1, 0)), limits=Limits(-0.5, rng.uniform(0.3, 2.0)))
    robot = zveno.Robot(assemble("pendulum", [Link("w"), Link("b", body)], [joint]))
    gain, power = 10.0 ** rng.uniform(4, 6), 3 + 2 * int(rng.integers(2))
    for step in (1e-3, 2.5e-4):
        run = simulate(
            *(robot, [0.0], [rng.choice([-1, 1]) * 0.5], 0.5),
            joint_limits=True,
            control=Traced(lambda t, q, v: gain * v**power),
            integrator=TimeStepping(step),
            sample_time=rng.choice([1e-3, 0.05]),
        )
        assert run.status == "diverged"
        assert run.reason.startswith("the motion has no bound")


def test_a_push_against_a_limit_has_not_diverged():
    """A finger of 1 g is held at its end by 100 N·m, which would turn it by 100 turns a step."""
    body = inertia.parameters(1e-3, np.zeros(3), 1e-7 * np.eye(3))
    joint = Joint("x", "w", "b", Revolute((0, 0, 1)), limits=Limits(-0.5, 0.5))
    robot = zveno.Robot(assemble("finger", [Link("w"), Link("b", body)], [joint]))
    run = simulate(robot, [0.5], duration=0.1, joint_limits=True, control=[100.0], integrator=TimeStepping())
    assert run.status == "finished"
    assert abs(run.q - 0.5).max() < 1e-9

"""Motion under constraints: loops against analytic solutions, drift, projection, redundancy, bad input."""

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state, relative_error
from zveno.documents.trees import partitioned
from zveno.errors import ModelError, ZvenoError
from zveno.kernels import ops as zm
from zveno.mechanism import Frame, Joint, Link, Loop, Revolute, assemble
from zveno.mechanism.edit import rebuilt
from zveno.robot import Robot
from zveno.simulation import (
    DOP853,
    RK4,
    BallJoint,
    Distance,
    Hinge,
    JointMotion,
    PointOnPlane,
    Weld,
    constrained_dynamics,
    evaluate_constraints,
)
from zveno.simulation._equations import Equations
from zveno.simulation.simulate import simulate
from zveno.spatial import inertia
from zveno.spatial.transforms import transform


def bar(length: float, mass: float = 1.0) -> np.ndarray:
    """A thin rod along x from the link's origin."""
    across = mass * length**2 / 12
    return inertia.parameters(mass, np.array([length / 2, 0, 0]), np.diag([0.0, across, across]))


def four_bar(crank=0.2, coupler=0.5, rocker=0.4, ground=0.45) -> Robot:
    """Crank and coupler as one chain, the rocker as another, in the x–y plane with gravity along −y."""
    links = [Link("ground"), Link("crank", bar(crank)), Link("coupler", bar(coupler)), Link("rocker", bar(rocker))]
    joints = [
        Joint("crank", "ground", "crank", Revolute()),
        Joint("coupler", "crank", "coupler", Revolute(), transform(None, [crank, 0, 0])),
        Joint("rocker", "ground", "rocker", Revolute(), transform(None, [ground, 0, 0])),
    ]
    frames = [
        Frame("coupler_end", "coupler", transform(None, [coupler, 0, 0])),
        Frame("rocker_end", "rocker", transform(None, [rocker, 0, 0])),
    ]
    return Robot(assemble("four_bar", links, joints, frames, gravity=(0.0, -9.81, 0.0)))


def closed(crank_angle, crank=0.2, coupler=0.5, rocker=0.4, ground=0.45) -> np.ndarray:
    """q of the closed four-bar at a crank angle, by the law of cosines (the branch with the rocker up)."""
    a = crank * np.array([np.cos(crank_angle), np.sin(crank_angle)])
    d = np.array([ground, 0.0]) - a
    reach = np.hypot(*d)
    bend = np.arccos((coupler**2 + reach**2 - rocker**2) / (2 * coupler * reach))
    coupler_angle = np.arctan2(d[1], d[0]) + bend
    end = a + coupler * np.array([np.cos(coupler_angle), np.sin(coupler_angle)])
    rocker_angle = np.arctan2(end[1], end[0] - ground)
    return np.array([crank_angle, coupler_angle - crank_angle, rocker_angle])


CLOSURE = zveno.Loop("coupler_end", "rocker_end", locked=("x", "y"))


@pytest.mark.laws
def test_loops_of_the_mechanism_are_closed_without_being_named():
    robot = four_bar()
    own = Robot(rebuilt(robot.mechanism, loops=[Loop("coupler_end", "rocker_end", ("x", "y"))]))
    named, by_itself = (
        simulate(one, closed(1.0), duration=0.5, constraints=constraints)
        for one, constraints in ((robot, [CLOSURE]), (own, []))
    )
    np.testing.assert_array_equal(by_itself.q, named.q)
    state = closed(1.0), np.zeros(3), np.array([1.0, 0.0, 0.0])
    expected = constrained_dynamics(robot, *state, [CLOSURE])
    for constraints in ([], [CLOSURE]):  # a closure that is named as well does not count twice
        found = constrained_dynamics(own, *state, constraints)
        np.testing.assert_array_equal(found.reactions, expected.reactions)


def turn(q):
    return (q + np.pi) % (2 * np.pi) - np.pi


@pytest.mark.parametrize("integrator", [RK4, DOP853])
def test_four_bar_follows_its_analytic_solution(integrator):
    robot = four_bar()
    run = simulate(robot, closed(1.0), duration=2.0, constraints=[CLOSURE], integrator=integrator())
    exact = np.array([closed(angle) for angle in run.q[:, 0]])
    assert abs(turn(run.q - exact)).max() < 1e-5
    assert run.energy_drift < 1e-4
    assert run.finished


def test_driven_four_bar_matches_the_geometry_of_its_motion():
    """The crank turns as prescribed: the others follow by geometry, and the torque does the work."""
    robot = four_bar()

    def motion(t):
        return 1.0 + 2.0 * t + 0.3 * zm.sin(3.0 * t)

    run = simulate(
        robot,
        closed(1.0),
        duration=1.0,
        constraints=[CLOSURE, JointMotion("crank", motion)],
        integrator=DOP853(1e-9),
    )
    exact = np.array([closed(motion(t)) for t in run.t])
    assert abs(turn(run.q - exact)).max() < 1e-6
    assert run.energy_drift < 1e-6
    # Lagrange: the power of the crank's torque is the rate of energy.
    power = run.reaction("JointMotion(crank)")[:, 0] * run.v[:, 0]
    rate = np.gradient(run.energy, run.t)
    assert relative_error(power[5:-5], rate[5:-5]) < 1e-3
    assert "initial velocities changed" in run.summary


@pytest.mark.laws
def test_parallelogram_keeps_its_bar_level():
    robot = four_bar(0.2, 0.5, 0.2, 0.5)
    start = np.array([-0.4, 0.4, -0.4])  # it swings without passing its flat, singular position
    run = simulate(robot, start, duration=2.0, constraints=[CLOSURE], integrator=DOP853(1e-8))
    level = run.q[:, 0] + run.q[:, 1]
    assert abs(turn(level)).max() < 1e-5
    # Two cranks and a bar that only translates: a pendulum with the equations of one coordinate.
    across = 2 * (1.0 * 0.2**2 / 3) + 1.0 * 0.2**2
    torque = -9.81 * (2 * 0.1 + 0.2) * np.cos(run.q[:, 0])
    assert relative_error(run.a[:, 0], torque / across) < 1e-4


@pytest.mark.laws
def test_distance_makes_a_pendulum():
    """A chain's end on a rod of given length moves on a circle; the reaction carries it."""
    robot = zveno.load("chain(2)")
    run = simulate(
        robot, [-0.5, 0.7], duration=1.0, constraints=[Distance("tool", length=None)], integrator=DOP853(1e-8)
    )
    p = robot.forward_kinematics(run.q)[:, :3, 3]
    assert np.ptp(np.linalg.norm(p, axis=1)) < 1e-7
    assert run.max_violation < 1e-7


@pytest.mark.laws
def test_violation_stays_bounded_over_ten_seconds():
    robot = four_bar()
    options = {"duration": 10.0, "constraints": [CLOSURE], "integrator": RK4(2e-3), "sample_time": 0.02}
    held = simulate(robot, closed(1.0), **options)
    loose = simulate(robot, closed(1.0), **options, stabilization=0.0)
    projected = simulate(robot, closed(1.0), **options, stabilization=0.0, projection=True)
    assert held.max_violation < 1e-6
    assert projected.max_violation < 2e-11
    assert loose.max_violation > 3 * held.max_violation
    assert held.violation[-100:].max() < 5 * held.violation[:250].max() + 1e-9


def test_projection_with_adaptive_steps():
    run = simulate(four_bar(), closed(1.0), duration=1.0, constraints=[CLOSURE], projection=True, stabilization=0.0)
    assert run.violation[::50].max() < 1e-6


@pytest.mark.laws
def test_weld_equals_the_robot_with_that_joint_fixed():
    """Holding the middle joint by a weld of its link to its parent is the same as a robot without it."""
    robot = zveno.load("chain(4)")
    run = simulate(
        robot,
        [-1.0, 0.3, 0.0, 0.4],
        duration=0.5,
        constraints=[JointMotion("joint3")],
        integrator=DOP853(1e-9),
        sample_time=0.1,
    )
    from zveno.mechanism import edit

    fixed = Robot(edit.fix_joints(robot.mechanism, {"joint3": 0.0}))
    same = simulate(fixed, [-1.0, 0.3, 0.4], duration=0.5, integrator=DOP853(1e-9), sample_time=0.1)
    assert relative_error(run.q[:, [0, 1, 3]], same.q) < 1e-7


@pytest.mark.laws
def test_hinge_closes_a_spatial_loop():
    """Hinge rows remove five of six freedoms: the four-bar closed in space moves as the planar one."""
    robot = four_bar()
    space = simulate(robot, closed(1.0), duration=0.5, constraints=[Hinge("coupler_end", other="rocker_end")])
    plane = simulate(robot, closed(1.0), duration=0.5, constraints=[CLOSURE])
    assert relative_error(space.q, plane.q) < 1e-5
    assert "redundant" in space.summary
    assert "Hinge(coupler_end, rocker_end)" in space.summary
    assert np.isfinite(space.reactions).all()


def test_batch_under_constraints_equals_singles():
    robot = four_bar()
    q = np.stack([closed(angle) for angle in (0.5, 1.0, 1.5)])
    together = simulate(robot, q, duration=0.1, constraints=[CLOSURE], integrator=RK4())
    for k in range(3):
        alone = simulate(robot, q[k], duration=0.1, constraints=[CLOSURE], integrator=RK4())
        assert relative_error(together.q[k], alone.q) < 1e-11
        assert relative_error(together.reactions[k], alone.reactions) < 1e-8


@pytest.mark.laws
def test_redundant_batch_is_repaired():
    robot = four_bar()
    q = np.stack([closed(angle) for angle in (0.5, 1.0)])
    together = simulate(robot, q, duration=0.05, constraints=[BallJoint("coupler_end", other="rocker_end")])
    plane = simulate(robot, q, duration=0.05, constraints=[CLOSURE])
    assert relative_error(together.q, plane.q) < 1e-8
    assert "redundant" in together.summary


def test_partitioned_form_of_document_003():
    robot = Robot(random_mechanism(30, n=5, kinds=("revolute", "prismatic"), mimic=0.0)).with_base("trunk")
    q, v, tau = random_state(robot.mechanism, 1)
    tau[:6] = 0.0
    contact = [BallJoint("tool")]
    parts = partitioned(robot, q, v)
    rows = evaluate_constraints(robot, q, v, contact)
    J_I, J_R, P = rows.J[:, :6], rows.J[:, 6:], rows.bias
    whole = np.block(
        [
            [parts.I_II, parts.I_IR.T, -J_I.T],
            [parts.I_IR, parts.I_RR, -J_R.T],
            [J_I, J_R, np.zeros((3, 3))],
        ]
    )
    x = np.linalg.solve(whole, np.concatenate([-parts.H_I, tau[6:] - parts.H_R, -P]))
    found = constrained_dynamics(robot, q, v, tau, contact)
    assert relative_error(x[: robot.n_v], found.a) < 1e-9
    assert relative_error(x[robot.n_v :], found.reactions) < 1e-9


# --- bad input


def test_start_off_the_constraints_is_projected_or_refused():
    robot = four_bar()
    off = closed(1.0) + [0.0, 0.02, 0.0]
    run = simulate(robot, off, duration=0.1, constraints=[CLOSURE])
    assert 0.001 < run.moved < 0.1
    assert "start moved" in run.summary
    assert run.max_violation < 1e-6
    with pytest.raises(ZvenoError, match="rad or m from the constraints"):
        simulate(robot, closed(1.0) + [0.0, 0.5, 0.3], duration=0.1, constraints=[CLOSURE])
    with pytest.raises(ZvenoError, match=r"no state near.*"):
        simulate(robot, closed(1.0), duration=0.1, constraints=[CLOSURE, PointOnPlane("rocker_end", height=5.0)])


def test_contradictions_are_named():
    robot = zveno.load("chain(3)")
    q = np.array([-1.0, 0.2, 0.3])
    slow = JointMotion("joint1", lambda t: -1.0 + 0.0 * t, name="slow")
    fast = JointMotion("joint1", lambda t: -1.0 + t**3, name="fast")
    run = simulate(robot, q, duration=1.0, constraints=[slow, fast])
    assert not run.finished
    assert "slow" in run.reason
    assert "fast" in run.reason
    assert "contradict" in run.reason
    assert np.isfinite(run.q).all()
    found = constrained_dynamics(robot, q, np.zeros(3), np.zeros(3), [slow, fast], t=0.5)
    assert set(found.inconsistent) == {"slow", "fast"}
    assert np.isfinite(found.a).all()
    agreeing = constrained_dynamics(
        robot, q, np.zeros(3), np.zeros(3), [BallJoint("tool"), Weld("rod3", name="weld")]
    )
    assert "weld" in agreeing.redundant
    assert not agreeing.inconsistent


def test_wrong_constraints_are_refused():
    robot = zveno.load("chain(3)")
    for wrong, message in (
        (BallJoint("elbow"), "elbow"),
        (BallJoint("base"), "same link"),
        (Distance("tool", other="rod3"), "same link"),
        (JointMotion("joint9"), "joint9"),
        (Distance("tool", length=-1.0), "cannot be kept"),
        (BallJoint("tool", point=(1.0, 2.0)), "three finite numbers"),
        (Weld("tool", placement=np.zeros((4, 4))), "rigid"),
        ("contact", "not a constraint"),
    ):
        with pytest.raises(ZvenoError, match=message):
            simulate(robot, np.zeros(3), constraints=[wrong])
    with pytest.raises(ModelError, match="different names"):
        simulate(robot, np.zeros(3), constraints=[BallJoint("tool"), BallJoint("tool")])


def test_settings_are_inputs_of_the_kernel():
    """Another anchor does not build another kernel."""
    robot = zveno.load("chain(3)")
    first = Equations(robot, (BallJoint("tool", point=(0.1, 0.2, 0.0)),))
    second = Equations(robot, (BallJoint("tool", point=(0.3, 0.4, 0.0)),))
    assert first.rhs is second.rhs

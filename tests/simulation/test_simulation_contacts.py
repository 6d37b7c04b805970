"""Contacts that close and open, impacts, joint limits, controllers and drives."""

import numpy as np
import pytest

import zveno
from mechanisms import relative_error
from zveno.errors import ModelError, ShapeError, ZvenoError
from zveno.kernels import math as zm
from zveno.mechanism import Frame, Free, Joint, Limits, Link, Prismatic, Revolute, assemble
from zveno.robot import Robot
from zveno.simulation import (
    PD,
    ComputedTorque,
    Constant,
    GroundContact,
    PointContact,
    Recorded,
    ServoDrive,
    simulate,
)
from zveno.simulation.controllers import as_control
from zveno.simulation.drives import ServoDrive as Drive
from zveno.simulation.equations import Equations
from zveno.simulation.impacts import impact
from zveno.simulation.inputs import Inputs
from zveno.spatial import inertia
from zveno.spatial.transforms import transform


def ball(height: float = 1.0) -> Robot:
    """A point mass on a vertical guide."""
    body = inertia.parameters(2.0, np.zeros(3), np.eye(3))
    return Robot(
        assemble("ball", [Link("ground"), Link("ball", body)], [Joint("z", "ground", "ball", Prismatic((0, 0, 1)))])
    )


def plate() -> Robot:
    """A free plate with a foot at each corner."""
    body = inertia.parameters(3.0, np.zeros(3), np.diag([0.1, 0.1, 0.2]))
    corners = [Frame(f"corner{k}", "plate", transform(None, [x, y, -0.05])) for k, (x, y) in enumerate(_CORNERS)]
    joints = [Joint("free", "ground", "plate", Free())]
    return Robot(assemble("plate", [Link("ground"), Link("plate", body)], joints, corners))


_CORNERS = ((0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2))


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "lsoda", "adams"])
def test_bouncing_ball(integrator):
    """Heights and times of a ball that loses a known share of its speed at every impact."""
    e, h = 0.5, 1.0
    contact = GroundContact("ball", restitution=e, friction=0.0)
    run = simulate(ball(), [h], duration=2.0, constraints=[contact], integrator=integrator)
    g = 9.81
    first = np.sqrt(2 * h / g)
    expected = [first]
    for k in range(1, 4):
        expected.append(expected[-1] + 2 * e**k * np.sqrt(2 * g * h) / g)
    times = [one.t for one in run.events if one.what == "bounces"]
    assert times[:4] == pytest.approx(expected, abs=1e-7)
    assert run.events[-1].what == "closes"  # it comes to rest instead of bouncing without end
    assert abs(run.q[-1, 0]) < 1e-6
    assert run.reactions[-1, 0] == pytest.approx(2 * g, rel=1e-6)
    assert run.q.min() > -1e-6
    assert run.energy_drift < 1e-5


def test_contact_opens_when_the_ground_would_have_to_pull():
    """A mass pressed down and then pulled up by a force that grows leaves when the force exceeds its weight."""
    robot = ball()
    run = simulate(
        robot, [0.0], duration=1.0, constraints=[GroundContact("ball")], control=lambda t, q, v: [40.0 * t]
    )
    weight = 2.0 * 9.81
    (opening,) = run.events
    assert opening.what == "opens"
    assert opening.t == pytest.approx(weight / 40.0, abs=1e-8)
    before = run.t < opening.t - 1e-3
    assert relative_error(run.reactions[before, 0], weight - 40.0 * run.t[before]) < 1e-8
    assert (run.reactions[run.t > opening.t + 1e-3] == 0).all()
    late = run.t[-1] - opening.t
    assert run.q[-1, 0] == pytest.approx(40.0 * late**3 / 12.0, rel=1e-5)


def test_plate_falls_flat_and_rests():
    """Four sticking corners are redundant (12 rows on 6 freedoms): the weight is shared, nothing is NaN."""
    robot = plate()
    contacts = [GroundContact(f"corner{k}") for k in range(4)]
    q = robot.neutral()
    q[2] = 0.25
    run = simulate(robot, q, duration=0.6, constraints=contacts, integrator="rk4", step=2e-3)
    assert run.finished
    assert {one.what for one in run.events} <= {"closes", "opens"}
    N = run.reactions[-1, ::3]
    assert N.sum() == pytest.approx(3.0 * 9.81, rel=1e-6)
    assert relative_error(N, np.full(4, 3.0 * 9.81 / 4)) < 1e-3
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-6)
    assert run.kinetic[-1] < 1e-10
    assert run.work[-1] == pytest.approx(-3.0 * 9.81 * 0.2, rel=1e-5)  # the impact took what the fall gave


def test_tilted_plate_lands_corner_by_corner():
    robot = plate()
    contacts = [GroundContact(f"corner{k}") for k in range(4)]
    q = robot.neutral()
    q[2] = 0.3
    q[3:] = np.array([np.cos(0.1), np.sin(0.1) * 0.6, np.sin(0.1) * 0.8, 0.0])
    run = simulate(robot, q, duration=1.0, constraints=contacts, integrator="rk4", step=1e-3)
    assert run.finished
    touched = {one.name for one in run.events if one.what == "closes"}
    assert len(touched) == 4
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-4)
    heights = robot.forward_kinematics(run.q, frames=[f"corner{k}" for k in range(4)])[..., 2, 3]
    assert heights.min() > -1e-5
    assert run.energy_drift < 1e-3


def test_impact_obeys_newton_and_loses_energy():
    robot = zveno.load("chain(3)")
    equations = Equations(robot, (PointContact("tool"),))
    q = np.array([-1.0, 0.3, 0.4])
    y = equations.state(q, np.array([1.0, -2.0, 0.5]))
    c = equations.settings(q)
    terms = equations.terms(0.0, y, c)
    J = terms[3]
    M = robot.mass_matrix(q)
    for e in (0.0, 0.4):
        hit = impact(equations, 0.0, y, Inputs(None, c), np.full(3, e))
        assert relative_error((J @ hit.v)[:2], (-e * J @ y[equations.v])[:2]) < 1e-10
        assert relative_error(M @ (hit.v - y[equations.v]), J.T @ hit.impulses) < 1e-10
        kinetic = [0.5 * w @ M @ w for w in (y[equations.v], hit.v)]
        assert hit.energy == pytest.approx(kinetic[1] - kinetic[0], rel=1e-9)
        assert hit.energy < 0


@pytest.mark.parametrize("integrator", ["dop853", "lsoda", "adams", "semi-implicit"])
def test_joint_stops_at_its_limit(integrator):
    """A pendulum that falls onto its stop: it hits, stays, and the stop carries the torque of gravity."""
    rod = inertia.parameters(1.0, np.array([0.5, 0, 0]), np.diag([0.0, 1 / 12, 1 / 12]))
    joint = Joint("hinge", "base", "rod", Revolute((0, 1, 0)), limits=Limits(-2.0, 0.6))
    robot = Robot(assemble("stopped", [Link("base"), Link("rod", rod)], [joint]))
    run = simulate(robot, [0.0], duration=1.0, limits=True, integrator=integrator)
    (hit,) = run.events
    assert hit.what == "closes"
    assert run.q.max() == pytest.approx(0.6, abs=1e-8)
    torque = run.reaction("limit of hinge")[-1, 0]
    assert torque == pytest.approx(-1.0 * 9.81 * 0.5 * np.cos(0.6), rel=1e-6)
    free = simulate(robot, [0.0], duration=1.0)
    assert free.q.max() > 1.0


def test_slipping_is_reported():
    robot = plate()
    contacts = [GroundContact(f"corner{k}", friction=0.3) for k in range(3)]
    q = robot.neutral()
    q[2] = 0.05

    def push(t, q, v):
        return np.array([20.0 * t, 0, 0, 0, 0, 0])

    run = simulate(robot, q, duration=1.0, constraints=contacts, control=push, integrator="rk4", step=2e-3)
    assert any(one.what == "slips" for one in run.events)


# --- controllers and drives


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
    run = simulate(robot, start, [0.6, 0.0, 0.1, 0.0], duration=1.0, control=ComputedTorque(reference), rtol=1e-8)
    wanted = np.array([reference(t) for t in run.t], dtype=float)
    assert abs(run.q - wanted).max() < 1e-7
    # From elsewhere the error dies out as ë + 20 ė + 100 e = 0 says: critically damped at 10/s.
    off = simulate(
        robot, start + 0.1, [0.6, 0.0, 0.1, 0.0], duration=1.0, control=ComputedTorque(reference), rtol=1e-8
    )
    expected = 0.1 * (1 + 10 * off.t) * np.exp(-10 * off.t)
    assert abs((off.q - wanted) - expected[:, None]).max() < 1e-6


def test_recorded_torques_reproduce_a_run():
    robot = zveno.load("chain(3)")
    first = simulate(robot, np.zeros(3), duration=0.5, control=PD(np.full(3, 0.3), kp=5.0, kd=0.2), rtol=1e-9)
    again = simulate(robot, np.zeros(3), duration=0.5, control=Recorded(first.t, first.tau), rtol=1e-9)
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


def test_servo_drive_lags_and_saturates():
    robot = zveno.load("chain(2)").with_gravity((0.0, 0.0, 0.0))
    drive = ServoDrive(gain=2.0, lag={"joint1": 0.1}, saturation={"joint1": 3.0})
    run = simulate(robot, np.zeros(2), duration=0.5, control=Constant([10.0, 0.2]), drive=drive, rtol=1e-9)
    # 2 · 10 is cut to 3, and reached as 1 − exp(−t/lag); joint 2 has no lag and no limit.
    assert relative_error(run.tau[:, 0], 3.0 * (1 - np.exp(-run.t / 0.1))) < 1e-7
    assert relative_error(run.tau[:, 1], np.full(len(run.t), 0.4)) < 1e-12
    assert run.energy_drift < 1e-6
    half = simulate(robot, np.zeros(2), duration=0.2, control=Constant([10.0, 0.2]), drive=drive, rtol=1e-9)
    rest = simulate(
        robot,
        half.q[-1],
        half.v[-1],
        duration=0.3,
        control=Constant([10.0, 0.2]),
        drive=drive,
        rtol=1e-9,
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
        ([1.0, 2.0], "needs 3"),
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
    with pytest.raises(ModelError, match="restitution"):
        simulate(ball(), [1.0], constraints=[GroundContact("ball", restitution=2.0)])
    with pytest.raises(ZvenoError, match="no limits, projection, nor contacts"):
        simulate(ball(), [[1.0], [2.0]], constraints=[GroundContact("ball")])

"""Long runs: which integrators keep energy and momentum; and samples at the times that were asked for."""

import numpy as np
import pytest
from runs import limited_pendulum

import zveno
from mechanisms import random_mechanism, random_state
from zveno.mechanism import Free, Joint, Link, Spherical, assemble
from zveno.robot import Robot
from zveno.simulation import Event, PointContact, simulate, statuses
from zveno.spatial import inertia


def single_body(joint) -> Robot:
    """A body with three different moments of inertia, without gravity."""
    body = inertia.parameters(1.0, np.zeros(3), np.diag([0.1, 0.2, 0.25]))
    links = [Link("world"), Link("body", body)]
    return Robot(assemble("body", links, [Joint("joint", "world", "body", joint)])).with_gravity((0.0, 0.0, 0.0))


@pytest.mark.parametrize("joint", [Free(), Spherical()])
def test_midpoint_keeps_energy_and_momentum_of_a_tumbling_body(joint):
    """Two minutes about the unstable middle axis, in large steps: both are kept to rounding."""
    robot = single_body(joint)
    v = np.array([1.0, 0.5, 0.0, 0.1, 5.0, 0.1])[-robot.n_v :]
    run = simulate(robot, robot.neutral(), v, duration=120.0, integrator="midpoint", step=1e-2, sample=0.5)
    assert abs(run.energy_error).max() < 1e-9 * run.energy[0]
    momentum = robot.momentum(run.q, run.v)
    moved = 1.0 + np.linalg.norm(v) * 120.0  # the moment is about the world's origin
    assert abs(momentum - momentum[0]).max() < 1e-9 * moved * np.linalg.norm(momentum[0])
    # What was documented of the semi-implicit step is not so: the same body gains energy.
    gained = simulate(robot, robot.neutral(), v, duration=120.0, integrator="semi-implicit", sample=0.5)
    assert gained.energy_error[-1] > 0.05 * gained.energy[0]


@pytest.mark.parametrize("seed", range(4))
def test_midpoint_energy_stays_bounded(seed):
    """Random machines, standing under gravity or floating without: the error of a minute is that of a quarter."""
    kinds = ("revolute", "spherical", "universal")
    robot = Robot(random_mechanism(seed, n=3, kinds=kinds, mimic=0.0, branching=0.3))
    if seed % 2:
        robot = robot.with_base("free").with_gravity((0.0, 0.0, 0.0))
    q, v, _ = random_state(robot.mechanism, seed)
    worst = []
    for step in (4e-3, 2e-3):
        run = simulate(robot, q, 0.5 * v, duration=60.0, integrator="midpoint", step=step, sample=0.05)
        assert run.finished, run.status
        quarters = [abs(part).max() for part in np.array_split(run.energy_error, 4)]
        assert quarters[-1] < 4 * quarters[0]
        worst.append(max(quarters) / run.kinetic.max())
    assert worst[0] < 0.02
    assert worst[1] < 0.5 * worst[0]  # of second order


def test_midpoint_with_control_and_constraints():
    """A loop closed by a point, and a controller that is called: as accurate as its order, energy balanced."""
    robot = zveno.load("chain(3)")
    q = np.array([-1.0, 0.3, 0.4])
    exact = simulate(robot, q, duration=0.5, constraints=[PointContact("tool")], control=lambda t, q, v: -v)
    run = simulate(
        robot,
        q,
        duration=0.5,
        constraints=[PointContact("tool")],
        control=lambda t, q, v: -v,
        integrator="midpoint",
        step=1e-3,
    )
    assert abs(run.q[-1] - exact.q[-1]).max() < 1e-4
    assert run.energy_drift < 1e-4


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "midpoint", "semi-implicit"])
@pytest.mark.parametrize("watched", [False, True])
def test_samples_are_where_they_were_asked_for(integrator, watched):
    """Neither the step nor the duration is a multiple of `sample`; a finer run agrees at the same times."""
    robot = zveno.load("chain(2)")
    events = [Event(lambda t, q, v: q[0] - 0.2)] if watched else []
    run = simulate(
        robot, [0.3, 0.2], duration=0.1, integrator=integrator, step=3e-3, sample=0.007, events=events, rtol=1e-9
    )
    assert run.t == pytest.approx([*(0.007 * np.arange(15)), 0.1], abs=1e-12)
    exact = simulate(robot, [0.3, 0.2], duration=0.1, sample=0.007, rtol=1e-11)
    assert abs(run.q - exact.q).max() < (5e-3 if integrator == "semi-implicit" else 1e-4)
    batch = simulate(robot, np.full((3, 2), 0.2), duration=0.1, step=3e-3, sample=0.007)
    assert batch.q.shape == (3, 16, 2)
    assert np.isfinite(batch.q).all()


def runaway(t, q, v):
    """A torque that grows with the cube of the velocity: no step follows it."""
    return 1e5 * v**3


def test_a_run_whose_energy_comes_from_nowhere_is_not_finished(monkeypatch):
    """The limit stops the pendulum in one step, so that states stay small; the balance of energy tells."""
    options = {"limits": True, "integrator": "semi-implicit", "control": runaway}
    run = simulate(limited_pendulum(), [0.1], [0.1], 2.0, **options)
    assert run.t[-1] == 2.0
    assert run.energy_drift > 1e6
    assert not run.finished
    assert "energy is off by" in run.status
    monkeypatch.setattr(statuses, "LARGEST_IMBALANCE", np.inf)
    assert simulate(limited_pendulum(), [0.1], [0.1], 2.0, **options).finished


def test_of_a_batch_those_that_are_off_are_counted():
    """A pendulum that turns over loses its energy by steps that are too large; one near its rest does not."""
    robot = zveno.load("chain(1)")
    starts = [[1.0], [-0.5 * np.pi + 1e-3]]
    assert simulate(robot, starts, duration=60.0, integrator="rk4", step=0.01).finished
    run = simulate(robot, starts, duration=60.0, integrator="rk4", step=0.3)
    assert not run.finished
    assert "of 2 runs reach" in run.status


@pytest.mark.parametrize("integrator", ["dop853", "lsoda", "adams"])
def test_a_motion_that_explodes_ends_the_run(integrator):
    """LSODA and Adams would go on for ever with steps that no longer change the time."""
    run = simulate(limited_pendulum(), [0.1], [0.1], 2.0, limits=True, integrator=integrator, control=runaway)
    reasons = "Required step size is less than spacing between numbers", "the solver cannot hold its tolerance"
    # VODE keeps something of runs before, so that its last steps may end in either.
    assert run.status.startswith(tuple(f"stopped: {reason}" for reason in reasons[: 1 + (integrator == "adams")]))

"""Loops closed by more rows than they need move like loops closed by just enough, at any attitude."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from plane_loops import carried_four_bar, welded_four_bar

from mechanisms import relative_error
from tiers import few
from zveno import ZvenoError, simulation
from zveno.simulation import (
    RK4,
    BallJoint,
    TimeStepping,
    _layout,
    constrained_dynamics,
    constrained_dynamics_derivatives,
    evaluate_constraints,
)
from zveno.simulation.simulate import simulate

ENOUGH = ("x", "y")
"""Directions that close a loop in the x–y plane."""
TOO_MANY = ("point", ("x", "y", "z", "rx"), "hinge", ("y", "x", "rx", "ry"))
SAME = 1e-8
"""Relative: the factors of M lose a few digits to carriers that hardly move."""


def opened(robot):
    """The tree with its loops open."""
    return type(robot)(replace(robot.mechanism, loops=()))


def closed_state(robot, q, seed):
    """Velocities that keep the loop closed, and torques."""
    rng = np.random.default_rng(seed)
    J = evaluate_constraints(robot, q, np.zeros(robot.n_v), []).J
    v = rng.normal(size=robot.n_v)
    return v - np.linalg.pinv(J) @ (J @ v), rng.normal(size=robot.n_v)


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(28), 4))
def test_redundant_closures_give_the_accelerations_of_independent_ones(seed):
    robot, q = carried_four_bar(seed, ENOUGH)
    v, tau = closed_state(robot, q, seed)
    right = constrained_dynamics(robot, q, v, tau, [])
    assert right.status == "solved"
    assert right.gap == np.inf
    # independent of the solver: the KKT system of document 003 with M, H and the rows
    rows = evaluate_constraints(robot, q, v, [])
    tree = opened(robot)
    force = tau - tree.inverse_dynamics(q, v, np.zeros(robot.n_v))
    kkt = np.block([[tree.mass_matrix(q), -rows.J.T], [rows.J, np.zeros((2, 2))]])
    a = np.linalg.solve(kkt, np.concatenate([force, -rows.bias]))[: robot.n_v]
    assert relative_error(right.a, a) < SAME
    for locked in TOO_MANY:
        again = constrained_dynamics(carried_four_bar(seed, locked)[0], q, v, tau, [])
        assert relative_error(again.a, a) < SAME, locked
        assert (again.status, again.reason) == ("redundant", "Loop(coupler_end, rocker_end)")
        assert again.gap > 1e5
        rows = evaluate_constraints(carried_four_bar(seed, locked)[0], q, v, [])
        assert abs(rows.J @ again.a + rows.bias).max() < SAME * max(1, abs(rows.bias).max())


@pytest.mark.parametrize("seed", few(range(14), 3))
def test_a_weld_has_independent_rows_at_any_attitude(seed):
    """Its orientation counts in the axes of `other`: on a carrier, the same rows stay redundant."""
    robot, q = welded_four_bar(seed, ("x", "y", "rz"))
    v, tau = closed_state(robot, q, seed)
    right = constrained_dynamics(robot, q, v, tau, [])
    assert right.status == "solved"
    welded = welded_four_bar(seed)[0]
    again = constrained_dynamics(welded, q, v, tau, [])
    assert relative_error(again.a, right.a) < SAME
    assert (again.status, again.reason) == ("redundant", "Loop(end, pivot)")
    assert again.gap > 1e5
    slopes = constrained_dynamics_derivatives(welded, q, v, tau, [])
    assert relative_error(slopes.da_dq, constrained_dynamics_derivatives(robot, q, v, tau, []).da_dq) < SAME


def test_in_world_axes_too():
    robot, q = carried_four_bar(3, ENOUGH)
    v, tau = closed_state(robot, q, 3)
    held = constrained_dynamics(robot, q, v, tau, [BallJoint("coupler_end", "rocker_end")])
    assert held.redundant
    assert relative_error(held.a, constrained_dynamics(robot, q, v, tau, []).a) < SAME


def test_a_row_that_is_only_checked_and_does_not_follow_is_solved_after_all(monkeypatch):
    """Another branch than that of the reference may need it."""
    robot, q = carried_four_bar(5, ENOUGH)
    v, tau = closed_state(robot, q, 5)
    right = constrained_dynamics(robot, q, v, tau, [])
    wrong = SimpleNamespace(checked=np.array([1]), gap=0.0)
    monkeypatch.setattr(_layout, "selection", lambda mechanism: wrong)
    again = constrained_dynamics(carried_four_bar(5, ENOUGH)[0], q, v, tau, [])
    assert relative_error(again.a, right.a) < SAME
    assert again.status == "solved"


def test_a_row_that_can_move_nothing_bears_nothing():
    """Alone, a row of rounding has no other to be small beside."""
    robot, q = carried_four_bar(0, ("z",))
    v, tau = closed_state(robot, q, 0)
    found = constrained_dynamics(robot, q, v, tau, [])
    tree = opened(robot)
    free = np.linalg.solve(tree.mass_matrix(q), tau - tree.inverse_dynamics(q, v, np.zeros(robot.n_v)))
    assert relative_error(found.a, free) < SAME
    assert found.redundant


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(7), 1))
def test_derivatives_do_not_depend_on_redundant_rows(seed):
    robot, q = carried_four_bar(seed, ENOUGH)
    v, tau = closed_state(robot, q, seed)
    right = constrained_dynamics_derivatives(robot, q, v, tau, [])
    for locked in TOO_MANY:
        robot = carried_four_bar(seed, locked)[0]
        again = constrained_dynamics_derivatives(robot, q, v, tau, [])
        for name in ("da_dq", "da_dv", "da_dtau"):
            assert relative_error(getattr(again, name), getattr(right, name)) < SAME, (locked, name)
    with pytest.raises(ZvenoError, match="some follow from others"):
        constrained_dynamics_derivatives(robot, q, v, tau, [BallJoint("coupler_end", "rocker_end")])


@pytest.mark.laws
@pytest.mark.parametrize(("seed", "integrator"), few([(k, m) for k in range(4) for m in (RK4, TimeStepping)]))
def test_runs_agree(seed, integrator):
    robot, q = carried_four_bar(seed, ENOUGH)
    v, _ = closed_state(robot, q, seed)
    robots = [carried_four_bar(seed, locked)[0] for locked in (ENOUGH, "point")]
    runs = [simulate(robot, q, v, 0.05, integrator=integrator()) for robot in robots]
    assert all(run.status == "finished" for run in runs)
    assert relative_error(runs[0].q, runs[1].q) < 1e-6
    assert relative_error(runs[0].v, runs[1].v) < 1e-5


def test_an_open_loop_is_said_to_be_open():
    robot, q = carried_four_bar(0, ENOUGH)
    q[-1] += 0.1
    zero = np.zeros(robot.n_v)
    motion = constrained_dynamics(robot, q, zero, zero, [])
    assert motion.status == "open"
    assert motion.reason.startswith("the state violates Loop")
    with pytest.raises(ZvenoError, match="violates them by 0"):
        constrained_dynamics_derivatives(robot, q, zero, zero, [])


@pytest.mark.laws
def test_cases_from_outside():
    """A parallelogram on a turning base; accelerations by an independent recursion with one coordinate a loop."""
    import zveno
    from zveno.mechanism import Frame, Joint, Link, Loop, Revolute, assemble
    from zveno.spatial import inertia
    from zveno.spatial.transforms import transform

    def bar(mass, length):
        across = mass * length * length / 12
        return inertia.parameters(mass, np.array([length / 2, 0.0, 0.0]), np.diag([1e-3, across, across]))

    turning = inertia.parameters(2.0, np.array([0.05, 0.02, 0.1]), 0.05 * np.eye(3))
    links = [Link("w"), Link("t", turning), Link("a", bar(1.0, 0.3)), Link("c", bar(2.0, 0.5))]
    links.append(Link("b", bar(1.0, 0.3)))
    joints = [
        Joint("j0", "w", "t", Revolute((0, 0, 1))),
        Joint("j1", "t", "a", Revolute((0, 1, 0))),
        Joint("j2", "a", "c", Revolute((0, 1, 0)), transform(None, [0.3, 0, 0])),
        Joint("j3", "t", "b", Revolute((0, 1, 0)), transform(None, [0.5, 0, 0])),
    ]
    frames = [Frame("e1", "c", transform(None, [0.5, 0, 0])), Frame("e2", "b", transform(None, [0.3, 0, 0]))]
    robot = zveno.Robot(assemble("parallelogram", links, joints, frames, loops=[Loop("e1", "e2", "point")]))
    found = simulation.constrained_dynamics(robot, [0.7, 0.5, -0.5, 0.5], [1.0, 0, 0, 0], [0, 0, 0, 0], [])
    assert np.allclose(found.a, [0.0, 31.41737769, -31.41737769, 31.41737769], atol=1e-7)
    found = simulation.constrained_dynamics(robot, [0.3, 0.8, -0.8, 0.8], [0.0, 0, 0, 0], [0, 3.0, 0, 0], [])
    assert np.allclose(found.a, [0.0, 38.13009807, -38.13009807, 38.13009807], atol=1e-7)
    run = robot.simulate([0.3, 0.8, -0.8, 0.8], [2.0, 0, 0, 0], duration=0.1, integrator=RK4())
    assert run.status == "finished"
    assert np.allclose(run.q[-1], [0.504498, 0.901732, -0.901732, 0.901732], atol=1e-6)

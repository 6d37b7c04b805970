"""Time stepping under constraints that hold both ways: loops, welds, hinges, prescribed joints."""

import numpy as np
import pytest
from stepped import G, box, stepped

import zveno
from zveno import simulation
from zveno.mechanism import Frame, Joint, Link, Revolute, assemble
from zveno.simulation import DOP853, TimeStepping
from zveno.spatial import inertia
from zveno.spatial.transforms import transform

STEP = 1e-3


def parallelogram() -> zveno.Robot:
    """Two cranks of 0.5 m that stand 1 m apart, and a bar between their ends that closes a loop."""
    crank = inertia.parameters(1.0, np.array([0.0, 0.0, -0.25]), 0.02 * np.eye(3))
    bar = inertia.parameters(1.0, np.array([0.5, 0.0, 0.0]), 0.05 * np.eye(3))
    y, end = (0.0, 1.0, 0.0), transform(None, np.array([0.0, 0.0, -0.5]))
    links = [Link("base"), Link("left", crank), Link("bar", bar), Link("right", crank)]
    joints = [
        Joint("a", "base", "left", Revolute(y)),
        Joint("b", "left", "bar", Revolute(y), end),
        Joint("c", "base", "right", Revolute(y), transform(None, np.array([1.0, 0.0, 0.0]))),
    ]
    frames = [Frame("bar_end", "bar", transform(None, np.array([1.0, 0.0, 0.0]))), Frame("tip", "right", end)]
    return zveno.Robot(assemble("parallelogram", links, joints, frames))


@pytest.mark.laws
def test_a_closed_loop_swings_as_with_adaptive_steps_and_stays_closed():
    robot = parallelogram()
    closed = [zveno.Loop("bar_end", "tip", locked=("x", "z"))]
    q = np.array([0.4, -0.4, 0.4])
    run = stepped(robot, q, duration=1.0, constraints=closed)
    exact = robot.simulate(q, duration=1.0, constraints=closed, integrator=DOP853(1e-9))
    assert run.max_violation < 1e-5
    assert abs(run.q[-1] - exact.q[-1]).max() < 5 * STEP
    scale = abs(exact.reactions).max()
    assert abs(run.reactions[-1] - exact.reactions[-1]).max() < 0.02 * scale


def test_a_weld_carries_the_weight():
    run = stepped(box(), [0, 0, 1, 1, 0, 0, 0], duration=0.1, constraints=[simulation.Weld("b")])
    assert abs(run.q[-1, :3] - [0, 0, 1]).max() < 1e-9
    assert abs(run.reactions[-1] - [0, 0, G, 0, 0, 0]).max() < 1e-6


@pytest.mark.laws
def test_redundant_constraints_share_the_load():
    holds = [simulation.Weld("b", name="one"), simulation.Weld("b", name="two")]
    run = stepped(box(), [0, 0, 1, 1, 0, 0, 0], duration=0.1, constraints=holds)
    assert abs(run.reactions[-1, [2, 8]].sum() - G) < 1e-6


def test_a_start_off_the_constraints_is_moved_onto_them():
    robot = parallelogram()
    closed = [zveno.Loop("bar_end", "tip", locked=("x", "z"))]
    run = stepped(robot, [0.4, -0.41, 0.4], duration=0.1, constraints=closed)
    assert run.moved > 1e-3
    with pytest.raises(zveno.ZvenoError):
        robot.simulate([0.4, 1.4, 0.4], constraints=closed, integrator=TimeStepping())


def test_a_body_on_a_rail_pushes_the_ground_with_what_the_rail_leaves():
    """A box held against turning by a weld of its attitude still rests on the ground with its weight."""
    rail = simulation.PointOnPlane("b", normal=(1.0, 0.0, 0.0), height=0.0)
    ground = simulation.Contact("b", simulation.Box((0.2, 0.2, 0.2)), friction=0.0)
    run = stepped(
        box(), [0, 0, 0.1, 1, 0, 0, 0], duration=0.3, constraints=[rail, ground], control=[5.0, 0, 0, 0, 0, 0]
    )
    assert abs(run.q[-1, 0]) < 1e-9
    assert abs(run.reaction(ground.label)[-1].sum() - G) < 1e-3
    assert abs(run.reaction(rail.label)[-1] + 5.0).max() < 1e-3


def test_a_batch_of_loops_is_its_single_runs():
    robot = parallelogram()
    closed = [zveno.Loop("bar_end", "tip", locked=("x", "z"))]
    q = np.array([[a, -a, a] for a in (0.1, 0.2, 0.3)])
    together = stepped(robot, q, duration=0.1, constraints=closed)
    for k in range(3):
        assert np.array_equal(stepped(robot, q[k], duration=0.1, constraints=closed).q, together.q[k])

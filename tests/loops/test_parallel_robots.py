"""Structures of Gepetto's parallel robots: they load, close, and move as in Pinocchio."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.loops import Rival
from parallel_robots import MACHINES

import zveno

PAGE = Path(__file__).parents[2] / "docs" / "closed_loops.md"
QUICK = ("four_bar_knee", "five_bar_welded", "talos_like")
EACH = [
    pytest.param(make, id=make.__name__, marks=[] if make.__name__ in QUICK else pytest.mark.laws)
    for make in MACHINES
]


@pytest.mark.parametrize("make", MACHINES, ids=lambda make: make.__name__)
def test_they_load_with_their_mobility(make, tmp_path):
    """The row of the table is what the files give; names of machines are those of the page."""
    machine = make()
    robot = zveno.load(machine.write(tmp_path))
    assert set(robot.mechanism.motors or ()) == set(machine.motors)
    found = zveno.loops.mobility(robot)
    assert len(found.driven) == len(machine.motors)
    rows = sum(len(loop.locked) for loop in robot.mechanism.loops)
    numbers = robot.n_v, rows, found.rank, found.mobility, len(found.driven), len(found.idle)
    assert "| {} | {} | {} | {} | {} | {} | {} |".format(make.__name__, *numbers) in PAGE.read_text()


@pytest.mark.parametrize("make", EACH)
def test_they_close_and_agree_with_pinocchio(make, tmp_path):
    robot = zveno.load(make().write(tmp_path))
    closed = zveno.loops.ClosedRobot(robot, idle="free")
    rng = np.random.default_rng(1)
    driven = zveno.loops.mobility(robot).driven
    entries = [robot.mechanism.q_slices[name].start for name in driven]
    travel = [0.01 if robot.mechanism.joint(name).type.kind == "prismatic" else 0.1 for name in driven]
    targets = closed.q[entries] + rng.uniform(-1, 1, size=(20, len(entries))) * travel
    moved = zveno.loops.close(robot, targets)
    assert moved.closed.all()
    assert moved.residual.max() < 1e-13
    assert np.allclose(moved.q[:, entries], targets, atol=1e-13)
    rival = Rival(robot.mechanism)
    for q in moved.q[:4]:
        u, tau = rng.normal(size=closed.n_v), rng.normal(size=len(closed.torque_names))
        a = closed.forward_dynamics(q, u, tau)
        v, torques = closed.velocities(q, u), np.zeros(robot.n_v)
        torques[list(closed.division.torques)] = tau
        theirs = rival.constraint_dynamics(*rival.state(q, v, torques))
        ours = np.asarray(zveno.simulation.constrained_dynamics(robot, q, v, torques, []).a)
        size = abs(ours).max()
        assert abs(rival.oracle.a(q, v, ours) - theirs).max() < 1e-8 * size
        assert abs(closed.independent(ours) - a).max() < 1e-9 * size

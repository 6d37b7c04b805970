"""Paths through singular poses: what goes exactly through is one motion, what passes beside is not."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.ik.paths import crossings
from zveno.ik.paths.solve_path import solve_path
from zveno.spatial.rotations import exp

ALIGNED = {"puma560": [0.3, -0.6, 0.2, 0.4, 0.0, -0.7], "ur5": [0.3, -1.2, 1.0, -0.5, 0.0, -0.7]}
"""Configurations with an aligned wrist."""
DIRECTION = np.array([0.05, 0.03, -0.04])


def line(robot, q, n: int, tilt: float = 0.0) -> np.ndarray:
    """A straight line of n poses through the pose of q, tilted to where that configuration cannot move to."""
    pose = robot.forward_kinematics(q)
    unreachable = np.linalg.svd(robot.jacobian(q))[0][:, -1]
    T = np.repeat(pose[None], n, axis=0)
    T[:, :3, 3] += np.linspace(-1, 1, n)[:, None] * DIRECTION + tilt * unreachable[:3]
    T[:, :3, :3] = exp(tilt * unreachable[3:]) @ T[:, :3, :3]
    return T


@pytest.mark.laws
@pytest.mark.parametrize("n", [20, 21])
@pytest.mark.parametrize("name", few(ALIGNED, 1))
def test_every_branch_goes_through_an_aligned_wrist(name, n):
    """The singular pose is one of the path's, or between two: the fifth angle changes its sign without a hop."""
    robot, q = zveno.load(name), np.array(ALIGNED[name])
    branches = solve_path(robot, line(robot, q, n), limits=False).branches
    assert [branch.ended for branch in branches] == [None] * len(branches)
    through = [branch.q for branch in branches if branch.q[0, 4] * branch.q[-1, 4] < 0]
    assert len(through) == 2
    finer = solve_path(robot, line(robot, q, 10 * (n - 1) + 1), limits=False).branches
    for path in through:
        ends = [branch.q[-1] for branch in finer if np.abs(branch.q[0] - path[0]).max() < 1e-9]
        assert np.abs(ends[0] - path[-1]).max() < 1e-9
        steps = np.abs(np.diff(path, axis=0)).max(axis=1)
        assert steps.max() < 3 * np.median(steps)


@pytest.mark.parametrize("tilt", few([1e-7, 3e-9, 1e-5], 1))
def test_what_passes_beside_a_singularity_does_not_go_through_it(tilt):
    """There the fourth and sixth joints turn half round within the miss, which no step of the path holds."""
    robot, q = zveno.load("puma560"), np.array(ALIGNED["puma560"])
    for n in (20, 21):
        branches = solve_path(robot, line(robot, q, n, tilt), limits=False).branches
        ended = [branch for branch in branches if branch.ended is not None]
        assert len(ended) == 2
        assert all("singularity" in branch.reason for branch in ended)


def test_without_solutions_between_the_halves_there_is_no_crossing(monkeypatch):
    """The check of what lies between both ends decides: where it fails, the branches end."""
    robot, q = zveno.load("puma560"), np.array(ALIGNED["puma560"])
    monkeypatch.setattr(crossings, "EXACT", -1.0)
    branches = solve_path(robot, line(robot, q, 20), limits=False).branches
    assert sum(branch.ended is not None for branch in branches) == 2


@pytest.mark.parametrize("n", [21, 41])
def test_a_path_that_touches_the_edge_of_the_workspace_goes_on(n):
    """A circle inside the reach of two links, which it touches at one of its points: there the arm is stretched."""
    robot = zveno.load("planar2")
    reach = robot.forward_kinematics(np.zeros(2))[0, 3]
    angle = np.linspace(-1, 1, n)
    points = 0.5 * reach * np.stack([1 + np.cos(angle), np.sin(angle), 0 * angle], -1)
    path = solve_path(robot, points, task=(1, 1, 0, 0, 0, 0), limits=False)
    assert path.status == "continuous"
    assert [branch.ended for branch in path.branches] == [None, None]
    assert np.abs(robot.forward_kinematics(path.q)[:, :2, 3] - points[:, :2]).max() < 1e-9

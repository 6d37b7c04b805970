"""Constraints of plans: kept by every posture, or refused; never removed."""

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.calibration.planning import Clearance, plan_poses
from zveno.spatial.transforms import transform

ROBOTS = ("puma560", "ur5", "planar2", "panda", "tx40", "Rz(q1) Tz(0.3) Ry(q2) Tx(0.4) Ry(q3) Tx(0.3)")


@pytest.mark.parametrize("name", few(ROBOTS, 3))
@pytest.mark.parametrize("height", few([100.0, 1e6, 3.0], 1))
def test_a_floor_above_the_robot_is_refused(name, height):
    """A height in millimetres was taken for no floor at all."""
    with pytest.raises(zveno.ZvenoError, match=r"floor|ground|clearance"):
        plan_poses(zveno.load(name), "position", 12, candidates=60, clearance=Clearance(ground=height))


@pytest.mark.laws
@pytest.mark.parametrize("name", few(["ur5", "puma560", "panda", "tx40"], 1))
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_planned_tools_are_above_the_floor_and_joints_off_their_stops(name, seed):
    rng = np.random.default_rng(seed)
    tool = transform(None, rng.uniform(-0.2, 0.2, 3))
    robot = zveno.load(name).with_tool(tool)
    ground = float(-rng.uniform(0.0, 0.3)) - 0.1
    plan = plan_poses(robot, "position", 14, candidates=150, clearance=Clearance(ground=ground), rng=seed)
    heights = robot.forward_kinematics(plan.q)[:, 2, 3]
    assert (heights >= ground).all()
    assert (robot.link_poses(plan.q)[:, 2:, 2, 3] >= ground).all()
    ranged = np.isfinite(robot.upper - robot.lower)
    room = 0.009 * (robot.upper - robot.lower)[ranged]
    assert (plan.q[:, ranged] > robot.lower[ranged] + room).all()
    assert (plan.q[:, ranged] < robot.upper[ranged] - room).all()


def test_what_stands_on_the_floor_is_said():
    plan = plan_poses(zveno.load("planar2"), "position", 8, candidates=60, clearance=Clearance(ground=0.0))
    assert any("on which they stand" in note for note in plan.notes)

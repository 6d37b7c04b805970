"""Constrained accelerations of trees with many bodies, composed of loops over the bodies."""

import numpy as np
import pytest

from mechanisms import random_mechanism, relative_error
from zveno.robot import Robot
from zveno.simulation import BallJoint, Distance, PointOnPlane, Weld, constrained_dynamics
from zveno.simulation._redundancy import named
from zveno.simulation.dynamics import equations_of, large_tree_rows, solve_large_tree

KINDS = ("revolute", "prismatic", "spherical", "free", "helical", "universal", "planar")


def constraints_of(robot):
    last, middle = robot.link_names[-1], robot.link_names[len(robot.link_names) // 2]
    return [BallJoint(last), Distance(middle, other=last, length=0.3), PointOnPlane(middle, normal=(0.0, 0.5, 1.0))]


def states(robot, n, seed):
    rng = np.random.default_rng(seed)
    return robot.random(n, rng=seed), *(rng.normal(size=(2, n, robot.n_v)))


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("seed", range(4))
def test_composed_equals_the_kernel(seed):
    """Every joint type; a tree that is small enough for one kernel."""
    robot = Robot(random_mechanism(seed, n=7, kinds=KINDS, mimic=0.0))
    q, v, tau = states(robot, 3, seed)
    constraints = constraints_of(robot)
    expected = constrained_dynamics(robot, q, v, tau, constraints, stabilization=3.0)
    equations = equations_of(robot, tuple(constraints), False)[0]
    solved = solve_large_tree(robot, q, v, tau, equations.constraints, 0.0, 3.0, False)
    assert relative_error(solved.a, expected.a) < 1e-9
    assert relative_error(solved.reactions, expected.reactions) < 1e-9
    np.testing.assert_allclose(solved.value, expected.violation, atol=1e-12)
    np.testing.assert_allclose(solved.rate, expected.violation_rate, atol=1e-12)
    assert named(equations, solved.redundant) == expected.redundant
    assert named(equations, solved.contradicting) == expected.inconsistent


def test_equations_of_motion_hold_for_many_bodies():
    robot = Robot(random_mechanism(5, n=200, kinds=("revolute", "prismatic"), branching=0.2, mimic=0.0))
    q, v, tau = states(robot, 2, 5)
    constraints = constraints_of(robot)
    motion = constrained_dynamics(robot, q, v, tau, constraints)
    rows = [large_tree_rows(robot, *state, constraints, 0.0) for state in zip(q, v, strict=True)]
    J, bias = (np.array([part[k] for part in rows]) for k in (1, 3))
    pull = (np.swapaxes(J, -1, -2) @ motion.reactions[..., None])[..., 0]
    assert relative_error(robot.inverse_dynamics(q, v, motion.a), tau + pull) < 1e-10
    assert relative_error((J @ motion.a[..., None])[..., 0], -bias) < 1e-8


def test_dependent_rows_of_many_bodies_are_named():
    robot = Robot(random_mechanism(6, n=150, kinds=("revolute",), branching=0.0, mimic=0.0))
    q, v, tau = states(robot, 1, 6)
    last = robot.link_names[-1]
    motion = constrained_dynamics(robot, q, v, tau, [Weld(last, name="weld"), BallJoint(last, name="ball")])
    assert set(motion.redundant) == {"weld", "ball"}
    assert motion.status == "redundant"
    once = constrained_dynamics(robot, q, v, tau, [Weld(last)])
    assert relative_error(motion.a, once.a) < 1e-8

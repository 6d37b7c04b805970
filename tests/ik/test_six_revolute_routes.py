"""Six revolute joints through the solvers' common interface: robots, limits, fewer joints, and slices of seven."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped

import zveno
from tiers import few
from zveno.ik import six_revolute
from zveno.ik.ik_problem import problem_of
from zveno.ik.redundant import seven_revolute
from zveno.ik.redundant.sliced_joint import sliced_joint
from zveno.ik.six_revolute.polish import polish
from zveno.ik.six_revolute.route import curve, over_limits
from zveno.ik.six_revolute.templates import rigid_inverse
from zveno.mechanism import edit
from zveno.robot import Robot
from zveno.spatial import transforms

SOLVER = six_revolute.solver


def found(problem, q, raw):
    """Distance of each configuration that made a pose from the nearest solution."""
    return np.array([abs(wrapped(raw.x[i, : raw.count[i]] - q[i])).max(1).min(initial=9) for i in range(len(q))])


@pytest.mark.parametrize("name", few(["puma560", "ur5", "ur10", "tx40", "doc004_arm"]))
@pytest.mark.parametrize("limits", [True, False])
def test_built_in_robots(name, limits):
    robot = zveno.load(name)
    problem = problem_of(robot, limits=limits)
    assert SOLVER.applies(problem)
    q = robot.random(40, 2)
    T = robot.forward_kinematics(q)
    raw = SOLVER.solve(problem, T)
    assert found(problem, q, raw).max() < 1e-6
    for i in range(5):
        for x in raw.x[i, : raw.count[i]]:
            np.testing.assert_allclose(problem.forward(x), T[i], atol=1e-9)
    assert "polynomial" in SOLVER.explain(problem)


def test_limits_prune_and_never_lose():
    robot = zveno.load("puma560")
    narrow = problem_of(robot, limits={robot.joint_names[k]: (-0.4, 0.9) for k in range(6)})
    free = problem_of(robot, limits=False)
    q = np.random.default_rng(0).uniform(-0.35, 0.85, (60, 6))
    T = robot.forward_kinematics(q)
    some, everything = SOLVER.solve(narrow, T), SOLVER.solve(free, T)
    assert found(narrow, q, some).max() < 1e-6
    assert some.count.sum() < everything.count.sum()
    inside = narrow.inside(narrow.wrapped(everything.x)) & (
        np.arange(everything.x.shape[1]) < everything.count[:, None]
    )
    kept = narrow.inside(narrow.wrapped(some.x)) & (np.arange(some.x.shape[1]) < some.count[:, None])
    np.testing.assert_array_equal(inside.sum(1), kept.sum(1))


@pytest.mark.parametrize("name", few(["puma560", "tx40", "gen3"], 1))
def test_excess_over_limits_is_that_of_the_problem(name):
    problem = problem_of(zveno.load(name))
    q = np.random.default_rng(1).uniform(-7, 7, (4000, problem.n))
    q[:2000] = np.random.default_rng(2).uniform(*problem.span, (2000, problem.n)) * 1.05
    inside = problem.inside(problem.wrapped(q), 0.0)
    assert 100 < inside.sum() < 3900
    np.testing.assert_array_equal(over_limits(problem, q) <= 0, inside)


def test_where_limits_leave_nothing_the_others_are_given():
    robot = zveno.load("ur5")
    problem = problem_of(robot, limits={robot.joint_names[0]: (0.0, 1e-3)})
    T = robot.forward_kinematics(robot.random(10, 3))
    raw = SOLVER.solve(problem, T)
    assert (raw.count > 0).all()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_joints(n):
    mechanism = zveno.load("ur5").mechanism
    names = mechanism.joint_names
    cut = edit.fix_joints(mechanism, dict.fromkeys(names[n:], 0.3))
    robot = Robot(cut)
    problem = problem_of(robot)
    assert problem.kinds == "R" * n
    assert SOLVER.applies(problem)
    q = robot.random(30, 4)
    T = robot.forward_kinematics(q)
    raw = SOLVER.solve(problem, T)
    assert found(problem, q, raw).max() < 1e-6
    for i in range(30):
        for x in raw.x[i, : raw.count[i]]:
            np.testing.assert_allclose(problem.forward(x), T[i], atol=1e-8)
    T = T @ transforms.exp(np.array([0.01, -0.02, 0.03, 0.04, 0.05, -0.06]))  # out of reach of fewer than six
    assert SOLVER.solve(problem, T).count.sum() == 0


def test_it_does_not_apply_to_other_chains():
    assert not SOLVER.applies(problem_of(zveno.load("panda")))
    assert not SOLVER.applies(problem_of(zveno.load("stanford")))
    assert not SOLVER.applies(problem_of(zveno.load("ur5"), task="position"))


def test_the_curve_vanishes_at_its_roots():
    robot = zveno.load("ur5")
    problem = problem_of(robot)
    q = robot.random(1, 5)[0]
    drawn = curve(problem, robot.forward_kinematics(q))
    assert drawn.joint in robot.joint_names
    k = robot.joint_names.index(drawn.joint)
    assert abs(wrapped(drawn.roots - q[k])).min() < 1e-9
    assert abs(np.interp(drawn.roots, drawn.angle, drawn.value)).max() < 0.01 * abs(drawn.value).max()
    assert abs(wrapped(drawn.solutions[:, k] - drawn.roots[drawn.at])).max() < 1e-9


def test_the_curve_knows_what_limits_leave():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(12, 5))
    for pose, count in zip(T, robot.ik(T).count, strict=True):
        drawn = curve(problem_of(robot), pose)
        assert len(drawn.solutions) == 8
        assert drawn.inside.sum() == count
        outside = f"{8 - count} of them outside" if count < 8 else "all inside"
        assert f"8 configurations, {outside} the limits." in drawn.explain()


SEVEN = [
    ("panda", 6),
    ("panda", 4),
    ("iiwa14", 2),
    ("iiwa14", 0),
    ("xarm7", 2),
    ("xarm7", 6),
    ("gen3", 2),
    ("gen3", 0),
]


@pytest.mark.parametrize(("name", "coordinate"), few(SEVEN, 1))
def test_slices_of_seven_joints(name, coordinate):
    robot = zveno.load(name)
    problem = problem_of(robot)
    assert seven_revolute.applies(problem, coordinate)
    q = robot.random(6, 6)
    T = robot.forward_kinematics(q)
    values = np.sort(q[:, coordinate])
    slices = seven_revolute.solve_slices(problem, T, coordinate, values)
    for i, x in zip(slices.pose, slices.x, strict=True):
        np.testing.assert_allclose(problem.forward(x), T[i], atol=1e-9)
    assert problem.inside(slices.x).all()
    for i in range(6):
        assert abs(wrapped(slices.x[slices.pose == i] - q[i])).max(1).min() < 1e-6


@pytest.mark.parametrize(("name", "coordinate"), few(SEVEN, 1))
def test_slices_miss_nothing_that_many_starts_find(name, coordinate):
    robot = zveno.load(name)
    problem = problem_of(robot)
    q = robot.random(2, 8)
    T = robot.forward_kinematics(q)
    values = np.array([q[0, coordinate], 0.4, q[1, coordinate]])
    slices = seven_revolute.solve_slices(problem, T, coordinate, values)
    first, links, last = seven_revolute.held(problem, coordinate, values)
    rng, n, known = np.random.default_rng(9), 600, 0
    for s in range(3):
        X = rigid_inverse(first[s]) @ T @ rigid_inverse(last[s])
        for i in range(2):
            starts = rng.uniform(-np.pi, np.pi, (n, 6))
            x, closed = polish(links[s, 1:, :3], np.broadcast_to(X[i, :3], (n, 3, 4)), starts, steps=30)
            x = problem.wrapped(np.insert(x[closed], coordinate, values[s], axis=1))
            x[:, coordinate] = values[s]
            x = x[problem.inside(x, 0.0)]
            own = slices.x[(slices.pose == i) & (slices.slice == s)]
            known += len(x)
            assert abs(wrapped(x[:, None] - own)).max(2).min(1, initial=9).max(initial=0) < 1e-4
    assert known > 50


def test_special_values_of_the_held_joint():
    robot = zveno.load("iiwa14")
    problem = problem_of(robot)
    q = robot.random(5, 7)
    q[:, 2] = 0.0
    slices = seven_revolute.solve_slices(problem, robot.forward_kinematics(q), 2, np.array([-0.5, 0.0, 0.5]))
    for i in range(5):
        own = slices.x[(slices.pose == i) & (slices.slice == 1)]
        assert abs(wrapped(own - q[i])).max(1).min() < 1e-6


def test_a_joint_that_is_not_redundant_cannot_be_held():
    assert not seven_revolute.applies(problem_of(zveno.load("iiwa14")), 3)


@pytest.mark.parametrize(
    ("name", "slices"), few([("panda", 48), ("panda", None), ("iiwa14", None), ("xarm7", None)], 1)
)
def test_slices_with_a_closed_form_need_no_elimination(monkeypatch, name, slices):
    """Its kernels take five seconds to build."""

    def refused(links):
        raise AssertionError("the general method was set up")

    monkeypatch.setattr(seven_revolute, "arm_of", refused)
    tool = np.eye(4)
    tool[2, 3] = 0.123  # a problem that nobody has asked for yet
    robot = zveno.load(name).with_tool(tool)
    T = robot.forward_kinematics(robot.random(3, 4))
    found = robot.ik(T, samples=slices)
    assert set(found.status) == {"self-motion" if slices is None else "sampled"}
    for i in range(3):
        assert found.count[i] > 0
        assert abs(robot.forward_kinematics(found.of(i)) - T[i]).max() < 1e-9


CHOSEN = {"panda": (6, 48), "xarm7": (2, 16), "iiwa14": (2, 16), "gen3": (2, 16)}
"""Joint and slices of a sample. xArm7 has closed forms, but three times as many of their slices are too far apart
to be joined on a third of its self-motions, 16 slices of joint 3 on a fifth."""


@pytest.mark.parametrize("name", few(CHOSEN, 1))
def test_slices_are_of_a_joint_with_a_closed_form_if_it_samples_as_finely(name):
    robot = zveno.load(name)
    problem = problem_of(robot)
    chosen = sliced_joint(problem)
    assert chosen == CHOSEN[name]
    assert (seven_revolute.closed_form(problem, chosen.coordinate) is not None) == (name in ("panda", "iiwa14"))
    T = robot.forward_kinematics(robot.random(8, 5))
    most = problem.steps[2].joint  # the upper arm's own axis, which turns in the self-motions of all four
    dense = robot.ik(T, redundant_joint=most, samples=64)

    def gap(found):
        """How far solutions on a finer grid are from the nearest one listed, on average."""
        away = [abs(wrapped(dense.of(i)[:, None] - found.of(i))).max(2).min(1) for i in range(len(T))]
        return np.concatenate(away).mean()

    by_choice, by_most = robot.ik(T, samples=chosen.slices), robot.ik(T, redundant_joint=most, samples=16)
    assert set(by_choice.status) == {"sampled"}
    assert gap(by_choice) < 1.2 * gap(by_most)
    others = [k for k in range(7) if k != chosen.coordinate and seven_revolute.closed_form(problem, k) is not None]
    for k in others if chosen.coordinate == 2 else ():
        assert gap(robot.ik(T, redundant_joint=problem.steps[k].joint, samples=16)) > gap(by_choice)


def test_a_joint_can_be_named_and_a_narrow_one_comes_first():
    robot = zveno.load("panda")
    assert sliced_joint(problem_of(robot), "joint3") == (2, 16)
    assert sliced_joint(problem_of(robot, limits={"joint1": (0.1, 0.4)})) == (0, 16)

"""Points by three joints, slides and turns in any order, wrists on any arm: all branches, to the edge and past."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import zveno
from tiers import every
from zveno.ik.closed_form import forms
from zveno.ik.ik_problem import problem_of
from zveno.ik.solve import solve_ik, solver_for
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Prismatic, assemble
from zveno.spatial.transforms import exp, transform

KINDS = ["".join(kinds) for kinds in product("RP", repeat=3)]
Z = np.array([0.0, 0.0, 1.0])


def robot_of(kinds, placements, tool=None):
    """A chain of joints about or along z, each placed in the one before; slides reach 2 m both ways."""
    links = [Link(f"l{i}") for i in range(len(kinds) + 1)]
    joints = [
        Joint(f"j{i}", f"l{i}", f"l{i + 1}", Continuous(), T)
        if kind == "R"
        else Joint(f"j{i}", f"l{i}", f"l{i + 1}", Prismatic(Z), T, limits=Limits(-2.0, 2.0))
        for i, (kind, T) in enumerate(zip(kinds, placements, strict=True))
    ]
    frame = Frame("tool", links[-1].name, transform() if tool is None else tool)
    return zveno.Robot(assemble("arm", links, joints, [frame]))


def placed(rng, p=None):
    return exp(np.r_[rng.uniform(-0.6, 0.6, 3) if p is None else p, rng.uniform(-2, 2, 3)])


def special(kinds, placements):
    """The second axis along the first, or across it where one of them slides."""
    R = np.eye(3) if kinds[:2] == "RR" else np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    placements[1] = transform(R, placements[1][:3, 3])
    return placements


def wrapped(robot, d):
    turning = np.isinf(robot.mechanism.upper)
    return np.where(turning, d - 2 * np.pi * np.round(d / (2 * np.pi)), d)


def samples(robot, n, seed):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (n, robot.n_q))


def walked(kinds, C, x):
    """Poses (s, 4, 4) and Jacobians (s, 6, n) of a chain C0 Z1 C1 … Zn Cn at x (s, n), in plain NumPy."""
    T, frames = np.broadcast_to(C[0], (len(x), 4, 4)), []
    for i, kind in enumerate(kinds):
        frames.append(T)
        M = np.broadcast_to(np.eye(4), (len(x), 4, 4)).copy()
        if kind == "R":
            M[:, 0, 0] = M[:, 1, 1] = np.cos(x[:, i])
            M[:, 1, 0], M[:, 0, 1] = np.sin(x[:, i]), -np.sin(x[:, i])
        else:
            M[:, 2, 3] = x[:, i]
        T = T @ M @ C[i + 1]
    columns = []
    for kind, F in zip(kinds, frames, strict=True):
        axis = F[:, :3, 2]
        linear, angular = (np.cross(axis, T[:, :3, 3] - F[:, :3, 3]), axis) if kind == "R" else (axis, 0 * axis)
        columns.append(np.concatenate([linear, angular], axis=1))
    return T, np.stack(columns, axis=2)


def many_starts(problem, T, n, seed, position):
    """Solutions of one pose by damped Gauss–Newton from n random starts: the independent way."""
    kinds, C = problem.kinds, problem.constants
    x = np.random.default_rng(seed).uniform(-2.5, 2.5, (n, problem.n))
    rows = 3 if position else 6
    e = np.zeros((n, rows))
    for _ in range(40):
        pose, J = walked(kinds, C, x)
        axial = 0.5 * np.cross(pose[:, :3, :3], np.broadcast_to(T[:3, :3], (n, 3, 3)), axis=1).sum(2)
        e = np.concatenate([T[:3, 3] - pose[:, :3, 3], axial], axis=1)[:, :rows]
        J = J[:, :rows]
        H = np.swapaxes(J, 1, 2) @ J + (1e-2 * (e**2).sum(1) + 1e-14)[:, None, None] * np.eye(problem.n)
        step = np.linalg.solve(H, np.swapaxes(J, 1, 2) @ e[..., None])[..., 0]
        x = x + step / np.maximum(1.0, abs(step).max(1))[:, None]
    pose = walked(kinds, C, x)[0]
    off = abs(pose - T)[:, :3, 3:] if position else abs(pose - T)
    return x[off.max((1, 2)) < 1e-9]


def assert_all(robot, q, task, exact=1e-6):
    """What made the poses is found; everything found is right; nothing is missing that many starts find."""
    problem = problem_of(robot, task=task, limits=False)
    solver = solver_for(problem)
    assert solver.name == "closed_form"
    position = task == "position"
    T = walked(problem.kinds, problem.constants, q)[0]
    raw = solver.solve(problem, T)
    for i in range(len(q)):
        own = raw.x[i, : raw.count[i]]
        reached = walked(problem.kinds, problem.constants, own)[0]
        rows = slice(3, 4) if position else slice(0, 4)
        assert abs(reached[:, :3, rows] - T[i, :3, rows]).max() < 1e-9
        assert abs(wrapped(robot, own - q[i])).max(1).min(initial=9) < exact
        known = many_starts(problem, T[i], 100, i, position)
        assert len(known)
        assert abs(wrapped(robot, known[:, None] - own)).max(2).min(1).max() < 1e-5
    return raw


@pytest.mark.parametrize("kinds", every(KINDS))
def test_a_candidate_that_does_not_arrive_is_told(kinds, monkeypatch):
    """One candidate is taken away, and the pose it belongs to is not sure any more; all poses were before."""
    rng = np.random.default_rng(4)
    robot = robot_of(kinds, [placed(rng) for _ in kinds], placed(rng))
    problem = problem_of(robot, task="position", limits=False)
    T = robot.forward_kinematics(samples(robot, 20, 1))
    form, newton = forms.form_of_problem(problem), forms.newton
    assert isinstance(form, forms.PointsForm)
    pose, _, doubt = forms._by_program(problem, form, T)
    assert not doubt.any()

    def failing(*given):
        x, squared = newton(*given)
        squared[0] = 1.0
        return x, squared

    monkeypatch.setattr(forms, "newton", failing)
    fewer, _, doubt = forms._by_program(problem, form, T)
    assert len(fewer) == len(pose) - 1
    assert np.flatnonzero(doubt).tolist() == [pose[0]]


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("kinds", every(KINDS))
@pytest.mark.parametrize("kind_of_geometry", ["general", "special"])
def test_points_by_three_joints(kinds, kind_of_geometry):
    rng = np.random.default_rng(KINDS.index(kinds))
    placements = [placed(rng) for _ in kinds]
    if kind_of_geometry == "special" and "R" in kinds[:2]:
        placements = special(kinds, placements)
    robot = robot_of(kinds, placements, placed(rng))
    found = assert_all(robot, samples(robot, 15, 1), "position")
    assert found.complete.all()
    assert found.count.max() <= (4 if "R" in kinds else 1)


@pytest.mark.parametrize("size", every([0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2]))
def test_no_gap_beside_parallel_axes(size):
    rng = np.random.default_rng(3)
    placements = [placed(rng), exp(np.r_[0.5, 0.1, 0.2, size, 0, 0]), placed(rng)]
    robot = robot_of("RRR", placements, placed(rng))
    assert_all(robot, samples(robot, 10, 4), "position", exact=1e-4)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_size_and_place_of_points_do_not_matter(factor):
    rng = np.random.default_rng(6)
    placements, tool, away = [placed(rng) for _ in "RPR"], placed(rng), np.array([3.0, -5.0, 8.0])
    solved = []
    for size, at in ((1.0, 0.0 * away), (factor, factor * away)):
        moved = [T.copy() for T in (*placements, tool)]
        for T in moved:
            T[:3, 3] *= size
        moved[0][:3, 3] += at
        robot = robot_of("RPR", moved[:-1], moved[-1])
        problem, q = problem_of(robot, task="position", limits=False), samples(robot, 20, 2)
        q[:, 1] = size * np.linspace(-1.0, 1.0, 20)
        solved.append(solver_for(problem).solve(problem, walked("RPR", problem.constants, q)[0]))
    one, other = solved
    assert one.count.sum() > 20
    assert np.array_equal(one.count, other.count)
    assert np.nanmax(abs(other.x / [1, factor, 1] - one.x)) < 1e-6


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("kinds", ["PRR", "RPR", "PRP", "PPR", "RRP"])
def test_wrists_on_arms_of_any_geometry(kinds):
    rng = np.random.default_rng(7)
    here = np.zeros(3)
    placements = [*(placed(rng) for _ in range(4)), placed(rng, here), placed(rng, here)]
    robot = robot_of(kinds + "RRR", placements, placed(rng))
    found = assert_all(robot, samples(robot, 6, 8), "pose")
    assert found.count.max() in (4, 8)


@pytest.mark.laws(after=5)
@pytest.mark.parametrize(
    "kinds", ["RPR", "PPP", "RPRR", "PRRR", "RRPP", "PRPRR", "RPRPR", "PRPRPR", "RPPRPR", "RRRPPP"]
)
def test_turns_then_slides(kinds):
    rng = np.random.default_rng(9)
    robot = robot_of(kinds, [placed(rng) for _ in kinds], placed(rng))
    found = assert_all(robot, samples(robot, 6, 10), "pose")
    assert found.count.max() == (2 if len(kinds) == 6 else 1)


def test_fewer_joints_do_not_reach_every_pose():
    rng = np.random.default_rng(11)
    robot = robot_of("RPRR", [placed(rng) for _ in range(4)], placed(rng))
    T = robot.forward_kinematics(samples(robot, 10, 12)) @ exp(np.array([0.01, 0.02, -0.01, 0.02, 0.01, 0.03]))
    found = solve_ik(robot, T)
    assert set(found.status) == {"unreachable"}
    assert (found.distance.max(1) > 1e-3).all()


def flat_arm():
    """Two links of 0.5 and 0.4 m that turn about parallel axes, on a post that turns about its own."""
    across = transform(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]))
    return robot_of("RRR", [transform(), across, transform(None, [0.5, 0, 0])], transform(None, [0.4, 0, 0]))


@pytest.mark.parametrize("beyond", every([-1e-3, -1e-6, 0.0, 1e-6, 1e-3], 2))
def test_the_edge_is_reached_and_beyond_it_the_nearest_is_flagged(beyond):
    robot = flat_arm()
    directions = np.random.default_rng(13).standard_normal((10, 3))
    points = (0.9 + beyond) * directions / np.linalg.norm(directions, axis=1)[:, None]
    found = solve_ik(robot, points, task="position")
    if beyond > 0:
        assert set(found.status) == {"unreachable"}
        assert found.distance[:, 0] == pytest.approx(np.full(10, beyond), abs=1e-8)
        near = solve_ik(robot, points, task="position").within(2 * beyond, 1.0)
        assert set(near.status) == {"within tolerance"}
        reached = robot.forward_kinematics(near.q[:, 0])[:, :3, 3]
        assert np.linalg.norm(reached - points, axis=1) == pytest.approx(np.full(10, beyond), abs=1e-8)
    else:
        assert (found.count >= 1).all()
        # On the edge two solutions meet. Rounding decides whether they are one row or two, so nothing is claimed.
        assert found.count.max() == 4 if beyond else set(found.status) == {"undecided"}
        assert np.nanmax(found.residual) < 1e-9


def test_sliding_arms_beyond_their_reach_are_flagged():
    for name, status in (("scara", "unreachable"), ("stanford", "excluded by limits")):
        robot = zveno.load(name)
        T = robot.forward_kinematics(robot.random(5, 3))
        T[:, :2, 3] *= 50.0
        found = solve_ik(robot, T)
        assert set(found.status) == {status}
        assert np.isfinite(found.nearest).all()

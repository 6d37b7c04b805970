"""Closed forms: the same solutions as the general method, all branches, and the edges of the workspace."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped
from ik_arms import industrial_arms, known_arms, turns

import zveno
from tiers import few
from zveno.ik import closed_form
from zveno.ik.closed_form import form_of
from zveno.ik.closed_form.other_forms import sliding_form_of
from zveno.ik.closed_form.subproblems import to_cone, to_direction, to_distance, to_plane, turned
from zveno.ik.ik_problem import problem_of
from zveno.ik.six_revolute.arm import Arm
from zveno.ik.six_revolute.templates import FLIP, rigid_inverse

KNOWN = known_arms()
RNG = np.random.default_rng


def distance(a, b):
    """Greatest difference between each row of a and the nearest row of b, angles modulo whole turns."""
    return abs(wrapped(a[:, None] - b[None])).max(2).min(1, initial=np.inf)


def targets(arm, T):
    return rigid_inverse(arm.F[0]) @ T @ rigid_inverse(arm.tool)


def solved(arm, X):
    form = form_of(arm.F.tobytes())
    assert form is not None
    return form.solve(X)


def unit(v):
    return v / np.linalg.norm(v)


# --- subproblems


def test_both_angles_to_a_plane():
    rng = RNG(0)
    for _ in range(20):
        axis, normal = unit(rng.standard_normal(3)), rng.standard_normal(3)
        v = rng.standard_normal(3)
        truth = rng.uniform(-3, 3)
        distance = normal @ turned(axis, (np.cos(truth), np.sin(truth)), v)
        angles, margin = to_plane(axis, v, normal, distance)
        assert margin > 0
        assert min(abs(wrapped(np.arctan2(s, c) - truth)) for c, s in angles) < 1e-7
        for angle in angles:
            assert np.isclose(normal @ turned(axis, angle, v), distance)


def test_beyond_the_edge_the_nearest_angle_is_given():
    axis, v, normal = np.array([0.0, 0, 1]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0])
    angles, margin = to_plane(axis, v, normal, 1.001)
    assert margin < 0
    for c, s in angles:
        np.testing.assert_allclose([c, s], [0, 1], atol=1e-12)


def test_both_angles_to_a_distance():
    rng = RNG(1)
    axis, v, point = unit(rng.standard_normal(3)), *rng.standard_normal((2, 3))
    square = np.sum((turned(axis, (np.cos(0.4), np.sin(0.4)), v) - point) ** 2)
    angles, _ = to_distance(axis, v, point, square)
    for angle in angles:
        assert np.isclose(np.sum((turned(axis, angle, v) - point) ** 2), square)


@pytest.mark.parametrize("angle", [1.0, 1e-3, 1e-6, 1e-9])
def test_a_cone_keeps_small_angles(angle):
    axis, v = np.array([0.0, 1, 0]), np.array([0.0, 0, 1])
    seen = turned(axis, (np.cos(angle), np.sin(angle)), v)
    seen = turned(v, (np.cos(2), np.sin(2)), seen)
    angles, *_ = to_cone(axis, v, v, seen)
    sizes = [np.arctan2(s, c) for c, s in angles]
    np.testing.assert_allclose(sorted(sizes), [-angle, angle], rtol=1e-6)


def test_direction():
    rng = RNG(2)
    axis, v = unit(rng.standard_normal(3)), rng.standard_normal(3)
    c, s = to_direction(axis, v, turned(axis, (np.cos(1.1), np.sin(1.1)), v))
    assert np.isclose(np.arctan2(s, c), 1.1)


# --- arms of six revolute joints


def same_as_general(arm, n=60):
    form = form_of(arm.F.tobytes())
    assert form is not None
    q, T = arm.poses(n)
    pose, found, *_ = form.solve(targets(arm, T))
    np.testing.assert_allclose(arm.forward(found), T[pose], atol=1e-9)
    general = Arm(arm.F).solve(targets(arm, T))
    for i in range(n):
        own, other = found[pose == i], general.q[general.pose == i]
        assert len(own) == len(other)
        assert distance(own, other).max() < 1e-5
        assert distance(q[i : i + 1], own)[0] < 1e-6
    return form


@pytest.mark.parametrize("name", few(["ur5", "puma", "ur10", "kuka"]))
def test_known_arms_as_the_general_method(name):
    same_as_general(KNOWN[name])


def test_industrial_arms_as_the_general_method():
    names = set()
    for arm in industrial_arms(12, seed=3):
        if form_of(arm.F.tobytes()) is not None:
            names.add(same_as_general(arm, 25).name)
    assert len(names) >= 3


@pytest.mark.parametrize("name", ["ur5", "puma", "kuka"])
def test_from_the_other_end(name):
    arm = KNOWN[name]
    F = np.concatenate([np.eye(4)[None], FLIP @ rigid_inverse(arm.F[:0:-1]) @ FLIP])
    form = form_of(F.tobytes())
    assert form is not None
    assert form.backwards
    q, T = arm.poses(40)
    X = FLIP @ rigid_inverse(targets(arm, T)) @ FLIP
    pose, found, *_ = form.solve(X)
    assert all(distance(q[i : i + 1, ::-1], found[pose == i])[0] < 1e-6 for i in range(40))


@pytest.mark.parametrize("name", ["jaco", "manseur_doty"])
def test_no_form_for_general_geometry(name):
    assert form_of(KNOWN[name].F.tobytes()) is None


@pytest.mark.parametrize(("size", "fits"), [(1e-14, True), (1e-10, False)])
def test_just_outside_a_class_the_general_method_takes_over(size, fits):
    arm = known_arms()["puma"]
    arm.F[4][:3, 3] += size
    form = form_of(arm.F.tobytes())
    assert (form is not None) == fits
    q, T = arm.poses(30)
    if form is None:
        general = Arm(arm.F).solve(targets(arm, T))
        pose, found = general.pose, general.q
    else:
        pose, found, *_ = form.solve(targets(arm, T))
    np.testing.assert_allclose(arm.forward(found), T[pose], atol=1e-9)
    assert all(distance(q[i : i + 1], found[pose == i])[0] < 1e-5 for i in range(30))


@pytest.mark.parametrize("size", few([1e-2, 1e-6, 1e-4, 1e-8]))
@pytest.mark.parametrize("name", ["puma", "kuka", "ur5"])
def test_near_an_aligned_wrist(name, size):
    arm = KNOWN[name]
    q = RNG(5).uniform(-np.pi, np.pi, (20, 6))
    q[:, 4] = size
    pose, found, *_ = solved(arm, targets(arm, arm.forward(q)))
    assert max(distance(q[i : i + 1], found[pose == i])[0] for i in range(20)) < 1e-4


@pytest.mark.parametrize("name", ["puma560", "ur5"])
def test_at_an_aligned_wrist_points_of_the_family_are_given(name):
    robot = zveno.load(name)
    problem = problem_of(robot, limits=False)
    q = RNG(6).uniform(-np.pi, np.pi, (10, 6))
    q[:, 4] = 0.0
    T = robot.forward_kinematics(q)
    raw = closed_form.solver.solve(problem, T)
    for i in range(10):
        curves = [curve.x for curve in raw.curves if curve.pose == i]
        own = np.concatenate([raw.x[i, : raw.count[i]], *curves])
        assert abs(robot.forward_kinematics(own) - T[i]).max() < 1e-9
        least = np.linalg.svd(robot.jacobian(own), compute_uv=False)[:, -1]
        assert least.min() < 1e-6


def test_the_straight_elbow_is_not_dropped():
    arm = KNOWN["ur5"]
    q = RNG(7).uniform(-np.pi, np.pi, (20, 6))
    q[:, 2] = 0.0
    pose, found, *_ = solved(arm, targets(arm, arm.forward(q)))
    assert max(distance(q[i : i + 1], found[pose == i])[0] for i in range(20)) < 1e-4


# --- sliding joints


def forward(kinds, C, x):
    T = C[0]
    for i, kind in enumerate(kinds):
        M = turns(x[i]) if kind == "R" else np.eye(4)
        if kind == "P":
            M[2, 3] = x[i]
        T = T @ M @ C[i + 1]
    return T


def link(rng, p=(0.0, 0.0, 0.0), R=None):
    T = np.eye(4)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    T[:3, :3] = Q * np.sign(np.linalg.det(Q)) if R is None else R
    T[:3, 3] = p
    return T


def sliding_arms():
    rng = RNG(8)
    wrist = [link(rng, rng.uniform(-1, 1, 3)), link(rng), link(rng), link(rng, rng.uniform(-0.3, 0.3, 3))]
    about_z = turns(0.3)[:3, :3]
    arms = {
        "gantry": ("PPPRRR", [link(rng), link(rng, [0.1, 0.2, 0.3]), link(rng), *wrist]),
        "cylindrical": ("RPPRRR", [link(rng), link(rng, [0.3, 0.1, -0.2]), link(rng), *wrist]),
        "stanford": ("RRPRRR", [link(rng), link(rng, [0, 0, 0.3]), link(rng, [0.2, -0.1, 0.4]), *wrist]),
        "parallel": ("RRPRRR", [link(rng), link(rng, [0.4, 0.2, 0.3], about_z), link(rng, [0.2, 0.1, 0]), *wrist]),
    }
    for slide in range(4):
        kinds = list("RRR")
        kinds.insert(slide, "P")
        flat = [link(rng, rng.uniform(-0.5, 0.5, 3), turns(rng.uniform(-3, 3))[:3, :3]) for _ in range(3)]
        flat[1] = flat[1] @ FLIP  # one axis points the other way
        arms[f"scara{slide}"] = ("".join(kinds), [link(rng, [1, 2, 3]), *flat, link(rng, [0.1, 0.2, 0.3])])
    return arms


@pytest.mark.parametrize(("kinds", "C"), list(sliding_arms().values()), ids=list(sliding_arms()))
def test_sliding_arms_find_what_made_the_pose(kinds, C):
    C = np.array(C)
    form = sliding_form_of(kinds, C[:-1].tobytes())
    assert form is not None
    q = RNG(9).uniform(-1.5, 1.5, (40, len(kinds)))
    T = np.array([forward(kinds, C, x) for x in q])
    pose, found, *_ = form.solve(rigid_inverse(C[0]) @ T @ rigid_inverse(C[-1]))
    for i, x in zip(pose, found, strict=True):
        np.testing.assert_allclose(forward(kinds, C, x), T[i], atol=1e-9)
    turning = np.array([kind == "R" for kind in kinds])
    for i in range(40):
        d = found[pose == i] - q[i]
        assert abs(np.where(turning, wrapped(d), d)).max(1).min() < 1e-6
        assert (pose == i).sum() >= 2


@pytest.mark.parametrize("name", ["stanford", "scara"])
def test_built_in_arms_with_sliding_joints(name):
    robot = zveno.load(name)
    problem = problem_of(robot)
    assert closed_form.solver.applies(problem)
    q = robot.random(30, 1)
    raw = closed_form.solver.solve(problem, robot.forward_kinematics(q))
    for i in range(30):
        d = raw.x[i, : raw.count[i]] - q[i]
        d = np.where(problem.turning, wrapped(d), d)
        assert abs(d).max(1).min() < 1e-7


def test_prismatic_general_geometry_is_refused():
    rng = RNG(10)
    C = np.array([link(rng, rng.uniform(-1, 1, 3)) for _ in range(6)])
    assert sliding_form_of("RPRRRR", C.tobytes()) is None
    assert sliding_form_of("RRPRRR", C.tobytes()) is None

"""All solutions of six revolute joints: what made a pose is found, and nothing else is missing."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import wrapped
from ik_arms import dh_arm, general_arms, industrial_arms, known_arms, manseur_doty, manseur_doty_pose, turns

from tiers import every, few
from zveno.ik.six_revolute import roots
from zveno.ik.six_revolute.arm import Arm, merged
from zveno.ik.six_revolute.equations import (
    half_tangent,
    kernel_basis,
    left_features,
    right_features,
    trigonometric,
)
from zveno.ik.six_revolute.polish import polish
from zveno.ik.six_revolute.templates import all_templates, chain, rigid_inverse, usable

KNOWN = known_arms()
RNG = np.random.default_rng


def targets(arm, T):
    return rigid_inverse(arm.F[0]) @ T @ rigid_inverse(arm.tool)


def distance(a, b):
    """Greatest difference of angles between each row of a and the nearest row of b."""
    if not len(b):
        return np.full(len(a), np.inf)
    return abs(wrapped(a[:, None] - b[None])).max(2).min(1)


def solved(arm, T):
    """(poses, solutions) with every solution checked by the arm's own forward kinematics."""
    found = Arm(arm.F).solve(targets(arm, T))
    np.testing.assert_allclose(arm.forward(found.q), T[found.pose], atol=1e-9)
    return found


def dense(arm, X, n, seed):
    """Solutions of one target by Newton's method from n random starts: the independent way."""
    scaled = X.copy()
    scaled[:3, 3] *= arm.scale
    starts = RNG(seed).uniform(-np.pi, np.pi, (n, 6))
    q, closed = polish(arm.L[1:, :3], np.broadcast_to(scaled[:3], (n, 3, 4)), starts, steps=25)
    return merged(np.zeros(closed.sum(), int), q[closed])[1]


# --- the equations


@pytest.mark.parametrize("backwards", [False, True])
def test_templates_write_the_same_loop(backwards):
    L = Arm(KNOWN["jaco"].F).L
    q = RNG(0).uniform(-3, 3, 6)
    X = chain(L, q)
    for t in all_templates(L, RNG(1)):
        if t.backwards == backwards:
            T, y = np.eye(4), q[list(t.order)] - t.offsets
            for M, angle in zip(t.links_at(X), y, strict=True):
                T = T @ M @ turns(angle)
            np.testing.assert_allclose(T, np.eye(4), atol=1e-13)


def test_features_of_both_sides_are_equal_on_the_loop():
    L = Arm(general_arms(1)[0].F).L
    q = RNG(2).uniform(-3, 3, 6)
    t = all_templates(L, RNG(3))[7]
    M = t.links_at(chain(L, q))
    y = q[list(t.order)] - t.offsets
    waves = [np.array([1, np.cos(a), np.sin(a)]) for a in y]
    P = left_features(*M[2:, :3])
    for axis in range(3):
        P = trigonometric(P, axis)
    left = np.einsum("abcf,a,b,c->f", P, *waves[2:5])
    away = [np.array([1, np.cos(a), -np.sin(a)]) for a in y]
    Q = right_features(rigid_inverse(M[0])[:3], rigid_inverse(M[1])[:3]).reshape(3, 3, 14)
    np.testing.assert_allclose(left, np.einsum("abf,a,b->f", Q, *away[:2]), atol=1e-12)


def test_half_tangents_are_the_same_function():
    samples = RNG(4).standard_normal(3)  # at 0, π, π/2
    y = 1.234
    x = np.tan(y / 2)
    wave = trigonometric(samples, 0) @ [1, np.cos(y), np.sin(y)]
    assert np.isclose(half_tangent(samples, 0) @ [1, x, x * x] / (1 + x * x), wave)


def test_kernel_basis_is_annihilated():
    rng = RNG(5)
    for dimension in (1, 2, 4):
        A = rng.standard_normal((12, 12 - dimension)) @ rng.standard_normal((12 - dimension, 12))
        V, _ = kernel_basis(np.stack([A, 0 * A, 0 * A]), (1.0, 0.0), dimension=dimension)
        assert np.linalg.matrix_rank(V) == dimension
        assert abs(A @ V).max() < 1e-9 * abs(V).max()


# --- roots


def polynomial_with(zeros, degree=roots.DEGREE):
    """Samples of a trigonometric polynomial with the given zeros, in pairs, and no others."""
    y = np.arctan2(*roots.SAMPLE_POINTS.T[::-1])
    p = np.ones_like(y)
    for a, b in zip(zeros[::2], zeros[1::2], strict=True):
        p = p * np.sin((y - a) / 2) * np.sin((y - b) / 2)
    return p * (2 + np.cos(y)) ** (degree - len(zeros) // 2)


@pytest.mark.parametrize("seed", few(range(8)))
def test_all_zeros_are_isolated(seed):
    rng = RNG(seed)
    zeros = np.sort(rng.uniform(-np.pi, np.pi, 2 * rng.integers(0, 7)))
    if np.diff(zeros).min(initial=1) < 1e-3:
        zeros = np.linspace(-3, 3, len(zeros))
    found = roots.isolate(roots.polynomials(polynomial_with(zeros)[None]))
    assert found.simple.all()
    np.testing.assert_allclose(np.sort(wrapped(found.y)), zeros, atol=1e-7)


@pytest.mark.parametrize("gap", every([1e-2, 1e-3, 1e-4, 0.0, 1e-5, 3e-6]))
def test_close_zeros_are_resolved_or_reported(gap):
    zeros = np.array([0.7, 0.7 + gap, -2.0, 1.9])
    found = roots.isolate(roots.polynomials(polynomial_with(zeros)[None]))
    resolved = len(found.y) == 4 and found.simple.all()
    assert resolved or not found.simple.all()
    assert abs(found.y - 0.7).min() < 1e-4
    if gap >= 1e-3:
        assert resolved


def test_no_zeros_no_roots():
    found = roots.isolate(roots.polynomials(polynomial_with([])[None]))
    assert len(found.y) == 0


def test_zeros_elsewhere_are_not_sought():
    zeros = np.array([-2.0, -1.0, 0.5, 2.5])
    found = roots.isolate(roots.polynomials(polynomial_with(zeros)[None]), ((-1.5, 0.0),))
    np.testing.assert_allclose(found.y, [-1.0], atol=1e-9)


# --- solutions


@pytest.mark.parametrize("name", every(KNOWN))
def test_known_arms_find_what_made_the_pose(name):
    arm = KNOWN[name]
    q, T = arm.poses(200)
    found = solved(arm, T)
    assert max(distance(q[i : i + 1], found.q[found.pose == i])[0] for i in range(len(q))) < 1e-7
    assert found.sure.mean() > 0.99


@pytest.mark.parametrize("name", ["ur5", "puma", "kuka"])
def test_solutions_come_in_eights_at_most(name):
    arm = KNOWN[name]
    _, T = arm.poses(200, seed=9)
    found = solved(arm, T)
    assert np.bincount(found.pose).max() == 8


def test_sixteen_of_sixteen():
    found = solved(manseur_doty(), manseur_doty_pose()[None])
    assert len(found.q) == 16
    assert found.sure.all()


@pytest.mark.parametrize(
    "arm", every(general_arms(3, seed=7) + industrial_arms(6, seed=8)), ids=lambda arm: arm.name
)
def test_nothing_is_missing_beside_dense_newton(arm):
    q, T = arm.poses(25)
    ready = Arm(arm.F)
    X = targets(arm, T)
    found = ready.solve(X)
    for i in range(len(q)):
        own = found.q[found.pose == i]
        truth = np.concatenate([dense(ready, X[i], 250, i), q[i : i + 1]])
        assert distance(truth, own).max() < 1e-3


def test_templates_agree_with_each_other():
    arm = general_arms(1, seed=11)[0]
    ready = Arm(arm.F)
    _, T = arm.poses(40)
    X = targets(arm, T)
    X[:, :3, 3] *= ready.scale
    answers = [ready._run(e, X) for e in usable(ready.L, RNG(0))[::6]]
    assert len(answers) > 3
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer.pose, answers[0].pose)


def test_an_arm_that_needs_kernels_of_several_dimensions():
    arm = industrial_arms(16)[15]
    ready = Arm(arm.F)
    assert ready.chosen[0].dimension > 1
    q, T = arm.poses(60)
    found = solved(arm, T)
    assert max(distance(q[i : i + 1], found.q[found.pose == i])[0] for i in range(len(q))) < 1e-7


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_size_does_not_matter(factor):
    arm = KNOWN["jaco"]
    _, T = arm.poses(40)
    F = arm.F.copy()
    F[:, :3, 3] *= factor
    X = targets(arm, T)
    same = Arm(arm.F).solve(X)
    X[:, :3, 3] *= factor
    scaled = Arm(F).solve(X)
    np.testing.assert_array_equal(same.pose, scaled.pose)
    assert max(distance(same.q[same.pose == i], scaled.q[scaled.pose == i]).max() for i in range(40)) < 1e-6


@pytest.mark.parametrize("size", few([1e-12, 1e-6, 1e-9, 1e-3]))
def test_geometry_near_a_special_class(size):
    a = np.array([0, 0.4318, 0.0203, 0, 0, 0]) + size
    arm = dh_arm(
        "nearly puma", a, np.array([1, 0, -1, 1, -1, 0]) * np.pi / 2 + size, [0, 0, 0.15005, 0.4318, size, 0]
    )
    q, T = arm.poses(100)
    found = solved(arm, T)
    assert max(distance(q[i : i + 1], found.q[found.pose == i])[0] for i in range(len(q))) < 1e-5


def test_batches_do_not_matter():
    arm = KNOWN["ur5"]
    _, T = arm.poses(7)
    ready = Arm(arm.F)
    X = targets(arm, T)
    whole = ready.solve(X)
    for i in range(7):
        alone = ready.solve(X[i : i + 1])
        assert distance(alone.q, whole.q[whole.pose == i]).max() < 1e-9
        assert len(alone.q) == (whole.pose == i).sum()


def test_unreachable_poses_have_no_solutions():
    arm = KNOWN["jaco"]
    _, T = arm.poses(50)
    T[:, :3, 3] *= 10 / np.linalg.norm(T[:, :3, 3], axis=1)[:, None]
    found = solved(arm, T)
    assert len(found.q) == 0
    assert found.sure.mean() > 0.9


# --- singular poses


@pytest.mark.parametrize(
    ("name", "held"), [("puma", 1e-6), ("kuka", 1e-6), ("ur5", 1e-6), ("puma", 1e-3), ("kuka", 1e-9)]
)
def test_near_an_aligned_wrist_nothing_isolated_is_lost(name, held):
    arm = KNOWN[name]
    ready = Arm(arm.F)
    q = RNG(3).uniform(-np.pi, np.pi, (8, 6))
    q[:, 4] = held
    X = targets(arm, arm.forward(q))
    found = ready.solve(X)
    for i in range(len(q)):
        own = found.q[found.pose == i]
        truth = dense(ready, X[i], 400, i)
        s = np.array([np.linalg.svd(arm.jacobian(x), compute_uv=False) for x in truth])
        assert distance(truth[s[:, -1] > 1e-5 * s[:, 0]], own).max(initial=0) < 1e-3
        assert distance(q[i : i + 1], own)[0] < 0.05


@pytest.mark.parametrize("name", ["jaco", "manseur_doty"])
def test_the_edge_of_the_workspace_is_not_dropped(name):
    arm = KNOWN[name]
    rng = RNG(4)
    q = []
    while len(q) < 6:
        a, b = rng.uniform(-np.pi, np.pi, (2, 6))
        sign = np.sign(np.linalg.det(arm.jacobian(a)))
        if sign * np.linalg.det(arm.jacobian(b)) > 0:
            continue
        for _ in range(60):
            middle = (a + b) / 2
            a, b = (middle, b) if sign * np.linalg.det(arm.jacobian(middle)) > 0 else (a, middle)
        if np.linalg.svd(arm.jacobian(a), compute_uv=False)[-2] > 0.02:
            q.append(a)
    q = np.array(q)
    T = arm.forward(q)
    found = solved(arm, T)
    near = [distance(q[i : i + 1], found.q[found.pose == i])[0] for i in range(len(q))]
    assert max(near) < 1e-4  # a double root is as sharp as the square root of rounding


def test_roots_do_not_depend_on_the_batch():
    """Polynomials with pairs of roots that nearly are one: alone and together the same are told apart.

    With other cells for one polynomial than for many, one of these 600 was simple in a batch only.
    """
    rng = np.random.default_rng(1)
    y = -np.pi + 2 * np.pi * (np.arange(roots.SAMPLES) + 0.5) / roots.SAMPLES
    samples = []
    for gap in np.geomspace(1e-9, 1e-7, 600):
        at = rng.uniform(-np.pi, np.pi)
        pair = np.sin((y - at) / 2) * np.sin((y - at - gap) / 2)
        samples.append(pair * sum(rng.normal() * np.cos(m * y + rng.uniform(0, 6)) for m in range(6)))
    c = roots.polynomials(np.array(samples))
    together = roots.isolate(c)
    for k in range(len(c)):
        alone, mine = roots.isolate(c[k : k + 1]), together.pose == k
        assert np.array_equal(alone.simple, together.simple[mine])
        assert np.array_equal(alone.y, together.y[mine])

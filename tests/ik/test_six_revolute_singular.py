"""Poses at and near singularities of every class, geometry near special classes, and arms described otherwise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from ik_answers import wrapped
from ik_arms import Arm as Chain
from ik_arms import general_arms, industrial_arms, known_arms, turns

from tiers import every, few
from zveno.ik.closed_form import all_solutions, form_of
from zveno.ik.six_revolute.arm import Arm, merged
from zveno.ik.six_revolute.polish import polish
from zveno.ik.six_revolute.templates import FLIP, rigid_inverse, usable
from zveno.spatial.transforms import exp

KNOWN = known_arms()
RNG = np.random.default_rng
CLASSES = {
    "puma": {"shoulder": (1,), "elbow": (2,), "wrist": (4,), "elbow and wrist": (2, 4)},
    "kuka": {"shoulder": (1,), "elbow": (2,), "wrist": (4,), "elbow and wrist": (2, 4)},
    "ur5": {"shoulder": (1,), "elbow": (2,), "wrist": (4,)},
    "jaco": {"any": (2,)},
    "manseur_doty": {"any": (3,)},
}
"""Joints that are turned, one after the other, to where the Jacobian is singular."""


def distance(a, b):
    """Greatest difference of angles between each row of a and the nearest row of b."""
    return abs(wrapped(a[:, None] - b[None])).max(2).min(1, initial=np.inf)


def targets(arm, T):
    return rigid_inverse(arm.F[0]) @ T @ rigid_inverse(arm.tool)


def singular_at(arm, q, k):
    """The angle of joint k at which det J changes sign, the others as they are; None if it does not."""

    def sign(angle):
        x = q.copy()
        x[k] = angle
        return np.sign(np.linalg.det(arm.jacobian(x)))

    grid = np.linspace(-3.0, 3.0, 13)
    signs = [sign(angle) for angle in grid]
    for low, high, one, other in zip(grid[:-1], grid[1:], signs[:-1], signs[1:], strict=True):
        if one * other < 0:
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if sign(middle) == one else (low, middle)
            return low
    return None


@cache
def ready_arm(name):
    return Arm(KNOWN[name].F)


def near_singular(arm, joints, away, n, seed=0):
    """n configurations with each of the joints `away` from where it is singular, found before any is moved off."""
    rng, out = RNG(seed), []
    while len(out) < n:
        q = rng.uniform(-2.8, 2.8, 6)
        angles = [singular_at(arm, q, k) for k in joints]
        if all(angle is not None for angle in angles):
            q[list(joints)] = np.array(angles, float) + away
            out.append(q)
    return np.array(out)


def dense(ready, X, n, seed):
    """Solutions of one target by Newton's method from n random starts: the independent way."""
    scaled = X.copy()
    scaled[:3, 3] *= ready.scale
    starts = RNG(seed).uniform(-np.pi, np.pi, (n, 6))
    q, closed = polish(ready.L[1:, :3], scaled[:3], starts, steps=30)
    return merged(np.zeros(closed.sum(), int), q[closed])[1]


def isolated(arm, q):
    """Those that are no points of a continuum or double roots, whose place rounding decides."""
    s = np.array([np.linalg.svd(arm.jacobian(x), compute_uv=False) for x in q]).reshape(-1, 6)
    return q[s[:, -1] > 1e-5 * s[:, 0]]


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("route", ["general", "closed form"])
@pytest.mark.parametrize("away", few([0.0, 1e-6, 1e-9, 1e-3], 1))
@pytest.mark.parametrize(
    ("name", "kind"), every([(name, kind) for name, kinds in CLASSES.items() for kind in kinds])
)
def test_nothing_isolated_is_lost_near_singularities(name, kind, away, route):
    arm = KNOWN[name]
    if route == "closed form" and form_of(arm.F.tobytes()) is None:
        pytest.skip("no closed form")
    ready = ready_arm(name)
    q = near_singular(arm, CLASSES[name][kind], away, 3)
    X = targets(arm, arm.forward(q))
    if route == "general":
        found = ready.solve(X)
        pose, own = found.pose, found.q
    else:
        pose, own, *_ = all_solutions(arm.F.tobytes(), X)
    np.testing.assert_allclose(arm.forward(own), arm.forward(q)[pose], atol=1e-9)
    for i in range(len(q)):
        truth = isolated(arm, np.concatenate([dense(ready, X[i], 200, i), q[i : i + 1]]))
        assert distance(truth, own[pose == i]).max(initial=0) < 1e-3
        assert (pose == i).any()


@pytest.mark.parametrize("size", every([1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3]))
@pytest.mark.parametrize("name", every(["puma", "kuka", "ur5", "jaco"]))
def test_no_gap_between_the_routes(name, size):
    arm = KNOWN[name]
    rng = RNG(1)
    F = np.array([T @ exp(size * rng.uniform(-1, 1, 6)) for T in arm.F])
    other = Chain(name, F, arm.tool)
    q, T = other.poses(25)
    pose, own, complete, _ = all_solutions(F.tobytes(), targets(other, T))
    np.testing.assert_allclose(other.forward(own), T[pose], atol=1e-9)
    exact, exact_q, *_ = all_solutions(arm.F.tobytes(), targets(arm, arm.forward(q)))
    for i in range(len(q)):
        assert distance(q[i : i + 1], own[pose == i])[0] < 1e-6
        if size <= 1e-8:
            assert (pose == i).sum() == (exact == i).sum()
            assert distance(exact_q[exact == i], own[pose == i]).max() < 1e-3
    assert complete.mean() > 0.9


def described_otherwise(arm, rng):
    """The same arm with some axes reversed, and another base, tool and zero of every joint."""
    signs, zeros = rng.choice([-1, 1], 6), rng.uniform(-3, 3, 6)
    base, tool = exp(rng.uniform(-2, 2, 6)), exp(rng.uniform(-2, 2, 6))
    F = [base @ arm.F[0]]
    for i in range(6):
        # Rz(q) = S Rz(s (q − z)) S Rz(z), S half a turn about x where the axis is reversed.
        S = FLIP if signs[i] < 0 else np.eye(4)
        F[-1] = F[-1] @ S
        F.append(S @ turns(zeros[i]) @ (arm.F[i + 1] if i < 5 else arm.tool @ tool))
    other = Chain(arm.name, np.array(F[:6]), F[6])
    return other, base, tool, lambda q: signs * (q - zeros)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", few(["ur5", "jaco", "puma", "kuka", "manseur_doty"], 1))
def test_the_description_does_not_matter(name, factor):
    arm = KNOWN[name]
    other, base, tool, moved = described_otherwise(arm, RNG(2))
    q, T = arm.poses(12)
    np.testing.assert_allclose(other.forward(moved(q)), base @ T @ tool, atol=1e-12)
    assert (form_of(arm.F.tobytes()) is None) == (form_of(other.F.tobytes()) is None)
    T = base @ T @ tool
    pose, own, *_ = all_solutions(arm.F.tobytes(), targets(arm, arm.forward(q)))
    T[:, :3, 3] *= factor
    other.F[:, :3, 3] *= factor
    other.tool[:3, 3] *= factor
    pose2, own2, *_ = all_solutions(other.F.tobytes(), targets(other, T))
    np.testing.assert_array_equal(np.bincount(pose, minlength=12), np.bincount(pose2, minlength=12))
    for i in range(12):
        assert distance(moved(own[pose == i]), own2[pose2 == i]).max() < 1e-6


@pytest.mark.parametrize(
    "arm", every([*general_arms(2, seed=21), *industrial_arms(4, seed=22)]), ids=lambda arm: arm.name
)
def test_random_templates_find_the_same(arm):
    ready = Arm(arm.F)
    _, T = arm.poses(12, seed=3)
    X = targets(arm, T)
    X[:, :3, 3] *= ready.scale
    templates = usable(ready.L, RNG(4))
    picks = RNG(5).choice(len(templates), min(5, len(templates)), replace=False)
    answers = [ready._run(templates[k], X) for k in picks]
    compared = 0
    for i in range(12):
        sure = [a.q[a.pose == i] for a in answers if a.sure[i]]
        for own in sure[1:]:
            compared += 1
            assert len(own) == len(sure[0])
            assert distance(own, sure[0]).max() < 1e-6
    assert compared >= 10


def test_limits_are_respected():
    arm = known_arms()["kuka"]
    arm.lower, arm.upper = np.radians([[-70.0] * 6, [80.0] * 6])
    _, T = arm.poses(60)
    allowed = tuple(((low, high),) for low, high in zip(arm.lower, arm.upper, strict=True))
    ready = Arm(arm.F)
    pruned, free = ready.solve(targets(arm, T), allowed), ready.solve(targets(arm, T))
    middle, half = (arm.lower + arm.upper) / 2, (arm.upper - arm.lower) / 2

    def inside(found):
        return (abs(wrapped(found.q - middle)) <= half).all(1)

    assert len(pruned.q) < len(free.q)
    kept, wanted = (np.bincount(f.pose[inside(f)], minlength=60) for f in (pruned, free))
    np.testing.assert_array_equal(kept, wanted)

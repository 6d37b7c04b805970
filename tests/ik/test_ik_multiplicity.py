"""Double roots are told from continua and from higher multiplicities by the second order, and counted beside."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest, robot_of
from ik_arms import dh_arm
from test_ik_singular import planar, wrapped

import zveno
from tiers import every
from zveno.ik import scan
from zveno.ik import solve as solve_module
from zveno.ik.checks.multiplicity import classified, countable, sides
from zveno.ik.ik_problem import problem_of
from zveno.ik.newton import lanes_of
from zveno.ik.solutions import Raw
from zveno.ik.solve import solve_ik
from zveno.mechanism import Continuous, Frame, Joint, Link, Mimic, assemble
from zveno.spatial.transforms import transform

PUMA = zveno.load("puma560")
STRAIGHT = np.arctan2(0.4331, -0.0203)
"""Angle of the third joint that puts upper arm and forearm in line."""


def root_at(robot, q, **options):
    problem = problem_of(robot, limits=False, **options)
    T = robot.forward_kinematics(np.asarray(q, float))
    return classified(problem, lanes_of(problem, T[None]), 0, np.asarray(q, float) / problem.units)


@pytest.mark.parametrize(
    ("short", "kind"), every([(1.0, "double"), (0.02, "double"), (0.004, "double"), (0.001, "open")])
)
def test_a_stretched_arm_is_a_double_root_while_its_curvature_can_be_seen(short, kind):
    """Links 1 and s in line: along v ∝ (s, −1 − s) the end falls back by (s² + s)/|v|² · t²/2.

    The threshold lies between the curvatures 0.002 and 0.0005 of two of these arms.
    """
    robot = planar(2, [1.0, short])
    root = root_at(robot, [0.3, 0.0], task=(1, 1, 0, 0, 0, 0))
    form = (short**2 + short) / (short**2 + (1 + short) ** 2) / 2
    assert root.forms.shape == (1, 1, 1)
    assert abs(root.forms[0, 0, 0]) == pytest.approx(form / problem_of(robot).length, rel=1e-5)
    assert root.kind == kind


def test_an_aligned_wrist_has_no_curvature():
    root = root_at(PUMA, [0.4, -0.7, 0.3, 0.5, 0.0, -0.8])
    assert root.kind == "open"
    assert abs(root.forms).max() < 1e-6
    assert np.abs(root.kernel[0][[0, 1, 2, 4]]).max() < 1e-9


def test_the_form_predicts_what_becomes_of_a_double_root():
    """A target moved by δ has two solutions at a distance √((u · δ)/Q), or none."""
    q = np.array([0.4, -0.7, STRAIGHT, 0.5, 0.6, -0.8])
    T = PUMA.forward_kinematics(q)
    problem = problem_of(PUMA, limits=False)
    root = root_at(PUMA, q)
    assert root.kind == "double"
    targets, split = sides(problem, T, [root])
    assert sorted(split) == [0, 1]
    found = solve_ik(PUMA, targets, limits=False, method="scan")
    for k in range(2):
        near = [x for x in found.of(k) if np.abs(wrapped(x - q)).max() < 0.05]
        assert len(near) == 2 * split[k]
        if near:
            middle = wrapped(near[0] - q) + wrapped(near[1] - q)
            apart = wrapped(near[0] - near[1])
            assert np.linalg.norm(middle) < 0.05 * np.linalg.norm(apart)
            assert np.abs(apart / np.linalg.norm(apart) @ root.kernel[0]) > 0.999


@pytest.mark.parametrize("method", ["auto", "scan"])
def test_double_roots_are_decided(method):
    rng = np.random.default_rng(4)
    q = np.stack([[*rng.uniform(-1, 1, 2), STRAIGHT, *rng.uniform(0.4, 1, 3)] for _ in range(8)])
    T = PUMA.forward_kinematics(q)
    found = solve_ik(PUMA, T, limits=False, method=method)
    assert set(found.status) == {"sampled" if method == "scan" else "complete"}
    for k in range(8):
        assert np.abs(wrapped(found.of(k) - q[k])).max(axis=1).min() < 1e-5
        assert "double root" in found.reason(k)
        least = np.linalg.svd(PUMA.jacobian(found.of(k)), compute_uv=False)[:, -1]
        assert f"{np.sum(least < 1e-6)} of them double" in found.reason(k)


def test_counting_notices_what_is_missing(monkeypatch):
    """A solver that is unsure and has lost a solution stays undecided; one that is unsure and right does not."""
    q = np.array([0.4, -0.7, STRAIGHT, 0.5, 0.6, -0.8])
    T = PUMA.forward_kinematics(q)

    class Unsure:
        name = "unsure"
        drop = 0

        def solve(self, problem, T):
            raw = scan.solver.solve(problem, T)
            if len(T) == 2:
                return raw
            return Raw(raw.x[:, self.drop :], raw.count - self.drop, np.zeros(len(T), bool))

    unsure = Unsure()
    monkeypatch.setattr(solve_module, "solver_for", lambda *_: unsure)
    whole = solve_ik(PUMA, T, limits=False)
    assert whole.status == "complete"
    # All close starts of one root have to go for it to be lost.
    for drop in range(1, 40):
        unsure.drop = drop
        less = solve_ik(PUMA, T, limits=False)
        if less.count < whole.count:
            break
    assert less.count == whole.count - 1
    assert less.status == "undecided"
    assert "counting" in less.summary


def test_a_triple_root_is_no_family_and_said_to_be_open():
    """y = sin x − sin(3x)/3 is 4x³/3 near 0: neither the first nor the second order tells."""
    links = [Link("base"), Link("one"), Link("two")]
    joints = [
        Joint("a", "base", "one", Continuous(), T_joint_child=transform(None, [1.0, 0, 0])),
        Joint("b", "one", "two", Continuous(), mimic=Mimic("a", 2.0)),
    ]
    robot = zveno.Robot(assemble("cubic", links, joints, [Frame("tool", "two", transform(None, [-1 / 3, 0, 0]))]))
    y = robot.forward_kinematics([0.2])[1, 3]
    assert y == pytest.approx(np.sin(0.2) - np.sin(0.6) / 3)
    found = solve_ik(robot, np.eye(4), task=(0, 1, 0, 0, 0, 0), limits=False)
    assert not found.self_motions
    assert found.count == 2
    assert np.abs(np.sin(found.q)).max() < 1e-4
    assert "2 of a multiplicity" in found.summary


def test_a_crossing_of_curves_and_a_lone_point():
    """Three joints in a plane for two equations: stretched, the point is alone; folded back, curves cross."""
    robot = planar(3, [1.0, 1.0, 1.0])
    assert root_at(robot, [0.2, 0.0, 0.0], task=(1, 1, 0, 0, 0, 0)).kind == "isolated"
    assert root_at(robot, [0.2, np.pi, 0.0], task=(1, 1, 0, 0, 0, 0)).kind == "branch"


def test_which_tasks_can_be_counted():
    assert countable(problem_of(PUMA))
    assert countable(problem_of(PUMA, task="position"))
    assert not countable(problem_of(PUMA, task="position+axis"))
    assert not countable(problem_of(PUMA, task=(1, 1, 0, 0, 0, 0)))


QUADRUPLE = (
    [0.18328767, 0.0, 0.0, 0.0, 0.0, 0.0],
    np.radians([60.0, 60.0, 90.0, 90.0, -90.0, 90.0]),
    [0.35522698, 0.0, 0.37653743, -0.02809028, 0.0, 0.0],
)
"""An arm with a spherical wrist whose first and third angles have double roots at once: a, α, d."""


@pytest.mark.laws
def test_a_root_of_multiplicity_four_is_one_solution_and_claims_nothing():
    """Rounding draws it out to a milliradian. 38 points of it were listed, and called complete."""
    arm = dh_arm("quadruple", *QUADRUPLE)
    rng = np.random.default_rng(0)
    for _ in range(4):
        q = rng.uniform(-2, 2, 6)
        q[1:3] = 2.5586, -3.1416
        q[1:3] = quadruple(arm, q)
        found = solve_ik(robot_of(arm), arm.forward(q))
        assert found.count == 2
        assert found.status == "undecided"
        assert nearest(q, found.q) < 5e-3
        assert np.abs(arm.forward(found.q) - arm.forward(q)).max() < 1e-12


def quadruple(arm, q) -> np.ndarray:
    """Second and third angles at which det J and its derivative along J's kernel vanish, by Newton's method."""
    x = q[1:3].copy()

    def values(x):
        at = np.concatenate([q[:1], x, q[3:]])
        v = np.linalg.svd(arm.jacobian(at))[2][-1]
        v = 1e-4 * v * np.sign(v[np.argmax(np.abs(v))])
        det = [np.linalg.det(arm.jacobian(point)) for point in (at, at + v, at - v)]
        return np.array([det[0], (det[1] - det[2]) / 2e-4])

    for _ in range(20):
        slope = np.stack([(values(x + e) - values(x - e)) / 2e-6 for e in 1e-6 * np.eye(2)], axis=1)
        x = x - np.linalg.lstsq(slope, values(x), rcond=1e-9)[0]
    assert np.abs(values(x)).max() < 1e-9
    return x

"""Configurations are certified or open: bounds, digits and twins, on arms of every kind of joint."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from ik_answers import beside_singular, nearest, robot_of
from ik_arms import dh_arm, general_arms, industrial_arms, known_arms
from test_ik_singular import planar, wrapped

import zveno
from tiers import few
from zveno.ik import _double_double as dd
from zveno.ik import _singular_rows
from zveno.ik._judge import errors, second_derivative
from zveno.ik._open_rows import CERTIFIED, OPEN, arm_numbers, carried, residual, row_class
from zveno.ik.ik_problem import problem_of
from zveno.ik.newton import lanes_of
from zveno.ik.solve import solve_ik, solver_for
from zveno.kernels.compile import compiled
from zveno.mechanism import Continuous, Frame, Helical, Joint, Link, Mimic, Prismatic, Revolute, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

PUMA = zveno.load("puma560")
STRAIGHT = np.arctan2(0.4331, -0.0203)
"""Angle of the third joint that puts upper arm and forearm in line."""
PLANE = (1, 1, 0, 0, 0, 0)
TOLD = 3e-7
"""Half the distance, rad, from which on twins of an arm with links 1 and s ≥ 0.5 m are told apart."""


def mixed(seed: int) -> zveno.Robot:
    """An arm of six steps of random kinds and geometry; one of its joints follows another."""
    rng = np.random.default_rng(seed)
    kinds = [Revolute, Continuous, Prismatic, partial(Helical, pitch=0.1), Revolute, Revolute, Continuous]
    rng.shuffle(kinds)
    links = [Link(f"l{i}") for i in range(8)]
    joints = [
        Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind(), transform(exp(rng.normal(size=3)), rng.normal(size=3) * 0.3))
        for i, kind in enumerate(kinds)
    ]
    placed = transform(exp(rng.normal(size=3)), rng.normal(size=3) * 0.3)
    leader = next(i for i, kind in enumerate(kinds) if kind in (Revolute, Continuous))
    follower = Joint("j6", "l6", "l7", Continuous(), placed, mimic=Mimic(f"j{leader}", 1.5))
    tool = Frame("tool", "l7", transform(exp(rng.normal(size=3)), rng.normal(size=3) * 0.2))
    return zveno.Robot(assemble(f"mixed{seed}", links, [*joints[:6], follower], [tool]))


@pytest.mark.parametrize("task", ["pose", "position", "position+axis", "rotation", (1, 0, 1, 0, 1, 0)])
@pytest.mark.parametrize("seed", few(range(6), 2))
def test_no_second_derivative_exceeds_its_bound(seed, task):
    robot = mixed(seed)
    problem = problem_of(robot, task=task, limits=False)
    K, rng, h = second_derivative(problem, problem.length), np.random.default_rng(seed), 1e-3
    q = rng.uniform(-1.0, 1.0, (200, problem.n))
    lanes = lanes_of(problem, robot.forward_kinematics(q))
    v = rng.normal(size=(200, problem.n))
    x, v, pose = problem.in_units(q), v / np.linalg.norm(v, axis=1, keepdims=True), np.arange(200)
    off = rng.normal(size=q.shape) * 0.05  # the bound holds beside solutions, too
    ahead, here, behind = (errors(problem, x + off + shift * v, lanes, pose) for shift in (h, 0.0, -h))
    size = np.linalg.norm(ahead - 2 * here + behind, axis=1) / h**2
    assert size.max() <= K
    assert size.max() > 0.05 * K  # and is of use


def exact(pair) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


@pytest.mark.parametrize("function", [dd.add, dd.multiply])
def test_compiled_sums_and_products_have_twice_the_digits(function):
    """A compiler that fuses or reorders their operations would leave sixteen digits."""

    def pairs(a, b):
        return np.array(function((a[0], a[1]), (b[0], b[1])))

    a, b = np.random.default_rng(0).normal(size=(2, 500, 2)) * [1.0, 1e-17]
    found = compiled(pairs, {"a": (2,), "b": (2,)})(a, b)
    plain = Fraction.__add__ if function is dd.add else Fraction.__mul__
    for x, y, z in zip(a, b, found, strict=True):
        assert abs(exact(z) - plain(exact(x), exact(y))) < 1e-30


def test_the_residual_of_a_chain_has_twice_the_digits():
    arm = general_arms(1)[0]
    problem = problem_of(robot_of(arm), limits=False)
    kind, (links, _) = row_class(problem, 8), arm_numbers(problem)
    rng = np.random.default_rng(1)

    def walked(links, angles, target):
        frame = np.array([*np.eye(3).ravel(), *np.zeros(15)])
        for link, angle in zip(links[:6], angles, strict=True):
            frame = carried(frame, link, angle)
        return np.array(residual(kind, frame, links[6], target))

    q = rng.uniform(-3, 3, 6)
    angles = np.zeros((6, 6))
    angles[:, 0], angles[:, 2] = np.cos(q), np.sin(q)
    target = lanes_of(problem, arm.forward(q)[None]).targets[0]
    found = compiled(walked, {"links": (7, 12), "angles": (6, 6), "target": (3, 4)})(links, angles, target)
    T = [[Fraction(int(i == j)) for j in range(4)] for i in range(3)]
    rational = [[[Fraction(float(x)) for x in row] for row in link.reshape(3, 4)] for link in links]
    for k in range(7):
        T = _times(T, rational[k])
        if k < 6:
            c, s = Fraction(float(angles[k, 0])), Fraction(float(angles[k, 2]))
            T = _times(T, [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0]])
    for i in range(3):
        assert abs(Fraction(float(found[i])) - (T[i][3] - Fraction(float(target[i, 3])))) < 1e-29


def _times(A, B):
    last = [0, 0, 0, 1]
    rows = [*B, last]
    return [[sum(A[i][k] * rows[k][j] for k in range(4)) for j in range(4)] for i in range(3)]


@pytest.mark.laws(after=3)
@pytest.mark.parametrize(
    "arm", [known_arms()["puma"], *general_arms(2), *industrial_arms(2)], ids=lambda arm: arm.name
)
def test_complete_near_singular_poses_is_proved(arm):
    """At 1e-5 to 1e-7 from where det J vanishes along a joint, twins are about as far apart."""
    robot, rng = robot_of(arm), np.random.default_rng(8)
    q = np.stack([beside_singular(robot, rng.uniform(-np.pi, np.pi, 6), 2, off) for off in (1e-5, 1e-6, 1e-7)])
    found = robot.ik(arm.forward(q))
    complete = np.flatnonzero(found.status == "complete")
    assert len(complete) >= 2
    assert set(found.prove().status[complete]) == {"proved"}
    for k in range(len(q)):
        assert nearest(q[k], found.of(k)) < 1e-7


def test_a_solver_takes_twins_for_one_and_both_are_listed():
    arm = general_arms(1)[0]
    robot, rng = robot_of(arm), np.random.default_rng(8)
    T = arm.forward(beside_singular(robot, rng.uniform(-np.pi, np.pi, 6), 2, 1e-6))
    problem, both = problem_of(robot), robot.ik(T)
    merged = solver_for(problem).solve(problem, T[None])
    assert both.count == merged.count[0] + 1
    assert both.prove().status == "proved"


@pytest.mark.parametrize("lowered", ["open", "lost"])
def test_a_claim_falls_with_one_certificate(monkeypatch, lowered):
    q = np.array([0.4, -0.7, 0.3, 0.5, 1e-7, -0.8])
    T, certifier = PUMA.forward_kinematics(q), _singular_rows.certifier

    def doubtful(kind):
        def answer(*inputs):
            table = certifier(kind)(*inputs)
            if lowered == "open":
                state = table[:, 0, kind.n + 9]
                assert (state == CERTIFIED).all()
                state[:] = OPEN
            else:
                table[:, -1, 1] = 1.0
            return table

        return answer

    assert solve_ik(PUMA, T[None], limits=False).status == ["complete"]
    monkeypatch.setattr(_singular_rows, "certifier", doubtful)
    answer = solve_ik(PUMA, T[None], limits=False)
    assert answer.status == ["undecided"]
    assert ("near to singular" if lowered == "open" else "may be more") in answer.reason(0)


@pytest.mark.parametrize("share", few([1.0, 0.8, 0.5], 1))
@pytest.mark.parametrize("method", ["auto", "scan"])
def test_a_nearly_stretched_arm_has_both_elbows(share, method):
    """The elbow is at ±t: from 1e-2 rad down to where the pose is the stretched one to the last digit."""
    robot, rng = planar(2, [1.0, share]), np.random.default_rng(3)
    t = 10 ** rng.uniform(-10, -2, 60)
    q = np.stack([rng.uniform(-3, 3, 60), t], axis=1)
    found = solve_ik(robot, robot.forward_kinematics(q), task=PLANE, limits=False, method=method)
    for k, half in enumerate(t):
        elbows = np.sort(wrapped(found.of(k)[:, 1]))
        if half > TOLD:
            assert found.status[k] == "sampled"
            assert len(elbows) == 2
            assert np.abs(elbows - [-half, half]).max() < 4e-15 / half
        elif found.status[k] == "undecided":
            assert "near to singular" in found.reason(k)
        if half < 1e-9:  # rounding of the pose may leave two, which are there as it is given
            assert np.abs(elbows).max() < 1e-7


def test_a_limit_between_twins_leaves_one():
    robot = planar(2, [1.0, 0.8])
    T = robot.forward_kinematics(np.array([0.3, 2e-6]))
    elbow = robot.joint_names[1]
    found = solve_ik(robot, T, task=PLANE, limits={elbow: (0.0, 3.0)})
    assert (found.status, found.count) == ("sampled", 1)
    assert found.q[0, 1] == pytest.approx(2e-6, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "scan"])
def test_a_double_root_to_the_last_digit_claims_nothing(method):
    """A stretched arm: rounding of the pose moves its one solution to two or none, 1e-8 rad apart."""
    rng = np.random.default_rng(4)
    q = np.stack([[*rng.uniform(-1, 1, 2), STRAIGHT, *rng.uniform(0.4, 1, 3)] for _ in range(8)])
    found = solve_ik(PUMA, PUMA.forward_kinematics(q), limits=False, method=method)
    assert set(found.status) == {"undecided"}
    for k in range(8):
        assert nearest(q[k], found.of(k)) < 1e-5
        assert "near to singular" in found.reason(k)


def test_three_that_nearly_meet_are_all_listed():
    """Two pairs share a solution: adding the second took the third one away."""
    arm = known_arms()["jaco"]
    q = np.array([2.449285285174443, -1.389901922533808, -1.90983240351575, 0.99742332247747, -2.9972424525684946])
    q = np.append(q, -3.0402432277645324)
    found = robot_of(arm).ik(arm.forward(q))
    assert np.sum(np.abs(wrapped(found.q - q)).max(axis=1) < 1e-3) == 3
    assert nearest(q, found.q) < 1e-6


def test_a_triple_root_is_no_family_and_said_to_be_open():
    """y = sin x − sin(3x)/3 is 4x³/3 near 0: neither the first nor the second order tells."""
    links = [Link("base"), Link("one"), Link("two")]
    joints = [
        Joint("a", "base", "one", Continuous(), T_joint_child=transform(None, [1.0, 0, 0])),
        Joint("b", "one", "two", Continuous(), mimic=Mimic("a", 2.0)),
    ]
    robot = zveno.Robot(assemble("cubic", links, joints, [Frame("tool", "two", transform(None, [-1 / 3, 0, 0]))]))
    found = solve_ik(robot, np.eye(4), task=(0, 1, 0, 0, 0, 0), limits=False)
    assert not found.self_motions
    assert found.status == "undecided"
    assert np.abs(np.sin(found.q)).max() < 1e-4
    assert {int(np.round(np.cos(angle))) for angle in found.q[:, 0]} == {1, -1}


QUADRUPLE = (
    [0.18328767, 0.0, 0.0, 0.0, 0.0, 0.0],
    np.radians([60.0, 60.0, 90.0, 90.0, -90.0, 90.0]),
    [0.35522698, 0.0, 0.37653743, -0.02809028, 0.0, 0.0],
)
"""An arm with a spherical wrist whose first and third angles have double roots at once: a, α, d."""


@pytest.mark.laws
def test_a_root_of_multiplicity_four_claims_nothing():
    """Rounding draws it out to a milliradian. 38 points of it were listed, and called complete.

    At a distance d along it the pose is missed by c d⁴, so a row that misses by m is within (m/c)^(1/4). Rounding
    is the least of m. Others with the same first three angles turn the wrist the other way.
    """
    arm = dh_arm("quadruple", *QUADRUPLE)
    robot, rng = robot_of(arm), np.random.default_rng(0)
    length, _, rounding, _ = arm_numbers(problem_of(robot, limits=False))[1]
    for _ in range(4):
        q = rng.uniform(-2, 2, 6)
        q[1:3] = 2.5586, -3.1416
        q[1:3] = quadruple(arm, q)
        found = solve_ik(robot, arm.forward(q))
        assert found.status == "undecided"
        missed = np.maximum(found.residual, 10.0 * rounding * max(1.0, length))
        furthest = (missed / fourth_order(arm, q)) ** 0.25
        assert nearest(q, found.q) < furthest.min()
        assert (np.linalg.norm(wrapped(found.q - q)[:, :3], axis=1) < furthest).all()
        assert missed.max() < 1e-11


def fourth_order(arm, q) -> float:
    """The least pose error at a distance d along the kernel of J, both ways, over d⁴."""
    T, v, coefficients = arm.forward(q), np.linalg.svd(arm.jacobian(q))[2][-1], []
    for d in (-0.06, -0.03, 0.03, 0.06):
        x = q + d * v
        for _ in range(50):
            x = x + np.linalg.pinv(arm.jacobian(x) @ (np.eye(6) - np.outer(v, v)), rcond=1e-9) @ away(arm, T, x)
        coefficients.append(np.linalg.norm(away(arm, T, x)) / np.linalg.norm(x - q) ** 4)
    assert max(coefficients) < 1.5 * min(coefficients)  # it is of fourth order
    return min(coefficients)


def away(arm, T, x) -> np.ndarray:
    """Position and rotation vector (6,) from a configuration to a pose."""
    F = arm.forward(x)
    R = T[:3, :3] @ F[:3, :3].T
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.concatenate([T[:3, 3] - F[:3, 3], 0.5 * turn])


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

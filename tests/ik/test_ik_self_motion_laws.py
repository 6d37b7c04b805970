"""Self-motions: laws of every arm of seven joints, and of the kernels and programs that follow them."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import robot_of
from ik_arms import general_arms

import zveno
from tiers import few
from zveno.ik.ik_problem import problem_of
from zveno.ik.newton import lanes_of
from zveno.ik.redundant.self_motion.advance import HAPPENED, LONGEST_STEP, advanced
from zveno.ik.redundant.self_motion.cell_kernels import DROPPED, LEFT, WIDER, cells, padded, turn
from zveno.ik.redundant.self_motion.choice import self_motion_joint
from zveno.ik.redundant.self_motion.curve_step import held_at, tangents, turns_within
from zveno.ik.redundant.self_motion.motions import without_limits
from zveno.ik.redundant.self_motion.plane_curves import PlaneCurve, _Bounds, harmonics, turning_points
from zveno.mechanism import Limits

GEN3 = pytest.param("gen3", marks=pytest.mark.laws)
SEVEN = ("panda", "iiwa14", "xarm7", GEN3, "random", "random with limits")


def arm_of(name):
    if not name.startswith("random"):
        return zveno.load(name)
    limits = Limits(-2.6, 2.6) if name.endswith("limits") else None
    return robot_of(general_arms(1, 12, joints=7)[0], limits)


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("name", SEVEN)
def test_the_bits_of_an_answer_do_not_depend_on_the_batch(name):
    robot = arm_of(name)
    q = robot.random(4, 5)
    q[0] = np.random.default_rng(6).uniform(-np.pi, np.pi, q.shape[1])
    T = robot.forward_kinematics(q)
    batch, backwards = robot.ik(T), robot.ik(T[::-1])
    for i in range(len(T)):
        one = robot.ik(T[i])
        assert batch.status[i] == one.status
        assert np.array_equal(batch.of(i), one.q)
        assert np.array_equal(batch.of(i), backwards.of(len(T) - 1 - i))
        for mine, alone in zip(batch.self_motions.get(i, ()), one.self_motions.get(0, ()), strict=True):
            assert np.array_equal(mine.q, alone.q)
            assert np.array_equal(mine.turns, alone.turns)
            assert (mine.interval, mine.ends, mine.closed) == (alone.interval, alone.ends, alone.closed)


def test_another_joint_is_sliced_where_the_first_leaves_doubt():
    """Joint 4 of this arm hardly moves along the curves; it is still the one where the user asks for it."""
    robot = zveno.load("xarm7")
    q = [-6.0736771838583525, -1.3737882181838956, 0.5005302260146642, 2.3202164492782296, -5.25005171200931]
    T = robot.forward_kinematics([*q, 1.383638710196932, 4.287911411838348])
    found = robot.ik(T)
    assert (found.status, {curve.joint for curve in found.self_motions[0]}) == ("self-motion", {"joint5"})
    assert found.residual.max() < 1e-9
    named = robot.ik(T, redundant_joint="joint4")
    assert (named.status, {curve.joint for curve in named.self_motions[0]}) == ("sampled", {"joint4"})
    for row in named.q:  # each lies on one of the curves: a listed configuration of which is not far
        off = [
            np.abs((curve.q - row + np.pi) % (2 * np.pi) - np.pi).max(axis=1).min()
            for curve in found.self_motions[0]
        ]
        assert min(off) < 0.5


@pytest.mark.laws
def test_curves_of_a_wrist_that_misses_by_a_third_of_a_millimetre_are_decided():
    """Of a Gen3 pairs of curves are 1e-3 rad apart in most planes, not in those of a joint of the wrist."""
    robot = zveno.load("gen3")
    T = robot.forward_kinematics(robot.random(4, 21))
    assert list(robot.ik(T).status).count("self-motion") >= 3


def polynomial(A, s, u):
    d_s, d_u = ((size - 1) // 2 for size in A.shape)
    S, U = harmonics(np.ravel(s), d_s, 2), harmonics(np.ravel(u), d_u, 2)
    return [np.einsum("ni,ij,nj->n", S[i], A, U[j]) for i, j in ((0, 0), (0, 1), (1, 0), (0, 2))]


@pytest.mark.parametrize("degree", few([4, 2, 7], 1))
def test_cells_tell_from_zero_only_what_has_no_zero(degree):
    """Random points of cells: where F, F_u, F_s or F_uu is said to have no zero, it has one sign."""
    rng = np.random.default_rng(degree)
    A = rng.normal(size=(2 * degree + 1, 2 * degree + 1))
    curve = PlaneCurve(A, (degree, degree), 1e-13)
    n, r_s, r_u = 2000, 0.02, 0.015
    s, u = rng.uniform(-np.pi, np.pi, (2, n))
    code, no_zero = cells(padded(A), s, u, r_s, r_u, _Bounds(curve).of(r_s, r_u)).T
    t = rng.uniform(-1, 1, (2, 50, 1))
    inside = [part.reshape(50, n) for part in polynomial(A, s + t[0] * r_s, u + t[1] * r_u)]
    wide = [part.reshape(50, n) for part in polynomial(A, s + WIDER * t[0] * r_s, u + WIDER * t[1] * r_u)]
    one_sign = [np.all(part > 0, axis=0) | np.all(part < 0, axis=0) for part in (*inside[:2], *wide[2:])]
    assert np.any(no_zero == 1)
    assert np.all(one_sign[0][no_zero == 1])
    assert np.any(code == DROPPED)
    assert np.all((one_sign[0] | one_sign[1])[code == DROPPED])
    single = (code != DROPPED) & (code != LEFT)
    assert np.any(single)
    assert np.all((one_sign[2] & one_sign[3])[single])
    side = -np.sign(inside[2][0] * inside[3][0])
    assert np.array_equal(code[single], side[single])
    x, y, step = turn(padded(A), s[single], u[single], r_s, r_u).T
    settled = (np.maximum(abs(x), abs(y)) <= WIDER) & (step < 1e-6)
    assert np.any(settled)
    at = polynomial(A, (s[single] + x * r_s)[settled], (u[single] + y * r_u)[settled])
    assert max(abs(at[0]).max(), abs(at[1]).max()) < 1e-9


@pytest.mark.parametrize("degree", few([2, 6], 1))
def test_no_turning_point_of_a_polynomial_is_missed(degree):
    """Newton's method from a grid finds none that is neither listed nor in an interval of doubt."""
    rng = np.random.default_rng(degree)
    A = rng.normal(size=(2 * degree + 1, 2 * degree + 1))
    found = turning_points(PlaneCurve(A, (degree, degree), 1e-13), np.array([[-np.pi, np.pi]]))
    grid = (np.stack(np.meshgrid(*[np.linspace(-np.pi, np.pi, 60)] * 2), axis=-1)).reshape(-1, 2)
    x, y, step = turn(padded(A), grid[:, 0], grid[:, 1], 0.05, 0.05).T
    good = (np.maximum(abs(x), abs(y)) < 2.9) & (step < 1e-9)
    points = grid[good] + 0.05 * np.stack([x, y], axis=1)[good]
    assert len(points)
    d = points[:, None] - found.points
    near = (abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=2) < 1e-6).any(axis=1)
    doubt = ((points[:, :1] >= found.doubtful[:, 0]) & (points[:, :1] <= found.doubtful[:, 1])).any(axis=1)
    assert np.all(near | doubt)


def test_steps_along_a_curve_stay_on_it_and_stop_at_turns_and_ends():
    robot = zveno.load("panda")
    problem = problem_of(robot)
    free = without_limits(problem)
    q = robot.random(1, 3)
    lanes, k = lanes_of(problem, robot.forward_kinematics(q)), 6
    t = tangents(free, lanes, q, k)
    assert t[0, k] > 0
    new = advanced(free, lanes, k, q, t, np.array([0.1]), q[:, k] - 0.2, q[:, k] + 0.2)
    points = new.points[0, : new.count[0], :7]
    assert len(points)
    off = robot.forward_kinematics(points) - robot.forward_kinematics(q)
    assert abs(off).max() < 1e-12
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() < LONGEST_STEP
    assert new.state[0] == HAPPENED
    assert abs(new.x[0, k] - q[0, k]) < 0.2
    turned, left = new.t_new[0, k] < 0, abs(new.x_new[0, k] - q[0, k]) >= 0.2
    assert turned or left
    if turned:
        at, along = turns_within(free, lanes, new.x, new.tangent, new.ahead, np.array([k]))
        assert abs(along[0, k]) < 1e-9
        assert abs(robot.forward_kinematics(at) - robot.forward_kinematics(q)).max() < 1e-12


def test_a_joint_that_is_held_stays():
    robot = zveno.load("panda")
    problem = problem_of(robot)
    q = robot.random(1, 3)
    lanes = lanes_of(problem, robot.forward_kinematics(q))
    near = q + 1e-3 * np.random.default_rng(0).normal(size=(7, 7))
    x, squared = held_at(without_limits(problem), lanes, near, np.arange(7), 4)
    assert np.array_equal(np.diag(x), np.diag(near))
    assert squared.max() < 1e-25
    assert abs(robot.forward_kinematics(x) - robot.forward_kinematics(q)).max() < 1e-12


def test_the_joint_that_is_sliced_has_several_projections():
    """Of a Gen3 the joint that moves most has two; another with three decides more."""
    joint = self_motion_joint(problem_of(zveno.load("gen3")))
    assert joint is not None
    assert joint.coordinate == 4

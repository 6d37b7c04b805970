"""Chains with ball joints: every rotation once, and paths through what is singular for angles only."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from tiers import few
from zveno import ik
from zveno.ik.ik_problem import problem_of
from zveno.ik.paths import solve_path
from zveno.ik.paths.follow import Follower
from zveno.ik.solve import solve_ik
from zveno.mechanism import Frame, Joint, Limits, Link, Revolute, Spherical, Universal, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform


def shoulder_arm():
    """A ball for a shoulder, an elbow, and two wrist axes; a mast beside it carries another frame."""
    links = [Link("ground"), Link("upper"), Link("fore"), Link("hand"), Link("mast")]
    joints = [
        Joint("shoulder", "ground", "upper", Spherical(), transform(None, [0, 0, 0.5])),
        Joint(
            "elbow", "upper", "fore", Revolute((0, 1, 0)), transform(None, [0.4, 0, 0]), limits=Limits(-2.5, -0.1)
        ),
        Joint("wrist", "fore", "hand", Universal((0, 0, 1), (0, 1, 0)), transform(None, [0.35, 0, 0])),
        Joint(
            "mast",
            "ground",
            "mast",
            Revolute((0.3, 0.1, 1)),
            transform(None, [0.2, -0.3, 0]),
            transform(None, [0, 0.2, 0.1]),
        ),
    ]
    tool = Frame("tool", "hand", transform(None, [0.1, 0.05, 0.02]))
    return zveno.Robot(assemble("shoulder", links, joints, [tool]))


ROBOT = shoulder_arm()


def test_every_rotation_of_a_ball_counts_once():
    q = ROBOT.random(20, 0)
    q[:, -1] = 0.0
    T = ROBOT.forward_kinematics(q)
    found = solve_ik(ROBOT, T)
    for k in range(20):
        own = found.of(k)
        assert np.abs(ROBOT.forward_kinematics(own) - T[k]).max() < 1e-9
        apart = np.abs(ROBOT.difference(own[:, None], own[None])).max(axis=2)
        assert np.all(apart[~np.eye(len(own), dtype=bool)] > 1e-5)
        assert np.linalg.norm(ROBOT.difference(own, q[k]), axis=1).min() < 1e-6


def turning_path(n=30):
    """The shoulder turns about its own y axis by a right angle and more, past where z-y-x angles are singular."""
    q = np.zeros((n, ROBOT.n_q))
    for k, angle in enumerate(np.linspace(1.2, 2.0, n)):
        R = exp(np.array([0.0, 0.0, 0.3])) @ exp(np.array([0.0, angle, 0.0])) @ exp(np.array([0.2, 0, 0]))
        w = np.sqrt(1 + np.trace(R)) / 2
        v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w)
        q[k] = [w, *v, -1.1 - 0.2 * angle, 0.4, 0.3, 0.0]
    return q


def test_a_path_goes_through_a_right_angle_of_the_ball():
    q = turning_path()
    T = ROBOT.forward_kinematics(q)
    path = solve_path(ROBOT, T, q0=q[0])
    assert path.status == "continuous"
    assert np.abs(ROBOT.difference(path.q, q)).max() < 1e-5
    whole = [branch for branch in path.branches if branch.ended is None]
    assert min(np.abs(ROBOT.difference(branch.q, q)).max() for branch in whole) < 1e-8
    for branch in path.branches:
        assert np.allclose(np.linalg.norm(branch.q[:, :4], axis=1), 1.0, atol=1e-12)
        assert np.abs(ROBOT.forward_kinematics(branch.q) - T[: len(branch.q)]).max() < 1e-9
    assert path.cost == pytest.approx(np.sum(ROBOT.difference(q[:-1], q[1:]) ** 2), rel=1e-4)
    assert path.singular == ()


def test_a_branch_ends_at_the_elbow_with_a_reason():
    q = turning_path()
    T = ROBOT.forward_kinematics(q)
    T[:, :3, 3] += np.linspace(0, 1.0, len(T))[:, None] * [1.0, 0, 0]
    path = solve_path(ROBOT, T)
    assert path.status == "incomplete"
    for branch in path.branches:
        assert branch.ended is not None
        assert len(branch.q) == branch.ended <= path.unsolved[0]
        assert branch.reason


def test_a_limit_of_a_ball_broken_between_two_poses_interrupts_the_path():
    """Rotations by 2.7 rad about axes nearly opposite: the short way between them passes half a turn."""
    axes = np.array([[0.0, 0.0, 1.0], [0.0, np.sin(2.9), np.cos(2.9)]])
    T = np.tile(np.eye(4), (2, 1, 1))
    T[:, :3, :3] = [exp(2.7 * axis) for axis in axes]
    for angle, status in ((3.1, "with jumps"), (np.pi, "continuous")):
        ball = Joint("ball", "ground", "body", Spherical(), limits=Limits(angle=angle))
        robot = zveno.Robot(assemble("ball", [Link("ground"), Link("body")], [ball]))
        path = robot.ik_path(ik.PosePath.screw(*T, 4), task="rotation")
        assert path.status == status
        if status == "with jumps":
            assert path.jumps == (1,)
            assert path.jump_reasons == ("limit of ball",)
            turned = 2 * np.arctan2(np.linalg.norm(path.q[:, 1:], axis=1), abs(path.q[:, 0]))
            assert turned.max() <= angle


@pytest.mark.parametrize("task", few(["pose", "position", "position+axis", "rotation", ((1, 1, 0, 0, 0, 1),)]))
@pytest.mark.parametrize("reference", [None, "upper", "mast"])
def test_the_followers_jacobian_is_the_derivative_of_its_error(task, reference):
    follower = Follower(ROBOT, problem_of(ROBOT, relative_to=reference, task=task), np.eye(4)[None])
    q = ROBOT.random(1, 5)
    F = ROBOT.forward_kinematics(q[0])
    if reference is not None:
        F = np.linalg.inv(ROBOT.forward_kinematics(q[0], frame=reference)) @ F
    # At the target itself, where the rotation vector is the rotation.
    J = follower.error(q, F)[1][0]
    for k in range(J.shape[1]):
        step = 1e-6 * np.eye(J.shape[1])[k][None]
        rate = (follower.error(follower.moved(q, step), F)[0] - follower.error(follower.moved(q, -step), F)[0])[
            0
        ] / 2e-6
        assert np.allclose(J[:, k], rate, atol=1e-7)

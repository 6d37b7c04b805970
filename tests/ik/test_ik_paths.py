"""Paths: branches are followed to their end, nothing jumps in silence, the best sequence is chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import zveno
from tiers import few
from zveno import ik
from zveno.ik.paths import PosePath, solve_path, timing
from zveno.ik.paths.follow import between
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import is_transform, transform

ROBOT = zveno.load("puma560")
PLANAR = zveno.load("Rz(q1) Tx(0.4) Rz(q2) Tx(0.3)")


def joint_path(q0, q1, n):
    return q0 + (q1 - q0) * np.linspace(0.0, 1.0, n)[:, None]


def test_a_path_of_the_robot_comes_back():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([0.9, -0.6, 0.2, 0.7, 1.1, 0.3]), 40)
    T = ROBOT.forward_kinematics(q)
    path = solve_path(ROBOT, T, q0=q[0], method="scan")
    assert path.status == "continuous"
    assert np.abs(path.q - q).max() < 1e-6
    whole = [branch for branch in path.branches if branch.ended is None]
    assert any(np.abs(branch.q - q).max() < 1e-6 for branch in whole)
    for branch in whole:
        assert np.abs(ROBOT.forward_kinematics(branch.q) - T).max() < 1e-9
        assert np.abs(np.diff(branch.q, axis=0)).max() < 0.5


def test_a_function_of_time():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([0.4, -0.8, 0.5, 0.4, 0.9, -0.2]), 10)
    times = np.linspace(0.0, 1.0, 10)
    path = solve_path(
        ROBOT, lambda t: ROBOT.forward_kinematics(q[0] + t * (q[-1] - q[0])), times, q0=q[0], method="scan"
    )
    assert np.abs(path.q - q).max() < 1e-6


def test_branches_end_where_limits_or_reach_end_them():
    T0 = ROBOT.forward_kinematics([0.3, -0.8, 0.5, 0.4, 0.9, -0.2])
    T = np.repeat(T0[None], 60, axis=0)
    T[:, 0, 3] += np.linspace(0.0, 0.9, 60)
    path = solve_path(ROBOT, T, method="scan")
    assert path.status == "incomplete"
    first = path.unsolved[0]
    assert np.all(np.isnan(path.q[first]))
    for branch in path.branches:
        assert branch.ended is not None
        assert branch.ended <= first
        assert len(branch.q) == branch.ended
        assert branch.reason
        assert np.abs(np.diff(branch.q, axis=0)).max() < 0.5
    assert str(first) in path.summary


def arc_near_full_reach(elbow: float = 0.1, n: int = 81) -> np.ndarray:
    """Points of an arc about the base that a stretched planar arm reaches with its elbow a little up or down."""
    q = np.stack([np.linspace(-1.02, 1.02, n) - 3 / 7 * elbow, np.full(n, elbow)], axis=1)
    return PLANAR.forward_kinematics(q)


def test_elbow_up_and_down_are_near_each_other_and_still_a_jump():
    """Joint 1 can do the first end of the arc with the elbow up only and the other one with it down only."""
    T = arc_near_full_reach()
    path = solve_path(PLANAR, T, limits={"q1": (-1.0, 1.0)}, task="position")
    assert path.status == "with jumps"
    assert len(path.jumps) == 1
    assert path.jump_sizes[0] < 0.3  # well below what was taken for a step
    assert np.sign(path.q[0, 1]) != np.sign(path.q[-1, 1])
    assert 0.0 < path.fraction < 1.0
    assert f"after poses {path.jumps[0]}" in path.summary
    wide = solve_path(PLANAR, T, limits={"q1": (-1.2, 1.2)}, task="position")
    assert wide.status == "continuous"
    assert wide.fraction == 1.0


def test_where_jumps_cannot_be_avoided_the_smallest_is_made():
    """The elbow angle grows along the way, so that the two branches are nearest at its beginning."""
    n = 60
    elbow = np.linspace(0.06, 1.2, n)
    q = np.stack([np.linspace(-1.02, 1.02, n) - elbow / 2, elbow], axis=1)
    T = PLANAR.forward_kinematics(q)
    limits = {"q1": (-1.02, 0.9)}
    path = solve_path(PLANAR, T, limits=limits, task="position")
    layers = [PLANAR.ik(pose, limits=limits, task="position").of() for pose in T]
    possible = [
        np.linalg.norm(b - a)
        for k in range(n - 1)
        for a in layers[k]
        for b in layers[k + 1]
        if np.sign(a[1]) != np.sign(b[1])
    ]
    assert path.status == "with jumps"
    assert len(path.jumps) == 1
    assert path.jump_sizes[0] <= min(possible) + 1e-9


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(6)))
def test_links_are_what_an_independent_integration_finds(seed):
    """From every pose, many small steps of its own Newton iteration lead to the configuration that is linked."""
    rng = np.random.default_rng(seed)
    robot = zveno.load(["puma560", "ur5", "doc004_arm"][seed % 3])
    q = joint_path(*robot.random(2, rng), 12)
    T = robot.forward_kinematics(q)
    path = solve_path(robot, T, q0=q[0])
    for branch in path.branches:
        for k in range(len(branch.q) - 1):
            end = integrated(robot, branch.q[k], T[k], T[k + 1])
            if end is not None:
                assert np.abs(end - branch.q[k + 1]).max() < 1e-6


def integrated(robot, q, A, B, pieces=200):
    """q followed from pose A to pose B; None where the arm comes near a singularity."""
    for target in between(A, B, pieces)[1:]:
        for _ in range(4):
            F = robot.forward_kinematics(q)
            E = F[:3, :3].T @ target[:3, :3]
            w = F[:3, :3] @ (0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]))
            J = robot.jacobian(q)
            if np.linalg.svd(J, compute_uv=False)[-1] < 0.02:
                return None
            q = q + np.linalg.solve(J, np.concatenate([target[:3, 3] - F[:3, 3], w]))
    return q


def test_the_first_posture_is_in_the_middle_of_its_limits_or_near_the_start():
    """It was −344° where 16° was meant."""
    robot = zveno.load("ur5")
    assert robot.lower[0] < -2 * np.pi + 0.1
    q = np.radians([16.0, -80.0, 100.0, -50.0, 60.0, 20.0])
    T = robot.forward_kinematics(joint_path(q, q + 0.2, 10))
    path = solve_path(robot, T)
    assert (np.abs(path.q[0]) <= np.pi + 1e-9).all()
    again = solve_path(robot, T, q0=q)
    np.testing.assert_allclose(again.q, joint_path(q, q + 0.2, 10), atol=1e-7)
    turned = q - 2 * np.pi * np.eye(6)[0]
    other = solve_path(robot, T, q0=turned)
    np.testing.assert_allclose(other.q, joint_path(turned, turned + 0.2, 10), atol=1e-7)


def test_windings_are_chosen_so_that_the_whole_motion_fits():
    """Joint 1 turns by 1.5 turns: only one of its windings has room for that."""
    robot = zveno.load("ur5")
    q = np.array([-5.5, -1.4, 1.7, -0.9, 1.0, 0.3]) + np.linspace(0.0, 3.0 * np.pi, 90)[:, None] * np.eye(6)[0]
    assert (q[-1] < robot.upper).all()
    path = solve_path(robot, robot.forward_kinematics(q))
    assert path.status == "continuous"
    assert (path.q >= robot.lower - 1e-9).all()
    assert (path.q <= robot.upper + 1e-9).all()
    np.testing.assert_allclose(path.q[:, 0], q[:, 0], atol=1e-6)
    narrow = solve_path(robot, robot.forward_kinematics(q), limits={robot.joint_names[0]: (-4.0, 4.0)})
    assert narrow.status == "with jumps"
    assert abs(narrow.jump_sizes[0] - 2 * np.pi) < 0.2 or narrow.jump_sizes[0] < 2 * np.pi


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_redundant_arms_begin_at_the_start_and_move_little(name):
    robot = zveno.load(name)
    q0 = {"panda": [0.2, -0.4, 0.3, -1.9, 0.2, 1.8, 0.5], "iiwa14": [0.3, 0.5, -0.2, -1.2, 0.4, 0.9, 0.1]}[name]
    T0 = robot.forward_kinematics(q0)
    T1 = T0.copy()
    T1[:3, 3] += (0.05, -0.08, 0.06)
    curve = PosePath.line(T0, T1, 25)
    path = solve_path(robot, curve, q0=q0)
    assert path.status == "continuous", path.summary
    np.testing.assert_allclose(path.q[0], q0, atol=1e-6)
    np.testing.assert_allclose(robot.forward_kinematics(path.q), curve.poses, atol=1e-8)
    steps = np.linalg.norm(np.diff(path.q, axis=0), axis=1)
    # Least motion moves evenly: no step is much longer than the others, as steps from slice to slice would be.
    assert steps.max() < 2.0 * steps.mean()
    least = [
        np.linalg.norm(np.linalg.pinv(robot.jacobian(q)) @ _twist(a, b)) for q, a, b in _segments(path.q, curve)
    ]
    assert steps.sum() < 1.3 * sum(least)


def _segments(q, curve):
    return zip(q[:-1], curve.poses[:-1], curve.poses[1:], strict=True)


def _twist(A, B):
    return np.concatenate([B[:3, 3] - A[:3, 3], np.zeros(3)])


def test_configurations_that_are_not_accepted_are_not_used():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]), np.array([0.9, -0.6, 0.2, 0.7, 1.1, 0.3]), 20)
    T = ROBOT.forward_kinematics(q)
    positive = solve_path(ROBOT, T, where=lambda q: q[:, 4] > 0)
    negative = solve_path(ROBOT, T, where=lambda q: q[:, 4] < 0)
    assert (positive.q[:, 4] > 0).all()
    assert (negative.q[:, 4] < 0).all()
    none = solve_path(ROBOT, T, where=lambda q: np.zeros(len(q), bool))
    assert none.status == "incomplete"
    assert none.fraction == 0.0
    with pytest.raises(zveno.ZvenoError, match="where"):
        solve_path(ROBOT, T, where=lambda q: True)


@pytest.mark.parametrize("name", few(["panda", "iiwa14"], 1))
def test_redundant_arms_use_accepted_configurations_only(name):
    """Between the slices too: what is tracked, smoothed or begun with is asked about as well."""
    robot = zveno.load(name)
    q0 = np.array([0.2, -0.4, 0.3, -1.9, 0.2, 1.8, 0.5])
    T = PosePath.line(robot.forward_kinematics(q0), robot.forward_kinematics(q0 + 0.1), 10).poses
    free = robot.ik_path(T, q0=q0)
    bound = np.median(free.q[:, 2]) + 0.02
    path = robot.ik_path(T, q0=q0, where=lambda q: q[:, 2] > bound)
    assert (free.q[:, 2] < bound).any()
    assert (path.q[:, 2] > bound).all()


@pytest.mark.parametrize("name", few(["panda", "iiwa14"], 1))
def test_an_arm_of_seven_with_a_joint_locked_moves_the_others(name):
    robot = zveno.load(name)
    q0 = np.array([0.2, -0.4, 0.0, -1.9, 0.2, 1.8, 0.5])
    T = PosePath.line(robot.forward_kinematics(q0), robot.forward_kinematics(q0 + 0.1 * (np.arange(7) != 2)), 10)
    path = robot.ik_path(T, q0=q0, limits={robot.joint_names[2]: (0.0, 0.0)})
    assert path.status == "continuous"
    assert not path.q[:, 2].any()
    assert any(branch.ended is None for branch in path.branches)
    np.testing.assert_allclose(robot.forward_kinematics(path.q), T.poses, atol=1e-9)


def test_velocities_and_accelerations_stay_inside_their_limits():
    rng = np.random.default_rng(2)
    for _ in range(3):
        middle = np.array([0.2, -0.6, 0.9, 0.3, 0.9, -0.4])  # the elbow stays bent
        q = joint_path(*(middle + rng.uniform(-0.3, 0.3, (2, 6))), 30)
        q += 0.1 * np.sin(np.linspace(0, 6, 30))[:, None]
        T = ROBOT.forward_kinematics(q)
        v, a = np.array([1.0, 0.8, 1.2, 2.0, 2.0, 2.5]), np.array([3.0, 2.0, 3.0, 6.0, 6.0, 8.0])
        path = solve_path(ROBOT, T, q0=q[0], velocity=v, acceleration=a)
        assert path.status == "continuous"
        assert path.times is not None
        assert path.velocity is not None
        assert (np.diff(path.times) > 0).all()
        assert (abs(path.velocity) <= v * (1 + 1e-9)).all()
        assert abs(path.velocity[[0, -1]]).max() < 1e-6
        mean = np.diff(path.q, axis=0) / np.diff(path.times)[:, None]
        assert (abs(mean) <= v * 1.02).all()
        change = np.diff(path.velocity, axis=0) / np.diff(path.times)[:, None]
        assert (abs(change) <= a * 1.05).all()
        # Fast: somewhere each moment a limit is (nearly) reached.
        active = np.maximum((abs(mean) / v).max(axis=1), (abs(change) / a).max(axis=1))
        assert np.median(active) > 0.9
        slower = solve_path(ROBOT, T, q0=q[0], velocity=v / 2, acceleration=a / 4)
        assert slower.times is not None
        np.testing.assert_allclose(slower.times[-1], 2 * path.times[-1], rtol=1e-6)


def test_a_straight_motion_takes_the_time_of_a_trapezoid():
    robot = zveno.load("Tx(q1)")
    distance, v, a = 2.0, 0.5, 1.0
    T = np.broadcast_to(np.eye(4), (41, 4, 4)).copy()
    T[:, 0, 3] = np.linspace(0.0, distance, 41)
    path = solve_path(robot, T, task=[1, 0, 0, 0, 0, 0], velocity=v, acceleration=a)
    assert path.times is not None
    np.testing.assert_allclose(path.times[-1], distance / v + v / a, rtol=1e-2)


def test_curves_of_poses():
    T = transform(exp(np.array([0.3, 0.2, -0.4])), np.array([0.4, 0.1, 0.3]))
    circle = PosePath.circle(T, [0.3, 0.0, 0.3], [0.0, 0.0, 1.0], n=40)
    radius = np.linalg.norm(circle.poses[:, :2, 3] - [0.3, 0.0], axis=1)
    np.testing.assert_allclose(radius, radius[0])
    np.testing.assert_allclose(circle.poses[-1], T, atol=1e-12)
    np.testing.assert_allclose(circle.poses[7, :3, :3], T[:3, :3])
    turned = PosePath.circle(T, [0.3, 0.0, 0.3], [0.0, 0.0, 1.0], n=40, turn=True)
    local = np.linalg.inv(turned.poses[:, :3, :3]) @ ([0.3, 0.0, 0.3] - turned.poses[:, :3, 3])[..., None]
    np.testing.assert_allclose(local, np.broadcast_to(local[0], local.shape), atol=1e-12)
    points = [circle.poses[0], circle.poses[10], circle.poses[20]]
    spline = PosePath.spline(points, 31)
    assert all(np.abs(spline.poses - one).max(axis=(1, 2)).min() < 0.02 for one in points)
    assert all(is_transform(one, 1e-9) for one in spline.poses)
    line = PosePath.line(points[0], points[1], 5).with_approach(0.05, 4).with_retreat(0.02, 3)
    assert len(line) == 4 + 5 + 3
    inside = np.linalg.inv(points[0]) @ line.poses[0]
    np.testing.assert_allclose(inside[:3, 3], [0.0, 0.0, -0.05], atol=1e-12)
    for bad in (
        lambda: PosePath.line(np.zeros((4, 4)), T),
        lambda: PosePath.spline([T]),
        lambda: PosePath.line(T, T, 1),
    ):
        with pytest.raises(zveno.ZvenoError):
            bad()


def test_endless_joints_go_on_turning():
    robot = zveno.load("doc004_arm")  # no limits
    q = np.array([0.0, 0.7, 0.4, 0.3, 0.9, 0.2]) + np.linspace(0.0, 8.0, 60)[:, None] * np.eye(6)[0]
    path = solve_path(robot, robot.forward_kinematics(q), q0=q[0], method="scan")
    assert path.status == "continuous"
    assert np.abs(path.q - q).max() < 1e-6


@pytest.mark.parametrize(("n", "jumps"), [(20, 1), (21, 0)])
@pytest.mark.parametrize("name", ["puma560", "ur5"])
def test_a_jump_says_how_far_off_the_path_even_joints_are(name, n, jumps):
    """The wrist passes its singularity. Of 21 poses one is singular, and the path goes through it.

    Of 20 poses none is: the constant twist between two of them passes beside the singularity, which is a jump, no
    longer than a step, by joints that hardly leave the path.
    """
    robot = zveno.load(name)
    first, step = np.array([0.3, -1.0, 0.8, 0.5, -0.2, 0.4]), np.array([0.1, 0.1, -0.1, 0.15, 0.4, 0.1])
    q = first + step * np.linspace(0, 1, n)[:, None]
    path = solve_path(robot, robot.forward_kinematics(q), q0=q[0])
    assert len(path.jumps) == jumps
    if not jumps:
        assert np.abs(path.q - q).max() < np.abs(step).max() / (n - 1)
        return
    assert path.jump_sizes[0] < 1.2 * np.linalg.norm(step) / (n - 1)
    assert (path.jump_deviations > 0).all()
    assert path.jump_deviations.max() < 1e-3
    assert "move evenly" in path.summary


def test_singular_poses_are_flagged():
    q = joint_path(np.array([0.2, -0.9, 0.6, 0.3, -0.2, -0.4]), np.array([0.2, -0.9, 0.6, 0.3, 0.2, -0.4]), 41)
    T = ROBOT.forward_kinematics(q)
    path = solve_path(ROBOT, T, q0=q[0], method="scan")
    assert 20 in path.singular or 20 in path.jumps or 19 in path.jumps
    crossing = [branch.crossings for branch in path.branches if branch.crossings]
    ended = [branch.ended for branch in path.branches if branch.ended is not None]
    assert crossing or ended


# --- between the poses


def chord(half: float, elbow: float = 1.4) -> tuple[zveno.Robot, np.ndarray]:
    """A planar arm, and the ends of a chord square to the radius through the point of (0.3, elbow)."""
    robot = zveno.load("planar2")
    p = robot.forward_kinematics([0.3, elbow])[:3, 3]
    across = np.array([-p[1], p[0], 0.0]) * half
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, :3, 3] = p - across, p + across
    return robot, poses


@pytest.mark.parametrize("half", few([0.25, 0.1, 0.4], 2))
@pytest.mark.parametrize("beyond", few([1e-3, 1e-5, 1e-2], 1))
def test_a_limit_broken_between_two_poses_interrupts_the_path(half, beyond):
    """In the middle of a chord the elbow is most bent, by the law of cosines."""
    robot, poses = chord(half)
    ends = robot.ik(poses[0], task=(1, 1, 0, 0, 0, 0)).q[:, 1].max()
    for upper, status in (
        (ends + beyond, "with jumps"),
        (1.4 + beyond, "continuous"),
        (1.4 - beyond, "with jumps"),
    ):
        path = robot.ik_path(poses, task=(1, 1, 0, 0, 0, 0), limits={"joint2": (0.0, upper)})
        assert path.status == status
        if status == "with jumps":
            assert path.jumps == (0,)
            assert any("limit of joint2" in branch.reason for branch in path.branches)
            assert path.jump_reasons == ("limit of joint2",)
            assert "limit of joint2" in path.summary
            # Where the elbow angle on the chord is at the limit, by the law of cosines.
            way = np.linspace(0.0, 1.0, 100_001)
            reach = np.linalg.norm(poses[0, :3, 3] + way[:, None] * (poses[1, :3, 3] - poses[0, :3, 3]), axis=1)
            l1, l2 = lengths(robot)
            elbow = np.arccos((reach**2 - l1**2 - l2**2) / (2 * l1 * l2))
            crossed = way[np.argmax(elbow > upper)] if path.q[0, 1] < upper else 0.0
            assert crossed - 1 / 32 - 1e-3 <= path.jump_fractions[0] <= crossed + 1e-3


def test_a_limit_a_micrometre_beyond_the_ends_interrupts_the_path():
    """The elbow must pass 0.081 rad beyond it; "continuous" was said of two poses, and of no more."""
    robot, poses = chord(0.25)
    upper = robot.ik(poses[0], task=(1, 1, 0, 0, 0, 0)).q[:, 1].max() + 1e-6
    path = robot.ik_path(poses, task=(1, 1, 0, 0, 0, 0), limits={"joint2": (0.0, upper)})
    assert (path.status, path.jump_reasons) == ("with jumps", ("limit of joint2",))


def lengths(robot: zveno.Robot) -> tuple[float, float]:
    """Lengths of the two links of a planar arm."""
    straight, bent = (np.linalg.norm(robot.forward_kinematics([0.0, a])[:3, 3]) for a in (0.0, np.pi))
    return (straight + bent) / 2, (straight - bent) / 2


@pytest.mark.parametrize("name", few(["panda", "iiwa14", "xarm7"], 1))
@pytest.mark.parametrize("seed", few(range(8), 1))
def test_redundant_paths_stay_inside_limits_on_a_finer_grid(name, seed):
    """Between neighbours the self-motion is free: on the straight way, corrected at 100 poses, all limits hold."""
    robot, rng = zveno.load(name), np.random.default_rng(seed)
    q = rng.uniform(np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5))
    first = robot.forward_kinematics(q)
    last = first.copy()
    last[:3, 3] += 0.3 * rng.normal(size=3)
    T = ik.PosePath.line(first, last, 10).poses
    path = robot.ik_path(T, q0=q, velocity=1.0)
    assert len(path.jump_reasons) == len(path.jumps) == len(path.jump_fractions)
    assert all(path.jump_reasons)
    for k in range(len(T) - 1):
        if k in path.jumps or np.isnan(path.q[[k, k + 1]]).any():
            continue
        x = path.q[k] + np.linspace(0.0, 1.0, 101)[:, None] * (path.q[k + 1] - path.q[k])
        goal = between(T[k], T[k + 1], 100)
        for _ in range(6):
            F, J = robot.forward_kinematics(x), robot.jacobian(x)
            turn = [zveno.rotations.log(a @ b.T) for a, b in zip(goal[:, :3, :3], F[:, :3, :3], strict=True)]
            e = np.concatenate([goal[:, :3, 3] - F[:, :3, 3], np.array(turn)], axis=1)
            x = x + np.einsum("snm,sm->sn", np.linalg.pinv(J), e)
        assert np.abs(e).max() < 1e-9
        assert (x >= robot.lower - 1e-6).all()
        assert (x <= robot.upper + 1e-6).all()
        assert np.abs(np.diff(x, axis=0)).max() < 0.1


@pytest.mark.parametrize("name", few(["puma560", "ur5", "panda"], 1))
@pytest.mark.parametrize("seed", few(range(6), 1))
def test_on_a_finer_grid_limits_and_speeds_hold(name, seed):
    """Every continuous step, followed in a hundred pieces by another integration, stays inside the limits."""
    robot, rng = zveno.load(name), np.random.default_rng(seed)
    q = rng.uniform(np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5))
    first = robot.forward_kinematics(q)
    last = first.copy()
    last[:3, 3] += 0.25 * rng.normal(size=3)
    path = robot.ik_path(ik.PosePath.line(first, last, 12), q0=q, velocity=1.0, acceleration=5.0)
    times, known = path.times, ~np.isnan(path.q).any(axis=1)
    T = ik.PosePath.line(first, last, 12).poses
    for k in range(len(T) - 1):
        if not (known[k] and known[k + 1]):
            continue
        moved = abs(path.q[k + 1] - path.q[k]).max()
        assert times[k + 1] - times[k] >= moved / 1.0 - 1e-9
        if k in path.jumps or name == "panda":
            continue
        along = finely(robot, path.q[k], T[k], T[k + 1])
        assert np.abs(along[-1] - path.q[k + 1]).max() < 1e-5
        assert (along >= robot.lower - 1e-6).all()
        assert (along <= robot.upper + 1e-6).all()
    for a, b in itertools.pairwise(np.flatnonzero(known)):  # gaps, too
        assert times[b] - times[a] >= abs(path.q[b] - path.q[a]).max() - 1e-9


@pytest.mark.parametrize("name", few(["puma560", "ur5", "panda", "planar2", "doc004_arm", "iiwa14"], 3))
@pytest.mark.parametrize("seed", few(range(8), 2))
def test_sampled_motions_keep_limits_and_speeds_between_the_poses(name, seed):
    """Of the timed motion itself, a hundred samples a pose and more: q, its differences and its derivatives."""
    robot, rng = zveno.load(name), np.random.default_rng(seed)
    q = rng.uniform(np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5))
    planar = name == "planar2"
    first, last = (robot.forward_kinematics(q) for _ in range(2))
    last[:3, 3] += 0.2 * rng.normal(size=3) * (1, 1, not planar)
    T = ik.PosePath.line(first, last, 10).poses
    v, a = rng.uniform(0.5, 2.0, robot.n_v), rng.uniform(2.0, 9.0, robot.n_v)
    task = (1, 1, 0, 0, 0, 0) if planar else "pose"
    # Limits that the way is close to, or breaks between its poses.
    free = robot.ik_path(T, q0=q, task=task)
    limits = np.nanmin(free.q, axis=0) - 1e-4, np.nanmax(free.q, axis=0) + 1e-4
    for box in (True, limits):
        path = robot.ik_path(T, q0=q, task=task, velocity=v, acceleration=a, limits=box)
        known = np.flatnonzero(np.isfinite(path.q).all(axis=1))
        t, sampled, rates, accelerations = path.sample(max(100.0, 1000.0 / max(np.nanmax(path.times), 1e-3)))
        assert t[-1] == pytest.approx(np.nanmax(path.times))
        lower, upper = (robot.lower, robot.upper) if box is True else limits
        assert (sampled >= lower - 2e-6).all()
        assert (sampled <= upper + 2e-6).all()
        assert (abs(rates) <= v * (1 + 1e-9)).all()
        assert (abs(accelerations) <= a * (1 + 1e-9)).all()
        if len(t) < 2:
            continue
        assert (abs(np.diff(sampled, axis=0)) <= v * np.diff(t)[:, None] * (1 + 1e-9) + 1e-12).all()
        middle = 0.5 * (rates[1:] + rates[:-1])
        assert abs(np.diff(sampled, axis=0) - middle * np.diff(t)[:, None]).max() < a.max() * np.diff(t).max() ** 2
        # It passes the poses at their times.
        smooth = CubicHermiteSpline(t, sampled, rates)
        assert abs(smooth(path.times[known]) - path.q[known]).max() < 1e-9 + a.max() * np.diff(t).max() ** 2


def test_a_spline_that_would_leave_limits_is_interrupted_there(monkeypatch):
    """Where no knots help, the path is broken, with place and reason, and both parts come to rest."""
    robot, poses = chord(0.4)
    T = ik.PosePath.line(*poses, 7)
    task = (1, 1, 0, 0, 0, 0)
    greatest = robot.ik_path(ik.PosePath.line(*poses, 601), task=task, q0=[0.3, 1.4]).q[:, 1].max()
    limits = {"joint2": (0.0, greatest + 1e-3)}
    whole = robot.ik_path(T, task=task, q0=[0.3, 1.4], limits=limits, velocity=1.0, acceleration=3.0)
    assert whole.status == "continuous"
    monkeypatch.setattr(timing, "BEYOND", -2e-3)  # as if the limit were beyond what the way needs
    path = robot.ik_path(T, task=task, q0=[0.3, 1.4], limits=limits, velocity=1.0, acceleration=3.0)
    assert path.status == "with jumps"
    assert set(path.jump_reasons) == {"limit of joint2"}
    assert ((path.jump_fractions >= 0.0) & (path.jump_fractions < 1.0)).all()
    assert len(path.jumps) == len(path.jump_sizes) == len(path.jump_deviations)
    assert path.cost < whole.cost
    assert path.times[-1] > whole.times[-1]
    assert not path.velocity[[*path.jumps]].any()
    with pytest.raises(zveno.ZvenoError, match="Give velocity="):
        robot.ik_path(T, task=task).sample()
    with pytest.raises(zveno.ZvenoError, match="lower rate"):
        whole.sample(1e9)


def finely(robot, q, A, B, pieces=100):
    """Configurations from pose A on to pose B by Newton's method, one small step after the other."""
    out = [q]
    D = np.linalg.inv(A) @ B
    twist = zveno.transforms.log(zveno.rotations.log(D[:3, :3]), D[:3, 3])
    for k in range(1, pieces + 1):
        goal, x = A @ zveno.transforms.exp(twist * k / pieces), out[-1]
        for _ in range(4):
            T, J = robot.forward_kinematics(x), robot.jacobian(x)
            e = np.concatenate([goal[:3, 3] - T[:3, 3], zveno.rotations.log(goal[:3, :3] @ T[:3, :3].T)])
            x = x + np.linalg.lstsq(J, e, rcond=None)[0]
        out.append(x)
    return np.array(out)


def test_a_jump_takes_the_time_of_a_motion_from_rest_to_rest():
    robot = zveno.load("puma560")
    rng = np.random.default_rng(0)
    for _ in range(40):
        q = rng.uniform(np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5))
        first = robot.forward_kinematics(q)
        last = first.copy()
        last[:3, 3] += 0.25 * rng.normal(size=3)
        poses = ik.PosePath.line(first, last, 20)
        path = robot.ik_path(poses, velocity=1.0, acceleration=5.0)
        if path.jumps and not path.unsolved:
            break
    k = path.jumps[0]
    distance = abs(path.q[k + 1] - path.q[k]).max()
    assert distance > 0.1
    seconds = path.times[k + 1] - path.times[k]
    assert seconds == pytest.approx(distance + 0.2 if distance > 0.2 else 2 * np.sqrt(distance / 5.0))
    assert f"takes {path.times[-1]:.3g} s" in path.summary
    assert not path.velocity[[k, k + 1]].any()

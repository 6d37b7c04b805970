"""Batches, orders and oracles: the same answer however poses are grouped, by every method, and by many starts.

The oracle is damped least squares on NumPy products of its own, from many random starts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ik_answers import PI, nearest, robot_of, wrapped
from ik_arms import dh_arm, general_arms, known_arms, turns

import zveno
from tiers import few
from zveno.algorithms import linear
from zveno.errors import ZvenoError
from zveno.ik import parts
from zveno.ik.parts import AT_ONCE
from zveno.ik.solve import solve_ik


def dense_starts(arm, T: np.ndarray, starts: int, seed: int) -> np.ndarray:
    """Distinct solutions (s, 6) of one pose T (4, 4)."""
    q = np.random.default_rng(seed).uniform(-PI, PI, (starts, 6))
    for _ in range(50):
        moved, axes = np.broadcast_to(np.eye(4), (starts, 4, 4)), []
        for i in range(6):
            axes.append(moved @ arm.F[i])
            moved = axes[-1] @ turns(q[:, i])
        moved = moved @ arm.tool
        p, z = moved[:, :3, 3], np.stack([A[:, :3, 2] for A in axes], 1)
        lever = p[:, None] - np.stack([A[:, :3, 3] for A in axes], 1)
        J = np.concatenate([np.cross(z, lever), z], axis=2).swapaxes(1, 2)
        turn = sum(np.cross(moved[:, :3, k], T[:3, k]) for k in range(3)) / 2
        e = np.concatenate([T[:3, 3] - p, turn], axis=1)
        off = np.sum((moved - T) ** 2, axis=(1, 2))
        A = J @ J.swapaxes(1, 2) + (0.02 * off + 1e-14)[:, None, None] * np.eye(6)
        step = (J.swapaxes(1, 2) @ np.linalg.solve(A, e[..., None]))[..., 0]
        q = q + step * np.minimum(1, 0.5 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
    solutions: list[np.ndarray] = []
    for one in wrapped(q[np.abs(arm.forward(q) - T).max(axis=(1, 2)) < 1e-10]):
        if nearest(one, np.array(solutions).reshape(-1, 6)) > 1e-5:
            solutions.append(one)
    return np.array(solutions)


@pytest.mark.parametrize(
    "arm", [known_arms()["puma"], known_arms()["ur5"], *general_arms(2, seed=9)], ids=lambda arm: arm.name
)
def test_an_oracle_finds_no_more_and_signs_cancel(arm):
    robot, (_, T) = robot_of(arm), arm.poses(2, seed=3)
    found = solve_ik(robot, T)
    for k in range(2):
        assert found.status[k] == "complete"
        truth = dense_starts(arm, T[k], 300, seed=k)
        assert len(truth) > 0
        assert max(nearest(q, found.of(k)) for q in truth) < 1e-6
        assert sum(np.sign(np.linalg.det(arm.jacobian(q))) for q in found.of(k)) == 0


@pytest.mark.parametrize("name", ["puma", "ur5"])
def test_methods_agree(name):
    arm = known_arms()[name]
    robot, (_, T) = robot_of(arm), arm.poses(8, seed=6)
    answers = [solve_ik(robot, T, method=method) for method in ("closed_form", "six_revolute", "scan")]
    for k in range(8):
        assert len({int(found.count[k]) for found in answers}) == 1
        for found in answers[1:]:
            assert max(nearest(q, found.of(k)) for q in answers[0].of(k)) < 1e-6


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("puma560", {"samples": 4}, "samples"),
        ("puma560", {"redundant_joint": "joint3"}, "redundant_joint"),
    ],
)
def test_arguments_that_are_not_used_are_refused(name, options, word):
    robot = zveno.load(name)
    with pytest.raises(ZvenoError, match=f"{word}.*Leave {word} out"):
        solve_ik(robot, robot.forward_kinematics(robot.random((), 0)), **options)


@pytest.mark.parametrize("name", few(["ur5", "jaco", "puma"]))
def test_the_order_of_solutions_does_not_depend_on_the_batch(name):
    arm = known_arms()[name]
    robot, T = robot_of(arm), arm.poses(40, seed=8)[1]
    whole = solve_ik(robot, T)
    mixed = np.random.default_rng(0).permutation(40)
    again = solve_ik(robot, T[mixed])
    for k in range(40):
        parts = [solve_ik(robot, T[k]).q, again.of(int(np.flatnonzero(mixed == k)[0])), whole.of(k)]
        parts.append(solve_ik(robot, T[k - k % 7 : k - k % 7 + 7]).of(k % 7))
        for other in parts[1:]:
            np.testing.assert_array_equal(other, parts[0])


@pytest.mark.parametrize("task", ["pose", "point"])
@pytest.mark.parametrize("name", few(["puma560", "general", "ur5", "stanford"]))
def test_near_singular_poses_are_answered_alike_alone_and_among_others(name, task):
    """To the last bit: where two solutions nearly meet, the last bits decide whether both are listed."""
    robot = robot_of(general_arms(1)[0]) if name == "general" else zveno.load(name)
    rng = np.random.default_rng(17)
    q = robot.random(18, 5)
    q[np.arange(18), rng.integers(1, 5, 18)] = rng.choice([0.0, 1e-8, 1e-7, 1e-6, 1e-5], 18)
    if task == "point":
        chain = {"frame": robot.mechanism.links[3].name, "task": "position"}
        frame = chain["frame"]
    else:
        chain, frame = {}, None
    T = robot.forward_kinematics(q, frame)
    whole, back = solve_ik(robot, T, limits=False, **chain), solve_ik(robot, T[::-1], limits=False, **chain)
    for k in range(18):
        one = solve_ik(robot, T[k], limits=False, **chain)
        for batch, place in ((whole, k), (back, 17 - k)):
            assert one.reason() == batch.reason(place)
            np.testing.assert_array_equal(one.of(), batch.of(place))


def test_poses_of_right_angles_are_answered_alike_alone_and_among_others():
    """The order of candidates, which decides the points listed of a continuum, was that of the worst pose."""
    twists = np.radians([-90, 0, 90, -90, 90, 0])
    robot = robot_of(dh_arm("puma", [0, 0.4318, -0.0203, 0, 0, 0], twists, [0, 0, 0.15005, 0.4331, 0, 0.056]))
    q = np.random.default_rng(6).integers(-2, 3, (150, 6)) * (PI / 2)
    T = robot.forward_kinematics(q)
    whole = robot.ik(T)
    for k in range(150):
        alone = robot.ik(T[k])
        assert alone.status == whole.status[k]
        np.testing.assert_array_equal(alone.of(), whole.of(k))


def test_large_batches_are_solved_in_parts():
    robot = zveno.load("planar2")
    k = AT_ONCE + 7
    q = np.random.default_rng(1).uniform(0.2, 2.5, (k, 2))
    points = robot.forward_kinematics(q)[:, :3, 3].reshape(1, k, 3)
    task = (1, 1, 0, 0, 0, 0)
    T = np.tile(np.eye(4), (1, k, 1, 1))
    T[..., :3, 3] = points
    found = solve_ik(robot, T, task=task, limits=False)
    assert found.q.shape[:2] == (1, k)
    tail = solve_ik(robot, T[0, -9:], task=task, limits=False)
    for j in range(9):
        np.testing.assert_allclose(found.of(0, k - 9 + j), tail.of(j), rtol=0, atol=1e-12)


def test_a_triangle_has_the_singular_values_and_the_determinant_of_its_matrix():
    rng = np.random.default_rng(0)
    for n in range(1, 7):
        for least in (1.0, 1e-8):
            A = rng.normal(size=(n + n % 2, n))
            A[:, -1] = least * A[:, -1] + (A[:, 0] if n > 1 else 0.0)
            R = np.array(linear.triangle(list(A.T)))
            np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-14)
            room = 1e-9 if least == 1.0 else 1e-5  # ε/σ
            sigma = np.linalg.svd(A, compute_uv=False)
            np.testing.assert_allclose(linear.squared_inverse(R), (sigma**-2.0).sum(), rtol=room)
            if n == len(A):
                determinant = (-1.0) ** n * np.prod(np.diag(R))
                assert determinant == pytest.approx(np.linalg.det(A), rel=room)


GROWTH = """
import numpy as np
from ik_answers import robot_of
from ik_arms import general_arms

robot = robot_of(general_arms(1, seed=3)[0])
peaks = []
for n in (1000, 100_000, 300_000):
    T = robot.forward_kinematics(np.random.default_rng(0).uniform(-3, 3, (n, 6)))
    width = robot.ik(T).q.shape[1]
    # The peak of getrusage begins with that of the process which started this one.
    peaks += [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(width, (peaks[2] - peaks[1]) * 1024 / 200_000, peaks[0] * 1024)
"""


@pytest.mark.laws
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_million_poses_take_a_gigabyte():
    result = subprocess.run(
        [sys.executable, "-c", GROWTH], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    width, per_pose, before = map(float, result.stdout.split())
    held = 2 * 128 + width * 8 * 8  # poses, given and kept; six angles, residual and condition number a solution
    assert per_pose < 1.1 * held, "something beside the answer grows with the batch"
    assert per_pose * 1e6 < 1.1e9
    assert before < 0.3e9


def test_rows_are_widened_where_they_are():
    rows = np.arange(5 * 2 * 3, dtype=float).reshape(5, 2, 3).copy()
    before = rows.copy()
    parts._widen(rows, 4, 3)
    np.testing.assert_array_equal(rows[:4, :2], before[:4])
    assert np.isnan(rows[:4, 2]).all()

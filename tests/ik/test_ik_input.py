"""Bad input is refused with words that help."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno import ik
from zveno.errors import ModelError, ShapeError, UnknownNameError, ZvenoError, ZvenoWarning
from zveno.ik.paths import solve_path
from zveno.ik.solve import solve_ik

ROBOT = zveno.load("puma560")
T = ROBOT.forward_kinematics([0.1, -0.2, 0.3, 0.4, 0.5, 0.6])


def test_a_rotation_slightly_off_is_made_exact():
    rough = T.copy()
    rough[:3, :3] += 1e-7
    with pytest.warns(ZvenoWarning, match="orthonormal"):
        found = solve_ik(ROBOT, rough)
    assert found.count > 0
    assert np.abs(ROBOT.forward_kinematics(found.q)[:, :3, :3] - T[:3, :3]).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda A: A * 1.001, "not one|last row"),
        (lambda A: A @ np.diag([1, 1, -1, 1]), "not one"),
        (lambda A: np.where(np.eye(4) == 1, np.nan, A), "NaN"),
        (lambda A: A[:2], "shape"),
        (lambda A: "pose", "real numbers"),
    ],
)
def test_what_is_not_a_pose_is_refused(change, words):
    with pytest.raises(ShapeError, match=words):
        solve_ik(ROBOT, change(T.copy()))


def test_unknown_names_list_what_exists():
    with pytest.raises(UnknownNameError, match="link6"):
        solve_ik(ROBOT, T, frame="gripper")
    with pytest.raises(UnknownNameError, match="link6"):
        solve_ik(ROBOT, T, relative_to="table")
    with pytest.raises(UnknownNameError, match=r"position\+axis"):
        solve_ik(ROBOT, T, task="pos")
    with pytest.raises(UnknownNameError, match="scan"):
        solve_ik(ROBOT, T, method="magic")
    with pytest.raises(UnknownNameError, match="joint1"):
        solve_ik(ROBOT, T, limits={"shoulder": (0, 1)})


@pytest.mark.parametrize("mask", [(1, 1, 1), (2, 0, 0, 0, 0, 0), (0,) * 6])
def test_bad_masks(mask):
    with pytest.raises(ShapeError, match="mask"):
        solve_ik(ROBOT, T, task=mask)


def test_empty_and_broken_limits():
    with pytest.raises(ZvenoError, match=r"joint2.*empty"):
        solve_ik(ROBOT, T, limits={"joint2": (1.0, 0.0)})
    with pytest.raises(ShapeError, match="pair"):
        solve_ik(ROBOT, T, limits=(1.0, 2.0, 3.0))
    with pytest.raises(ShapeError, match="NaN"):
        solve_ik(ROBOT, T, limits={"joint2": (np.nan, 0.0)})
    for limits in ({"joint2": (-1j, 1.0)}, {"joint2": (np.array([-1j]), 1.0)}, (ROBOT.lower - 1j, ROBOT.upper)):
        with pytest.raises(ShapeError, match=r"(?s)limits: .* holds no pair of numbers"):
            solve_ik(ROBOT, T, limits=limits)


def test_nothing_moves():
    with pytest.raises(ModelError, match="no joint moves"):
        solve_ik(ROBOT, T, frame=ROBOT.link_names[0])


def test_seeds_are_checked():
    with pytest.raises(ShapeError, match="q0"):
        ik.local(ROBOT, T, [0.0] * 5)
    with pytest.raises(ShapeError, match="q0"):
        ik.local(ROBOT, T, [np.nan] * 6)


def test_paths_are_checked():
    with pytest.raises(ShapeError, match="times"):
        solve_path(ROBOT, lambda t: T)
    with pytest.raises(ShapeError, match="poses"):
        solve_path(ROBOT, T)

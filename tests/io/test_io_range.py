"""Numbers beyond the range of a robot: refused, or said with the figure; nothing becomes NaN in silence."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.ik.paths.pose_files import read_poses
from zveno.io.urdf import parse_urdf
from zveno.mechanism import Joint, Link, Mimic, Revolute, assemble


def chained(multiplier: str, n: int = 12, offset: str = "0") -> str:
    links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        + (f'<mimic joint="j{k - 1}" multiplier="{multiplier}" offset="{offset}"/>' if k else "")
        + "</joint>"
        for k in range(n)
    )
    return f'<robot name="r">{links}{joints}</robot>'


@pytest.mark.parametrize("multiplier", ["1e45", "-1e45"])
@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_products_of_chained_multipliers_are_bounded(multiplier):
    with pytest.raises(ModelError, match=r"joint j2.*multipliers and offsets up to joint j0 make 1e\+90 · q"):
        parse_urdf(chained(multiplier, offset="1"))


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_offsets_that_multipliers_enlarge_are_bounded():
    with pytest.raises(ModelError, match=r"joint j2.*1e\+52"):
        parse_urdf(chained("1e10", 3, offset="1e42"))


@pytest.mark.parametrize("numbers", [(np.nan, 0.0), (1.0, np.nan), (np.inf, 0.0), (1.0, -np.inf)])
def test_mimic_relations_are_finite(numbers):
    joints = [Joint("a", "l0", "l1", Revolute()), Joint("b", "l1", "l2", Revolute(), mimic=Mimic("a", *numbers))]
    with pytest.raises(ModelError, match="joint b, mimic: its multiplier or offset is not finite"):
        assemble("x", [Link("l0"), Link("l1"), Link("l2")], joints)


def test_gravity_is_bounded():
    with pytest.raises(ModelError, match=r"gravity.*out of range"):
        assemble("x", [Link("a")], [], gravity=[0.0, 0.0, -1e308])
    with pytest.raises(ZvenoError, match="gravity"):
        zveno.load("puma560").with_gravity([0.0, 0.0, -1e308])


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("Tz(1e9) Rz(q1)", r"joint q1 is 1e\+09 m from the frame before"),
        ("gravity: 0 0 -1e8\nRz(q1)", r"gravity is 1e\+08 m/s²"),
        ("Rz(q1) Rz(1e7*q1)", r"joint q1_2 follows q1 with the multiplier 1e\+07"),
    ],
)
def test_sizes_that_no_robot_has_are_said(text, figure):
    with pytest.warns(ZvenoWarning, match=figure):
        zveno.load(text)


def test_ordinary_robots_are_not_remarked_upon(recwarn):
    zveno.load("Tz(1000) Rz(q1) Rz(100*q1)")
    assert not recwarn.list


def test_a_robot_that_cannot_move_is_not_simulated():
    for links, joints in (([Link("a")], []), ([Link("a"), Link("b")], [Joint("j", "a", "b")])):
        with pytest.raises(ModelError, match="no joint that moves"):
            zveno.Robot(assemble("x", links, joints)).simulate(np.zeros(0))


def test_plans_of_too_many_postures_are_refused():
    with pytest.raises(ZvenoError, match="1000000000 postures are more than can be planned"):
        zveno.calibration.plan_poses(zveno.load("puma560"), "position", 1_000_000_000)


def test_axes_and_poses_whose_squares_overflow_are_refused(tmp_path):
    with pytest.raises(ModelError, match="not finite or too long"):
        Revolute([1e200, 1e200, 0.0])
    np.save(tmp_path / "a.npy", np.tile(np.eye(4), (3, 1, 1)) * [[1], [1], [np.nan], [1]])
    for path in (tmp_path / "a.npy", tmp_path / "a.csv"):
        (tmp_path / "a.csv").write_text("0 0 0 1e200 1e200 0 0\n")
        with pytest.raises(
            ZvenoError, match=r"a\.(npy|csv): pose 0: holds a number that is not finite or out of range"
        ):
            read_poses(path)

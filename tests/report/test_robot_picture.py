"""Pictures: solids are closed and turned outwards, any robot can be drawn, files are what they claim."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from mechanisms import random_mechanism
from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.errors import ShapeError, ZvenoError
from zveno.io.load import load_mechanism
from zveno.mechanism import Joint, Link, Revolute, assemble
from zveno.report import solids
from zveno.report._skeleton import skeleton
from zveno.report.figure import robot_figure, save
from zveno.report.robot_parts import KIND_COLORS, OTHER_KIND, robot_parts
from zveno.report.robot_picture import Camera, _divide_facets
from zveno.robots import generators
from zveno.spatial.rotations import exp

FACETED = 0.02
"""How much volume a solid made of facets may lose."""


def volume(solid) -> float:
    """Volume inside a closed surface by the divergence theorem; negative if it is turned inside out."""
    a, b, c, d = (solid.facets()[:, k] for k in range(4))
    corners = np.sum(a * np.cross(b, c), axis=1) + np.sum(a * np.cross(c, d), axis=1)
    return float(corners.sum() / 6)


def cone_and_cylinder(length, radius):
    head = min(7 * radius, 0.4 * length)
    return np.pi * radius**2 * (length - head) + np.pi * (2.6 * radius) ** 2 * head / 3


@pytest.mark.parametrize("seed", range(4))
def test_solids_are_closed_and_turned_outwards(seed):
    rng = np.random.default_rng(seed)
    a, axis, r = rng.normal(size=3), exp(rng.normal(size=3))[:, 2], 0.1
    b = a + axis
    expected = [
        (solids.bar(a, b, r), np.pi * r**2),
        (solids.bar(b, a, r, r / 2), np.pi / 3 * (r**2 + r**2 / 2 + r**2 / 4)),
        (solids.ball(a, r), 4 / 3 * np.pi * r**3),
        (solids.prism(a, axis, r, 0.3), 2 * r**2 * 0.6),
        (solids.arrow(a, b, 0.02), cone_and_cylinder(1.0, 0.02)),
    ]
    for solid, exact in expected:
        assert exact * (1 - FACETED) <= volume(solid) <= exact * (1 + 1e-9)
    assert volume(solids.drum(a, axis, r, 0.3)) == pytest.approx(np.pi * r**2 * 0.6, rel=0.03)


def test_solids_do_not_depend_on_where_they_are():
    rng = np.random.default_rng(0)
    R, p = exp(rng.normal(size=3)), rng.normal(size=3)
    a, b = rng.normal(size=(2, 3))
    here, there = volume(solids.bar(a, b, 0.1)), volume(solids.bar(R @ a + p, R @ b + p, 0.1))
    assert here == pytest.approx(there, rel=1e-12)


def _away(point, a, b) -> float:
    """The distance of a point from a segment."""
    way = b - a
    share = np.clip((point - a) @ way / max(way @ way, 1e-30), 0.0, 1.0)
    return float(np.linalg.norm(point - a - share * way))


@pytest.mark.parametrize("name", ["puma560", "ur5", "panda", "stanford", "scara", "doc004_arm"])
def test_bars_lead_from_the_root_to_the_tool_without_gaps(name):
    mechanism = load_mechanism(name)
    q = mechanism.random(1)
    drawn, T = skeleton(mechanism), link_poses(mechanism, q)
    assert drawn.bolted
    ends = [tuple((T[bar.link] @ [*point, 1.0])[:3] for point in (bar.start, bar.end)) for bar in drawn.bars]
    ends += [(b, a) for a, b in ends]
    rods = [(*pair, bar.sliding) for pair, bar in zip(ends, [*drawn.bars] * 2, strict=True)]
    reached = [np.zeros(3)]
    for _ in ends:
        # A rod is reached where it goes through its guide, which is anywhere along it.
        reached += [
            b for a, b, rod in rods if min(_away(p, a, b if rod else a) for p in reached) < 0.03 * drawn.size
        ]
    tool = frame_pose(mechanism, q)[:3, 3]
    assert min(np.linalg.norm(tool - p) for p in reached) < 0.03 * drawn.size
    assert len(drawn.axes) == mechanism.n_v


def test_axes_are_those_of_the_joints():
    mechanism = load_mechanism("scara")
    drawn = skeleton(mechanism)
    assert [axis.turns for axis in drawn.axes] == [True, True, False, True]
    assert [abs(axis.direction[2]) for axis in drawn.axes] == pytest.approx([1, 1, 1, 1])


def test_what_floats_is_not_bolted_down():
    for base in ("free", "trunk"):
        drawn = skeleton(generators["biped"](base))
        assert not drawn.bolted
        assert len(drawn.axes) == 13


@pytest.mark.parametrize("seed", range(6))
def test_any_mechanism_can_be_drawn(seed):
    mechanism = random_mechanism(seed, n=9)
    kinds = {joint.type.kind for joint in mechanism.joints if joint.type.n_v}
    assert kinds <= set(KIND_COLORS)
    assert all(np.isfinite(part.shape.facets()).all() for part in robot_parts(mechanism).parts)
    if seed < 2:
        assert robot_figure(mechanism, mechanism.random(seed), frames=["tool", "mark"]).axes


def test_a_single_link_can_be_drawn():
    assert robot_figure(assemble("alone", [Link("body")], [])).axes


def test_large_facets_are_divided_without_holes():
    square = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
    triangle = [[0, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]
    small = _divide_facets(np.array([square, triangle], dtype=float), 0.1)
    sides = np.linalg.norm(np.roll(small, -1, axis=1) - small, axis=-1)
    assert sides.max() <= 0.1
    area = np.linalg.norm(np.cross(small[:, 2] - small[:, 0], small[:, 3] - small[:, 1]), axis=1).sum() / 2
    assert area == pytest.approx(1.0)


def test_the_camera_looks_from_above_and_keeps_lines_straight():
    points = np.random.default_rng(0).normal(size=(50, 3))
    camera = Camera(points, 1.0)
    np.testing.assert_allclose(camera.R @ camera.R.T, np.eye(3), atol=1e-12)
    assert camera.R[2, 2] > 0, "a little above"
    flat, near = camera.project(np.array([[0.0, 0, 0], [0.5, 0.2, 0.1], [1.0, 0.4, 0.2]]))
    a, b = flat[1] - flat[0], flat[2] - flat[0]
    assert abs(a[0] * b[1] - a[1] * b[0]) < 1e-12
    assert near[0] == pytest.approx(-camera.center @ camera.R[2])


@pytest.mark.laws
def test_a_png_is_one_and_an_svg_is_valid_and_the_same_every_time(tmp_path):
    mechanism = load_mechanism("chain(3)")
    first, second = (
        save(robot_figure(mechanism, frames=["tool"]), tmp_path / f"{name}.svg").read_bytes() for name in "ab"
    )
    assert first == second
    assert ElementTree.fromstring(first).tag.endswith("svg")
    assert save(robot_figure(mechanism), tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.laws
def test_the_configuration_shows(tmp_path):
    mechanism = load_mechanism("planar2")
    one, other = (
        save(robot_figure(mechanism, q), tmp_path / "a.png").read_bytes() for q in ([0.0, 0.0], [0.0, 1.5])
    )
    assert one != other


def test_a_motion_is_one_picture_in_the_axes_of_the_user():
    mechanism = load_mechanism("planar2")
    q = np.linspace([0.0, 0.0], [1.0, 1.5], 11)
    axes = Figure().add_subplot()
    assert robot_figure(mechanism, q, ax=axes) is axes.get_figure()
    assert axes.has_data()
    with pytest.raises(ShapeError, match="k ≥ 2"):
        robot_figure(mechanism, q[:1])


def test_bad_files_and_shapes_are_refused(tmp_path):
    mechanism = load_mechanism("planar2")
    figure = robot_figure(mechanism)
    with pytest.raises(ZvenoError, match=r"Use \.png or \.svg"):
        save(figure, tmp_path / "x.pdf")
    with pytest.raises(ZvenoError, match="cannot be written"):
        save(figure, Path("/dev/null/x.png"))
    with pytest.raises(ShapeError):
        robot_figure(mechanism, [0.0])


def test_a_joint_type_of_a_user_is_drawn(tmp_path):
    """A picture asks for nothing but the joint's motion; a kind without a colour of its own has the common one."""

    class Hinge(Revolute):
        kind = "hinge"

    mechanism = assemble("door", [Link("frame"), Link("leaf")], [Joint("hinge", "frame", "leaf", Hinge())])
    (hinge,) = [part for part in robot_parts(mechanism).parts if part.color == OTHER_KIND]
    assert hinge.link == 1
    assert "hinge" in save(robot_figure(mechanism), tmp_path / "door.svg").read_text()

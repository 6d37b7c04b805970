"""Pictures: solids are closed and turned outwards, nearer things hide farther ones, files are what they claim."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mechanisms import random_mechanism
from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.errors import ShapeError, ZvenoError
from zveno.io.load import load_mechanism
from zveno.mechanism import Joint, Link, Revolute, assemble
from zveno.report.pictures import raster
from zveno.report.pictures.mechanism import draw_mechanism
from zveno.report.pictures.motion import draw_motion
from zveno.report.shapes import solids
from zveno.report.shapes.parts import KIND_COLORS, OTHER_KIND, robot_parts
from zveno.report.shapes.skeleton import skeleton
from zveno.robots import generators
from zveno.spatial.rotations import exp

SMALL = {"size": (2.0, 1.5), "dpi": 60}
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


def camera(pixels=(60, 40)):
    return raster.Camera(np.eye(3), np.zeros(3), 10.0, np.array([-1.5, -1.0]), np.array([1.5, 1.0]), pixels)


def square(z, half=0.5):
    return np.array([[[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]]])


def test_nearer_facets_hide_farther_ones_in_any_order():
    facets = np.concatenate([square(0.0), square(0.5, 0.2)])
    colors = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for order in ([0, 1], [1, 0]):
        image = raster.shaded(camera(), facets[order], colors[order], np.ones(2))
        assert image[20, 30].tolist() == [0, 0, 1, 1]  # the middle
        assert image[20, 22].tolist() == [1, 0, 0, 1]
        assert image[20, 5, 3] == 0  # nothing is transparent


def test_facets_turned_away_are_not_drawn():
    image = raster.shaded(camera(), square(0.0)[:, ::-1], np.ones((1, 3)), np.ones(1))
    assert not image.any()


def test_a_facet_covers_its_area_without_holes():
    image = raster.shaded(camera((300, 200)), square(0.0), np.ones((1, 3)), np.ones(1))
    assert image[..., 3].sum() == pytest.approx(100 * 100, rel=0.02)
    assert (image[52:148, 102:198, 3] == 1).all()


def test_the_shadow_lies_where_light_is_held_off():
    # Seen from above, a square over the ground throws its shadow straight down and a little to the right.
    dark = raster.shadow(camera(), square(0.3), -0.2, softness=0.0)
    assert dark[20, 30] == 1
    assert dark[20, 5] == 0
    assert dark.sum() == pytest.approx(20 * 20, rel=0.15)


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
def test_any_mechanism_can_be_drawn(seed, tmp_path):
    mechanism = random_mechanism(seed, n=9)
    kinds = {joint.type.kind for joint in mechanism.joints if joint.type.n_v}
    assert kinds <= set(KIND_COLORS)
    assert all(np.isfinite(part.shape.facets()).all() for part in robot_parts(mechanism).parts)
    if seed < 2:
        draw_mechanism(mechanism, tmp_path / "x.png", mechanism.random(seed), frames=["tool", "mark"], **SMALL)


def test_a_single_link_can_be_drawn(tmp_path):
    alone = assemble("alone", [Link("body")], [])
    assert draw_mechanism(alone, tmp_path / "x.png", **SMALL).stat().st_size > 0


def test_a_png_has_the_size_asked_for(tmp_path):
    file = draw_mechanism(load_mechanism("ur5"), tmp_path / "x.png", size=(3.0, 2.0), dpi=50)
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (150, 100)


def test_an_svg_is_valid_and_the_same_every_time(tmp_path):
    mechanism = load_mechanism("chain(3)")
    first = draw_mechanism(mechanism, tmp_path / "a.svg", frames=["tool"], **SMALL).read_bytes()
    second = draw_mechanism(mechanism, tmp_path / "b.svg", frames=["tool"], **SMALL).read_bytes()
    assert first == second
    assert ElementTree.fromstring(first).tag.endswith("svg")


def test_the_configuration_shows(tmp_path):
    mechanism = load_mechanism("planar2")
    one = draw_mechanism(mechanism, tmp_path / "a.png", [0.0, 0.0], **SMALL).read_bytes()
    other = draw_mechanism(mechanism, tmp_path / "b.png", [0.0, 1.5], **SMALL).read_bytes()
    assert one != other


def test_a_motion_is_one_picture(tmp_path):
    mechanism = load_mechanism("planar2")
    q = np.linspace([0.0, 0.0], [1.0, 1.5], 11)
    assert draw_motion(mechanism, q, tmp_path / "x.png", **SMALL).exists()
    with pytest.raises(ShapeError, match="at least 2"):
        draw_motion(mechanism, q[:1], tmp_path / "x.png")


def test_bad_files_and_shapes_are_refused(tmp_path):
    mechanism = load_mechanism("planar2")
    with pytest.raises(ZvenoError, match=r"Use \.png or \.svg"):
        draw_mechanism(mechanism, tmp_path / "x.pdf")
    with pytest.raises(ZvenoError, match="cannot be written"):
        draw_mechanism(mechanism, Path("/dev/null/x.png"), **SMALL)
    with pytest.raises(ShapeError):
        draw_mechanism(mechanism, tmp_path / "x.png", [0.0])


def test_a_joint_type_of_a_user_is_drawn(tmp_path):
    """A picture asks for nothing but the joint's motion; a kind without a colour of its own has the common one."""

    class Hinge(Revolute):
        kind = "hinge"

    mechanism = assemble("door", [Link("frame"), Link("leaf")], [Joint("hinge", "frame", "leaf", Hinge())])
    (hinge,) = [part for part in robot_parts(mechanism).parts if part.color == OTHER_KIND]
    assert hinge.link == 1
    assert "hinge" in draw_mechanism(mechanism, tmp_path / "door.svg", **SMALL).read_text()

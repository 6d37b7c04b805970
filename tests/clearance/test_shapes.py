"""Capsules about the shapes of a model: they hold every point, and what cannot be read is named."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.clearance import Capsules, Clearance
from zveno.geometry.bounding import bounding_capsule
from zveno.geometry.distances import segment_distance
from zveno.io.shapes import link_shapes

HELD = 1e-9


def outside(points: np.ndarray, start: np.ndarray, end: np.ndarray, radius: float) -> float:
    """By how much the farthest point is outside a capsule."""
    ones = np.ones((len(points), 1))
    return float((segment_distance(points, points, start * ones, end * ones) - radius).max())


@pytest.mark.laws(after=5)
@pytest.mark.parametrize("kind", ["box", "needle", "plate", "line", "point", "ball", "many"])
def test_a_capsule_holds_every_point(kind):
    rng = np.random.default_rng(len(kind))
    size = {"box": (1, 2, 3), "needle": (0.01, 0.01, 5), "plate": (1, 2, 0), "line": (0, 0, 1), "point": (0, 0, 0)}
    for _ in range(20):
        points = rng.uniform(-1, 1, size=(400 if kind == "many" else 30, 3)) * size.get(kind, (1, 1, 1))
        if kind == "ball":
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        turn = zveno.rotations.from_rpy(rng.uniform(-3, 3, 3))
        points = points @ turn.T + rng.normal(size=3)
        capsule = bounding_capsule(points)
        assert outside(points, *capsule) < HELD
        assert outside(points, capsule[0], capsule[1], 0.9 * capsule[2] - 1e-6) > 0  # it is not far too thick
    if kind == "needle":
        assert capsule[2] < 0.02


def model(folder, *shapes: str) -> zveno.Robot:
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="a{k}">{inertia}{shape}</link>' for k, shape in enumerate(shapes))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="a{k}"/><child link="a{k + 1}"/><origin xyz="0 0 1"/>'
        '<axis xyz="1 0 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for k in range(len(shapes) - 1)
    )
    file = folder / "shaped.urdf"
    file.write_text(f'<robot name="shaped">{links}{joints}</robot>')
    return zveno.load(file)


def shape(solid: str, origin: str = "", tag: str = "collision") -> str:
    return f"<{tag}>{origin}<geometry>{solid}</geometry></{tag}>"


CUBE = np.array([[x, y, z] for x in (0.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 0.5)])
FACES = [(0, 1, 3), (0, 3, 2), (4, 5, 7), (4, 7, 6), (0, 1, 5), (2, 3, 7)]


def write_meshes(folder) -> None:
    triangles = CUBE[np.array(FACES)].astype("<f4")
    rows = b"".join(np.zeros(3, "<f4").tobytes() + corners.tobytes() + b"\0\0" for corners in triangles)
    (folder / "binary.stl").write_bytes(b"\0" * 80 + len(FACES).to_bytes(4, "little") + rows)
    facets = "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {x} {y} {z}\n" for x, y, z in corners)
        + " endloop\nendfacet\n"
        for corners in triangles
    )
    (folder / "text.stl").write_text(f"solid cube\n{facets}endsolid cube\n")
    (folder / "cube.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "f 1 2 3\n")


def test_shapes_of_every_kind_stand_where_the_file_says(tmp_path):
    write_meshes(tmp_path)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "cube.obj").rename(tmp_path / "meshes" / "cube.obj")
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    robot = model(
        tmp_path,
        shape('<box size="0.2 0.4 0.6"/>', origin),
        shape('<sphere radius="0.2"/>', origin),
        shape('<cylinder radius="0.1" length="0.8"/>', origin) + shape('<box size="9 9 9"/>', tag="visual"),
        shape('<mesh filename="binary.stl" scale="0.1 0.1 0.1"/>', tag="visual"),
        shape('<mesh filename="text.stl"/>'),
        shape('<mesh filename="package://anything/meshes/cube.obj"/>'),
    )
    shapes = {found.link: found for found in link_shapes(robot.mechanism)}
    R = zveno.rotations.from_rpy([0.4, 0.5, 0.6])
    box = (shapes["a0"].corners - [0.1, 0.2, 0.3]) @ R
    assert np.allclose(abs(box), [0.1, 0.2, 0.3])
    assert np.allclose(shapes["a1"].corners, [[0.1, 0.2, 0.3]])
    assert shapes["a1"].radius == 0.2
    cylinder = (shapes["a2"].corners - [0.1, 0.2, 0.3]) @ R
    assert np.allclose(abs(cylinder[:, 2]), 0.4)
    assert np.linalg.norm(cylinder[:, :2], axis=1).min() >= 0.1
    for link, scale in (("a3", 0.1), ("a4", 1.0), ("a5", 1.0)):
        assert np.allclose(np.unique(shapes[link].corners, axis=0), scale * CUBE, atol=1e-7)


def test_free_space_between_capsules_is_never_more_than_between_the_shapes(tmp_path):
    write_meshes(tmp_path)
    small = shape('<mesh filename="binary.stl" scale="0.1 0.1 0.1"/>')
    robot = model(tmp_path, small, shape('<box size="0.1 0.2 0.9"/>'), small, small)
    capsules = Capsules(robot, Clearance(shapes=True))
    shapes = {found.link: found.corners for found in link_shapes(robot.mechanism)}
    names = [robot.link_names[i] for i in capsules.links]
    q = robot.random(40, 2)
    distances = capsules.distances(q)
    T = dict(zip(robot.link_names, np.moveaxis(robot.link_poses(q), 1, 0), strict=True))
    for k, (a, b) in enumerate(capsules.layout.pairs):
        p, r = (
            np.einsum("nij,cj->nci", T[names[i]][:, :3, :3], shapes[names[i]]) + T[names[i]][:, None, :3, 3]
            for i in (a, b)
        )
        between = np.linalg.norm(p[:, :, None] - r[:, None], axis=-1).min(axis=(1, 2))
        assert (distances[:, k] <= between + HELD).all()
        assert distances[:, k].max() > 0.0
    assert len(capsules.layout.pairs) == 3


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "empty.stl").write_text("solid nothing\nendsolid nothing\n")
    (tmp_path / "bad.obj").write_text("v 1 2 x\n")
    (tmp_path / "arm.dae").write_text("<COLLADA/>")
    cases = [
        ('<mesh filename="gone.stl"/>', "gone.stl.* is not found"),
        ('<mesh filename="empty.stl"/>', "no corners"),
        ('<mesh filename="bad.obj"/>', "no corners"),
        ('<mesh filename="arm.dae"/>', "Convert it to STL or OBJ"),
        ('<box size="1 2"/>', "link a0, collision.*size"),
        ('<sphere radius="nan"/>', "radius"),
        ("", "empty"),
        ("<cone/>", "cone"),
    ]
    for solid, says in cases:
        robot = model(tmp_path, shape(solid), "")
        Capsules(robot, Clearance())  # bars need no shapes
        with pytest.raises(zveno.ZvenoError, match=says):
            Capsules(robot, Clearance(shapes=True))


def test_a_robot_without_shapes_is_bars():
    robot = zveno.load("puma560")
    with_shapes, bars = Capsules(robot, Clearance(shapes=True)), Capsules(robot, Clearance())
    assert np.array_equal(with_shapes.ends, bars.ends)
    assert np.array_equal(with_shapes.radii, bars.radii)

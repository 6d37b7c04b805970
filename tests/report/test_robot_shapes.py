"""Robots are drawn once, in the axes of their links: pictures, pages and instances show the same parts."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

from mechanisms import random_mechanism
from tiers import few
from zveno.algorithms.forward_kinematics import link_poses
from zveno.io.load import load_mechanism
from zveno.mechanism import Joint, Limits, Link, Prismatic, assemble
from zveno.report import solids
from zveno.report import solids as meshes
from zveno.report.description import Scene
from zveno.report.robot_parts import PAGE, foot, ground_below, robot_parts
from zveno.report.robot_picture import FacetTable
from zveno.report.scene import scene_data
from zveno.spatial.inertia import parameters
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

ROUNDING = 1e-9
"""Shapes are a metre in size, and a few products of rounded numbers away from each other."""


def in_world(part, T) -> np.ndarray:
    return part.shape.moved(np.asarray(T[part.link])).facets()


@pytest.mark.parametrize("seed", range(5))
def test_the_world_is_forward_kinematics_after_the_link(seed):
    mechanism = random_mechanism(seed, n=7)
    parts = robot_parts(mechanism).parts
    table = FacetTable(parts)
    T = link_poses(mechanism, mechanism.random(seed))
    placed = table.placed(T)
    expected = np.concatenate(
        [part.shape.facets() @ T[part.link][:3, :3].T + T[part.link][:3, 3] for part in parts]
    )
    np.testing.assert_allclose(placed, expected, atol=ROUNDING)


@pytest.mark.laws
@pytest.mark.parametrize("name", few(["puma560", "quadruped", "stanford", "biped"]))
def test_pictures_pages_and_instances_have_the_same_parts(name):
    mechanism = load_mechanism(name)
    robot = robot_parts(mechanism, PAGE)
    page = scene_data(Scene("x", mechanism, mechanism.neutral()[None]))
    assert sum(len(body) for body in page["bodies"]) == len(robot.parts)
    assert len(np.unique(FacetTable(robot.parts).links)) == len(page["bodies"])
    for part in robot.parts:
        instance, unit = part.shape.instance(), part.shape.unit_mesh()
        points = (instance.scale * unit.vertices) @ instance.T[:3, :3].T + instance.T[:3, 3]
        facets = part.shape.facets().reshape(-1, 3)
        assert np.linalg.norm(points[:, None] - facets, axis=2).min(axis=1).max() < ROUNDING
        assert np.linalg.norm(points[:, None] - facets, axis=2).min(axis=0).max() < ROUNDING
    keys = {part.shape.instance().key for part in robot.parts}
    assert len(keys) <= 14, "copies are shared: a robot of any size is a few shapes"


@pytest.mark.parametrize(
    "shape",
    [
        solids.bar([0, 0, 0], [1, 2, 3], 0.2, 0.1),
        solids.ball([1, 0, 0], 0.3),
        solids.drum([0, 0, 1], [0, 1, 0], 0.2, 0.1),
        solids.prism([0, 0, 1], [1, 0, 0], 0.2, 0.5),
        meshes.box(transform(exp(np.array([0.1, 0.2, 0.3])), [1, 2, 3]), np.array([0.1, 0.2, 0.3])),
        meshes.box(np.eye(4), np.array([0.1, -0.2, 0.3])),
    ],
)
def test_shared_shapes_are_closed_and_keep_their_volume(shape):
    unit, instance = shape.unit_mesh(), shape.instance()
    points = (instance.scale * unit.vertices) @ instance.T[:3, :3].T + instance.T[:3, 3]
    volume = enclosed(points[unit.faces])
    a, b, c, d = np.moveaxis(shape.facets(), 1, 0)
    halves = [enclosed(np.stack(corners, 1)) for corners in ((a, b, c), (a, c, d))]
    assert abs(volume) == pytest.approx(sum(halves), rel=1e-9)
    assert sum(halves) > 0


def enclosed(triangles: np.ndarray) -> float:
    a, b, c = np.moveaxis(triangles, 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("seed", range(4))
def test_rods_stay_in_their_guides(seed):
    rng = np.random.default_rng(seed)
    lower, upper = np.sort(rng.uniform(-1, 1, 2))
    slide = Prismatic(exp(rng.normal(size=3))[:, 2])
    links = [Link("base"), Link("rod", parameters(1.0, rng.normal(size=3), np.eye(3)))]
    place = transform(exp(rng.normal(size=3)), rng.normal(size=3))
    mechanism = assemble("slide", links, [Joint("s", "base", "rod", slide, place, limits=Limits(lower, upper))])
    (rod,) = [bar for bar in robot_parts(mechanism).drawn.bars if bar.sliding]
    for q in np.linspace(lower, upper, 5):
        T = link_poses(mechanism, [q])[1]
        a, b = (T[:3, :3] @ point + T[:3, 3] for point in (rod.start, rod.end))
        for point in (place[:3, 3], T[:3, 3]):
            share = (point - a) @ (b - a) / ((b - a) @ (b - a))
            assert -1e-9 <= share <= 1 + 1e-9
            np.testing.assert_allclose(a + share * (b - a), point, atol=1e-9)


def test_a_foot_reaches_from_the_ground_to_the_root():
    robot = robot_parts(load_mechanism("puma560"))
    for lowest in (0.0, -0.7):
        ground = ground_below(robot, lowest)
        assert ground <= min(lowest, -0.1 * robot.size)
        (part,) = foot(robot, np.eye(3), ground)
        heights = part.shape.facets()[..., 2]
        assert heights.min() == pytest.approx(ground)
        assert -0.1 * robot.size < heights.max() < 0
    assert foot(robot_parts(load_mechanism("quadruped")), np.eye(3), -1.0) == []


CORNERS = [[b"vertex %f %f %f\n" % tuple(p) for p in t] for t in meshes.box(np.eye(4), np.ones(3)).facets()[:, :3]]
FACETS = [b"facet normal 0 0 0\nouter loop\n" + b"".join(each) + b"endloop\nendfacet\n" for each in CORNERS]
STL = b"solid x\n" + b"".join(FACETS) + b"endsolid x\n"
URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry>
<mesh filename="package://some_robot/meshes/{file}" scale="0.1 0.2 -0.3"/></geometry>
<material name="red"/></visual></link>
<link name="arm"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0.5 0 0" rpy="0 1.57 0"/><geometry><cylinder radius="0.05" length="1"/></geometry>
</visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def package(tmp_path) -> Path:
    (tmp_path / "some_robot" / "meshes").mkdir(parents=True)
    (tmp_path / "some_robot" / "urdf").mkdir()
    (tmp_path / "some_robot" / "meshes" / "block.stl").write_bytes(STL)
    return tmp_path / "some_robot"


def test_meshes_and_shapes_of_a_urdf_are_drawn(package):
    pytest.importorskip("trimesh")
    file = package / "urdf" / "r.urdf"
    file.write_text(URDF.format(file="block.stl"))
    robot = robot_parts(load_mechanism(str(file)))
    block, arm = robot.parts
    assert (block.link, block.color) == (0, "#ff0000")
    assert enclosed(block.shape.facets()[:, :3]) == pytest.approx(0.1 * 0.2 * 0.3)
    np.testing.assert_allclose(np.ptp(block.shape.facets().reshape(-1, 3), axis=0), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(np.ptp(arm.shape.facets().reshape(-1, 3), axis=0), [1, 0.1, 0.1], atol=2e-3)
    assert not robot.bolted, "it has a foot of its own"


@pytest.mark.parametrize("file", ["missing.stl", "block.step", "broken.stl", "broken.dae", "../../../etc/passwd"])
def test_links_whose_meshes_cannot_be_read_are_drawn_from_the_kinematics(file, package):
    pytest.importorskip("trimesh")
    (package / "meshes" / "broken.stl").write_bytes(b"solid nothing")
    (package / "meshes" / "broken.dae").write_bytes(b"<COLLADA>")
    (package / "meshes" / "block.step").write_bytes(b"x")
    model = package / "urdf" / "r.urdf"
    model.write_text(URDF.format(file=file))
    robot = robot_parts(load_mechanism(str(model)))
    assert robot.bolted
    assert {part.link for part in robot.parts} == {1}


def test_a_page_of_a_robot_with_heavy_meshes_stays_small(package):
    pytest.importorskip("trimesh")
    fine = solids.ball([0, 0, 0], 1.0, sides=400).facets()
    triangles = np.concatenate([fine[:, [0, 1, 2]], fine[:, [0, 2, 3]]]).astype("<f4")
    rows = np.zeros(len(triangles), dtype=[("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
    rows["c"] = triangles
    (package / "meshes" / "ball.stl").write_bytes(bytes(80) + len(rows).to_bytes(4, "little") + rows.tobytes())
    model = package / "urdf" / "r.urdf"
    model.write_text(URDF.format(file="ball.stl"))
    mechanism = load_mechanism(str(model))
    page = scene_data(Scene("x", mechanism, mechanism.neutral()[None]))
    mesh = page["bodies"][0][0]
    n = len(base64.b64decode(mesh["faces"])) // (3 * (4 if mesh["wide"] else 2))
    assert 50 < n <= PAGE, "a mesh that is too large becomes its hull"
    corners = np.frombuffer(base64.b64decode(mesh["vertices"]), "<f4").reshape(-1, 3)
    assert np.linalg.norm(corners / [0.1, 0.2, -0.3], axis=1) == pytest.approx(1.0, rel=1e-3)
    assert len(mesh["faces"]) + len(mesh["vertices"]) < 150_000

"""What the studio shows is what the library computes: robots, ghosts, paths, motions and results."""

from __future__ import annotations

import html
import re
import time

import numpy as np
import pytest

import zveno
from every_result import every_result
from loops.closed_machines import palletiser
from mechanisms import random_mechanism
from studio_client import until
from zveno import calibration, ik
from zveno.loops.branch import closure_kernel

pytest.importorskip("viser")
from zveno.report.description import Scene
from zveno.report.scene import scene_data
from zveno.studio.instances import GHOST_SIDES
from zveno.studio.stage import coordinates, live_numbers
from zveno.studio.target import MOST_GHOSTS
from zveno.studio.views import VIEWS
from zveno.studio.views.calibration import map_slice, residual_arrows
from zveno.studio.views.identification import equivalent_ellipsoid
from zveno.studio.views.trajectory import contact_forces

SINGLE = 2e-6
"""Poses are sent in single precision; robots are a few metres in size."""


@pytest.fixture(scope="module")
def puma():
    with zveno.open_studio(zveno.load("puma560")) as studio:
        yield studio


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return every_result(tmp_path_factory.mktemp("c"))


def settled(studio) -> None:
    until(lambda: studio.worker.idle(), "the end of computing")


def answered(target, status: str) -> bool:
    """Whether an answer has a status; asked again where compiling took its time away."""
    if target.found is not None and target.found.status == status:
        return True
    target.changed()
    time.sleep(0.3)
    return False


def drawn_points(instances, copy: int = 0) -> list[np.ndarray]:
    """Corners of every part of a copy as a page draws them: shared shape, scaled, turned, placed."""
    from scipy.spatial.transform import Rotation

    points = []
    for shared in instances.shared:
        n = len(shared.parts)
        for k in range(copy * n, (copy + 1) * n):
            turn = Rotation.from_quat(np.roll(shared.handle.batched_wxyzs[k], -1)).as_matrix()
            points.append(
                (shared.scales[k] * shared.mesh.vertices) @ turn.T + np.asarray(shared.handle.batched_positions[k])
            )
    return points


def expected_points(stage, q, most_sides: int = 64) -> list[np.ndarray]:
    T = stage.robot.link_poses(q)
    by_key: dict = {}
    for part in stage.shape.parts:
        instance = part.shape.instance()
        local = (instance.scale * part.shape.unit_mesh(most_sides).vertices) @ instance.T[:3, :3].T + instance.T[
            :3, 3
        ]
        by_key.setdefault(instance.key, []).append(local @ T[part.link][:3, :3].T + T[part.link][:3, 3])
    return [points for family in by_key.values() for points in family]


def test_the_robot_stands_where_its_kinematics_say(puma):
    stage = puma.stages[0]
    for seed in range(3):
        q = stage.robot.random((), seed)
        stage.set(q)
        settled(puma)
        for drawn, expected in zip(drawn_points(stage.instances), expected_points(stage, q), strict=True):
            np.testing.assert_allclose(drawn, expected, atol=SINGLE)


def test_the_page_of_a_report_has_the_same_parts(puma):
    stage = puma.stages[0]
    data = scene_data(Scene("x", stage.mechanism, stage.q[None]))
    assert sum(map(len, data["bodies"])) == stage.instances.n_parts == len(stage.shape.parts)
    assert len(data["foot"]) == stage.pedestal.n_parts == 1


def test_all_solutions_are_ghosts_and_rows(puma):
    stage, target = puma.stages[0], puma.targets["/robot1"]
    for seed in (3, 4):
        T = np.asarray(stage.robot.forward_kinematics(stage.robot.random((), seed)))
        target.move(T)
        until(lambda T=T: target.found is not None and np.allclose(target.found.target, T, atol=1e-9), "the answer")
        settled(puma)
        direct = stage.robot.ik(T)
        n = int(direct.count)
        assert target.ghosts.shown == n > 1
        for k in range(n):
            for drawn, expected in zip(
                drawn_points(target.ghosts, k), expected_points(stage, direct.q[k], GHOST_SIDES), strict=True
            ):
                np.testing.assert_allclose(drawn, expected, atol=SINGLE)
        assert target.choices.options == tuple(str(k + 1) for k in range(n))
        assert len(target.table.content.splitlines()) == n + 2
        shown = float(target.table.content.splitlines()[2].split("|")[2])
        assert shown == pytest.approx(np.degrees(direct.q[0, 0]), abs=0.051)
        target.choose(n - 1)
        settled(puma)
        np.testing.assert_allclose(stage.q, direct.q[n - 1], atol=1e-12)


@pytest.mark.parametrize(
    ("words", "status"),
    [("near", "complete"), ("far", "unreachable"), ("aligned", "self-motion")],
)
def test_statuses_are_shown_as_they_are(words, status, puma):
    stage, target = puma.stages[0], puma.targets["/robot1"]
    T = np.asarray(stage.robot.forward_kinematics([0.3, -0.4, 0.5, 0.2, 0.7, 0.1]))
    if words == "far":
        T = zveno.transforms.transform(None, [5.0, 0.0, 0.0])
    elif words == "aligned":
        T = np.asarray(stage.robot.forward_kinematics([0.3, -0.4, 0.5, 0.2, 0.0, 0.1]))
    target.move(T)
    until(lambda: answered(target, status), f"the status {status}")
    settled(puma)
    assert f"<b>{status}</b>" in target.status.content
    assert html.escape(target.found.summary) in target.status.content
    shown = 1 if status == "unreachable" else min(int(target.found.count), MOST_GHOSTS)
    assert target.ghosts.shown == shown, "of unreachable poses the nearest configuration is shown"


@pytest.mark.laws
def test_a_proof_is_shown(puma):
    pytest.importorskip("flint")
    stage, target = puma.stages[0], puma.targets["/robot1"]
    target.move(np.asarray(stage.robot.forward_kinematics([0.3, -0.4, 0.5, 0.2, 0.7, 0.1])))
    until(lambda: answered(target, "complete"), "the answer")
    settled(puma)
    target.prove()
    until(lambda: "Proved" in target.status.content, "the proof")


def test_a_path_has_all_branches(puma):
    stage, target, path = puma.stages[0], puma.targets["/robot1"], puma.paths["/robot1"]
    path.clear()
    q = np.array([0.3, -0.4, 0.5, 0.2, 0.7, 0.1])
    for shift in (0.0, 0.1, 0.2):
        T = np.asarray(stage.robot.forward_kinematics(q))
        T[2, 3] += shift
        target.move(T)
        path.add()
    path.solve()
    until(lambda: path.result is not None and path.playback is not None, "the path")
    direct = stage.robot.ik_path(path.poses, frame=target.frame)
    assert len(path.result.branches) == len(direct.branches) > 1
    assert path.result.jumps == direct.jumps
    path.playback.go(10)
    settled(puma)
    np.testing.assert_allclose(stage.q, path.result.q[10], atol=1e-12)
    assert path.ghosts.shown == sum(len(branch.q) > 10 for branch in path.result.branches)
    path.clear()
    target.enabled.value = True


def test_sliders_have_the_limits_in_degrees_and_millimetres():
    mechanism = zveno.load("stanford").mechanism
    shown = list(coordinates(mechanism, 1.0))
    assert {each.unit for each in shown} == {"°", "mm"}
    for each in shown:
        k, factor = each.place, 1e3 if each.unit == "mm" else 180 / np.pi
        assert each.high == pytest.approx(factor * min(mechanism.upper[k], 2 * np.pi if each.unit == "°" else 2.0))
        for value in (-1e9, each.low, 0.5 * (each.low + each.high), 1e9):
            assert mechanism.lower[k] - 1e-12 <= each.meant(value) <= mechanism.upper[k] + 1e-12
            assert each.low <= each.shown(value) <= each.high


@pytest.mark.laws(after=1)
def test_closed_loops_stay_closed():
    """Motors have sliders; the other joints follow, and a move that cannot close is not made."""
    robot = palletiser()
    with zveno.open_studio(robot) as studio:
        settled(studio)
        (stage,) = studio.stages
        sliders = {c.name: c for c in coordinates(stage.mechanism, stage.size)}
        assert set(sliders) <= set(robot.mechanism.motors)
        before = stage.q.copy()
        for coordinate in sliders.values():
            stage.change(coordinate.place, float(stage.q[coordinate.place]) + 0.1)
            assert abs(closure_kernel(robot.mechanism)(stage.q)[0]).max() < 1e-9
        assert abs(stage.q - before).max() > 0.05
        assert len(sliders) >= 3
        assert "holds with" in live_numbers(stage, stage.q)
        shown = stage.q.copy()
        stage.change(list(sliders.values())[1].place, 3.0)
        assert np.array_equal(stage.q, shown)
        answer = robot.ik(stage.pose(stage.q), stage.frame)
        stage.set(answer.q[-1])
        assert np.array_equal(stage.q, answer.q[-1])


@pytest.mark.parametrize("seed", range(2))
def test_any_robot_can_be_shown(seed):
    robots = [zveno.Robot(random_mechanism(seed, n=8)), zveno.load("quadruped"), zveno.load("planar2")]
    with zveno.open_studio(robots) as studio:
        settled(studio)
        assert not studio.message.visible, studio.message.content
        assert [stage.robot for stage in studio.stages] == robots
        places = [float(stage.root.position[1]) for stage in studio.stages]
        assert places[0] == 0 > places[1] > places[2]
        assert set(studio.drops) == {"/robot2"}
        for stage in studio.stages:
            stage.show_axes(True)
            stage.show_frames(True)
            stage.set(stage.robot.random((), seed))
        settled(studio)
        assert not studio.message.visible, studio.message.content


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("name", VIEWS)
def test_results_are_shown(name, results, tmp_path):
    result = results[name]
    mechanism = result.trajectory.mechanism if name == "Walk" else result.mechanism
    with zveno.open_studio(zveno.Robot(mechanism), result) as studio:
        settled(studio)
        assert not studio.message.visible, studio.message.content
        stage = studio.stages[0]
        for _, playback in studio.playbacks:
            playback.go(len(playback.t) // 2)
            settled(studio)
            last = stage.q.copy()
            playback.go(0)
            settled(studio)
            moves = not np.array_equal(last, stage.q)
            assert moves or len(playback.t) == 1 or name in ("JointPath", "Trajectory"), "these two stand still"
        assert bool(studio.playbacks) == (name != "Identification")
        page = studio.save(tmp_path / "x.html").read_text()
        assert len(page) < 1_500_000
        assert not re.findall(r"""(?:src|href)=["']https?:""", page)


def test_forces_at_the_feet_of_a_walk_are_drawn(results):
    walk = results["Walk"]
    forces = contact_forces(walk.trajectory)
    assert forces.frames == walk.feet
    assert all(label.startswith("limit of ") for label in forces.left_out)
    up = [k for k, name in enumerate(walk.trajectory.reaction_names) if name.endswith("_foot[0][0]")]
    np.testing.assert_allclose(forces.values[..., 2].sum(axis=1), walk.trajectory.reactions[:, up].sum(axis=1))


def test_a_view_that_does_not_exist_is_an_error(results):
    with pytest.raises(zveno.ZvenoError, match="the studio cannot show a BaseParameters"):
        zveno.open_studio(zveno.load("planar2"), results["BaseParameters"])
    with pytest.raises(zveno.ZvenoError, match="there is no robot to show"):
        zveno.open_studio([])
    with pytest.raises(zveno.errors.UnknownNameError):
        zveno.open_studio(zveno.load("planar2"), frame="nothing")


def test_residual_arrows_lead_from_predictions_to_readings(results):
    result = results["Calibration"]
    arrows = residual_arrows(result)
    (campaign,) = result.data
    assert len(arrows.points) == len(campaign.q)
    np.testing.assert_allclose(arrows.points + arrows.calibrated, campaign.y.reshape(-1, 3), atol=1e-9)
    inside = np.zeros(60, dtype=int)
    points = np.random.default_rng(0).normal(size=(60, 3))
    for number in range(1, 9):
        inside += map_slice(points, number)[0]
    assert (inside == 1).all(), "every point is in one slice"


def test_residuals_seen_from_anywhere_are_turned_into_the_world_of_the_robot():
    robot = zveno.load("planar2").with_tool(zveno.transforms.transform(None, [0.05, 0.02, 0.0]))
    built, q = zveno.calibration.apply_deviations(robot, {"Tx1": 1e-3}), robot.random(30, 1)
    T = zveno.transforms.transform(zveno.rotations.exp(np.array([0.2, -0.5, 1.3])), np.array([1.0, 2.0, 0.5]))
    seen = (T @ built.forward_kinematics(q))[:, :3, 3] + np.random.default_rng(0).normal(0.0, 1e-4, (30, 3))
    result = robot.calibrate(calibration.Dataset(calibration.RelativePosition(), q, seen), folds=3)
    arrows, found = residual_arrows(result), result.unknowns["tracker"]
    assert len(arrows.points) == 30
    read = (arrows.points + arrows.calibrated) @ found[:3, :3].T + found[:3, 3]
    np.testing.assert_allclose(read, seen, atol=1e-9)


def test_ellipsoids_have_the_inertia_of_their_links():
    rng = np.random.default_rng(0)
    for _ in range(5):
        radii, mass, center = rng.uniform(0.05, 0.5, 3), rng.uniform(0.5, 5), rng.normal(size=3)
        R = zveno.rotations.exp(rng.normal(size=3))
        a, b, c = radii**2
        tensor = mass / 5 * R @ np.diag([b + c, a + c, a + b]) @ R.T
        found = equivalent_ellipsoid(zveno.inertia.parameters(mass, center, tensor))
        assert found is not None
        np.testing.assert_allclose(np.sort(found.radii), np.sort(radii), rtol=1e-9)
        np.testing.assert_allclose(found.T[:3, 3], center, atol=1e-12)
        shape = found.T[:3, :3] @ np.diag(found.radii**2) @ found.T[:3, :3].T
        np.testing.assert_allclose(shape, R @ np.diag(radii**2) @ R.T, atol=1e-9)
    assert equivalent_ellipsoid(np.zeros(10)) is None


@pytest.mark.laws
def test_forces_of_contacts_carry_the_weight():
    from zveno.studio.drop import drop

    dog = zveno.load("quadruped")
    run = drop(dog, dog.neutral(), 1.5, height=0.01)
    forces = contact_forces(run)
    weight = 9.81 * sum(link.inertia[0] for link in dog.mechanism.links)
    np.testing.assert_allclose(forces.values[-1].sum(axis=0), [0, 0, weight], atol=0.02 * weight)
    assert {"front_left_foot", "rear_right_foot"} <= set(forces.frames)
    first = np.asarray(dog.frame_poses(run.q[0], frames=[f for f in dog.frame_names if f.endswith("_foot")]))
    assert first[:, 2, 3].min() == pytest.approx(0.01 + 0.02 * 0.2, abs=0.02)
    with pytest.raises(zveno.errors.ModelError, match="fixed to the ground"):
        drop(zveno.load("ur5"), np.zeros(6))


@pytest.mark.laws
def test_a_machine_is_dropped_and_watched():
    with zveno.open_studio(zveno.load("quadruped")) as studio:
        settled(studio)
        panel = studio.drops["/robot1"]
        panel.duration.value = 0.3
        panel.start()
        playback = until(lambda: panel.playback, "the fall")
        seen = studio.stages[0].q.copy()
        until(lambda: not np.array_equal(studio.stages[0].q, seen), "motion")
        until(lambda: not playback.playing, "the end of it")
        assert playback.at == len(playback.t) - 1


def test_manipulability_is_zero_where_the_arm_is_singular():
    robot = zveno.load("puma560")
    q = np.array([[0.3, -0.4, 0.5, 0.2, 0.7, 0.1], [0.3, -0.4, 0.5, 0.2, 0.0, 0.1]])
    good, singular = ik.manipulability(robot, q)
    assert singular < 1e-12 < good
    J = np.asarray(robot.jacobian(q[0]))
    assert good == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-9)
    assert ik.manipulability(robot, q[0]) == pytest.approx(good)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("words", [["puma560", "planar2"], ["planar2", "RESULT"]])
def test_the_verb_saves_a_page(words, results, tmp_path, capsys):
    from zveno.cli import main

    file = results["Trajectory"].save(tmp_path / "run.npz")
    words = [str(file) if word == "RESULT" else word for word in words]
    assert main(["studio", *words, "--save", str(tmp_path / "x.html")]) == 0
    assert "x.html" in capsys.readouterr().err
    assert (tmp_path / "x.html").stat().st_size > 500_000
    assert main(["studio", "planar2", "--save", str(tmp_path / "x.png")]) == 2
    assert main(["studio", "planar2", "--host", "nonsense"]) == 2

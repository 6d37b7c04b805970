"""Maps of inverse kinematics: they say of a pose what `solve_ik` says, for any workers, in memory or files."""

import json
import tracemalloc

import numpy as np
import pytest

import zveno
from zveno.errors import ZvenoError
from zveno.ik.maps import pieces
from zveno.ik.maps.orientations import spread_directions, spread_rotations
from zveno.ik.maps.tally import CLAIMS_NONE, SURE
from zveno.ik.solutions import STATUSES

PUMA = zveno.load("puma560")
ARRAYS = ("reached", "undecided", "solutions", "condition")


@pytest.fixture
def small_pieces(monkeypatch):
    for name in ("COMPILED", "CLOSED", "SCANNED"):
        monkeypatch.setattr(pieces, name, 40)


def same(first, second, names=ARRAYS):
    return [getattr(first, name).tobytes() for name in names] == [getattr(second, name).tobytes() for name in names]


def test_a_map_says_of_every_pose_what_the_solver_says(small_pieces):
    found = zveno.workspace_map(PUMA, cell=0.45, orientations=5)
    T = np.zeros((found.grid.size, 5, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = found.orientations, found.positions[:, None], 1.0
    each = PUMA.ik(T)
    np.testing.assert_array_equal(found.reached, (each.count > 0).sum(axis=1))
    np.testing.assert_array_equal(found.solutions, each.count.max(axis=1))
    words = dict(zip(*np.unique(each.status.astype(str), return_counts=True), strict=True))
    assert found.tally.statuses == words
    assert {"complete", "unreachable"} <= set(words)
    assert found.tally.solutions == len(each)
    assert found.n_reached == int((each.count > 0).any(axis=1).sum()) > 0
    least = np.nanmin(np.where(np.isnan(each.condition), np.inf, each.condition).reshape(len(T), -1), axis=1)
    np.testing.assert_array_equal(found.condition, least)


def test_the_workspace_of_an_elbow_is_a_ball():
    """Two links of 0.4 and 0.3 m on a shoulder: between two spheres about it."""
    elbow = zveno.load("Rz(q1) Tz(0.3) Ry(q2) Tx(0.4) Ry(q3) Tx(0.3)")
    found = zveno.workspace_map(elbow, cell=0.1, task="position")
    distance = np.linalg.norm(found.positions - [0.0, 0.0, 0.3], axis=1)
    assert found.status == "complete"
    np.testing.assert_array_equal(found.reached > 0, (distance > 0.1) & (distance < 0.7))
    assert found.volume == pytest.approx(4.0 / 3.0 * np.pi * (0.7**3 - 0.1**3), rel=0.05)
    assert len(found.orientations) == 1


def test_the_default_box_holds_all_that_can_be_reached():
    for name in ("puma560", "scara", "panda"):
        robot = zveno.load(name)
        box = zveno.workspace_map(robot, cell=10.0, orientations=1, method="local")
        low, high = box.lower - 0.5 * box.step, box.lower + box.step * (np.array(box.counts) - 0.5)
        points = robot.forward_kinematics(robot.random(2000, 1))[:, :3, 3]
        assert np.all((points >= low) & (points <= high))


@pytest.mark.parametrize("on", ["here", "threads", 2])
def test_same_bits_on_any_workers_and_in_files(on, small_pieces, tmp_path):
    plain = zveno.workspace_map(PUMA, cell=0.5, orientations=4)
    spread = zveno.workspace_map(PUMA, cell=0.5, orientations=4, on=on)
    assert same(plain, spread)
    assert spread.tally.statuses == plain.tally.statuses
    filed = zveno.workspace_map(PUMA, cell=0.5, orientations=4, on=on, directory=tmp_path / "map")
    assert filed.reached.size == 0
    assert filed.summary == plain.summary
    for k in range(plain.counts[2]):
        np.testing.assert_array_equal(filed.layer(k), plain.layer(k))
    assert filed.inputs == plain.inputs


def test_a_map_goes_on_from_a_checkpoint(small_pieces, tmp_path):
    file, calls = tmp_path / "map.json", []

    def stop(done, total):
        calls.append(done)
        if done == 3 and len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zveno.workspace_map(PUMA, cell=0.5, orientations=4, checkpoint=file, progress=stop)
    assert json.loads(file.read_text())["done"] == 3
    again = zveno.workspace_map(PUMA, cell=0.5, orientations=4, checkpoint=file, progress=stop)
    assert calls[3] == 4
    assert same(again, zveno.workspace_map(PUMA, cell=0.5, orientations=4))
    with pytest.raises(ZvenoError, match="other work"):
        zveno.workspace_map(PUMA, cell=0.4, orientations=4, checkpoint=file)


def test_undecided_is_not_out_of_reach():
    """A scan claims nothing of positions beside the plane of an arm: neither does the map."""
    found = zveno.workspace_map(zveno.load("planar2"), cell=0.2, task="position", method="scan")
    each = zveno.load("planar2").ik(found.positions, task="position", method="scan")
    open_ = (each.count == 0) & (each.status == "undecided")
    np.testing.assert_array_equal(found.undecided, open_)
    assert found.n_undecided == open_.sum() > 0
    assert f"{found.n_undecided} more are undecided" in found.summary
    assert "not sure" in found.status


def test_redundant_robots_are_sampled():
    """Whole self-motions would take hours over a map; what a sample does not reach is undecided."""
    panda = zveno.load("panda")
    found = zveno.workspace_map(panda, ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2)
    assert "slices of joint7" in found.method
    assert not {"family", "excluded by limits", "unreachable"} & set(found.tally.statuses)
    more = zveno.workspace_map(panda, ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2, slices=4)
    assert "4 slices of joint7" in more.method
    with pytest.raises(zveno.ZvenoError, match="slices"):
        zveno.workspace_map(panda, ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2, method="local", slices=4)


def test_statuses_are_sorted_into_claims():
    assert {STATUSES[code] for code in CLAIMS_NONE} <= set(SURE)
    assert {"undecided", "sampled", "not proved", "chosen", "within tolerance"} == set(STATUSES) - set(SURE)


@pytest.mark.parametrize("source", ["array", "file"])
def test_files_hold_all_solutions(source, small_pieces, tmp_path):
    poses = PUMA.forward_kinematics(PUMA.random(130, 2))
    poses[7, :3, 3] = 9.0
    given = poses
    if source == "file":
        given = tmp_path / "poses.npy"
        np.save(given, poses)
    maps = [zveno.ik_map(PUMA, given, tmp_path / str(on), on=on) for on in ("here", 2)]
    files = [{file.name: file.read_bytes() for file in (tmp_path / on).iterdir()} for on in ("here", "2")]
    assert files[0] == files[1]
    assert len(files[0]) == 5  # four pieces and the manifest
    rows = np.concatenate(list(maps[0].rows()))
    each = PUMA.ik(poses)
    assert maps[0].tally.poses == 130
    assert maps[0].tally.solutions == len(each) == np.isfinite(rows["residual"]).sum()
    for k in range(130):
        its = rows[rows["pose"] == k]
        assert STATUSES[its["status"][0]] == each.status[k]
        if each.count[k]:
            np.testing.assert_array_equal(its["q"], each.of(k))
            np.testing.assert_array_equal(its["condition"], each.condition[k][: each.count[k]])
        else:
            assert np.isnan(its["q"]).all()
    assert maps[0].status == "complete"


def test_a_file_of_poses_that_changes_is_noticed(small_pieces, tmp_path):
    file = tmp_path / "poses.npy"
    np.save(file, PUMA.forward_kinematics(PUMA.random(90, 2)))

    def change(done, _total):
        if done == 1:
            np.save(file, PUMA.forward_kinematics(PUMA.random(91, 3)))

    with pytest.raises(ZvenoError, match="has changed meanwhile"):
        zveno.ik_map(PUMA, file, tmp_path / "map", progress=change)


def test_memory_does_not_grow_with_the_poses(monkeypatch, tmp_path):
    """What Python and NumPy hold at most, of four times as many poses in files."""
    monkeypatch.setattr(pieces, "COMPILED", 500)
    peaks = []
    for n in (2000, 8000):
        file = tmp_path / f"{n}.npy"
        np.save(file, PUMA.forward_kinematics(PUMA.random(n, 2)))
        zveno.ik_map(PUMA, file, tmp_path / f"warm{n}")
        tracemalloc.start()
        zveno.ik_map(PUMA, file, tmp_path / f"map{n}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_orientations_are_spread():
    for spread in (spread_rotations(200), spread_directions(200)):
        np.testing.assert_allclose(
            spread @ spread.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (200, 3, 3)), atol=1e-12
        )
        np.testing.assert_allclose(np.linalg.det(spread), 1.0)
    apart = spread_rotations(200)
    angle = np.arccos(np.clip((np.einsum("aij,bij->ab", apart, apart) - 1.0) / 2.0, -1.0, 1.0)) + 9.0 * np.eye(200)
    # 200 balls of this half-width would fill 12 % of SO(3), whose volume is 8π²; random rotations come to 4°.
    assert np.degrees(angle.min()) > 20.0
    assert abs(spread_directions(200)[:, :, 2].mean(axis=0)).max() < 0.01


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"box": ([0, 0, 0], [1, 1])}, "box"),
        ({"box": ([1, 0, 0], [0, 1, 1])}, "box"),
        ({"box": 3}, "box"),
        ({"box": ([0, 0, np.nan], [1, 1, 1])}, "box"),
        ({"cell": 0.0}, "cell"),
        ({"cell": -1.0}, "cell"),
        ({"cell": 1e-9}, "cell"),
        ({"orientations": 0}, "orientations"),
        ({"orientations": np.ones((2, 3, 3))}, "orientations"),
        ({"orientations": -np.eye(3)}, "orientations"),
        ({"orientations": np.eye(4)}, "orientations"),
        ({"task": "rotation"}, "task"),
        ({"method": "closed_from"}, "method"),
        ({"on": "nowhere"}, "on"),
    ],
)
def test_bad_maps_are_refused(arguments, said):
    with pytest.raises(ZvenoError, match=said):
        zveno.workspace_map(PUMA, **arguments)


def test_bad_poses_and_folders_are_refused(tmp_path):
    with pytest.raises(ZvenoError, match="there are none"):
        zveno.ik_map(PUMA, np.zeros((0, 4, 4)), tmp_path / "map")
    (tmp_path / "poses.npy").write_bytes(b"else")
    with pytest.raises(ZvenoError, match=r"poses\.npy"):
        zveno.ik_map(PUMA, tmp_path / "poses.npy", tmp_path / "map")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ZvenoError, match="shape"):
        zveno.ik_map(PUMA, tmp_path / "one.npy", tmp_path / "map")
    poses = PUMA.forward_kinematics(PUMA.random(3, 0))
    zveno.ik_map(PUMA, poses, tmp_path / "map")
    assert zveno.ik_map(PUMA, poses, tmp_path / "map").tally.poses == 3  # the same again
    with pytest.raises(ZvenoError, match="output of other work"):
        zveno.ik_map(PUMA, poses[:2], tmp_path / "map")
    (tmp_path / "file").touch()
    with pytest.raises(ZvenoError, match="cannot be made"):
        zveno.ik_map(PUMA, poses, tmp_path / "file")
    slide = zveno.load("Tz(q1) Rz(q2) Tx(0.3)")
    with pytest.raises(ZvenoError, match="slides without limits"):
        zveno.workspace_map(slide, task="position", limits=False)

"""Workspace maps: they say of a pose what `solve_ik` says."""

import numpy as np
import pytest

import zveno
from zveno import ik
from zveno.errors import ZvenoError
from zveno.ik.maps import pieces
from zveno.ik.maps.orientations import spread_directions, spread_rotations
from zveno.ik.maps.tally import CLAIMS_NONE, SURE
from zveno.ik.solutions import STATUSES

PUMA = zveno.load("puma560")


@pytest.fixture
def small_pieces(monkeypatch):
    for name in ("COMPILED", "CLOSED", "SCANNED"):
        monkeypatch.setattr(pieces, name, 40)


def test_a_map_says_of_every_pose_what_the_solver_says(small_pieces):
    found = ik.workspace_map(PUMA, cell=0.45, orientations=5)
    T = np.zeros((found.grid.size, 5, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = found.orientations, found.positions[:, None], 1.0
    each = PUMA.ik(T)
    np.testing.assert_array_equal(found.reached, (each.count > 0).sum(axis=1))
    np.testing.assert_array_equal(found.solutions, each.count.max(axis=1))
    words = dict(zip(*np.unique(each.status.astype(str), return_counts=True), strict=True))
    assert found.tally.statuses == words
    assert {"complete", "unreachable"} <= set(words)
    assert found.tally.solutions == each.count.sum()
    assert found.n_reached == int((each.count > 0).any(axis=1).sum()) > 0
    least = np.nanmin(np.where(np.isnan(each.condition), np.inf, each.condition).reshape(len(T), -1), axis=1)
    np.testing.assert_array_equal(found.condition, least)


def test_the_workspace_of_an_elbow_is_a_ball():
    """Two links of 0.4 and 0.3 m on a shoulder: between two spheres about it."""
    elbow = zveno.load("Rz(q1) Tz(0.3) Ry(q2) Tx(0.4) Ry(q3) Tx(0.3)")
    found = ik.workspace_map(elbow, cell=0.1, task="position")
    distance = np.linalg.norm(found.positions - [0.0, 0.0, 0.3], axis=1)
    assert found.status == "complete"
    np.testing.assert_array_equal(found.reached > 0, (distance > 0.1) & (distance < 0.7))
    assert found.volume == pytest.approx(4.0 / 3.0 * np.pi * (0.7**3 - 0.1**3), rel=0.05)
    assert len(found.orientations) == 1


def test_the_default_box_holds_all_that_can_be_reached():
    for name in ("puma560", "scara", "panda"):
        robot = zveno.load(name)
        box = ik.workspace_map(robot, cell=10.0, orientations=1, samples=1 if name == "panda" else None)
        low, high = box.lower - 0.5 * box.step, box.lower + box.step * (np.array(box.counts) - 0.5)
        points = robot.forward_kinematics(robot.random(2000, 1))[:, :3, 3]
        assert np.all((points >= low) & (points <= high))


def test_undecided_is_not_out_of_reach():
    """A scan claims nothing of positions beside the plane of an arm: neither does the map."""
    found = ik.workspace_map(zveno.load("planar2"), cell=0.2, task="position", method="scan")
    each = zveno.load("planar2").ik(found.positions, task="position", method="scan")
    open_ = (each.count == 0) & (each.status == "undecided")
    np.testing.assert_array_equal(found.undecided, open_)
    assert found.n_undecided == open_.sum() > 0
    assert f"{found.n_undecided} more are undecided" in found.summary
    assert found.status == "partly undecided"


def test_redundant_robots_are_sampled():
    """Whole self-motions would take hours over a map; what a sample does not reach is undecided."""
    panda = zveno.load("panda")
    found = ik.workspace_map(panda, ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2)
    assert "slices of joint7" in found.method
    assert not {"self-motion", "excluded by limits", "unreachable"} & set(found.tally.statuses)
    more = ik.workspace_map(panda, ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2, samples=4)
    assert "4 slices of joint7" in more.method
    with pytest.raises(zveno.ZvenoError, match="samples"):
        ik.workspace_map(zveno.load("ur5"), ([0.3, 0.0, 0.3], [0.5, 0.2, 0.5]), 0.1, 2, samples=4)


def test_statuses_are_sorted_into_claims():
    assert {STATUSES[code] for code in CLAIMS_NONE} <= set(SURE)
    assert {"undecided", "sampled", "not proved", "within tolerance"} == set(STATUSES) - set(SURE)


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
        ({"executor": "nowhere"}, "executor"),
    ],
)
def test_bad_maps_are_refused(arguments, said):
    with pytest.raises(ZvenoError, match=said):
        ik.workspace_map(PUMA, **arguments)


def test_a_robot_that_slides_without_limits_needs_a_box():
    slide = zveno.load("Tz(q1) Rz(q2) Tx(0.3)")
    with pytest.raises(ZvenoError, match="slides without limits"):
        ik.workspace_map(slide, task="position", limits=False)

"""Pixels of a camera: lens, mounting and robot found again, by a board or one marker, on the hand or beside it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.calibration_recovery import stands_for
from calibration_arms import NEAR, arm, rank_by_differences, simulated, truth

from tiers import every, few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration._postures import visible_postures
from zveno.calibration.measurements import Pixels
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements._start_values import board_pose
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError
from zveno.io.results import decode, encode
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import inverse, transform

LENS = (612.0, 608.0, 322.0, 239.0)
DISTORTION = (-0.11, 0.04, 1e-3, -5e-4, 0.0)
ABOUT = {"intrinsics": (600.0, 600.0, 320.0, 240.0), "unknown_intrinsics": True}
BOARD = {"grid": (5, 4, 0.04)}
SIGMA = 0.2
BESIDE = transform(exp(np.array([0.1, -0.2, 0.3])), np.array([0.02, 0.05, 0.03]))
"""A camera on the hand that looks along it, or a board there."""
CASES = {
    "board, eye in hand": (Pixels(**BOARD, intrinsics=LENS, distortion=DISTORTION), {}),
    "board, eye to hand": (Pixels(**BOARD, intrinsics=LENS, mount="world"), {}),
    "marker, eye in hand": (Pixels(intrinsics=LENS), {}),
    "marker, eye to hand": (Pixels(intrinsics=LENS, mount="world"), {}),
    "lens estimated": (
        Pixels(**BOARD, intrinsics=LENS, distortion=DISTORTION),
        {**ABOUT, "unknown_distortion": True},
    ),
}


def measured(robot, kind, values, n, seed, sigma=SIGMA):
    """A campaign of postures in which everything is seen, and where camera and board are."""
    rng = np.random.default_rng(seed)
    model = redundant_model(robot.mechanism)
    q = robot.random(4000, seed)
    T = robot.forward_kinematics(q)
    left = kind.imagined_left(T[np.linalg.norm(T[:, :3, 3] - [0.5, 0.1, 0.4], axis=1).argsort()], model.scale)
    single = kind.shows_scale is False
    names = ("board", "camera") if kind.mount == "hand" else ("camera", "board")
    if single and kind.mount == "hand":
        left = transform(None, -inverse(left)[:3, 3])
    right = transform(None, BESIDE[:3, 3]) if single and kind.mount == "world" else BESIDE
    frames = dict(zip(names, (left, right), strict=True))
    problem = fit_problem(model, [Dataset.unread(kind, q)]).placed(frames)
    q = q[visible_postures(problem, 0)][:n]
    assert len(q) == n
    return simulated(robot, kind, values, n, rng, {"pixel": sigma}, frames, q=q), frames


def found_again(name, n, seed):
    robot = arm("puma560")
    kind, asked = CASES[name]
    rng = np.random.default_rng(seed)
    chosen = [x for x in identifiability(robot, kind).chosen if "." not in x]
    values = truth(robot, chosen, rng, 5e-4, 1e-3)
    campaign, frames = measured(robot, kind, values, n, seed)
    used = calibration.Dataset(
        Pixels(
            **(
                {x: getattr(kind, x) for x in ("grid", "mount", "intrinsics")}
                | asked
                | ({} if asked else {"distortion": kind.distortion})
            )
        ),
        campaign.q,
        campaign.y,
    )
    found = robot.calibrate(used, model=CalibrationModel(joint_terms=(), strategy="JL"), prior=None, folds=0)
    expected = stands_for(found, dict(zip(found.model.names, values, strict=True)))
    return found, (found.values - expected) / found.std, frames


@pytest.mark.parametrize("name", every(CASES, 4))
def test_the_robot_is_found_again(name):
    found, z, _ = found_again(name, 60, 2)
    assert found.converged
    assert not found.outliers
    assert found.sigma["pixels: pixel"] == pytest.approx(SIGMA, rel=0.2)
    assert found.training[0].unit == "px"
    if name == "lens estimated":
        error = np.array([found.numbers[f"camera.{x}"] for x in ("fx", "fy", "cx", "cy")]) - LENS
        spread = [found.unknown_std[found.unknown_names.index(f"camera.{x}")] for x in ("fx", "fy", "cx", "cy")]
        assert (abs(error) < 5 * np.array(spread)).all()
        assert found.numbers["camera.k1"] == pytest.approx(DISTORTION[0], abs=0.02)
    assert abs(z).max() < 5.0
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.7


@pytest.mark.parametrize("name", few(CASES, 1))
def test_rank_is_that_of_a_jacobian_by_differences(name):
    """Of pixels themselves, with camera and board among what is found, beyond an unknown lens."""
    robot, (kind, asked) = arm("puma560"), CASES[name]
    kind = replace(kind, **asked)
    structure = identifiability(robot, kind)
    assert structure.rank == rank_by_differences(robot, kind, 60)
    assert structure.gap > 1e3


def test_poses_of_boards_are_exact_without_noise():
    rng = np.random.default_rng(1)
    for points in (Pixels(**BOARD).places + [0.1, 0.2, 0.3], rng.normal(size=(9, 3)) * 0.1):
        T = transform(exp(np.array([0.2, -0.4, 0.9])), np.array([0.1, -0.1, 1.2]))
        p = points @ T[:3, :3].T + T[:3, 3]
        np.testing.assert_allclose(board_pose(points, p[:, :2] / p[:, 2:]), T, atol=1e-9)
    assert board_pose(np.arange(15.0).reshape(5, 3), rng.normal(size=(5, 2))) is None  # in a line


def test_images_are_those_of_opencv():
    """x = 0.3, y = -0.2 at depth one, by the formula of OpenCV's documentation in plain numbers."""
    x, y, (k1, k2, p1, p2, k3) = 0.3, -0.2, (-0.11, 0.04, 1e-3, -5e-4, 0.02)
    r2 = x**2 + y**2
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    u = 612 * (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x**2)) + 322
    v = 608 * (y * radial + p1 * (r2 + 2 * y**2) + 2 * p2 * x * y) + 239
    kind = Pixels(intrinsics=LENS, distortion=(k1, k2, p1, p2, k3), mount="world")
    c = np.array([[number.value for number in kind.numbers]])
    place = transform(None, [x, y, 1.0])[None]
    np.testing.assert_allclose(kind.reading(place, np.eye(4)[None], c), [[u, v]], rtol=1e-12)
    hand = Pixels(intrinsics=LENS, distortion=(k1, k2, p1, p2, k3))
    c = np.array([[number.value for number in hand.numbers]])
    np.testing.assert_allclose(hand.reading(inverse(place[0])[None], np.eye(4)[None], c), [[u, v]], rtol=1e-12)


def test_a_board_shows_the_scale_and_one_marker_does_not():
    robot = arm("puma560")
    assert identifiability(robot, Pixels(**BOARD)).rank > identifiability(robot, Pixels()).rank
    structure = identifiability(robot, Pixels(**BOARD, unknown_intrinsics=True, unknown_distortion=True))
    assert {"camera.fx", "camera.k1", "camera.p2"} <= set(structure.unknowns)


def test_files_of_pixels_say_their_kind(tmp_path):
    robot = arm("puma560")
    kind = Pixels(grid=(2, 2, 0.05), intrinsics=LENS)
    values = np.zeros(len(redundant_model(robot.mechanism).terms))
    campaign, _ = measured(robot, kind, values, 20, 5)
    names = [f"q{k}" for k in range(1, 7)] + [f"corner{k}_{a}" for k in range(1, 5) for a in "uv"]
    rows = np.column_stack([campaign.q, campaign.y.reshape(20, 8)]).tolist()
    table = [",".join(names), *(",".join(map(repr, row)) for row in rows)]
    file = tmp_path / "images.csv"
    file.write_text(
        "\n".join(["# kind = pixels", "# unit = mm", "# grid = 2 2 50", "# intrinsics = 612 608 322 239", *table])
    )
    read = calibration.read_dataset(file, robot.mechanism)
    np.testing.assert_allclose(read.y.reshape(20, 4, 2), campaign.y)
    assert read.measurement.places[-1] == pytest.approx([0.05, 0.05, 0])
    file.write_text("\n".join(table))
    with pytest.raises(ZvenoError, match="Only pixels reads such columns: give --measurement pixels"):
        calibration.read_dataset(file, robot.mechanism)
    with pytest.raises(ZvenoError, match="intrinsics: pixels mean nothing without the focal length"):
        robot.calibrate(calibration.Dataset(Pixels(), campaign.q, campaign.y[:, 0]))
    with pytest.raises(ZvenoError, match="20 images of one marker do not place camera and marker"):
        robot.calibrate(calibration.Dataset(Pixels(intrinsics=LENS), campaign.q, campaign.y[:, 0]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mount": "ceiling"}, "no mount named"),
        ({"distortion": range(6)}, "more than five"),
        ({"intrinsics": (0, 600, 320, 240)}, "is not fx fy cx cy"),
        ({"grid": (0, 4, 0.1)}, "is not a grid"),
        ({"points": (1, 2)}, "has shape"),
    ],
)
def test_cameras_that_cannot_be_are_refused(options, words):
    with pytest.raises(ZvenoError, match=words):
        assert len(Pixels(**options).places) == 0


@pytest.mark.parametrize("seed", few([0, 2], 1))
def test_plans_see_the_board(seed):
    board = Pixels(grid=(2, 2, 0.05))
    plan = calibration.plan_poses(arm("puma560"), board, 20, candidates=2000, clearance=None, rng=seed)
    assert np.isfinite(plan.sigma).all()
    assert plan.n_candidates < 1000
    assert any("can be measured" in note for note in plan.notes)


def test_a_camera_that_is_known_is_kept():
    robot = arm("puma560")
    kind = Pixels(**BOARD, intrinsics=LENS, camera=NEAR)
    again = decode(json.loads(json.dumps(encode(kind))))
    assert again.camera == pytest.approx(NEAR)
    structure = identifiability(robot, again)
    assert not any(name.startswith("camera") for name in structure.names)

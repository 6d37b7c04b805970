"""Bad input: one clear message, the rest of the data kept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calibration_arms import arm, measured_puma, simulated, truth

import zveno
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.files import campaign_from, template
from zveno.calibration.measurements import (
    Camera,
    Distance,
    FixedPoint,
    Plane,
    Pose,
    Position,
    RelativePose,
    RelativePosition,
)
from zveno.calibration.measurements.datasets import Dataset, prepared
from zveno.errors import ShapeError, ZvenoError, ZvenoWarning
from zveno.io.tables import parse_measurements, read_measurements, write_measurements
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

BOARD = transform(exp(np.array([0.4, 1.1, -0.7])), np.array([1.2, -0.8, 0.3]))
CAMERA = transform(exp(np.array([-1.0, 0.2, 2.0])), np.array([0.05, 0.02, 0.1]))


@pytest.fixture(scope="module")
def measured():
    return measured_puma(Position(), 60, {"position": 5e-5})


def test_too_few_postures(measured):
    robot, campaign = measured
    with pytest.raises(
        ZvenoError, match=r"6 postures give 18 equations, too few for 27 unknowns.*at least 9 postures"
    ):
        calibrate(robot, replace(campaign, q=campaign.q[:6], y=campaign.y[:6]))


def test_a_camera_needs_no_more_postures_than_unknowns():
    """Its two frames are among the 30 parameters: six poses give 36 equations, enough."""
    robot = zveno.load("puma560")
    rng = np.random.default_rng(0)
    sigma = {"position": 5e-5, "rotation": 1e-4}
    campaign = simulated(robot, Camera(), np.zeros(50), 6, rng, sigma, {"board": BOARD, "camera": CAMERA})
    assert len(calibrate(robot, campaign, folds=0).identifiability.chosen) == 30
    with pytest.raises(ZvenoError, match=r"4 postures give 24 equations, too few for 30 unknowns.*at least 5"):
        calibrate(robot, campaign_of(campaign, 4), folds=0)


def campaign_of(campaign, n):
    """Its first postures."""
    return replace(campaign, q=campaign.q[:n], y=campaign.y[:n])


def test_a_measurement_that_tells_nothing():
    robot = zveno.load("Rz(q1) Tx(0.3)")
    campaign = simulated(robot, Distance(centres=1), np.zeros(13), 30, np.random.default_rng(0), {"distance": 1e-4})
    with pytest.warns(ZvenoWarning, match="cannot find any of the parameters"):
        found = calibrate(robot, campaign, folds=0)
    assert not found.names


def test_a_joint_that_never_moved(measured):
    robot, campaign = measured
    q = campaign.q.copy()
    q[:, 3] = 0.2
    y = robot.forward_kinematics(q, frame="tool")[:, :3, 3] + 1e-5 * np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(ZvenoWarning, match="singular manifold"):
        found = calibrate(robot, Dataset(Position(), q, y), folds=0)
    assert len(found.names) == 23
    assert found.converged


def test_rows_of_which_none_is_complete(measured):
    """Heights that were never measured do not matter in the robot's own world, but leave a tracker anywhere."""
    robot, campaign = measured
    y = campaign.y.copy()
    y[..., 2] = np.nan
    with pytest.warns(ZvenoWarning, match=r"do not tell Tzo .* \(z was never read\)"):
        found = calibrate(robot, replace(campaign, y=y), folds=0)
    assert len(found.names) == 26
    with pytest.raises(ZvenoError, match=r"no row has all its numbers, and without one tracker"):
        calibrate(robot, replace(campaign, y=y, measurement=RelativePosition()))


@pytest.mark.parametrize("value", [1e-3j, "long", [1e-3, 1e-3], None, np.nan])
def test_deviations_that_are_no_numbers(value):
    robot = arm("puma560")
    name = identifiability(robot, "position").chosen[0]
    with pytest.raises(ShapeError, match=f"{name}: must be a finite real number, got"):
        zveno.calibration.apply_deviations(robot, {name: value})
    with pytest.raises(ShapeError, match="values: must be numbers by parameter name"):
        zveno.calibration.apply_deviations(robot, value)


def test_a_robot_that_stood_still(measured):
    robot, campaign = measured
    with pytest.raises(ZvenoError, match="all postures are the same"):
        calibrate(robot, replace(campaign, q=np.tile(campaign.q[0], (60, 1))))


def test_single_rows_far_away_are_left_out(measured):
    """One reading in millimetres among those in metres, and one that is infinite."""
    robot, campaign = measured
    y = campaign.y.copy()
    y[10] *= 1e3
    y[20, 0, 1] = np.inf
    with pytest.warns(ZvenoWarning) as said:
        found = calibrate(robot, replace(campaign, y=y), folds=0)
    words = [str(one.message) for one in said]
    assert any("row 11 has readings more than" in word for word in words)
    assert any("row 21 has infinite readings" in word for word in words)
    assert len(words) == 2
    assert (found.rows, found.scalar_rows) == (59, 3 * 59 - 1)
    assert not found.outliers


@pytest.mark.parametrize("kind", few([FixedPoint(), Plane(group_planes=True)], 1))
def test_a_place_that_was_touched_badly_every_time(kind):
    """All rows of one place are outliers: the others are fitted as if it were not there, nothing is singular."""
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 110, rng, {"position": 5e-5})
    bad = [k for k, group in enumerate(campaign.groups) if group == "place3"]
    q = campaign.q.copy()
    q[bad] += 0.02 * rng.normal(size=(len(bad), 6))
    found = calibrate(robot, replace(campaign, q=q), model=CalibrationModel(strategy="JL"), folds=3)
    named = {one.row - 1 for one in found.outliers}
    assert named <= set(bad)
    assert len(named) >= 0.7 * len(bad)
    assert np.isfinite(found.covariance).all()
    assert np.isfinite(found.unknown_std).all()
    assert found.held_out_unflagged[0].rms < 3e-4
    true = values[[found.model.numbers[name] for name in found.names]]
    assert np.sqrt(np.mean(((found.values - true) / found.std) ** 2)) < 1.6


def test_joint_values_outside_limits_are_mentioned(measured):
    robot, campaign = measured
    q = campaign.q.copy()
    q[4, 1] = 9.0
    found = calibrate(robot, replace(campaign, q=q), folds=0)
    assert [one.row for one in found.outliers] == [5]
    assert any("row 5 has joint2 outside its limits" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("puma560", lambda q: np.where(np.arange(6) == 3, 0.2, q), "joint4 never moves"),
        ("ur5", lambda q: np.where(np.arange(6) == 2, 0.4 - q[:, [1]], q), ".* always moves with .*"),
    ],
)
def test_joints_that_do_not_move_on_their_own_are_named(name, spoil, said):
    robot = arm(name)
    rng = np.random.default_rng(2)
    q = spoil(robot.random(60, rng))
    campaign = simulated(robot, RelativePosition(), np.zeros(50), 60, rng, {"position": 5e-5}, q=q)
    with pytest.warns(ZvenoWarning, match=rf"singular manifold \({said}\)"):
        calibrate(robot, campaign, folds=0)


def test_bad_rows_are_named_and_the_rest_is_kept(measured):
    robot, campaign = measured
    q, y = campaign.q.copy(), campaign.y.copy()
    q[3, 2] = np.nan
    q[8], y[8] = q[7], y[7]
    y[20] = np.nan
    with pytest.warns(ZvenoWarning) as said:
        found = calibrate(robot, replace(campaign, q=q, y=y), folds=0)
    words = " ".join(str(one.message) for one in said)
    assert "row 4 has joint values" in words
    assert "row 9 repeats" in words
    assert "row 21 has no reading" in words
    assert found.rows == 57


def test_wrong_shapes_and_types(measured):
    robot, campaign = measured
    for bad, said in (
        (Dataset(Position(), campaign.q[:, :5], campaign.y), "must have 6 numbers"),
        (Dataset(Position(), campaign.q, campaign.y[:30]), "for 60 postures"),
        (Dataset(Position(), campaign.q), "needs readings"),
        (Dataset(Pose(), campaign.q, np.tile([0, 0, 0, 2.0, 0, 0, 0], (60, 1))), "norm 2"),
        (Dataset(Pose(), campaign.q, np.zeros((60, 4, 4))), "not orthonormal"),
        (Dataset(Position(sigma=-1.0), campaign.q, campaign.y), "standard deviation"),
        (Dataset(Position(sigma={"noise": 1.0}), campaign.q, campaign.y), "no noise named"),
        (Dataset(Position(frame="hand"), campaign.q, campaign.y), "no frame named"),
        ([], "no measurements"),
    ):
        with pytest.raises(ZvenoError, match=said):
            calibrate(robot, bad)
    with pytest.raises(ZvenoError, match="no kind of measurement"):
        Dataset("laser", campaign.q, campaign.y)  # type: ignore[arg-type]
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"loss": "cubic"}, "no loss named"),
        ({"model": CalibrationModel(parameters="Tq")}, "no parameter"),
        ({"model": CalibrationModel(fixed=["*"])}, "no parameter is left"),
        ({"model": CalibrationModel(joint_terms=["backlash"])}, "no joint term"),
        ({"prior": "guessed"}, "no prior named"),
    )
    for options, said in wrong:
        with pytest.raises(ZvenoError, match=said):
            calibrate(robot, campaign, **options)


def test_copied_points_are_left_out(measured):
    robot, campaign = measured
    y = np.concatenate([campaign.y, campaign.y], axis=1)
    kind = Position(points=np.zeros((2, 3)), unknown_points=True)
    with pytest.warns(ZvenoWarning, match="point 2 has the same readings as point 1"):
        ready, _ = prepared(Dataset(kind, campaign.q, y), robot.mechanism)
    assert ready[0].y.shape == (60, 1, 3)


def test_files(measured, tmp_path):
    robot, campaign = measured
    names = [*robot.joint_names, "x", "y", "z"]
    rows = np.column_stack([np.rad2deg(campaign.q), 1e3 * campaign.y[:, 0]])
    rows[4, 7] = np.nan
    text = write_measurements(names, rows, {"kind": "position", "unit": "mm", "angle": "deg"})
    file = tmp_path / "data.csv"
    file.write_text(text)
    read = campaign_from(read_measurements(file), robot.mechanism)
    np.testing.assert_allclose(read.q, campaign.q, atol=1e-14)
    np.testing.assert_allclose(read.y[5:], campaign.y[5:, 0], atol=1e-14)
    assert np.isnan(read.y[4, 1])
    assert calibrate(robot, read, folds=0).converged
    empty = template(robot.mechanism, "sockets")
    assert empty.splitlines()[-1] == ",".join([*robot.joint_names, "place", "hole"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("1,2,3\n", "first line holds numbers"),
        ("a,b\n1\n", "1 cells where the header has 2"),
        ("a,a\n1,2\n", "not distinct"),
        ("a,b\n", "no rows"),
    ],
)
def test_bad_files(text, said):
    with pytest.raises(ZvenoError, match=said):
        parse_measurements(text)


def test_bad_contents(measured):
    robot, _ = measured
    head = ",".join([*robot.joint_names, "x", "y", "z"])
    for text, said in (
        (f"{head}\n1,2,3,4,5,6,7,8,9\n", "does not say what was measured"),
        (f"# kind = pose\n{head}\n1,2,3,4,5,6,7,8,9\n", "no column qw"),
        (f"# kind = position\n# unit = ell\n{head}\n1,2,3,4,5,6,7,8,9\n", "no unit named"),
        (f"# kind = position\n{head}\n1,2,3,4,5,6,seven,8,9\n", "'seven' is not a number"),
        ("# kind = position\nx,y,z\n7,8,9\n", "no column for"),
    ):
        with pytest.raises(ZvenoError, match=said):
            campaign_from(parse_measurements(text), robot.mechanism)


def test_a_few_spoilt_lines_are_left_out(measured):
    """A word in a cell, a line that was cut off, and one with a cell too many."""
    robot, campaign = measured
    rows = np.column_stack([campaign.q, campaign.y[:, 0]])
    lines = write_measurements([*robot.joint_names, "x", "y", "z"], rows, {"kind": "position"}).splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:6], "lost", *lines[5].split(",")[7:]])
    lines[11] += ",7"
    lines[-1] = lines[-1][:40]
    with pytest.warns(ZvenoWarning) as said:
        found = calibrate(
            robot, campaign_from(parse_measurements("\n".join(lines), "log.csv"), robot.mechanism), folds=0
        )
    words = [str(one.message) for one in said]
    assert "log.csv: 'lost' is not a number (line 6, column x); it is taken for missing" in words
    assert any(word.startswith("log.csv: line 12, 62 has another number of cells") for word in words)
    assert len(words) == 2
    assert (found.rows, found.scalar_rows) == (58, 3 * 58 - 1)
    with pytest.raises(ZvenoError, match=r"line 3: has 2 cells .* semicolons"):
        parse_measurements("# kind = distance\nd\n1,5\n2,5\n")


def test_unreadable_files(tmp_path):
    with pytest.raises(ZvenoError, match="cannot be read"):
        read_measurements(tmp_path / "absent.csv")


def test_numbered_columns_are_several_points_or_centres():
    robot = arm("puma560")
    head = ",".join([*robot.joint_names, "d1", "d2"])
    read = campaign_from(parse_measurements(f"# kind = distance\n{head}\n1,2,3,4,5,6,7,8\n"), robot.mechanism)
    assert isinstance(read.measurement, Distance)
    assert read.measurement.centres == 2
    head = ",".join([*robot.joint_names, "x1", "y1", "z1", "x2", "y2", "z2"])
    read = campaign_from(parse_measurements(f"{head}\n{'1,' * 11}1\n"), robot.mechanism, "relative_position")
    assert isinstance(read.measurement, Position)
    assert read.measurement.unknown_points
    assert RelativePose().left.free


@pytest.mark.parametrize(
    ("settings", "columns", "words"),
    [
        ({"uint": "mm"}, {}, "no setting named 'uint'. Did you mean unit"),
        ({"distance": "40"}, {}, "no setting named 'distance'"),  # of another kind
        ({}, {"x": "joint1"}, "has no column for joint1.*--columns joint1=NAME"),
        ({}, {"joint1": "x"}, "has no column x, y, z, which.*Columns: joint2.*--columns x=NAME"),
    ],
)
def test_what_is_said_beside_a_file_is_not_lost(tmp_path, settings, columns, words):
    puma = arm()
    file = tmp_path / "readings.csv"
    file.write_text(template(puma.mechanism, "position", np.zeros((2, 6))).replace(",,,", ",0.1,0.2,0.3"))
    with pytest.raises(ZvenoError, match=words):
        zveno.calibration.read_dataset(file, puma, "position", settings=settings, columns=columns)


@pytest.mark.parametrize("model", ["dh", {"parameters": "dh"}, CalibrationModel])
def test_what_is_no_calibration_model_is_one_error(model):
    robot = zveno.load("planar2")
    data = zveno.calibration.simulate_dataset(robot, "position", robot.random(12, 1), rng=1)
    for call in (
        lambda: robot.calibrate(data, model=model),
        lambda: identifiability(robot, "position", model=model),
        lambda: zveno.calibration.plan_poses(robot, "position", 6, model=model),
    ):
        with pytest.raises(zveno.ZvenoError, match=r"model: is .*CalibrationModel\("):
            call()

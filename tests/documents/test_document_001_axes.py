"""Joint axes from circles and lines: closed form, never a reflection, covariance, chain and start for the full
fit."""

import numpy as np
import pytest

import zveno
from zveno import calibration
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position
from zveno.calibration.measurements.datasets import Dataset
from zveno.documents.calibration import frame_covariance, identify_axes, identify_chain, joint_axis
from zveno.errors import ZvenoError
from zveno.spatial.rotations import exp, is_rotation, log
from zveno.spatial.transforms import transform

TOOL = transform(None, np.array([0.05, 0.04, 0.1]))


def _circle(rng, m, radius=0.3, sigma=0.0, q=None):
    R, t = exp(rng.normal(size=3)), rng.normal(size=3)
    q = rng.uniform(-2.5, 2.5, m) if q is None else q
    p = radius * np.stack([np.cos(q), np.sin(q), 0 * q], 1)
    return q, p @ R.T + t + sigma * rng.normal(size=(m, 3)), R, t


def _line(rng, m, sigma=0.0):
    R, t = exp(rng.normal(size=3)), rng.normal(size=3)
    q = rng.uniform(-0.5, 0.5, m)
    return q, np.outer(q, R[:, 2]) + t + sigma * rng.normal(size=(m, 3)), R, t


@pytest.mark.parametrize("seed", range(20))
def test_exact_points_give_the_axis(seed):
    rng = np.random.default_rng(seed)
    q, g, R, t = _circle(rng, 9)
    found = joint_axis(q, g)
    np.testing.assert_allclose(found.R, R, atol=1e-12)
    np.testing.assert_allclose(found.t, t, atol=1e-12)
    assert found.radius == pytest.approx(0.3)
    q, g, R, t = _line(rng, 5)
    found = joint_axis(q, g, "prismatic")
    np.testing.assert_allclose(found.direction, R[:, 2], atol=1e-12)
    assert found.scale == pytest.approx(1.0)


def test_reflections_are_never_returned():
    rng = np.random.default_rng(0)
    for _ in range(300):
        q, g, *_ = _circle(rng, 4, sigma=0.05)
        assert is_rotation(joint_axis(q, g).R)
        q, g, *_ = _line(rng, 4, sigma=0.05)
        assert is_rotation(joint_axis(q, g, "prismatic").R)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("where", ["about the axis", "to one side"])
def test_covariance_is_that_of_the_frame(kind, where):
    """Monte Carlo: errors of (R, t) as predicted, also where the mean of the points is far from t."""
    rng = np.random.default_rng(1)
    sigma, trials = 2e-5, 4000
    q = np.linspace(-1.0, 1.0, 6) * (np.pi if kind == "revolute" else 0.4)
    if where == "to one side":
        q = 0.25 * q + 0.7
    R, t = exp(rng.normal(size=3)), rng.normal(size=3)
    z = np.zeros_like(q)
    p = np.stack([0.3 * np.cos(q), 0.3 * np.sin(q), z] if kind == "revolute" else [z, z, q], axis=1)
    errors = np.empty((trials, 6))
    for k in range(trials):
        axis = joint_axis(q, p @ R.T + t + sigma * rng.normal(size=p.shape), kind, sigma=sigma)
        # A line does not show the turn about itself.
        turn = log(axis.R @ R.T) if kind == "revolute" else np.cross(R[:, 2], axis.direction)
        errors[k] = *turn, *(axis.t - t)
    predicted = joint_axis(q, p @ R.T + t, kind, sigma=sigma).covariance
    values, vectors = np.linalg.eigh(predicted)
    seen = values > 1e-9 * values[-1]
    assert np.count_nonzero(seen) == (6 if kind == "revolute" else 5)
    standard = errors @ vectors[:, seen] / np.sqrt(values[seen])
    np.testing.assert_allclose(np.cov(standard.T), np.eye(seen.sum()), atol=5 * np.sqrt(2 / trials))


def test_covariance_of_the_documents_figures():
    # In millimetres, r = 300 and σ = 0.2: the regular pentagon beats the document's five angles.
    for angles, trace in ((np.arange(5) * 72.0, 4.44e-7), ([-120, -90, 0, 90, 120], 5.1217e-7)):
        a = np.deg2rad(angles)
        p = 300 * np.stack([np.cos(a), np.sin(a), 0 * a], 1)
        assert np.trace(frame_covariance(p, 0.2)[:3, :3]) == pytest.approx(trace, rel=2e-3)


def test_a_whole_arm_without_a_nominal_model():
    """Every joint moved alone; the chain found reproduces the point anywhere, in the measuring frame."""
    robot = zveno.load("puma560").with_tool(TOOL)
    rng = np.random.default_rng(2)
    M = np.eye(4)
    M[:3, :3], M[:3, 3] = exp(rng.normal(size=3)), rng.normal(size=3)
    rest = np.array([0.3, -0.9, 0.5, 0.4, 0.8, -0.2])

    def seen(q):
        return (M @ robot.forward_kinematics(q, frame="tool"))[..., :3, 3]

    axes = []
    for k in range(6):
        values = np.linspace(-1.2, 1.2, 7)
        q = np.tile(rest, (7, 1))
        q[:, k] = values
        axes.append(joint_axis(values, seen(q)))
    found = zveno.Robot(identify_chain(axes, rest, seen(rest)))
    q = robot.random(20, 3)
    np.testing.assert_allclose(found.forward_kinematics(q)[:, :3, 3], seen(q), atol=1e-11)


def test_the_chain_is_a_start_for_the_full_fit():
    """Joints moved alone with noise, one of them prismatic, then sixty postures: no nominal model anywhere."""
    robot = zveno.load("scara").with_tool(TOOL)
    rng = np.random.default_rng(4)
    rest = robot.random(1, 3)[0]

    def seen(q):
        return robot.forward_kinematics(q, frame="tool")[..., :3, 3] + 1e-4 * rng.normal(size=(*q.shape[:-1], 3))

    axes = []
    for k, name in enumerate(robot.joint_names):
        q = np.tile(rest, (9, 1))
        q[:, k] = np.linspace(max(robot.lower[k], rest[k] - 1.5), min(robot.upper[k], rest[k] + 1.5), 9)
        axes.append(joint_axis(q[:, k], seen(q), robot.mechanism.joint(name).type.kind))
    start = zveno.Robot(identify_chain(axes, rest, seen(rest), robot.joint_names))
    q = robot.random(60, rng)
    found = calibrate(start, Dataset(Position(), q, seen(q)), folds=0)
    unseen = robot.random(100, rng)
    true = robot.forward_kinematics(unseen, frame="tool")[:, :3, 3]
    before, after = (
        np.sqrt(np.mean(np.sum((one.forward_kinematics(unseen)[:, :3, 3] - true) ** 2, axis=1)))
        for one in (start, found.robot)
    )
    assert before < 2e-3
    assert after < 1.5e-4
    assert after < 0.5 * before


def test_too_little_motion_is_refused():
    with pytest.raises(ZvenoError, match="too little"):
        joint_axis(np.zeros(5), np.zeros((5, 3)))
    with pytest.raises(ZvenoError, match="too few"):
        joint_axis([0.0, 1.0], np.eye(3)[:2])
    with pytest.raises(ZvenoError, match="must have shapes"):
        joint_axis([0.0, 1.0], np.eye(3))


def _one_at_a_time(robot, rest, m=7, width=1.2):
    q = np.tile(rest, (m * robot.n_q, 1))
    for k in range(robot.n_q):
        q[m * k : m * k + m, k] = np.linspace(rest[k] - width, rest[k] + width, m)
    return q


@pytest.mark.parametrize("name", ["puma560", "scara", "planar2"])
def test_a_robot_from_motions_of_one_joint_at_a_time(name):
    """Exact points give a robot that places the target anywhere; rows may come in any order."""
    robot = zveno.load(name).with_tool(TOOL)
    rng = np.random.default_rng(5)
    rest = robot.random((), 5)
    q = rng.permutation(_one_at_a_time(robot, rest, width=0.3))
    kinds = [robot.mechanism.joint(joint).type.kind for joint in robot.joint_names]
    found = identify_axes(q, robot.forward_kinematics(q, "tool")[:, :3, 3], kinds, names=robot.joint_names)
    np.testing.assert_allclose(found.q_rest, rest, atol=1e-12)
    away = robot.random(20, 6)
    expected = robot.forward_kinematics(away, "tool")[:, :3, 3]
    np.testing.assert_allclose(zveno.Robot(found.mechanism).forward_kinematics(away)[:, :3, 3], expected, atol=1e-9)
    assert "residuals up to" in str(found)
    assert max(axis.residual for axis in found.axes) < 1e-9


def test_two_stages_without_a_nominal_model():
    """Axes first, then all parameters together from postures in which all joints move."""
    robot = zveno.load("puma560").with_tool(TOOL)
    rng, sigma = np.random.default_rng(7), 1e-4

    def seen(q):
        points = robot.forward_kinematics(q, "tool")[:, :3, 3]
        return points + sigma * rng.normal(size=points.shape)

    q = _one_at_a_time(robot, np.array([0.3, -0.9, 0.5, 0.4, 0.8, -0.2]))
    start = zveno.Robot(identify_axes(q, seen(q)).mechanism)
    q = robot.random(60, rng)
    found = calibrate(start, Dataset(Position(), q, seen(q)), folds=0)
    unseen = robot.random(100, rng)
    true = robot.forward_kinematics(unseen, "tool")[:, :3, 3]
    before, after = (
        np.sqrt(np.mean(np.sum((one.forward_kinematics(unseen)[:, :3, 3] - true) ** 2, axis=1)))
        for one in (start, found.robot)
    )
    assert after < 0.5 * before
    assert after < 2 * sigma


def test_what_cannot_be_identified_is_named():
    robot = zveno.load("puma560").with_tool(TOOL)
    q = _one_at_a_time(robot, np.array([0.3, -0.9, 0.5, 0.4, 0.8, -0.2]))
    g = robot.forward_kinematics(q, "tool")[:, :3, 3]
    both = q.copy()
    both[7, 4] += 0.1
    with pytest.raises(ZvenoError, match="joint2 and joint5 move together in row 8"):
        identify_axes(both, g)
    with pytest.raises(ZvenoError, match="joint6 does not move"):
        identify_axes(q[:35], g[:35])
    on_axis = zveno.load("puma560").forward_kinematics(q)[:, :3, 3]
    with pytest.raises(ZvenoError, match=r"joint6.*do not leave one place"):
        identify_axes(q, on_axis)
    with pytest.raises(ZvenoError, match="must have 6 entries"):
        identify_axes(q, g, ["revolute"])
    with pytest.raises(ZvenoError, match="must have shapes"):
        identify_axes(q, g[:-1])


HEAD = "# unit = mm\n# angle = deg\n# prismatic = c\na, b, c, x, y, z\n"


def test_a_file_of_motions(tmp_path):
    """Degrees and millimetres; the robot found places the target as the true one."""
    robot = zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.2) Tz(q3)").with_tool(TOOL)
    q = _one_at_a_time(robot, np.array([0.2, 0.5, 0.1]), width=0.4)
    g = robot.forward_kinematics(q, "tool")[:, :3, 3]
    table = np.c_[np.degrees(q[:, :2]), 1e3 * q[:, 2], 1e3 * g]
    path = tmp_path / "axes.csv"
    path.write_text(HEAD + "\n".join(",".join(map(repr, row.tolist())) for row in table))
    motions = calibration.read_axis_motions(path)
    assert (motions.kinds, motions.names) == (["revolute", "revolute", "prismatic"], ["a", "b", "c"])
    np.testing.assert_allclose(motions.q, q, atol=1e-14)
    found = zveno.Robot(calibration.identify_axes(*motions).mechanism)
    away = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 3))
    expected = robot.forward_kinematics(away, "tool")[:, :3, 3]
    np.testing.assert_allclose(found.forward_kinematics(away)[:, :3, 3], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, "no rows"),
        (HEAD + "1, 2, 3, 4, 5\n", "line 5.*not 6 numbers"),
        (HEAD + "1, 2, 3, 4, 5, far\n", "line 5.*not 6 numbers"),
        (HEAD.replace("x, y", "x, x") + "1, 2, 3, 4, 5, 6\n", "Name one column x"),
        (HEAD.replace("mm", "feet") + "1, 2, 3, 4, 5, 6\n", "'feet' is not a unit"),
        (HEAD.replace("= c", "= d") + "1, 2, 3, 4, 5, 6\n", "no column 'd'"),
        (HEAD.replace("unit", "units") + "1, 2, 3, 4, 5, 6\n", "'units' is not a setting"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, text, words):
    path = tmp_path / "axes.csv"
    path.write_text(text)
    with pytest.raises(ZvenoError, match=words):
        calibration.read_axis_motions(path)

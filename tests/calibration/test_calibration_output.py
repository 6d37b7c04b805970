"""Outputs: calibrated robot, compensation, prediction with covariance, files, information."""

from itertools import pairwise

import numpy as np
import pytest
from calibration_arms import TOOL, arm, simulated, truth

import zveno
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration._output import calibrated_mechanism, text_of
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position, RelativePose
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.io.load import load_mechanism


@pytest.fixture(scope="module")
def found():
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    kind = RelativePose()
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 40, rng, {"position": 5e-5, "rotation": 1e-4}, {"tracker": TOOL})
    return calibrate(robot, campaign)


@pytest.mark.parametrize("name", ["puma560", "panda", "scara", "Ry(-q1) Tz(0.3) Rx(q2) Ty(0.2) Tx(-q3)"])
@pytest.mark.parametrize("tool", [True, False])
def test_the_calibrated_mechanism_moves_as_the_model_says(name, tool):
    robot = arm(name) if tool else zveno.load(name)
    model = redundant_model(robot.mechanism)
    values = 0.05 * np.random.default_rng(1).normal(size=len(model.terms))
    calibrated = zveno.Robot(calibrated_mechanism(model, values))
    q = robot.random(7, 2)
    T, _ = frame_motion(model, model.frames[0], q, values)
    np.testing.assert_allclose(calibrated.forward_kinematics(q), T, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*elementary transforms cannot hold:zveno.errors.ZvenoWarning")
def test_written_robots_read_back(found, tmp_path):
    q = found.robot.random(5, 1)
    T = found.robot.forward_kinematics(q)
    for suffix in (".urdf", ".ets"):
        path = tmp_path / f"calibrated{suffix}"
        assert found.write(path) == path
        again = zveno.Robot(load_mechanism(path))
        np.testing.assert_allclose(
            again.forward_kinematics(q, frame="tool" if suffix == ".urdf" else None), T, atol=1e-9
        )
    text, note = text_of(found.mechanism, "dh")
    assert note == "" or text.startswith("name")


def test_saved_and_loaded(found, tmp_path):
    again = zveno.load_result(found.save(tmp_path / "calibration.json"))
    assert again.parameters == found.parameters
    np.testing.assert_array_equal(again.covariance, found.covariance)
    assert again.verdict == found.verdict
    q = found.robot.random(3, 1)
    np.testing.assert_array_equal(again.predict(q).T_world_frame, found.predict(q).T_world_frame)


def test_predicted_covariance_equals_monte_carlo(found):
    q = found.robot.random(3, 4)
    predicted = found.predict(q)
    rng = np.random.default_rng(3)
    model, columns = found.model, [found.model.numbers[name] for name in found.names]
    draws = rng.multivariate_normal(found.values, found.covariance_factor * found.covariance, 4000)
    values = np.zeros((4000, 1, len(model.terms)))
    values[:, 0, columns] = draws
    T, _ = frame_motion(model, model.frames[0], q[None], values)
    E = np.linalg.inv(predicted.T_world_frame) @ T
    twist = np.stack([E[..., 0, 3], E[..., 1, 3], E[..., 2, 3], E[..., 2, 1], E[..., 0, 2], E[..., 1, 0]], -1)
    for k in range(3):
        std = np.sqrt(np.diag(predicted.covariance[k]))
        np.testing.assert_allclose(
            np.cov(twist[:, k].T) / np.outer(std, std), predicted.covariance[k] / np.outer(std, std), atol=0.1
        )


def test_map_over_the_workspace(found):
    result = found.accuracy_map(500)
    centres, worst, number = result.cells(0.3)
    assert number.sum() == 500
    assert worst.max() == result.sigma_position.max()
    assert len(centres) == len(worst)
    assert "mm" in result.summary
    assert 1e-6 < np.median(result.sigma_position) < 1e-3


def test_verdict_is_readable(found):
    assert "→" in found.verdict
    assert "postures not used" in found.verdict
    assert found.status == "calibrated"


def test_score_on_other_data(found):
    robot = zveno.Robot(found.nominal)
    rng = np.random.default_rng(0)
    values = truth(robot, identifiability(robot, RelativePose()).chosen, rng)
    other = simulated(
        robot, RelativePose(), values, 15, rng, {"position": 5e-5, "rotation": 1e-4}, {"tracker": TOOL}
    )
    error = found.score(other)[0]
    assert error.rms < 3e-4
    assert error.rows == 15


def expected_std(robot, kind, q, names) -> np.ndarray:
    """Standard deviations (28) of parameters from the rows of positions."""
    campaign = Dataset(kind, q, np.zeros((len(q), 1, 3)), (), "planned", np.arange(len(q)))
    problem = fit_problem(redundant_model(robot.mechanism), [campaign])
    columns = [problem.names.index(name) for name in names]
    _, J = problem.evaluate(problem.nominal, problem.frames, columns, exact=True)
    return kind.sigma * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))


def test_information_adds_up_to_the_covariance_of_a_fit():
    robot = arm("ur5")
    rng = np.random.default_rng(1)
    kind = Position(sigma=1e-4)
    q = robot.random(60, rng)
    campaign = simulated(
        robot, kind, np.zeros(len(redundant_model(robot.mechanism).terms)), 60, rng, {"position": 1e-4}, q=q
    )
    fit = calibrate(robot, campaign, folds=0, prior=None)
    np.testing.assert_allclose(expected_std(robot, kind, q, fit.names), fit.std, rtol=0.02)


def test_information_reproduces_the_documents_planning_study():
    """a1 = 250, a2 = 160 mm, σ = 0.2 mm: standard deviations of a1, a2, q1, q2, x0, y0 for both plans."""
    robot = zveno.load("planar2")
    names = ["Tx1", "Tx2", "Rzq1", "Rzq2", "Txo", "Tyo"]
    kind = Position(sigma=0.2e-3)
    a = np.deg2rad([0, 30, 60, 90])
    b = np.deg2rad([-90, 90])
    usual = np.array([(x, y) for x in a for y in a])
    better = np.array([(x, y) for x in b for y in b] * 4)
    for plan, expected in (
        (usual, (0.118968, 0.091251, 0.000476, 0.000893, 0.091251, 0.091251)),
        (better, (0.05, 0.05, 0.0002, 0.000371, 0.05, 0.05)),
    ):
        std = expected_std(robot, kind, plan, names)
        std[[0, 1, 4, 5]] *= 1e3
        np.testing.assert_allclose(std, expected, rtol=2e-3)


def test_the_map_is_cut_into_slices(found):
    result = found.accuracy_map(800)
    placed = [term.role in ("base", "tool") for term in found.model.terms]
    nominal = zveno.Robot(calibrated_mechanism(found.model, np.where(placed, found.deviations, 0.0)))
    points = nominal.forward_kinematics(result.q[:5], found.frames[0])[:, :3, 3]
    np.testing.assert_allclose(
        result.nominal_error[:5], np.linalg.norm(points - result.points[:5], axis=1), atol=1e-9
    )
    cut = result.slices("z", 5, 8)
    assert sum(int(one.number.sum()) for one in cut) == 800
    assert all(a.high == b.low for a, b in pairwise(cut))
    total = sum(float(np.sum(one.number * one.before**2)) for one in cut)
    assert total == pytest.approx(float(np.sum(result.nominal_error**2)))
    left = sum(float(np.sum(one.number * one.after**2)) for one in cut)
    assert left == pytest.approx(float(np.sum(result.sigma_position**2)))
    assert np.mean(np.concatenate([one.sure for one in cut])) > 0.5
    with pytest.raises(zveno.ZvenoError, match="no axis named 'w'"):
        result.slices("w")

"""A tool that moved during a campaign: found when and how far, and nothing where nothing moved."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.calibration_events import judged
from calibration_arms import arm, truth

import zveno
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._fit import tool_moved
from zveno.calibration._fit.noise import row_sigma
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import STAGES, calibrate
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model

NOISE = 1e-4
N = 60


def _moved(size: float, seed: int, at: int = 25, name: str = "puma560"):
    """A campaign in which the tool moved before posture `at`."""
    robot, rng = arm(name), np.random.default_rng(seed)
    model = redundant_model(robot.mechanism)
    values = truth(robot, identifiability(robot, "relative_position").chosen, rng)
    q = robot.random(N, rng)
    T = frame_motion(model, model.frames[0], q, values)[0]
    step = rng.normal(size=3)
    step *= size / np.linalg.norm(step)
    y = T[:, :3, 3] + NOISE * rng.normal(size=(N, 3))
    y[at:] += T[at:, :3, :3] @ step
    return robot, Dataset(RelativePosition(), q, y)


def test_scan_is_the_score_test_of_columns_that_begin_somewhere():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(12), 3)
    A, C, r = rng.normal(size=(36, 5)), rng.normal(size=(36, 2)), rng.normal(size=36)
    Q = np.linalg.qr(A)[0]
    r = r - Q @ (Q.T @ r)
    tests, ranks, steps = tool_moved._scanned(C, Q, r, place, 12)
    for time in (1, 4, 9):
        late = np.where(place[:, None] >= time, C, 0.0)
        both = np.column_stack([A, late])
        x = np.linalg.lstsq(both, -r, rcond=None)[0]
        assert tests[time] == pytest.approx(r @ r - np.sum((r + both @ x) ** 2), rel=1e-9)
        assert ranks[time] == 2
        assert steps[time] == pytest.approx(x[-2:], rel=1e-9)


@pytest.mark.parametrize("size", few([3e-4, 5e-3, 5e-4]))
def test_a_tool_that_moved_is_found(size, tmp_path):
    robot, campaign = _moved(size, 1)
    found = calibrate(robot, campaign, folds=0)
    move = found.tool_moved
    assert move is not None
    assert move.campaign == "relative_position"
    assert abs(move.row - 26) <= 1
    assert move.moved == pytest.approx(size, rel=0.3)
    assert move.text in found.verdict
    found.save(tmp_path / "found.json")
    assert zveno.load_result(tmp_path / "found.json").tool_moved.text == move.text


@pytest.mark.parametrize("seed", few(range(8)))
def test_nothing_moved_in_clean_campaigns(seed):
    robot, campaign = _moved(0.0, 100 + seed, name=("puma560", "ur5")[seed % 2])
    assert calibrate(robot, campaign, folds=0).tool_moved is None


def test_rows_in_another_order_show_no_move():
    """The claim rests on the order of rows: shuffled, the same rows are only noisier."""
    robot, campaign = _moved(3e-4, 2)
    assert calibrate(robot, campaign, folds=0).tool_moved
    shuffled = campaign.only(np.random.default_rng(0).permutation(N))
    assert not calibrate(robot, shuffled, folds=0).tool_moved


def test_named_groups_do_not_hide_what_moved():
    """Groups of six rows by name, which share no error: as clear as without names."""
    robot, campaign = _moved(3e-4, 2)
    groups = tuple(f"day {k // 6}" for k in range(N))
    move = calibrate(robot, replace(campaign, groups=groups), folds=0).tool_moved
    assert move is not None
    assert abs(move.row - 26) <= 1


@pytest.mark.laws
@pytest.mark.parametrize("seed", [50, 51, 52])
def test_a_tool_that_moved_is_found_among_sockets(seed):
    outcome = judged("tool by 1 mm, sockets", 1, seed=seed)
    assert (outcome.named, outcome.dated) == (1, 1)


def test_what_moved_between_two_campaigns():
    robot, campaign = _moved(8e-4, 4, at=30)
    two = [replace(campaign.only(range(30)), name="morning"), replace(campaign.only(range(30, N)), name="evening")]
    move = calibrate(robot, two, folds=0).tool_moved
    assert move is not None
    assert (move.campaign, move.row) == ("evening", 31)  # as numbered in the campaign they were taken from


def test_a_change_is_believed_only_if_postures_not_seen_gain(monkeypatch):
    robot, campaign = _moved(3e-4, 2)
    alone = tool_moved._distances
    monkeypatch.setattr(tool_moved, "_distances", lambda *fit: alone(*fit[:4], fit[4][:, :0]))
    assert calibrate(robot, campaign, folds=0).tool_moved is None


def test_chances_are_those_of_noise(monkeypatch):
    """300 times nothing but noise in the rows of a fit: a chance of 5 % at most comes up in not many more."""
    robot, campaign = _moved(0.0, 7)
    seen = {}
    stage = STAGES.index(tool_moved.find_moved_tool)
    kept = lambda state: seen.update(state=state) or state  # noqa: E731
    monkeypatch.setattr("zveno.calibration.calibrate.STAGES", (*STAGES[:stage], kept, *STAGES[stage:]))
    calibrate(robot, campaign, folds=0)
    problem, options, whole = seen["state"].problem, seen["state"].options, seen["state"].fit
    rng, chances = np.random.default_rng(0), []
    sigma = row_sigma(problem, options, whole.sigma)
    whole = replace(whole, weight=np.ones_like(whole.weight))
    for _ in range(300):
        noise = replace(whole, residual=sigma * rng.normal(size=len(sigma)))
        chances.append(tool_moved._clearest(problem, options, noise).chance)
    assert 0.005 < np.mean(np.array(chances) < 0.05) < 0.08


@pytest.mark.laws
def test_rates_of_detection_and_of_false_alarms():
    """A tool that moved by three standard deviations of a mean of six rows, ten such groups; and nothing."""
    found, false, runs = 0, 0, 60
    for seed in range(runs):
        shift = 3.0 * np.sqrt(3.0) * NOISE / np.sqrt(6.0)
        robot, campaign = _moved(shift, seed, at=30, name=("puma560", "ur5")[seed % 2])
        found += bool(calibrate(robot, campaign, folds=0, model=CalibrationModel(joint_terms=())).tool_moved)
        robot, campaign = _moved(0.0, 1000 + seed, name=("puma560", "ur5")[seed % 2])
        false += bool(calibrate(robot, campaign, folds=0, model=CalibrationModel(joint_terms=())).tool_moved)
    assert found >= 0.9 * runs
    assert false <= 1


@pytest.mark.parametrize(
    ("size", "seed"), few([(size, seed) for seed in range(6) for size in (0.03, 0.01, 0.1)], 2)
)
def test_a_large_displacement_is_found_beside_a_stated_noise(size, seed):
    """Of 12 displacements by 30 mm 9 were not: with and without them all rows were beyond the limit."""
    robot, campaign = _moved(size, seed, at=30)
    stated = replace(campaign, measurement=RelativePosition(sigma=NOISE))
    found = calibrate(robot, stated)
    assert found.tool_moved is not None
    assert abs(found.tool_moved.row - 31) <= 1
    assert found.tool_moved.moved == pytest.approx(size, rel=0.2)

"""What moved during a campaign: found when and what it was, sized, fitted; and nothing where nothing moved."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.calibration_events import SCENARIOS, judged
from benchmarks.calibration_events import simulated as benchmark_campaign
from calibration_arms import arm, simulated, truth

import zveno
from zveno.calibration import rounds
from zveno.calibration.estimate import calibrate
from zveno.calibration.fit import change_points
from zveno.calibration.fit.change_points import _scanned
from zveno.calibration.fit.weighting import row_sigma
from zveno.calibration.identifiability.analysis import identifiability
from zveno.calibration.measurements import FixedPoint, RelativePosition
from zveno.calibration.measurements.campaigns import Campaign
from zveno.calibration.model.kinematics import frame_motion
from zveno.calibration.model.models import redundant_model
from zveno.errors import ZvenoError

NOISE = 1e-4
N, UNSEEN = 60, 40


def _moved(what: str, size: float, seed: int, at: int = 25, name: str = "puma560", n: int = N):
    """A campaign in which something moved before posture `at`, and one of noise-free postures before that."""
    robot, rng = arm(name), np.random.default_rng(seed)
    model = redundant_model(robot.mechanism)
    values = truth(robot, identifiability(robot, "relative_position").chosen, rng)
    q = robot.random(n + UNSEEN, rng)
    after = (np.arange(n + UNSEEN) >= at) & (np.arange(n + UNSEEN) < n)
    T = frame_motion(model, model.frames[0], q, values)[0]
    step = rng.normal(size=3)
    step *= size / np.linalg.norm(step)
    y, read = T[:, :3, 3].copy(), q.copy()
    if what == "tool":
        y[after] += T[after, :3, :3] @ step
    elif what == "reference":
        y[after] += step
    elif what == "joint":
        read[after, 2] += size
    y[:n] += NOISE * rng.normal(size=(n, 3))
    kind = RelativePosition()
    return robot, Campaign(kind, read[:n], y[:n]), Campaign(kind, read[n:], y[n:])


def test_scan_is_the_score_test_of_columns_that_begin_somewhere():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(12), 3)
    A, C, r = rng.normal(size=(36, 5)), rng.normal(size=(36, 2)), rng.normal(size=36)
    Q = np.linalg.qr(A)[0]
    r = r - Q @ (Q.T @ r)
    tests, _, steps = _scanned(C, Q, r, place, 12)
    for time in (1, 4, 9):
        late = np.where(place[:, None] >= time, C, 0.0)
        both = np.column_stack([A, late])
        x = np.linalg.lstsq(both, -r, rcond=None)[0]
        assert tests[time, 0] == pytest.approx(r @ r - np.sum((r + both @ x) ** 2), rel=1e-9)
        assert steps[time] == pytest.approx(x[-2:], rel=1e-9)


@pytest.mark.parametrize(("what", "size"), [("tool", 5e-4), ("reference", 5e-4), ("joint", 1e-3)])
def test_what_moved_is_found_and_fitted(what, size):
    robot, campaign, unseen = _moved(what, size, 1)
    named = calibrate(robot, campaign, folds=0)
    (event,) = named.events
    assert (event.what, event.campaign) == (what, "relative_position")
    assert abs(event.row - 26) <= 1
    assert (event.moved if what != "joint" else event.turned) == pytest.approx(size, rel=0.25)
    assert event.name == ("joint3" if what == "joint" else "")
    assert sum(event.chances.values()) > 0.9
    assert event.text in named.verdict
    assert 'events="fit"' in named.verdict
    fitted = calibrate(robot, campaign, events="fit", folds=0)
    assert [one.fitted for one in fitted.events] == [True]
    assert fitted.score(unseen)[0].rms < 0.5 * named.score(unseen)[0].rms
    assert not fitted.joint_terms
    assert not calibrate(robot, campaign, events="ignored", folds=0).events
    if what != "joint":
        assert any("from row" in label for label in fitted.unknowns)


def test_nothing_moved_in_clean_campaigns():
    for seed in range(8):
        robot, campaign, _ = _moved("nothing", 0.0, 100 + seed, name=("puma560", "ur5")[seed % 2])
        assert not calibrate(robot, campaign, folds=0).events


def test_rows_in_another_order_show_no_event():
    """The claim rests on the order of rows: shuffled, the same rows are only noisier."""
    robot, campaign, _ = _moved("tool", 3e-4, 2)
    assert calibrate(robot, campaign, folds=0).events
    shuffled = campaign.only(np.random.default_rng(0).permutation(N))
    assert not calibrate(robot, shuffled, folds=0).events


def test_explanations_that_cannot_be_told_apart_are_named_together():
    """A point on the tool and the zero of the last joint: a turn of it displaces the point just as well."""
    robot, campaign, _ = _moved("nothing", 0.0, 3)
    last = robot.joint_names[-1]
    q = campaign.q.copy()
    q[30:, -1] += 6e-3
    (event,) = calibrate(robot, Campaign(campaign.measurement, q, campaign.y), folds=0).events
    assert any(last in words for words in event.chances)


def test_a_socket_that_moved():
    """Six sockets, the third one displaced by 2 mm after ten of its rows."""
    robot, rng, kind = arm("puma560"), np.random.default_rng(0), FixedPoint()
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 120, rng, {"position": 5e-5})
    order = np.argsort(np.array(campaign.groups), kind="stable")
    q, groups = campaign.q[order], tuple(campaign.groups[k] for k in order)
    first = groups.index("place3") + 10
    moved = slice(first, first - 10 + groups.count("place3"))
    q[moved] += np.linalg.pinv(robot.jacobian(q[moved])[:, :3]) @ np.array([2e-3, 0.0, 0.0])
    campaign = Campaign(kind, q, groups=groups)
    found, fitted = (calibrate(robot, campaign, events=word, folds=0) for word in ("named", "fit"))
    # Sockets that follow are only touched afterwards: the measuring frame may have moved just as well.
    words = list(found.events[0].chances)
    assert len(words) == 2
    assert any("socket:place3" in word for word in words)
    assert any("measuring system" in word for word in words)
    assert abs(found.events[0].row - (first + 1)) <= 1
    assert 5e-4 < found.events[0].moved < 4e-3  # of a frame that may have turned as well
    assert found.outliers
    assert not fitted.outliers


def test_named_groups_do_not_hide_what_moved():
    """Groups of six rows by name, which share no error: as clear as without names."""
    robot, campaign, _ = _moved("tool", 3e-4, 2)
    groups = tuple(f"day {k // 6}" for k in range(N))
    (event,) = calibrate(robot, replace(campaign, groups=groups), folds=0).events
    assert event.what == "tool"
    assert abs(event.row - 26) <= 1


@pytest.mark.parametrize(
    "name", ["tool by 1 mm, sockets", "a socket by 1 mm, touched in turns", "tool and measuring system by 1 mm"]
)
def test_what_moved_is_named_among_sockets_and_beside_others(name):
    outcome = judged(name, 2, seed=50)
    assert (outcome.among, outcome.dated, outcome.odd) == (2, 2, [])


def test_a_tool_that_moved_as_the_last_joint_would_is_not_excluded():
    """A step along the circle about the last axis is the zero of the last joint, or the tool, as well."""
    robot, campaign, _ = _moved("nothing", 0.0, 3)
    q = campaign.q.copy()
    q[30:, -1] += 6e-3
    (event,) = calibrate(robot, Campaign(campaign.measurement, q, campaign.y), folds=0).events
    assert any("the tool" in words for words in event.chances)
    assert any(robot.joint_names[-1] in words for words in event.chances)


def test_terms_that_stand_for_what_moved_are_doubted():
    """A zero that slipped looks like oval gears, too: with the slip fitted the data do not ask for them."""
    robot, campaign, *_ = benchmark_campaign(SCENARIOS["zero of joint 3 by 1 mrad, poses"], 4)
    named, fitted = (calibrate(robot, campaign, events=word, folds=0) for word in ("named", "fit"))
    assert named.joint_terms == ("ovality",)
    assert any("do not ask for oval encoders or gears" in note for note in named.notes)
    assert not fitted.joint_terms
    assert [event.name for event in fitted.events] == ["joint3"]


def test_what_moved_between_two_campaigns():
    robot, campaign, _ = _moved("tool", 8e-4, 4, at=30)
    two = [replace(campaign.only(range(30)), name="morning"), replace(campaign.only(range(30, N)), name="evening")]
    named, fitted = (calibrate(robot, two, events=word, folds=0) for word in ("named", "fit"))
    (event,) = named.events
    assert any("the tool" in words for words in event.chances)
    assert (event.campaign, event.row) == ("evening", 31)  # as numbered in the campaign they were taken from
    assert max(fitted.sigma.values()) < 1.3 * NOISE


def test_a_zero_that_slipped_far_is_one_event():
    """A linear step leaves some of 50 mrad, which is fitted as well and not named again."""
    robot, campaign, _ = _moved("joint", 5e-2, 7, at=30)
    fitted = calibrate(robot, campaign, events="fit", folds=0)
    assert [(event.what, event.name) for event in fitted.events] == [("joint", "joint3")]
    assert next(iter(fitted.sigma.values())) == pytest.approx(NOISE, rel=0.2)


def test_chances_are_those_of_noise(monkeypatch):
    """300 times nothing but noise in the rows of a fit: a chance of 5 % at most comes up in not many more."""
    robot, campaign, _ = _moved("nothing", 0.0, 7)
    seen = {}
    monkeypatch.setattr(rounds, "changes", lambda *fit: seen.update(fit=fit) or [])
    calibrate(robot, campaign, folds=0)
    problem, options, whole = seen["fit"]
    rng, chances = np.random.default_rng(0), []
    judge = change_points._judged
    monkeypatch.setattr(change_points, "_judged", lambda *given: chances.append(judge(*given)))
    sigma = row_sigma(problem, options, whole.sigma)
    for _ in range(300):
        noise = replace(whole, residual=sigma * rng.normal(size=len(sigma)))
        change_points._clearest(problem, options, noise, np.ones(len(whole.weight)), ())
    rate = np.mean([judged is not None and judged[0] < 0.05 for judged in chances])
    assert 0.005 < rate < 0.08


def test_events_are_one_of_three_words():
    robot, campaign, _ = _moved("nothing", 0.0, 0)
    with pytest.raises(ZvenoError, match="named"):
        calibrate(robot, campaign, events="always")


@pytest.mark.slow
def test_rates_of_detection_and_of_false_alarms():
    """A tool that moved by three standard deviations of a mean of six rows, ten such groups; and nothing."""
    found, false, runs = 0, 0, 60
    for seed in range(runs):
        shift = 3.0 * np.sqrt(3.0) * NOISE / np.sqrt(6.0)
        robot, campaign, _ = _moved("tool", shift, seed, at=30, name=("puma560", "ur5")[seed % 2])
        found += bool(calibrate(robot, campaign, folds=0).events)
        robot, campaign, _ = _moved("nothing", 0.0, 1000 + seed, name=("puma560", "ur5")[seed % 2])
        false += bool(calibrate(robot, campaign, folds=0).events)
    assert found >= 0.9 * runs
    assert false <= 1


def test_event_survives_a_round_trip(tmp_path):
    robot, campaign, _ = _moved("tool", 5e-4, 1)
    found = calibrate(robot, campaign, folds=0)
    found.save(tmp_path / "found.json")
    assert zveno.load_result(tmp_path / "found.json").events[0].text == found.events[0].text

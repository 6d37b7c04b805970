"""How far a robot is off before it is measured: found from the data, and the same whatever was chosen."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated
from scipy.stats import t

from zveno.calibration import CalibrationModel
from zveno.calibration._fit import estimate
from zveno.calibration._fit.prior import Prior, widened
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.models import redundant_model

GEOMETRY = CalibrationModel(joint_terms=())
SMALL, LARGE = (3e-4, 5e-4, 3e-3), (20e-3, 30e-3, 50e-3)


def _off(robot, sizes, rng) -> np.ndarray:
    """Every term of the redundant model off by chance: lengths and angles of links, joint offsets; base, tool."""
    own = {("link", "m"): sizes[0], ("link", "rad"): sizes[1], ("joint", "rad"): sizes[2]}
    terms = redundant_model(robot.mechanism).terms
    return np.array([rng.normal() * own.get((term.role, term.unit), 3e-3) for term in terms])


def _measured(robot, sizes, n, sigma, seed):
    rng = np.random.default_rng(seed)
    values, kind = _off(robot, sizes, rng), RelativePosition()
    campaign = simulated(robot, kind, values, n, rng, {"position": sigma}, {"tracker": FAR})
    return campaign, simulated(robot, kind, values, 50, rng, {}, {"tracker": FAR})


@pytest.mark.laws
@pytest.mark.parametrize("sizes", [(1e-3, 3e-3, 1e-2), (4e-3, 1e-3, 3e-2), LARGE])
def test_sizes_are_found(sizes):
    robot = arm("panda")
    found = [calibrate(robot, _measured(robot, sizes, 60, 1e-4, seed)[0], folds=0).prior_std for seed in range(4)]
    for word, size in zip(("links (m)", "links (rad)", "joint offsets (rad)"), sizes, strict=True):
        assert np.sqrt(np.mean([one[word] ** 2 for one in found])) == pytest.approx(size, rel=0.35), word


@pytest.mark.laws
@pytest.mark.parametrize(("sizes", "gain"), [(SMALL, 0.8), (LARGE, 0.3)])
def test_few_postures_tell_more_with_sizes_from_the_data(sizes, gain, monkeypatch):
    """Robots that are off by less, or by more, than usual."""
    robot = arm("panda")
    squares = np.zeros(2)
    for seed in range(4):
        campaign, unseen = _measured(robot, sizes, 15, 1e-3, seed)
        for k in range(2):
            with monkeypatch.context() as patch:
                if k == 1:
                    patch.setattr(estimate, "_has_scales", lambda state: False)  # the usual sizes stay
                squares[k] += calibrate(robot, campaign, model=GEOMETRY, folds=0).score(unseen)[0].rms ** 2
    assert np.sqrt(squares[0] / squares[1]) < gain


def test_many_postures_leave_nothing_to_the_sizes():
    robot = arm("puma560")
    campaign, _ = _measured(robot, (1e-3, 3e-3, 1e-2), 200, 5e-5, 1)
    free, usual = (calibrate(robot, campaign, prior=word, folds=0) for word in (None, "estimated"))
    assert abs((usual.values - free.values) / free.std).max() < 0.3
    np.testing.assert_allclose(usual.std, free.std, rtol=0.05)
    assert not free.prior_std


def test_predictions_do_not_depend_on_which_parameters_were_chosen(monkeypatch):
    monkeypatch.setattr(estimate, "_has_scales", lambda state: False)
    robot = arm("puma560")
    campaign, unseen = _measured(robot, (1e-3, 3e-3, 1e-2), 15, 1e-3, 5)
    options = {"loss": "none", "folds": 0}
    one, other = (
        calibrate(robot, campaign, model=CalibrationModel(joint_terms=(), strategy=word), **options)
        for word in ("JL", "TR")
    )
    assert set(one.names) != set(other.names)
    assert one.score(unseen)[0].rms == pytest.approx(other.score(unseen)[0].rms, rel=0.01)
    assert next(iter(one.sigma.values())) == pytest.approx(next(iter(other.sigma.values())), rel=0.01)


def test_a_parameter_with_a_stated_size_keeps_to_it_and_the_others_are_estimated():
    robot = arm("puma560")
    campaign, _ = _measured(robot, SMALL, 20, 1e-3, 2)
    fit = calibrate(robot, campaign, prior={"Rzq3": 1e-6}, folds=0)
    assert abs(fit.parameters["Rzq3"]) < 1e-5
    assert 1e-4 < fit.prior_std["links (m)"] < 1e-3
    assert "prior scales: links 0." in fit.verdict


@pytest.mark.parametrize("n", [1.0, 3.0, 30.0])
def test_scales_from_few_terms_are_taken_wider(n):
    """So that a term that the data say nothing of is inside its 95 % region in 95 %: Student's t with n degrees of
    freedom but for what is known of scales before; nearly nothing for many terms."""
    usual, found = np.ones(1), np.array([0.3])
    prior = Prior((0,), np.eye(1), usual, found, np.ones(1), {"links (m)": np.array([0])}, {})
    wider = widened(prior, {"links (m)": n}).wider[0]
    student = t.ppf(0.975, n) / 1.96
    assert 1.0 < wider < 1.001 * student
    assert wider == pytest.approx(student, rel=0.7 / n)

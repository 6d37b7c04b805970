"""Errors that all rows of a group share: found, sized, and counted as one error and not as many."""

import numpy as np
import pytest
from calibration_arms import arm, simulated, truth

import tiers
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.held_out import folds_of
from zveno.calibration._fit.noise import FitOptions, Whitening
from zveno.calibration._fit.shared_errors import VarianceComponent, _judged, variance_components
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset, prepared
from zveno.calibration.models import redundant_model

OWN, SHARED = 1e-4, 3e-4


def _measured(seed: int, shared: float = SHARED, n: int = 60, size: int = 5, named: bool = True, near: float = 9.0):
    """PUMA touching known targets, `size` times each in postures `near` each other; places are off."""
    robot, rng = arm("puma560"), np.random.default_rng(seed)
    values = truth(robot, identifiability(robot, "position").chosen, rng)
    target = rng.permutation(n) // size
    q = robot.random(n // size, rng)[target] + near * rng.uniform(-1.0, 1.0, (n, 6))
    campaign = simulated(robot, Position(), values, n, rng, {"position": OWN}, q=q)
    y = campaign.y + shared * rng.normal(size=(n // size, 1, 3))[target]
    names = tuple(f"target {k}" for k in target) if named else ()
    return robot, Dataset(Position(), campaign.q, y, groups=names), values


def _one_fit(seed: int = 0):
    robot, campaign, _ = _measured(seed)
    campaigns, _ = prepared(campaign, robot.mechanism)
    return fit_problem(redundant_model(robot.mechanism), campaigns)


def _component(problem, ratio: float):
    group = np.where(problem.posture >= 0, problem.posture // 7, -1)
    group[:9] = -1
    effects = np.where(group[:, None] >= 0, problem.component[:, None] == np.arange(3), 0.0)
    return VarianceComponent(0, group, effects, ratio)


@pytest.mark.parametrize("ratio", [0.3, 20.0])
def test_whitened_rows_are_independent(ratio):
    """W Σ Wᵀ = 1 for the covariance written out, with rows left out and rows that count less."""
    problem, rng = _one_fit(), np.random.default_rng(1)
    component, sigma = _component(problem, ratio), np.array([2e-4])
    options = FitOptions((), sigma, np.array([True]), components=(component,))
    weight = np.where(rng.random(problem.n_data_rows) < 0.1, 0.0, rng.uniform(0.5, 1.0, problem.n_data_rows))
    white = Whitening(problem, options, sigma, weight)
    W = white(np.eye(problem.n_rows))
    same = (component.group[:, None] == component.group) & (component.group >= 0)
    together = same & (problem.component[:, None] == problem.component)
    used = problem.by_row(weight, 1.0) > 0
    own = np.where(used, sigma[0] ** 2 / np.maximum(problem.by_row(weight, 1.0), 1e-30), 0.0)
    cov = np.diag(own) + ratio * sigma[0] ** 2 * together * np.outer(used, used)
    assert np.allclose(W @ cov @ W.T, np.eye(used.sum()), atol=1e-9)


def test_likelihood_is_that_of_the_errors_that_the_fit_leaves():
    """Evidence is the largest density of contrasts orthogonal to the Jacobian over that without shared errors; the
    ratio is the mean of the shared variance by that density, over the mean of the noise."""
    robot, campaign, _ = _measured(0)
    found = calibrate(robot, campaign, folds=0, loss="none", model=CalibrationModel(joint_terms=()), prior=None)
    campaigns, _ = prepared(campaign, robot.mechanism)
    problem = fit_problem(found.model, campaigns)
    columns = tuple(found.model.numbers[name] for name in found.names)
    from zveno.calibration._fit.solve import solve

    options = FitOptions(columns, np.array([OWN]), np.array([True]), "none")
    whole = solve(problem, options, problem.nominal, problem.frames)
    (component,) = variance_components(problem, options, whole)
    ratio, gain = _judged(problem, options, whole, component)
    U = np.linalg.qr(whole.fit.state.J, mode="complete")[0][:, len(columns) :]
    z, V = (
        U.T @ whole.fit.state.r,
        U.T @ (component.effects[:, :, None] * _indicators(component)).reshape(len(U), -1),
    )
    shared, Q = np.linalg.eigh(V @ V.T)
    z = Q.T @ z

    def log_density(k):
        return -0.5 * np.log1p(k * shared).sum() - 0.5 * len(z) * np.log(left(k))

    def left(k):
        return np.sum(z**2 / (1.0 + k * shared))

    tried = np.geomspace(1e-3, 1e4, 2000)
    density = np.array([log_density(k) for k in tried])
    assert gain == pytest.approx(density.max() - log_density(0.0), rel=2e-2)
    assert gain < density.max() - log_density(0.0)  # it was one of some that were tried
    weight = np.exp(density - density.max()) * [left(k) for k in tried]
    assert ratio == pytest.approx(weight @ tried / weight.sum(), rel=1e-3)
    assert ratio > tried[np.argmax(density)]


def _indicators(component):
    return (component.group[:, None, None] == np.arange(component.group.max() + 1)).astype(float)


@pytest.mark.laws
def test_shared_errors_are_found_with_their_size():
    found = [calibrate(*_measured(seed)[:2], folds=0) for seed in range(2 if tiers.tier == "test" else 4)]
    sizes = [one.group_sigma["position: position"] for one in found]
    assert np.sqrt(np.mean(np.square(sizes))) == pytest.approx(SHARED, rel=0.2)
    assert all(one.sigma["position: position"] == pytest.approx(OWN, rel=0.25) for one in found)
    assert "groups count, not rows" in found[0].verdict
    assert not any(one.joint_terms for one in found)


def test_rows_of_misplaced_targets_are_not_flagged_by_a_stated_noise():
    """The noise of the readings may be known and the places of targets not: with their error no row is far."""
    robot, campaign, _ = _measured(0)
    found = calibrate(robot, Dataset(Position(sigma=OWN), campaign.q, campaign.y, groups=campaign.groups), folds=0)
    assert found.group_sigma["position: position"] == pytest.approx(SHARED, rel=0.3)
    assert len(found.outliers) <= 1


def test_equal_readings_are_a_group():
    """Known targets that are touched several times need no names: the readings say it."""
    robot, campaign, _ = _measured(0, shared=0.0, named=True)
    q, rng = campaign.q, np.random.default_rng(3)
    target = np.arange(60) // 5
    # The posture that truly reaches the target is not known exactly: it is the target's place that is shared.
    at = robot.forward_kinematics(q)[:, :3, 3]
    y = at[5 * target]
    q = np.array([_reaching(robot, start, point) for start, point in zip(q[5 * target], y, strict=True)])
    off = SHARED * rng.normal(size=(12, 3))[target]
    found = calibrate(robot, Dataset(Position(), q + 1e-4 * rng.normal(size=q.shape), y + off), folds=0)
    assert found.group_sigma["position: position"] == pytest.approx(SHARED, rel=0.5)


def _reaching(robot, q, point):
    """A posture near q, turned about the target, that reaches a point."""
    rng = np.random.default_rng(int(1e6 * abs(q).sum()) % 2**31)
    q = q + 0.3 * rng.normal(size=q.shape)
    for _ in range(50):
        off = robot.forward_kinematics(q)[:3, 3] - point
        q = q - np.linalg.pinv(robot.jacobian(q)[:3]) @ off
    return q


@pytest.mark.parametrize("seed", few(range(10)))
def test_rows_without_shared_errors_are_not_said_to_have_any(seed):
    assert not calibrate(*_measured(seed, shared=0.0)[:2], folds=0).group_sigma


@pytest.mark.laws
def test_predicted_uncertainty_needs_the_groups():
    """Normalised errors of parameters: about one with the groups, clearly more where nobody names them."""
    squares = {True: [], False: []}
    for seed in range(6):
        for named in squares:
            robot, campaign, values = _measured(seed, n=120, named=named, near=0.3)
            found = calibrate(
                robot,
                campaign,
                model=CalibrationModel(joint_terms=(), strategy="JL"),
                prior=None,
                loss="none",
                folds=0,
            )
            assert bool(found.group_sigma) == named
            true = values[[found.model.numbers[name] for name in found.names]]
            error = found.values - true
            squares[named].append(error @ np.linalg.solve(found.covariance, error) / len(error))
    assert 0.75 < np.mean(squares[True]) < 1.35
    assert np.mean(squares[False]) > 1.5 * np.mean(squares[True])


def test_groups_are_held_out_together():
    robot, campaign, _ = _measured(0)
    campaigns, _ = prepared(campaign, robot.mechanism)
    problem = fit_problem(redundant_model(robot.mechanism), campaigns)
    component = _component(problem, 1.0)
    folds, _ = folds_of(problem, 4, 0, (component,))
    assert sorted(np.concatenate(folds).tolist()) == list(range(60))
    of_posture = {int(p): int(g) for p, g in zip(problem.posture, component.group, strict=True)}
    for group in range(1, 8):
        assert sum(any(of_posture[int(p)] == group for p in fold) for fold in folds) == 1
    assert len(folds_of(problem, 4, 0)[0]) == 4


@pytest.mark.laws
@pytest.mark.parametrize(
    "scenario",
    ["clean", "hysteresis", "oval gears", "5 targets of 12", "10 targets of 6", "20 targets of 3"],
)
def test_uncertainty_is_honest_where_the_model_is_not_complete(scenario):
    """χ² per component of readings not used, and how many are inside their 95 % regions, as of the page."""
    from benchmarks.calibration_honesty import judged

    total = judged(scenario, 30)
    assert 0.9 < total.chi2 / total.components < 1.3
    assert 0.90 < total.inside / total.readings < 0.98
    if scenario == "clean":
        assert total.terms + total.moved + total.groups == 0

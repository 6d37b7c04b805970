"""Many fits at once are the same fits one by one."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

from zveno.calibration._fit import held_out
from zveno.calibration._fit.held_out import split
from zveno.calibration._identifiability import identifiability
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Position, RelativePosition, Sockets
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import prepared
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import is_transform

KINDS = {
    "known base": (Position(), {}, 40),
    "unknown base": (RelativePosition(), {"tracker": FAR}, 40),
    "sockets": (Sockets(sigma_distance=1e-6), {}, 80),
}


def _campaign(name):
    kind, frames, n = KINDS[name]
    robot, rng = arm("puma560"), np.random.default_rng(5)
    values = truth(robot, [one for one in identifiability(robot, kind).chosen if "." not in one], rng)
    return robot, simulated(robot, kind, values, n, rng, {"position": 1e-4}, frames)


def _system(name):
    robot, campaign = _campaign(name)
    campaigns, _ = prepared(campaign, robot.mechanism)
    return fit_problem(redundant_model(robot.mechanism), campaigns)


@pytest.mark.parametrize("name", KINDS)
def test_residuals_and_derivatives_of_many_states_are_those_of_each(name):
    problem = _system(name)
    rng = np.random.default_rng(6)
    step = 1e-2 * rng.normal(size=(3, problem.n_columns))
    values, frames = step[:, : len(problem.model.terms)], problem.moved(problem.frames, step)
    columns = rng.permutation(problem.n_columns)[: problem.n_columns // 2].tolist()
    r, J = problem.evaluate(values, frames, columns)
    for k in range(3):
        np.testing.assert_allclose(frames[k], problem.moved(problem.frames, step[k]), atol=1e-15)
        assert all(is_transform(T, 1e-12) for T in frames[k])
        alone = problem.evaluate(values[k], frames[k], columns)
        np.testing.assert_allclose(r[k], alone[0], atol=1e-14)
        np.testing.assert_allclose(J[k], alone[1], atol=1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_derivatives_are_those_of_the_residuals(name):
    problem = _system(name)
    rng = np.random.default_rng(7)
    P = len(problem.model.terms)
    start = 1e-2 * rng.normal(size=problem.n_columns)
    values, frames = start[:P], problem.moved(problem.frames, start)
    _, J = problem.evaluate(values, frames)
    h = 1e-6
    step = h * np.concatenate([np.eye(problem.n_columns), -np.eye(problem.n_columns)])
    r, _ = problem.evaluate(values + step[:, :P], problem.moved(frames, step), ())
    forward, backward = np.split(r, 2)
    np.testing.assert_allclose(J, ((forward - backward) / (2 * h)).T, atol=1e-7)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("name", KINDS)
def test_held_out_errors_are_those_of_fits_one_by_one(name, monkeypatch):
    robot, campaign = _campaign(name)
    together = calibrate(robot, campaign)
    monkeypatch.setattr(held_out, "TURNS", 0)
    alone = calibrate(robot, campaign)
    for one, other in zip(together.held_out, alone.held_out, strict=True):
        assert one.rms == pytest.approx(other.rms, rel=1e-5)
        assert one.max == pytest.approx(other.max, rel=1e-4)
    assert together.held_out[0].rms > 1.01 * together.training[0].rms


def test_targets_that_only_held_out_rows_touch_are_fitted_to_those():
    problem = _system("sockets")
    groups = np.array(problem.campaigns[0].groups)
    test = np.concatenate([np.repeat(groups == groups[0], 3), np.zeros(len(problem.constraints), dtype=bool)])
    kept, train, alone = split(problem, range(problem.n_columns), test)
    left_out = [name for name, seen in zip(problem.names, kept, strict=True) if not seen]
    assert left_out == [name for name in problem.names if f":{groups[0]}." in name]
    assert len(left_out) == 3
    apart = [groups[0] in (a, b) for a, b in _pairs(problem)]
    assert (train == np.append(~test[: -len(apart)], ~np.array(apart))).all()
    assert (alone[: -len(apart)] == test[: -len(apart)]).all()
    assert not alone[-len(apart) :].any()


def _pairs(problem):
    """Names of the groups whose distances are known."""
    groups = {unknown.frame: unknown.label.partition(":")[2] for unknown in problem.unknowns}
    return [(groups[a], groups[b]) for a, b, *_ in problem.constraints]

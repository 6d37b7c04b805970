"""Identification from simulated recordings: what is found, how sure it is, and what it is used for."""

import dataclasses

import numpy as np
import pytest
from simulated_logs import Friction, fourier, simulated_logs

import zveno
from zveno import identification

FRICTION = Friction(viscous=1.0, coulomb=2.0, load=0.0, smoothing=0.01)


@pytest.fixture(scope="module")
def robot():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def run(robot):
    (one,) = simulated_logs(robot, FRICTION, seconds=20.0, rng=3)
    return one


@pytest.fixture(scope="module")
def found(robot, run):
    return robot.identify(run.log, friction_terms="basic", band=8.0)


@pytest.mark.laws
def test_base_parameters_are_found_within_three_standard_deviations(robot, found):
    truth = found.base.values[found.kept]
    z = (found.base_values[: len(truth)] - truth) / found.base_std[: len(truth)]
    assert np.sqrt(np.mean(z**2)) < 1.6
    assert abs(z).max() < 4.5  # 52 numbers: three of one normal deviate, more of the largest of many
    assert found.status == "usable"


KINDS = {
    "noisy": (FRICTION, ("viscous", "coulomb"), 0.05, 4),
    "clean": (dataclasses.replace(FRICTION, third=1.0, load=0.1), "default", 0.01, 4),
    "concave": (dataclasses.replace(FRICTION, third=1.0), ("viscous", "coulomb", "root"), 0.05, 16),
    "load": (dataclasses.replace(FRICTION, load=0.1), ("viscous", "coulomb", "load"), 0.05, 16),
    "all": (dataclasses.replace(FRICTION, third=1.0, load=0.1), "default", 0.05, 16),
}
"""Friction, fitted terms, noise of torques, and runs; a load that is predicted badly shows where noise is low."""
LONG = {"concave", "load", "all"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.laws) if kind in LONG else kind for kind in KINDS]
)
def test_normalised_errors_are_of_size_one(robot, kind):
    """(estimate − truth)/σ over runs with other noise, and differences between runs;
    `benchmarks.identification --runs 200` is the long form."""
    friction, terms, noise, runs = KINDS[kind]
    values, stds = [], []
    for one in simulated_logs(robot, friction, runs=runs, seconds=12.0, torque_noise=noise, rng=5):
        found = robot.identify(one.log, friction_terms=terms, folds=2)
        truth = found.base.values[found.kept]
        values.append(found.base_values[: len(truth)])
        stds.append(found.base_std[: len(truth)])
    x, s = np.array(values), np.array(stds)
    assert 0.7 < np.sqrt(np.mean(((x - truth) / s) ** 2)) < 1.3
    assert 0.5 < np.sqrt(np.mean(((x[1:] - x[:-1]) / np.hypot(s[1:], s[:-1])) ** 2)) < 1.3


def test_friction_is_found(found):
    values = dict(zip(found.names, found.base_values, strict=True))
    for j in range(1, 7):
        assert values[f"Fv{j}"] == pytest.approx(1.0, abs=0.15)
        assert values[f"Fs{j}"] == pytest.approx(2.0, abs=0.15)


def test_the_consistent_estimate_is_of_bodies_that_exist(found):
    assert found.converged
    for link in found.robot.mechanism.links[1:]:
        assert zveno.inertia.problems(link.inertia) == []


def test_blocks_of_any_size_give_the_same_answer(robot, run):
    whole = robot.identify(run.log, friction_terms="default", band=8.0)
    small = dataclasses.replace(run.log, _pieces=lambda: run.log.blocks(10))
    again = robot.identify(small, friction_terms="default", band=8.0)
    np.testing.assert_allclose(again.values, whole.values, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(again.covariance, whole.covariance, rtol=1e-8, atol=1e-12)


def test_what_the_motion_does_not_show_is_never_reported_as_identified(robot):
    """The wrist rests: nothing about it is identified, and what is identified is right."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 12.0, 2e-3)
    q, v = fourier(robot, 10.0, rng)(t)
    q[:, 3:], v[:, 3:] = 0.0, 0.0
    a = np.gradient(v, t, axis=0)
    tau = robot.inverse_dynamics(q, v, a) + v + 0.01 * rng.normal(size=q.shape)
    found = robot.identify(identification.Log.of(robot, t, q, tau), friction_terms="basic", folds=3)
    missing = set(found.not_identified)
    for j in (4, 5, 6):
        assert {f"Fv{j}", f"Fs{j}", f"Ia{j}", f"off{j}"} <= missing
        assert not found.judgement.joints[j - 1]
    assert not missing & set(found.essential)
    assert found.status == "partly usable"
    truth = found.base.values[found.kept]
    shown = np.isfinite(found.base_std[: len(truth)])
    assert 0 < shown.sum() < len(truth)
    z = (found.base_values[: len(truth)] - truth)[shown] / found.base_std[: len(truth)][shown]
    assert abs(z).max() < 5.0
    values = dict(zip(found.names, found.std, strict=True))
    assert np.isinf(values["Fv4"])


def test_a_torque_of_the_users_own_is_found(robot, run):
    """A spring on joint 2: its stiffness is a parameter beside the others."""
    whole = run.log.arrays()
    spring = np.zeros_like(whole.q)
    spring[:, 1] = 7.0 * whole.q[:, 1]
    log = identification.Log.of(robot, whole.t, whole.q, whole.tau + spring)

    def torques(q, v, a):
        return q * np.array([0, 1.0, 0, 0, 0, 0])

    found = robot.identify(log, friction_terms="basic", band=8.0, extra_columns={"spring": torques})
    k = found.names.index("spring")
    assert abs(found.base_values[k] - 7.0) < 4.0 * found.base_std[k] + 0.01
    assert any("spring" in sentence for sentence in found.left_out)


def test_a_delay_is_found_and_taken_back(robot, run):
    whole = run.log.arrays()
    late = 8e-3
    tau = np.stack([np.interp(whole.t - late, whole.t, column) for column in whole.tau.T], axis=1)
    found = robot.identify(identification.Log.of(robot, whole.t, whole.q, tau), friction_terms="basic", band=8.0)
    assert found.choices.delay == pytest.approx(late, abs=1.5e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"band": 1e4}, "band: is 10000 Hz"),
        ({"band": -1.0}, "band: is -1.0"),
        ({"friction_terms": "sticky"}, "no friction model named 'sticky'"),
        ({"friction_terms": ("viscous", "viscous")}, "names a term twice"),
        ({"prior": "luck"}, "no prior named 'luck'"),
        ({"velocity": "recorded"}, "the logs hold no velocities"),
        ({"folds": 1}, "folds: is 1"),
        ({"extra_columns": {"spring": 3}}, "torque column spring: is not a function"),
        ({"extra_columns": {"spring": lambda q, v, a: q[:, 0]}}, "torque column spring: returned shape"),
    ],
)
def test_bad_arguments_are_refused_in_words(robot, run, arguments, said):
    with pytest.raises(zveno.ZvenoError, match=said):
        robot.identify(run.log, **({"friction_terms": "basic", "band": 8.0} | arguments))


def test_logs_that_hold_too_little_are_refused_in_words(robot):
    t = np.arange(0.0, 0.5, 2e-3)
    rest, noise = np.zeros((len(t), 6)), np.random.default_rng(0).normal(size=(5000, 6))
    with pytest.raises(zveno.ZvenoError, match=r"the longest log has 0\.498 s"):
        robot.identify(identification.Log.of(robot, t, rest, noise[: len(t)]))
    with pytest.raises(zveno.ZvenoError, match="samples are 2e-09 s apart"):
        robot.identify(identification.Log.of(robot, 1e-6 * t, rest, noise[: len(t)]))
    t = np.arange(0.0, 10.0, 2e-3)
    rest = np.zeros((len(t), 6))
    with pytest.raises(zveno.ZvenoError, match="no joint moves"):
        robot.identify(identification.Log.of(robot, t, rest, noise))
    noise[:, 3] = 1.5
    with pytest.raises(zveno.ZvenoError, match=r"joint joint4: the torque is 1\.5 in all rows"):
        robot.identify(identification.Log.of(robot, t, rest, noise))
    with pytest.raises(zveno.ZvenoError, match="logs: is empty"):
        robot.identify([])

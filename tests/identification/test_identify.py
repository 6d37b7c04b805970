"""Identification from simulated recordings: what is found, how sure it is, and what it is used for."""

import dataclasses

import numpy as np
import pytest
from simulated_logs import Friction, simulated_logs

import zveno

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
    return zveno.identify(robot, run.log, friction="basic", band=8.0)


def test_base_parameters_are_found_within_three_standard_deviations(robot, found):
    truth = found.base.values[found.kept]
    z = (found.base_values[: len(truth)] - truth) / found.base_std[: len(truth)]
    assert np.sqrt(np.mean(z**2)) < 1.6
    assert abs(z).max() < 4.5  # 52 numbers: three of one normal deviate, more of the largest of many
    assert found.status == "usable"


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
    whole = zveno.identify(robot, run.log, friction="default", band=8.0)
    small = dataclasses.replace(run.log, _pieces=lambda: run.log.blocks(10))
    again = zveno.identify(robot, small, friction="default", band=8.0)
    np.testing.assert_allclose(again.values, whole.values, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(again.covariance, whole.covariance, rtol=1e-8, atol=1e-12)

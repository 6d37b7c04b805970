"""The consistent estimate: the truth where the truth is of bodies, and what is only the prior's is said."""

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno import identification
from zveno.base_parameters.analyse import base_parameters
from zveno.identification._consistency import consistent_estimate, prior_of, unknowns_of
from zveno.spatial.inertia import problems

STRONG = 1e8
"""Information by which the data outweigh the prior: standard deviations of about 1e-4 of the parameters."""


def system(seed, n=4):
    """A random arm with rotors, its base parameters, and a random information matrix."""
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(seed, n, ("revolute", "prismatic"), mimic=0.0)
    base = base_parameters(mechanism, drives=("rotor",), loops=(), exact=False)
    kept = np.arange(base.rank)
    root = rng.normal(size=(2 * base.rank, base.rank)) / np.maximum(abs(base.values), 0.01)
    return mechanism, base, kept, root.T @ root


@pytest.mark.laws(after=6)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["geometry", "none"])
def test_the_truth_is_returned_where_it_is_consistent(seed, kind):
    """Bodies that exist explain their own base parameters, which the estimate finds whatever the prior."""
    mechanism, base, kept, information = system(seed)
    unknowns = unknowns_of(base, kept)
    prior = prior_of(mechanism, kind, unknowns.links)
    rotors = np.full(len(unknowns.positive), 0.3)
    truth = base.project(_true_parameters(mechanism, base, rotors))
    found = consistent_estimate(unknowns, base.n_parameters, truth, STRONG * information, prior, rotors)
    assert found.converged
    deviations = np.linalg.solve(np.linalg.cholesky(np.linalg.inv(STRONG * information)), found.x - truth)
    assert abs(deviations).max() < 0.1
    for i in unknowns.links:
        assert problems(found.p[10 * i - 10 : 10 * i]) == []


def _true_parameters(mechanism, base, rotors):
    p = np.zeros(base.n_parameters)
    n = len(mechanism.joints)
    p[: 10 * n] = np.concatenate([link.inertia for link in mechanism.links[1:]])
    shown = np.abs(base.matrix).sum(axis=0)[10 * n : 10 * n + mechanism.n_v] > 0
    p[10 * n : 10 * n + mechanism.n_v][shown] = rotors
    return p


@pytest.mark.parametrize("seed", range(4))
def test_a_prior_that_is_true_is_kept(seed):
    """With the model's bodies as prior and its own base parameters as data, nothing moves."""
    mechanism, base, kept, information = system(seed)
    unknowns = unknowns_of(base, kept)
    prior = prior_of(mechanism, "cad", unknowns.links)
    assert prior.repaired == {}
    rotors = np.full(len(unknowns.positive), 0.3)
    p = _true_parameters(mechanism, base, rotors)
    found = consistent_estimate(unknowns, base.n_parameters, base.project(p), information, prior, rotors)
    np.testing.assert_allclose(found.p[unknowns.places], p[unknowns.places], rtol=1e-6, atol=1e-8)
    assert found.cost < 1e-9


def test_data_that_no_body_explains_give_a_body_all_the_same():
    mechanism, base, kept, information = system(3)
    unknowns = unknowns_of(base, kept)
    prior = prior_of(mechanism, "geometry", unknowns.links)
    rotors = np.full(len(unknowns.positive), 0.3)
    found = consistent_estimate(unknowns, base.n_parameters, -base.values, 1e4 * information, prior, rotors)
    assert found.cost > 1.0
    for i in unknowns.links:
        assert problems(found.p[10 * i - 10 : 10 * i]) == []


@pytest.fixture(scope="module")
def moving():
    """An arm whose second joint lifts, its motion, and its exact torques."""
    bodies = {
        "link1": zveno.inertia.parameters(4.0, [0.1, 0.0, 0.0], np.diag([0.02, 0.05, 0.05])),
        "link2": zveno.inertia.parameters(2.0, [0.2, 0.0, 0.02], np.diag([0.01, 0.04, 0.04])),
    }
    robot = zveno.load("Rz(q1) Tx(0.3) Ry(q2) Tx(0.4)").with_inertia(bodies)
    t = np.arange(0.0, 12.0, 2e-3)
    w = np.array([[2.0, 3.0], [5.0, 4.0]])
    q = sum(np.sin(np.outer(t, row) + [0.0, 1.0]) for row in w) * 0.5
    v = sum(row * np.cos(np.outer(t, row) + [0.0, 1.0]) for row in w) * 0.5
    a = sum(-(row**2) * np.sin(np.outer(t, row) + [0.0, 1.0]) for row in w) * 0.5
    return robot, t, q, v, robot.inverse_dynamics(q, v, a)


def test_link_parameters_that_are_only_prior_are_named(moving):
    """Torques show where link 2 has its weight, and nothing of link 1's mass or place along its axis."""
    robot, t, q, v, tau = moving
    heavy = robot.with_inertia({"link2": 2.0 * robot.mechanism.links[2].inertia})
    found = heavy.identify(identification.Log.of(robot, t, q, tau + v), friction_terms="basic")
    assert {"m1", "h1z", "I1xx", "I1xy"} <= set(found.only_prior)
    assert not {"h2x", "h2z"} & set(found.only_prior)
    values = dict(zip(found.base.parameter_names, found.parameters, strict=True))
    assert values["h2x"] == pytest.approx(0.4, rel=0.01)  # not the model's 0.8
    assert ((found.prior_share >= 0.0) & (found.prior_share <= 1.0)).all()


def test_without_data_everything_is_the_priors(moving):
    """The claim falls with the data: torques of noise leave the weight of link 2 to the prior too."""
    robot, t, q, _, tau = moving
    noise = 3000.0 * np.random.default_rng(0).normal(size=q.shape)
    found = robot.identify(identification.Log.of(robot, t, q, tau + noise), friction_terms="basic")
    assert {"h2x", "h2z"} <= set(found.only_prior)

"""Base parameters of trees of every joint type: laws, and sampled regressors as the independent oracle."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from base_oracle import rank_of, residual, sampled

import zveno
from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.algorithms.regressor import regressor
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.mechanism import Fixed, Joint, Link, Mechanism, Revolute, assemble

SEEDS = range(200)


def analysed(mechanism: Mechanism, **options):
    """Mimic joints of random mechanisms are often nearly degenerate; the warnings have tests of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return base_parameters(mechanism, **options)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("start", few(range(0, 200, 20), 3))
def test_rank_and_row_space_equal_those_of_a_sampled_regressor(start):
    for seed in SEEDS[start : start + 20]:
        mechanism = random_mechanism(seed, n=1 + seed % 9, mimic=0.0 if seed % 4 else 0.2)
        base = analysed(mechanism)
        W = sampled(mechanism)
        assert base.rank == rank_of(W), seed
        assert residual(W, base) < 1e-10, seed
        np.testing.assert_array_equal(base.matrix[:, base.columns], np.eye(base.rank))


@pytest.mark.parametrize("seed", few(range(10), 3))
def test_torques_depend_on_the_base_parameters_alone(seed):
    mechanism = random_mechanism(seed, n=7, mimic=0.0)
    base = analysed(mechanism)
    rng = np.random.default_rng(seed)
    p = mechanism.inertial_parameters
    blind = p + base.null_directions @ rng.normal(size=base.null_directions.shape[1])
    lifted = base.lift(base.project(p))
    prior = base.lift(base.project(p), rng.normal(size=len(p)))
    for k in range(3):
        state = random_state(mechanism, k)
        W = regressor(mechanism, *state)
        np.testing.assert_allclose(W @ p, inverse_dynamics(mechanism, *state), atol=1e-10)
        for other in (blind, lifted, prior):
            np.testing.assert_allclose(W @ other, W @ p, rtol=0, atol=1e-10 * abs(W * other).max())
    np.testing.assert_allclose(base.project(prior), base.project(p), atol=1e-10)


def test_projection_is_the_matrix_in_any_batch():
    base = analysed(random_mechanism(3, n=9))
    p = np.random.default_rng(0).normal(size=(2, 3, base.n_parameters))
    np.testing.assert_allclose(base.project(p), p @ base.matrix.T, atol=1e-11)
    np.testing.assert_allclose(base.operator @ p[0, 0], base.project(p[0, 0]))
    for k, terms in enumerate(base.terms):
        row = np.zeros(base.n_parameters)
        row[list(terms)] = [float(x) for x in terms.values()]
        np.testing.assert_allclose(row, base.matrix[k], atol=1e-9)


def test_every_parameter_has_one_part():
    base = base_parameters(zveno.load("puma560"))
    assert set(base.alone) | set(base.combined) | set(base.without_effect) == set(base.parameter_names)
    assert not set(base.alone) & set(base.combined)
    assert set(base.without_effect) == {"I1xx", "I1zz", "I1xy", "I1xz", "I1yz", "h1x", "h1y", "h1z", "m1"}


@pytest.mark.parametrize(
    ("name", "along", "tilted", "none"),
    [
        ("puma560", 36, 38, 34),
        ("ur5", 36, 38, 34),
        ("ur10", 36, 38, 34),
        ("stanford", 33, 35, 31),
        ("iiwa14", 43, 45, 39),
        ("panda", 43, 45, 39),
        ("tx40", 36, 38, 34),
    ],
)
def test_known_arms(name, along, tilted, none):
    robot = zveno.load(name)
    found = [base_parameters(robot, gravity=g).rank for g in (None, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))]
    assert found == [along, tilted, none]


def test_scara_planar_arm_and_gantry():
    assert base_parameters(zveno.load("scara")).rank == 8
    planar = zveno.load("planar2")
    assert base_parameters(planar).rank == 4
    assert base_parameters(planar, gravity=(0.0, -9.81, 0.0)).rank == 6
    assert base_parameters(zveno.load("Tx(q1) Ty(q2) Tz(q3)")).rank == 3


@pytest.mark.parametrize("n", [6, 7, 10, 20, 30])
def test_generic_chains_have_seven_a_joint(n):
    rng = np.random.default_rng(n)
    chain = random_mechanism(n, n=n, kinds=("revolute",), branching=0.0, mimic=0.0)
    joints = [
        Joint(j.name, j.parent, j.child, Revolute(rng.normal(size=3)), j.T_parent_joint) for j in chain.joints
    ]
    axis = joints[0].T_parent_joint[:3, :3] @ joints[0].type.parameters()["axis"]
    generic = assemble("generic", chain.links, joints, gravity=rng.normal(size=3))
    assert base_parameters(generic).rank == 7 * n - 4
    assert base_parameters(generic, gravity=-9.81 * axis).rank == 7 * n - 6


@pytest.mark.parametrize("name", ["puma560", "quadruped", "biped"])
def test_floating_base_adds_ten(name):
    robot = zveno.load(name)
    joints = len(robot.with_base("fixed").mechanism.joints)
    free = base_parameters(robot.with_base("free"))
    trunk = base_parameters(robot.with_base("trunk"))
    assert free.rank == trunk.rank
    if name == "puma560":
        assert free.rank == 10 + 7 * joints
    assert trunk.massless == tuple(f"trunk{k}" for k in range(1, 6))


@pytest.mark.parametrize("seed", few(range(40), 4))
def test_massless_links_pass_their_rows_on(seed):
    mechanism = random_mechanism(seed, n=3 + seed % 7, mimic=0.0, branching=0.5)
    rng = np.random.default_rng(seed)
    inner = [i for i in range(1, mechanism.n_links) if mechanism.tree.children(i) and rng.random() < 0.6]
    massless = [mechanism.link_names[i] for i in inner]
    base = analysed(mechanism, massless=massless)
    W = sampled(mechanism)
    assert base.rank == rank_of(W[:, list(base.counted)])
    assert residual(W, base) < 1e-10
    assert len(base.counted) == 10 * (mechanism.n_links - 1 - len(massless))


def test_stated_zero_inertia_is_massless_and_missing_inertia_is_not():
    joints = [Joint("a", "ground", "one", Revolute()), Joint("b", "one", "two", Revolute((1, 0, 0)))]
    body = random_mechanism(0).links[1].inertia
    for given, count in ((True, 10), (False, 20)):
        links = [Link("ground"), Link("one", np.zeros(10), given), Link("two", body)]
        assert len(base_parameters(assemble("two", links, joints)).counted) == count


def test_nothing_that_moves_is_an_empty_result():
    still = assemble("still", [Link("a", np.ones(10)), Link("b", np.ones(10))], [Joint("j", "a", "b", Fixed())])
    base = base_parameters(still)
    assert (base.rank, base.n_parameters, base.matrix.shape) == (0, 10, (0, 10))
    assert base.project(np.ones(10)).shape == (0,)
    assert "0 base parameters" in base.summary
    single = base_parameters(assemble("single", [Link("a")], []))
    assert (single.rank, single.matrix.shape) == (0, (0, 0))
    puma = zveno.load("puma560")
    empty = base_parameters(puma, massless=puma.link_names[1:])
    assert (empty.rank, empty.lift(np.zeros(0)).shape) == (0, (60,))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gravity": (0, 0)}, "gravity"),
        ({"gravity": (0, 0, np.nan)}, "gravity"),
        ({"gravity": "down"}, "gravity"),
        ({"view": "ordinary"}, "inertia"),
        ({"drives": ("rotors",)}, "rotor"),
        ({"massless": ["elbow"]}, "elbow"),
        ({"loops": ["a"]}, "loop"),
    ],
)
def test_bad_options_are_named(options, says):
    with pytest.raises(ZvenoError, match=says):
        base_parameters(zveno.load("puma560"), **options)


def test_bad_arrays_and_robots_are_named():
    base = base_parameters(zveno.load("planar2"))
    for call in (
        lambda: base.project(np.zeros(3)),
        lambda: base.lift(np.zeros(3)),
        lambda: base_parameters("puma560"),
    ):
        with pytest.raises(ZvenoError):
            call()
    with pytest.raises(ZvenoError, match="viewed"):
        _ = base.viewed("pseudo").regressor_columns


def test_geometry_that_is_not_finite_is_refused():
    T = np.eye(4)
    T[0, 3] = np.nan
    broken = Mechanism("broken", (Link("a"), Link("b", np.ones(10))), (Joint("j", "a", "b", Revolute(), T),))
    with pytest.raises(ZvenoError, match="joint j"):
        base_parameters(broken)

"""Friction takes energy at every velocity and load, elastic friction too, and terms are chosen where rows ask."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import zveno
from zveno.identification._consistency import consistent_estimate, prior_of, unknowns_of
from zveno.identification._dissipation import friction_parts
from zveno.identification._friction import ASYMMETRIC, CHOICES, DEFAULT, TERMS, History, yielded
from zveno.identification._selection import _dissipating
from zveno.identification.model import FrictionColumn, torque_model

ARM = "Rz(q1) Tx(0.3) Ry(q2) Tx(0.4)"
BODIES = {
    "link1": zveno.inertia.parameters(4.0, [0.1, 0.0, 0.0], np.diag([0.02, 0.05, 0.05])),
    "link2": zveno.inertia.parameters(2.0, [0.2, 0.0, 0.02], np.diag([0.01, 0.04, 0.04])),
}
TIGHT = 1e-7
"""Gradients in units of one standard deviation, from Newton's bound on the decrement."""


@pytest.fixture(scope="module")
def robot():
    return zveno.load(ARM).with_inertia(BODIES)


def torque_of(columns, factors, element, v, scale, load):
    """Friction of an element at velocities v."""
    return sum(
        factor * TERMS[c.term].curve(v, scale, load)
        for c, factor in zip(columns, factors, strict=True)
        if c.element == element
    )


@pytest.mark.parametrize("seed", range(20))
def test_friction_dissipates_whatever_the_data(robot, seed):
    """Random estimates with random information: the law takes energy at all velocities and loads, and is the
    nearest that does: slopes vanish along parts that act and push against the bound elsewhere."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.1, 3.0, 2)
    more = [term for term in CHOICES if rng.random() < 0.3]
    model = torque_model(robot.mechanism, (*DEFAULT, *more), (), scales)
    columns, m = model.friction, model.n_inertial
    x = np.concatenate([model.base.values[model.kept], rng.normal(size=len(columns))])
    root = rng.normal(size=(2 * len(x), len(x)))
    information = 10.0 ** rng.uniform(-1, 3) * root.T @ root
    unknowns = unknowns_of(model.base, model.kept)
    prior = prior_of(robot.mechanism, "cad", unknowns.links)
    found = consistent_estimate(
        unknowns, model.base.n_parameters, x, information, prior, np.ones(len(unknowns.positive)), columns
    )
    assert found.converged
    v = 10.0 ** rng.uniform(-6, 2, 400) * rng.choice([-1.0, 1.0], 400)
    for element in (0, 1):
        for load in (0.0, 1.0, 1e3):
            power = v * torque_of(columns, found.x[m:], element, v, scales[element], load)
            assert power.min() >= -1e-12 * abs(power).max()
    parts = friction_parts(columns)
    values = parts.inverse @ found.x[m:]
    slope = parts.matrix.T @ (information @ (found.x - x))[m:]
    slope = slope / np.sqrt((parts.matrix.T @ information[m:, m:] @ parts.matrix).diagonal())
    assert (x[m:] < 0).any()
    assert (values >= 0.0).all()
    assert abs(slope[values > 0]).max(initial=0.0) < TIGHT * np.sqrt(information.trace())
    assert (slope > -TIGHT * np.sqrt(information.trace())).all()


def test_factors_that_dissipate_stay_as_they_are(robot):
    """The bound costs nothing where the truth keeps it."""
    rng = np.random.default_rng(0)
    model = torque_model(robot.mechanism, (*DEFAULT, ASYMMETRIC), (), np.ones(2))
    m = model.n_inertial
    factors = np.array([0.1 if c.term == ASYMMETRIC else 1.0 for c in model.friction])
    x = np.concatenate([model.base.values[model.kept], factors])
    root = rng.normal(size=(2 * len(x), len(x)))
    unknowns = unknowns_of(model.base, model.kept)
    prior = prior_of(robot.mechanism, "cad", unknowns.links)
    rotors = np.ones(len(unknowns.positive))
    size = model.base.n_parameters
    bound = consistent_estimate(unknowns, size, x, 1e4 * root.T @ root, prior, rotors, model.friction)
    free = consistent_estimate(unknowns, size, x, 1e4 * root.T @ root, prior, rotors)
    np.testing.assert_array_equal(bound.x[m:] > 0, np.ones(len(factors), dtype=bool))
    np.testing.assert_allclose(bound.x, free.x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_one_element_held_to_dissipate_is_bounded_least_squares(seed):
    """SciPy's bounded least squares on the rows is the oracle of the step on normal equations."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(60, 9)), rng.normal(size=60)
    columns = [FrictionColumn(0, term) for term in ("viscous", "coulomb", "root", "load")]
    own = np.array([5, 6, 7, 8])
    inverse = np.linalg.inv(A.T @ A)
    y = _dissipating(inverse @ A.T @ b, inverse[:, own], own, friction_parts(columns))
    low = np.full(9, -np.inf)
    low[own] = 0.0
    expected = lsq_linear(A, b, (low, np.inf), method="bvls", tol=1e-12).x
    np.testing.assert_allclose(y, expected, atol=1e-9)


def test_elastic_friction_follows_the_way_and_takes_energy():
    rng = np.random.default_rng(2)
    steps = rng.normal(size=500) * rng.choice([0.01, 1.0, 30.0], 500)
    z, states = 0.3, []
    for step in steps:
        s = np.sign(step)
        z = s + (z - s) * np.exp(-abs(step))
        states.append(z)
    np.testing.assert_allclose(yielded(steps, 0.3), states, atol=1e-14)
    halves = yielded(np.repeat(steps / 2.0, 2), 0.3)[1::2]
    np.testing.assert_allclose(halves, states, atol=1e-13)  # of the way alone, not of its pieces
    t = np.linspace(0.0, 4.0 * np.pi, 40_001)
    way = np.sin(t) + 0.3 * np.sin(3.0 * t + 1.0)
    for distance in (0.01, 0.3, 10.0):
        moved = np.diff(way)
        z = yielded(moved / distance, 0.0)
        second = slice(20_000, None)  # a closed cycle, after the first
        assert float(z[second] @ moved[second]) > 0.0
        assert abs(z).max() <= 1.0 + 1e-12  # rounding


def test_elastic_friction_in_pieces_is_that_of_the_whole():
    rng = np.random.default_rng(1)
    speeds = rng.normal(size=(300, 4))
    whole = History(0.01).strains(0, speeds, 0.02)
    pieces = History(0.01)
    parts = [pieces.strains(0, speeds[a:b], 0.02) for a, b in ((0, 1), (1, 130), (130, 300))]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-14)
    assert not np.allclose(History(0.01).strains(1, speeds[130:], 0.02)[:2], whole[130:132])


def recorded(robot, elastic):
    """A motion with reversals of every joint and exact torques; friction of joint 1 is elastic over 20 mrad, or
    Coulomb's."""
    rng = np.random.default_rng(4)
    t = np.arange(0.0, 24.0, 2e-3)
    w = 2.0 * np.pi * np.array([0.3, 0.7, 1.1, 1.3])
    A = rng.normal(size=(2, 4)) * 0.25
    q = np.stack([np.sin(np.outer(t, w) + k) @ row for k, row in enumerate(A)], axis=1)
    v = np.stack([np.cos(np.outer(t, w) + k) @ (w * row) for k, row in enumerate(A)], axis=1)
    a = np.stack([-np.sin(np.outer(t, w) + k) @ (w**2 * row) for k, row in enumerate(A)], axis=1)
    tau = robot.inverse_dynamics(q, v, a) + 0.5 * v + 0.5 * np.tanh(v / 0.005)
    strain = yielded(np.gradient(q[:, 0]) / 0.02, 0.0) if elastic else np.tanh(v[:, 0] / 0.005)
    tau[:, 0] += 3.0 * strain
    return zveno.identification.Log.of(robot, t, q, tau + 0.02 * rng.normal(size=tau.shape))


def test_elastic_friction_is_chosen_where_it_acts(robot):
    log = recorded(robot, elastic=True)
    chosen = robot.identify(log)
    plain = robot.identify(log, friction_terms="default")
    terms = {(c.element, c.term) for c in chosen.friction if TERMS[c.term].distance}
    assert {element for element, _ in terms} == {0}
    assert chosen.validation.errors["identified"][0] < 0.6 * plain.validation.errors["identified"][0]
    assert any("elastic" in note for note in chosen.notes)
    values = dict(zip(chosen.names, chosen.values, strict=True))
    assert values["Fe1"] == pytest.approx(3.0, rel=0.15)


def test_coulomb_friction_asks_for_no_further_term(robot):
    found = robot.identify(recorded(robot, elastic=False))
    assert {c.term for c in found.friction} == set(DEFAULT)
    assert not any("elastic" in note for note in found.notes)


def test_asymmetric_friction_needs_viscous_beside_it(robot):
    with pytest.raises(zveno.ZvenoError, match="asymmetric without viscous"):
        robot.identify(recorded(robot, elastic=False), friction_terms=("coulomb", ASYMMETRIC))

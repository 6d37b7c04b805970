"""Document 000's own procedure, the coordinate matrix written out, against the recursion of `base_parameters`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from document_000_chains import GRAVITY, MIXED, TABLE, distal, with_random_bodies
from scipy.sparse import load_npz

import zveno
from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.algorithms.energy import kinetic_energy, potential_energy
from zveno.base_parameters._views import PAIRS
from zveno.base_parameters.analyse import base_parameters
from zveno.documents.base_parameters import (
    Row,
    coordinate_matrix,
    echelon_columns,
    energy_balance,
    energy_regressor,
    grouping,
    identify,
    joint_functions,
    n_matrices,
    n_rows,
)
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.spatial import inertia


def basis_values(table, q, v, basis):
    """b (rows of Z,): values of the basis functions, so that the Lagrangian K − Π is b Z p."""
    n = len(table)
    rates = [v[i] * v[j] if i != j else v[i] * v[i] / 2 for i in range(n) for j in range(i + 1)]
    kinetic, potential = np.ones(1), np.ones(1)
    for row, x in zip(table, q, strict=True):
        linear, quadratic = joint_functions(row.sigma, x, basis)
        kinetic = np.outer(kinetic, quadratic).ravel()
        potential = np.outer(potential, linear).ravel()
    return np.concatenate([np.outer(rates, kinetic).ravel(), potential])


@pytest.mark.parametrize("table", [TABLE, MIXED])
@pytest.mark.parametrize("basis", ["squares", "doubles"])
def test_the_documents_procedure_agrees(table, basis):
    forward = coordinate_matrix(table, GRAVITY, basis)
    backward = coordinate_matrix(table, GRAVITY, basis, "backward")
    np.testing.assert_allclose(forward.Z, backward.Z, atol=1e-12)
    assert forward.Z.shape == (n_rows(table), 30)
    assert forward.transformations < backward.transformations
    columns = echelon_columns(forward.effective)
    assert len(echelon_columns(forward.Z)) == len(columns) + 1
    ours = base_parameters(distal(table), view="pseudo")
    assert ours.columns.tolist() == columns
    np.testing.assert_allclose(ours.matrix, grouping(forward.effective, columns), atol=1e-9)


@pytest.mark.parametrize("table", [TABLE, MIXED])
@pytest.mark.parametrize("basis", ["squares", "doubles"])
def test_energies_follow_from_the_basis_functions(table, basis):
    body, p = with_random_bodies(table)
    rng = np.random.default_rng(1)
    Z = coordinate_matrix(table, GRAVITY, basis).Z
    for _ in range(4):
        q, v = rng.normal(size=(2, len(table)))
        lagrangian = kinetic_energy(body, q, v) - potential_energy(body, q)
        np.testing.assert_allclose(basis_values(table, q, v, basis) @ Z @ p, lagrangian, rtol=1e-11)


def test_the_documents_sizes():
    six = [Row(1, 0.0, 0.0, 0.0, 0.0)] * 6
    assert (n_rows(six[:5]), n_rows(six), n_matrices(6)) == (47118, 328854, 91)
    with pytest.raises(ZvenoError, match="7 joints"):
        coordinate_matrix([*six, six[0]], GRAVITY)
    with pytest.raises(ZvenoError, match="squares"):
        coordinate_matrix(six[:1], GRAVITY, basis="cubes")


def random_table(rng) -> list[Row]:
    """Two to four joints with right, parallel and other angles, and lengths that may be zero."""
    rows = []
    for _ in range(rng.integers(2, 5)):
        sigma = int(rng.random() < 0.7)
        theta = 0.0 if sigma else rng.choice([0.0, 0.4, -1.2, np.pi / 2])
        alpha, a = rng.choice([0.0, np.pi / 2, -np.pi / 2, 0.7, np.pi / 3]), rng.choice([0.0, 0.3, -0.02])
        rows.append(Row(sigma, theta, alpha, a, rng.choice([0.0, 0.2, 0.5]) if sigma else 0.0))
    return rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_echelon_form_has_the_base_columns_of_any_table(seed, unit):
    table = random_table(np.random.default_rng(seed))
    lengths = [Row(row.sigma, row.theta, row.alpha, unit * row.a, unit * row.d) for row in table]
    columns = echelon_columns(coordinate_matrix(lengths, GRAVITY).effective)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        assert base_parameters(distal(table), view="pseudo").columns.tolist() == columns


@pytest.mark.parametrize("basis", ["squares", "doubles"])
@pytest.mark.parametrize("seed", few(range(12)))
def test_the_coordinate_matrix_of_any_chain(seed, basis):
    """Any axes and frames: Z has the base columns of the recursion and gives the Lagrangian."""
    mechanism = random_mechanism(seed, n=3, kinds=("revolute", "prismatic"), branching=0.0, mimic=0.0)
    found = coordinate_matrix(mechanism, basis=basis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        assert base_parameters(mechanism, view="pseudo").columns.tolist() == echelon_columns(found.effective)
    backward = coordinate_matrix(mechanism, basis=basis, recursion="backward")
    np.testing.assert_allclose(backward.Z, found.Z, atol=1e-12)
    p = np.concatenate([[inertia.pseudo_inertia(link.inertia)[ij] for ij in PAIRS] for link in mechanism.links[1:]])
    q, v, _ = random_state(mechanism, seed)
    base = -mechanism.gravity @ inertia.first_moment(mechanism.links[0].inertia)
    lagrangian = kinetic_energy(mechanism, q, v) - potential_energy(mechanism, q) + base
    rows = [Row(sigma, 0.0, 0.0, 0.0, 0.0) for sigma in found.sigmas]
    np.testing.assert_allclose(basis_values(rows, q, v, basis) @ found.Z @ p, lagrangian, rtol=1e-10)


def test_the_matrix_is_printed_and_saved(tmp_path):
    found = coordinate_matrix(TABLE, GRAVITY)
    assert found.names([0, 1, found.constant]) == ["v1² / 2", "v1² / 2 · c3", "1"]
    assert coordinate_matrix(TABLE[:1], GRAVITY, "doubles").names([3, 4]) == [
        "v1² / 2 · cos 2q1",
        "v1² / 2 · sin 2q1",
    ]
    lines = found.text(5).splitlines()
    assert lines[-1].startswith("… and ")
    assert lines[0].startswith("v1² / 2: +1 Ixx1 +1 Izz1")
    found.save(tmp_path / "Z.npz")
    saved = load_npz(tmp_path / "Z.npz")
    assert saved.nnz == np.count_nonzero(found.Z)
    np.testing.assert_array_equal(saved.toarray(), found.Z)


def test_what_is_no_chain_is_refused():
    with pytest.raises(ZvenoError, match="chain of independent revolute"):
        coordinate_matrix(zveno.load("biped"))
    with pytest.raises(ZvenoError, match="Give gravity"):
        coordinate_matrix(TABLE)


@pytest.mark.parametrize("seed", few(range(10)))
def test_energies_are_linear_in_the_parameters(seed):
    """h p is the energy for every joint type, and its slope along a motion is the power vᵀ W p."""
    mechanism = random_mechanism(seed, n=6, mimic=0.0)
    robot, p = zveno.Robot(mechanism), mechanism.inertial_parameters
    q, v, a = random_state(mechanism, seed)
    base = -mechanism.gravity @ inertia.first_moment(mechanism.links[0].inertia)
    whole = kinetic_energy(mechanism, q, v) + potential_energy(mechanism, q)
    assert energy_regressor(robot, q, v) @ p == pytest.approx(whole - base, rel=1e-11)
    h = 1e-5
    ahead, behind = (energy_regressor(robot, robot.integrate(q, s * h * v), v + s * h * a) for s in (1.0, -1.0))
    power = v @ robot.regressor(q, v, a)
    np.testing.assert_allclose((ahead - behind) / (2 * h), power, atol=1e-7 * abs(power).max())


def test_energy_and_torques_determine_the_same_parameters():
    robot = zveno.load("puma560")
    q, rng = robot.random(80, 0), np.random.default_rng(1)
    v, a = rng.normal(size=(2, 80, 6))
    H = energy_regressor(robot, q, v)
    W = robot.regressor(q, v, a).reshape(-1, H.shape[1])
    both = [
        np.linalg.matrix_rank(X / np.linalg.norm(X), tol=1e-10)
        for X in (H - H[0], W, np.concatenate([H - H[0], W]))
    ]
    assert both == [36, 36, 36]


def test_the_balance_of_a_recorded_motion():
    robot = zveno.load("puma560")
    t = np.linspace(0.0, 1.0, 401)
    phase = 2 * np.pi * np.outer(t, [0.5, 0.8, 1.1, 0.7, 1.3, 0.9])
    w = phase[1] / t[1]
    q, v, a = np.sin(phase), w * np.cos(phase), -(w**2) * np.sin(phase)
    p = robot.mechanism.inertial_parameters
    tau = robot.regressor(q, v, a) @ p
    changes, work = energy_balance(robot, t, q, v, tau, every=20)
    assert changes.shape == (20, 60)
    np.testing.assert_allclose(changes @ p, work, atol=1e-4 * abs(work).max())
    with pytest.raises(ZvenoError, match="every"):
        energy_balance(robot, t, q, v, tau, every=401)
    with pytest.raises(ZvenoError, match="t, v and tau"):
        energy_balance(robot, t, q, v, tau[1:])


def recorded(robot, seed: int, m: int):
    """A smooth motion of joints with one coordinate: t, q, v, a and the torques of the links."""
    rng, t = np.random.default_rng(seed), np.linspace(0.0, 10.0, m)
    w = rng.uniform(1.0, 5.0, (4, robot.n_v))
    size, phase = rng.uniform(0.1, 0.5, (4, robot.n_v)), rng.uniform(0.0, 6.0, (4, robot.n_v))
    angle = w * t[:, None, None] + phase
    q = np.sum(size * np.sin(angle), axis=1)
    v, a = np.sum(size * w * np.cos(angle), axis=1), -np.sum(size * w * w * np.sin(angle), axis=1)
    return t, q, v, a, robot.regressor(q, v, a) @ robot.mechanism.inertial_parameters


@pytest.mark.parametrize("by", ["torques", "energy", "both"])
@pytest.mark.parametrize("seed", few(range(6), kept=2))
def test_energies_and_torques_identify_the_same_parameters(seed, by):
    """Exact records of a random tree give its base parameters, whichever rows are used."""
    robot = zveno.Robot(random_mechanism(seed, n=3, kinds=("revolute", "prismatic"), mimic=0.0))
    t, q, v, a, tau = recorded(robot, seed, 20001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        found = identify(robot, t, q, v, tau, a, by=by, every=40)
        true = base_parameters(robot).project(robot.mechanism.inertial_parameters)
    np.testing.assert_allclose(found.values, true, atol=1e-3 * abs(true).max())
    assert set(found.sigma) == ({"torques", "energy"} if by == "both" else {by})


@pytest.mark.laws
def test_errors_are_predicted_and_energies_alone_are_less_accurate():
    robot = zveno.load("scara")
    t, q, v, a, tau = recorded(robot, 1, 2001)
    base = robot.base_parameters()
    true, rng = base.project(robot.mechanism.inertial_parameters), np.random.default_rng(2)
    standard, spread = {}, {}
    for by in ("torques", "energy", "both"):
        trials = [identify(robot, t, q, v, tau + 0.5 * rng.normal(size=tau.shape), a, by=by) for _ in range(40)]
        errors = np.array([found.values - true for found in trials])
        spread[by] = np.sqrt(np.mean(errors**2, axis=0))
        standard[by] = spread[by] / np.mean([found.std for found in trials], axis=0)
    assert standard["torques"] == pytest.approx(1.0, abs=0.45)
    assert np.all(spread["energy"] > spread["torques"])
    # The works are made of the same torques: with exact accelerations they add nothing.
    assert 0.9 < np.mean(spread["both"] / spread["torques"]) < 1.5
    assert np.all(spread["both"] < spread["energy"])


def test_what_energies_cannot_identify_is_refused():
    robot = zveno.load("scara")
    t, q, v, _, tau = recorded(robot, 1, 201)
    with pytest.raises(ZvenoError, match="does not determine all 8"):
        identify(robot, t, q * [1, 0, 0, 0], v * [1, 0, 0, 0], tau, by="torques")
    with pytest.raises(ZvenoError, match="kind of rows"):
        identify(robot, t, q, v, tau, by="power")

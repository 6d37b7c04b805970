"""Document 000's own procedure, the coordinate matrix written out, against the recursion of `base_parameters`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from document_000_chains import GRAVITY, MIXED, TABLE, distal, with_random_bodies

from zveno import base_parameters
from zveno.algorithms.energy import kinetic_energy, potential_energy
from zveno.documents.base_parameters_000.coordinate_matrix import (
    Row,
    coordinate_matrix,
    echelon_columns,
    grouping,
    joint_functions,
    n_matrices,
    n_rows,
)
from zveno.errors import ZvenoError, ZvenoWarning


def basis_values(table, q, v, basis):
    """b (rows of Z,): values of the basis functions, so that the Lagrangian K − Π is b Z p."""
    n = len(table)
    rates = [v[i] * v[j] if i != j else v[i] * v[i] / 2 for i in range(n) for j in range(i + 1)]
    kinetic, potential = np.ones(1), np.ones(1)
    for row, x in zip(table, q, strict=True):
        linear, quadratic = joint_functions(row, x, basis)
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

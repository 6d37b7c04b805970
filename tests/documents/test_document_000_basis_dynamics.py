"""Inverse dynamics and energy from document 000's basis functions against the recursion over the links."""

from __future__ import annotations

import numpy as np
import pytest
from document_000_chains import GRAVITY, MIXED, TABLE, with_random_bodies

from zveno.algorithms.energy import kinetic_energy, potential_energy
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.documents.base_parameters import BasisModel, n_rows, nested
from zveno.errors import ZvenoError
from zveno.kernels.evaluate import evaluate


@pytest.mark.parametrize("table", [TABLE, MIXED])
@pytest.mark.parametrize("basis", ["squares", "doubles"])
def test_torques_and_energies_are_those_of_the_recursion(table, basis):
    body, p = with_random_bodies(table)
    model = BasisModel(table, GRAVITY, basis)
    z = model.coefficients(p)
    q, v, a = np.random.default_rng(2).normal(size=(3, 5, len(table)))
    torques = np.array([inverse_dynamics(body, *state) for state in zip(q, v, a, strict=True)])
    found = evaluate(model.program, q, v, a, np.broadcast_to(z, (5, len(z))))
    np.testing.assert_allclose(np.squeeze(found), torques, atol=1e-12 * abs(torques).max())
    kinetic, potential = evaluate(model.energy_program, q, v, np.broadcast_to(z, (5, len(z))))
    np.testing.assert_allclose(kinetic, [kinetic_energy(body, *state) for state in zip(q, v, strict=True)])
    np.testing.assert_allclose(potential, [potential_energy(body, one) for one in q])


def test_the_compiled_function_takes_batches_and_other_bodies():
    body, p = with_random_bodies(TABLE)
    model = BasisModel(TABLE, GRAVITY)
    q, v, a = np.random.default_rng(3).normal(size=(3, 2, 4, 3))
    found = model.inverse_dynamics(q, v, a, model.coefficients(p))
    expected = [[inverse_dynamics(body, q[i, j], v[i, j], a[i, j]) for j in range(4)] for i in range(2)]
    np.testing.assert_allclose(found, expected, atol=1e-11)
    np.testing.assert_allclose(
        model.inverse_dynamics(q, v, a, 3.0 * model.coefficients(p)), 3.0 * found, atol=1e-11
    )


def test_rows_of_zeros_cost_nothing():
    model = BasisModel(TABLE, GRAVITY)
    assert len(model.rows) < n_rows(TABLE) / 5
    assert model.operations.multiplies > 0
    # Functions of a joint that nothing depends on are not evaluated: gravity is along the first axis.
    assert model.operations.sincos == 2


def test_products_are_shared():
    assert nested({}, []) == 0.0
    assert nested({(0, 1): 2.0, (1, 1): 3.0, (1, 0): 5.0}, [(1.0, 7.0), (1.0, 11.0)]) == 22.0 + 7.0 * 38.0


def test_parameters_of_the_wrong_length_are_refused():
    with pytest.raises(ZvenoError, match="30"):
        BasisModel(TABLE, GRAVITY).coefficients(np.zeros(20))

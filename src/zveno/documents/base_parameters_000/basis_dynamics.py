"""Inverse dynamics and energy from the basis functions: document 000's remark, beside the recursion over the links.

The Lagrangian of a chain is b z: b are the products of {1, cos q, sin q, …} of all joints with the products of two
rates, z = Z p are numbers that are computed once from the links' parameters. Rows of Z that are zero are left out,
products are evaluated joint by joint from the last to the first so that common ones are shared, and the torques
d/dt ∂L/∂q̇ − ∂L/∂q follow by differentiating what was written, so no geometry is left in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError
from ...kernels import derivatives
from ...kernels.door import compiled
from ...kernels.kernel import Kernel
from ...kernels.operations import Operations, count_operations
from ...kernels.program import Program
from ...kernels.trace import call, trace
from .coordinate_matrix import Row, coordinate_matrix, joint_functions

NEGLIGIBLE = 1e-14
"""Entries of Z below this, beside the largest of their column, are rounding."""


class BasisModel:
    """A chain's dynamics as sums over document 000's basis functions, compiled, the coefficients as inputs.

    Args:
        table: Denavit–Hartenberg rows, at most six.
        gravity: (3,) in frame 0, m/s².
        basis: "squares" {1, c, s, c², sc} (the document's choice: fewer sines) or "doubles"
            {1, c, s, cos 2q, sin 2q}.
    """

    def __init__(self, table: Sequence[Row], gravity: ArrayLike, basis: str = "squares") -> None:
        self.table: tuple[Row, ...] = tuple(Row(*row) for row in table)
        self.basis: str = basis
        Z = coordinate_matrix(self.table, gravity, basis).Z
        size = np.abs(Z).max(axis=0)
        used = np.abs(Z) > NEGLIGIBLE * np.where(size > 0, size, 1.0)
        self.rows: np.ndarray = np.flatnonzero(used.any(axis=1))
        """Rows of Z that are not zero: the basis functions that the Lagrangian has a part along."""
        self.Z = np.where(used, Z, 0.0)[self.rows]
        """(functions, 10 N)"""

    def coefficients(self, parameters: ArrayLike) -> np.ndarray:
        """z = Z p, (..., functions), from the links' pseudo-inertias p (..., 10 N)."""
        p = np.asarray(parameters, dtype=float)
        if p.shape[-1:] != (self.Z.shape[1],):
            raise ShapeError(f"has shape {p.shape}", element="parameters", remedy=f"Give (..., {self.Z.shape[1]})")
        return p @ self.Z.T

    @property
    def _constants(self) -> tuple:
        return self.table, self.basis, tuple(self.rows.tolist())

    @cached_property
    def energy_program(self) -> Program:
        """(q, v, z) → kinetic and potential energy."""
        return _energy_program(*self._constants)

    @cached_property
    def program(self) -> Program:
        """(q, v, a, z) → torques."""
        return trace(basis_torques, **self._recipe)

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function."""
        return compiled(basis_torques, **self._recipe)

    @property
    def _recipe(self) -> dict[str, Any]:
        n = len(self.table)
        return {
            "inputs": {"q": (n,), "v": (n,), "a": (n,), "z": (len(self.rows),)},
            "constants": self._constants,
            "name": "basis_inverse_dynamics",
            "outputs": ("tau",),
        }

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, coefficients: ArrayLike, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Torques of the links' inertia, (..., N), from `coefficients(p)`."""
        return self.kernel(q, v, a, coefficients, out=out)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation, the coefficients being known."""
        return count_operations(self.program)


def basis_energy(
    table: Sequence[Row], basis: str, rows: Sequence[int], q: np.ndarray, v: np.ndarray, z: np.ndarray
) -> tuple[Any, Any]:
    """Kinetic and potential energy from the coefficients z of the used rows of Z."""
    n = len(table)
    functions = [joint_functions(row, x, basis) for row, x in zip(table, q, strict=True)]
    rates = [v[i] * v[j] if i != j else v[i] * v[i] * 0.5 for i in range(n) for j in range(i + 1)]
    kinetic: dict[tuple[int, ...], Any] = {}
    potential: dict[tuple[int, ...], Any] = {}
    for (pair, index), x in zip(_indices(table, rows), z, strict=True):
        if pair < 0:
            potential[index] = x
        else:
            kinetic[index] = kinetic.get(index, 0.0) + x * rates[pair]
    return nested(kinetic, [y for _, y in functions]), -nested(potential, [y for y, _ in functions])


def basis_torques(
    table: Sequence[Row],
    basis: str,
    rows: Sequence[int],
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    z: np.ndarray,
) -> Any:
    """d/dt ∂L/∂q̇ − ∂L/∂q, (n,), by differentiating the program of the energy."""
    energy = _energy_program(table, basis, rows)

    def lagrangian(q, v, z):
        kinetic, potential = call(energy, q, v, z)
        return kinetic - potential

    states = {argument.name: argument.shape for argument in energy.inputs}
    whole = trace(lagrangian, states, name="lagrangian", outputs=("L",))
    slopes = derivatives.reverse(whole, of="L", wrt=("q", "v"))

    def momenta(q, v, z):
        return call(slopes, q, v, z, np.array(1.0, object))[::-1]

    both = trace(momenta, states, name="momenta", outputs=("momentum", "force"))
    along = derivatives.forward(both, of="momentum", wrt=("q", "v"))
    return call(along, q, v, z, v, a) - call(both, q, v, z)[1]


def _energy_program(table: Sequence[Row], basis: str, rows: Sequence[int]) -> Program:
    n = len(table)
    inputs = {"q": (n,), "v": (n,), "z": (len(rows),)}
    constants = (table, basis, rows)
    return trace(basis_energy, inputs, outputs=("kinetic", "potential"), constants=constants)


def _indices(table: Sequence[Row], rows: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Of every used row: which pair of rates (−1: potential energy), and the function of each joint."""
    quadratic = [5 if row.sigma else 3 for row in table]
    linear = [3 if row.sigma else 2 for row in table]
    size = int(np.prod(quadratic))
    pairs = len(table) * (len(table) + 1) // 2
    indices = []
    for row in rows:
        pair, place = divmod(row, size)
        if pair < pairs:
            indices.append((pair, tuple(map(int, np.unravel_index(place, quadratic)))))
        else:
            indices.append((-1, tuple(map(int, np.unravel_index(row - pairs * size, linear)))))
    return indices


def nested(terms: dict[tuple[int, ...], Any], functions: Sequence[Sequence[Any]]) -> Any:
    """Σ x Π functions[k][index[k]] over index → x, each joint's functions taken out of what they have in common."""
    for values in reversed(functions):
        shorter: dict[tuple[int, ...], Any] = {}
        for index, x in terms.items():
            part = values[index[-1]] * x
            shorter[index[:-1]] = shorter[index[:-1]] + part if index[:-1] in shorter else part
        terms = shorter
    return terms.get((), 0.0)

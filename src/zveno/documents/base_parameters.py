"""Document 000: base inertial parameters by the method of projections.

- `coordinate_matrix`: the matrix Z of a table or of a robot that is a chain, by the recursions (3), (9), (16) and
  (19). `parts` is formula (1), `tau` are (12), (13) and (18). `echelon_columns` finds the base parameters among its
  columns, `grouping` the combinations Y = Z̃⁺ Z.
- `BasisModel`: energy and torques from the basis functions, as the document remarks.
- `energy_regressor`, `energy_balance`: energies linear in the parameters, (4) to (6), for any robot.
- `identify`: base parameters from a recorded motion, by torques, by energies or by both.

The energy coefficients are expanded in products of {1, cos q, sin q, …} of all joints, one row of Z per product.
The base parameters are the independent columns of Z. The size of Z grows as 5^N; `robot.base_parameters` does not
need it. Z is for chains of at most six revolute and prismatic joints. Its columns are the pseudo-inertias of the
links: in the distal frames of a Denavit–Hartenberg table, or in the link frames of a robot.

The Lagrangian of a chain is b z: b are the products of {1, cos q, sin q, …} of all joints with the products of two
rates, and z = Z p are coefficients computed once from the link parameters. Zero rows of Z are omitted. Products are
evaluated joint by joint from the last to the first, so that common ones are shared. The torques d/dt ∂L/∂q̇ − ∂L/∂q
follow by differentiation of this expression, which contains no geometry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..base_parameters._views import PAIRS
from ..base_parameters.analyse import base_parameters
from ..base_parameters.result import BaseParameters
from ..errors import ModelError, ShapeError, ZvenoError, unknown_name
from ..kernels import derivatives
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..kernels.ops import cos, sin
from ..kernels.program import Operations, Program, count_operations
from ..kernels.trace import call, trace
from ..mechanism import Joint, Mechanism
from ..mechanism.reduce import reduced
from ..robot_functions import RobotFunctions
from ..spatial.inertia import N_PARAMETERS
from ..spatial.rotations import cos_sin
from ..spatial.transforms import inverse
from ..spatial.vectors import skew

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_JOINTS = 6
BASES = ("squares", "doubles")
"""Functions of a revolute joint: {1, c, s, c², sc}, or {1, c, s, cos 2q, sin 2q} as in the document's theorem."""
RECURSIONS = ("forward", "backward")
ROUNDING = 1e-12
"""Relative norm below which a column of Z is rounding; columns differ by at most the square of a length."""

Tau = Callable[[np.ndarray], list[np.ndarray]]


class Row(NamedTuple):
    """Row of a Denavit–Hartenberg table: σ (1 revolute, 0 prismatic), θ, α in radians, a and d."""

    sigma: int
    theta: float
    alpha: float
    a: float
    d: float


class Step(NamedTuple):
    """Joint of a chain: σ, the matrices Ã of equation (1), and D with ∂A/∂q = D A."""

    sigma: int
    parts: tuple[np.ndarray, ...]
    generator: np.ndarray


Chain: TypeAlias = Sequence[Row] | Mechanism | RobotFunctions
"""Denavit–Hartenberg table, or a robot that is a chain of revolute and prismatic joints."""


def chain_steps(chain: Chain) -> list[Step]:
    """Return σ, Ã of (1) and D of every joint of a chain; links on fixed joints are merged into their parents."""
    if not isinstance(chain, Mechanism | RobotFunctions):
        return [Step(row.sigma, tuple(parts(row)), generator(row)) for row in (Row(*row) for row in chain)]
    mechanism = chain if isinstance(chain, Mechanism) else chain.mechanism
    mechanism = reduced(mechanism, reframe=False).mechanism
    joints = mechanism.joints
    is_chain = mechanism.tree.parents == tuple(range(-1, mechanism.n_links - 1))
    if not is_chain or any(joint.type.sigma is None or joint.mimic is not None for joint in joints):
        raise ModelError(
            "Z needs a chain of independent revolute and prismatic joints",
            element=mechanism.name,
            remedy="Use base_parameters, which takes any tree",
        )
    return [_joint_step(joint) for joint in joints]


def _joint_step(joint: Joint) -> Step:
    """Return σ, Ã and D of a joint with any axis and any constant transforms before and after it."""
    axis, sigma = np.asarray(joint.type.parameters()["axis"]), int(joint.type.sigma or 0)
    rate = np.zeros((4, 4))
    if sigma:
        fixed, turning = np.zeros((2, 4, 4))
        fixed[:3, :3], fixed[3, 3] = np.outer(axis, axis), 1.0
        turning[:3, :3] = np.eye(3) - fixed[:3, :3]
        rate[:3, :3] = skew(axis)
        motions = (fixed, turning, rate)
    else:
        rate[:3, 3] = axis
        motions = (np.eye(4), rate)
    before, after = joint.T_parent_joint, joint.T_joint_child
    return Step(sigma, tuple(before @ motion @ after for motion in motions), before @ rate @ inverse(before))


def n_rows(table: Sequence[Row | Step]) -> int:
    """Number of rows of Z by the document's theorem, for ν revolute joints among N.

    It is (N² + N) · 5^ν · 3^(N−ν) / 2 + 3^ν · 2^(N−ν).
    """
    n, revolute = len(table), sum(row.sigma for row in table)
    return (n * n + n) // 2 * 5**revolute * 3 ** (n - revolute) + 3**revolute * 2 ** (n - revolute)


def n_matrices(n: int) -> int:
    """Maximum number of 4×4 matrices that the document's forward recursion stores, 2 + Σ (k(k+1)/2 + k + 2)."""
    return 2 + sum(k * (k + 1) // 2 + k + 2 for k in range(1, n + 1))


def parts(row: Row) -> list[np.ndarray]:
    """Constant matrices Ã of A = Ã¹ + Ã² cos q + Ã³ sin q, or A = Ã¹ + Ã² q: equation (1)."""
    ca, sa = cos_sin(row.alpha)
    if row.sigma:
        A = np.zeros((3, 4, 4))
        A[0, 2], A[0, 3, 3] = (0.0, sa, ca, row.d), 1.0
        A[1, 0], A[1, 1] = (1.0, 0.0, 0.0, row.a), (0.0, ca, -sa, 0.0)
        A[2, 0], A[2, 1] = (0.0, -ca, sa, 0.0), (1.0, 0.0, 0.0, row.a)
        return list(A)
    c, s = cos_sin(row.theta)
    first = np.array(
        [[c, -s * ca, s * sa, row.a * c], [s, c * ca, -c * sa, row.a * s], [0, sa, ca, 0], [0, 0, 0, 1]]
    )
    second = np.zeros((4, 4))
    second[2, 3] = 1.0
    return [first, second]


def generator(row: Row) -> np.ndarray:
    """Matrix D with ∂A/∂q = D A, for (7) to (9)."""
    D = np.zeros((4, 4))
    if row.sigma:
        D[0, 1], D[1, 0] = -1.0, 1.0
    else:
        D[2, 3] = 1.0
    return D


def tau(step: Step, f: int, s: int, basis: str = "squares") -> Tau:
    """Operator τ^σ_fs of (18): X → coefficients of (D^f A)ᵀ X (D^s A) in the joint's functions; X is (…, 4, 4).

    The coefficients are those of (12a) for the basis "doubles", of the remark after it for "squares", and of (12b)
    for a prismatic joint, with matrices in place of numbers as in (13).
    """
    D, A = step.generator, step.parts
    left = [(D @ part if f else part).T for part in A]
    right = [D @ part if s else part for part in A]

    def apply(X):
        def p(i, j):
            return left[i] @ X @ right[j]

        if not step.sigma:
            return [p(0, 0), p(0, 1) + p(1, 0), p(1, 1)]
        mixed = [p(0, 1) + p(1, 0), p(0, 2) + p(2, 0)]
        if basis == "squares":
            return [p(0, 0) + p(2, 2), *mixed, p(1, 1) - p(2, 2), p(1, 2) + p(2, 1)]
        square, other = p(1, 1), p(2, 2)
        return [p(0, 0) + (square + other) / 2, *mixed, (square - other) / 2, (p(1, 2) + p(2, 1)) / 2]

    return apply


class Projections(NamedTuple):
    """Coordinate matrix and the cost of computing it."""

    Z: np.ndarray
    """Matrix Z, (rows, 10 N)."""
    constant: int
    """Index of the row of the constant in the potential energy, which has no effect on the motion."""
    transformations: int
    """Number of evaluations of τ or of a product T Ã on one 4×4 matrix."""
    sigmas: tuple[int, ...]
    """Type σ of every joint."""
    basis: str
    """Functions of a revolute joint, one of `BASES`."""

    @property
    def effective(self) -> np.ndarray:
        """Matrix Z without the constant row."""
        return np.delete(self.Z, self.constant, axis=0)

    @property
    def sparse(self) -> csr_array:
        """Matrix Z as a sparse matrix of SciPy; most entries are zero."""
        from scipy.sparse import csr_array

        return csr_array(self.Z)

    def save(self, path: str | Path) -> None:
        """Write the sparse Z to a file `.npz`, which `scipy.sparse.load_npz` reads."""
        from scipy.sparse import save_npz

        save_npz(path, self.sparse)

    def names(self, rows: Sequence[int]) -> list[str]:
        """Name the basis functions of some rows: "v1² / 2 · c2", "v2 v1 · s1 c1 · c2²"; "1" is the constant."""
        rates = [
            f"v{i + 1}² / 2" if i == j else f"v{i + 1} v{j + 1}"
            for i in range(len(self.sigmas))
            for j in range(i + 1)
        ]
        names = []
        for pair, index in _indices(self.sigmas, rows):
            factors = [
                _function_name(k, sigma, at, self.basis)
                for k, (sigma, at) in enumerate(zip(self.sigmas, index, strict=True), start=1)
                if at
            ]
            names.append(" · ".join([rates[pair], *factors] if pair >= 0 else factors) or "1")
        return names

    def text(self, most: int = 40) -> str:
        """Write out the first nonzero rows, one per line: basis function, then its combination of parameters."""
        rows = np.flatnonzero(np.any(self.Z, axis=1))
        symbols = [f"{name}{k}" for k in range(1, len(self.sigmas) + 1) for name in _SYMBOLS]
        lines = [
            f"{name}: " + " ".join(f"{self.Z[row, p]:+.6g} {symbols[p]}" for p in np.flatnonzero(self.Z[row]))
            for row, name in zip(rows[:most], self.names(rows[:most].tolist()), strict=True)
        ]
        return "\n".join(lines + ([f"… and {len(rows) - most} more"] if len(rows) > most else []))


_SYMBOLS = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz", "Sx", "Sy", "Sz", "m")


def _function_name(k: int, sigma: int, at: int, basis: str) -> str:
    if not sigma:
        return ("1", f"d{k}", f"d{k}²")[at]
    second = (f"c{k}²", f"s{k} c{k}") if basis == "squares" else (f"cos 2q{k}", f"sin 2q{k}")
    return ("1", f"c{k}", f"s{k}", *second)[at]


def coordinate_matrix(
    chain: Chain, gravity: ArrayLike | None = None, basis: str = "squares", recursion: str = "forward"
) -> Projections:
    """Compute Z of a chain by the document's forward recursion, or by the backward one that it improves on.

    Args:
        chain: rows of a Denavit–Hartenberg table, or a robot.
        gravity: (3,) in frame 0, m/s²; by default that of the robot.
        basis: one of `BASES`.
        recursion: "forward", (16) and (19), or "backward", (18) for every multi-index.
    """
    table = chain_steps(chain)
    if gravity is None:
        if not isinstance(chain, Mechanism | RobotFunctions):
            raise ShapeError("a table has no gravity", element="gravity", remedy="Give gravity in frame 0")
        gravity = (chain if isinstance(chain, Mechanism) else chain.mechanism).gravity
    if not 1 <= len(table) <= MOST_JOINTS:
        raise ModelError(
            f"a chain of {len(table)} joints",
            remedy=f"Z is written out for 1 to {MOST_JOINTS}; use base_parameters",
        )
    if basis not in BASES:
        raise unknown_name("basis", basis, BASES)
    if recursion not in RECURSIONS:
        raise unknown_name("recursion", recursion, RECURSIONS)
    n = len(table)
    sizes = [5 if row.sigma else 3 for row in table]
    kinetic = math.prod(sizes)
    Z = np.zeros((n_rows(table), 10 * n))
    steps = _forward(table, basis) if recursion == "forward" else _backward(table, basis)
    count = 0
    for k, pairs, cost in steps:
        count += cost
        stride = math.prod(sizes[k + 1 :])
        for number, U in pairs.items():
            rows = slice(number * kinetic, (number + 1) * kinetic, stride)
            Z[rows, 10 * k : 10 * k + 10] = _influences(U)
    first = n * (n + 1) // 2 * kinetic
    count += _potential(table, np.asarray(gravity, dtype=float), Z, first)
    return Projections(Z, first, count, tuple(row.sigma for row in table), basis)


def _influences(U: np.ndarray) -> np.ndarray:
    """Influences tr(U ∂H/∂p) of the ten parameters."""
    return np.stack([U[:, i, j] + (U[:, j, i] if i != j else 0.0) for i, j in PAIRS], axis=1)


def _number(i: int, j: int) -> int:
    """Index of the pair of rates (i, j), j ≤ i, among the rows."""
    return i * (i + 1) // 2 + j


def _spread(apply: Tau, X: np.ndarray) -> np.ndarray:
    """Apply τ for every l; the joint's index varies fastest."""
    return np.stack(apply(X), axis=1).reshape(-1, 4, 4)


def _forward(table, basis):
    """Compute every Û and Â once, from those of the previous link (functions ProjKinEnergy and (19))."""
    U: dict[int, np.ndarray] = {}
    A = [np.eye(4)[None]]
    for k, row in enumerate(table):
        keep, second, both, first = (tau(row, f, s, basis) for f, s in ((0, 0), (0, 1), (1, 1), (1, 0)))
        new = {number: _spread(keep, X) for number, X in U.items()}
        new |= {_number(k, j): _spread(second, A[j + 1]) for j in range(k)}
        new[_number(k, k)] = _spread(both, A[0])
        A = [_spread(keep, X) for X in A] + [_spread(first, A[0])]
        U = new
        yield k, U, sum(len(X) for X in (*U.values(), *A))


def _backward(table, basis):
    """Compute every Û from the identity, one multi-index at a time: (18) as printed."""
    for k in range(len(table)):
        sizes = [5 if row.sigma else 3 for row in table[: k + 1]]
        indices = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes))
        projections, cost = {}, 0
        for i in range(k + 1):
            for j in range(i + 1):
                X = np.broadcast_to(np.eye(4), (indices.shape[1], 4, 4))
                for n in range(k + 1):
                    step = np.empty_like(X)
                    values = tau(table[n], int(n == j), int(n == i), basis)
                    for l in range(sizes[n]):
                        chosen = indices[n] == l
                        step[chosen] = values(X[chosen])[l]
                    X = step
                cost += (k + 1) * indices.shape[1]
                projections[_number(i, j)] = X
        yield k, projections, cost


def _potential(table, gravity, Z, first: int) -> int:
    """Rows of the potential energy: g T̃ in the columns of Sx, Sy, Sz and m, (3) and (4)."""
    sizes = [3 if row.sigma else 2 for row in table]
    T, cost = np.r_[gravity, 0.0][None], 0
    for k, row in enumerate(table):
        T = np.stack([T @ A for A in row.parts], axis=1).reshape(-1, 4)
        cost += len(T)
        Z[first :: math.prod(sizes[k + 1 :]), 10 * k + 6 : 10 * k + 10] = T
    return cost


def joint_functions(sigma: int, x: Any, basis: str = "squares") -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Basis functions X and Y of one coordinate, (1) and (11), for the potential and the kinetic energy."""
    if not sigma:
        return (1.0, x), (1.0, x, x * x)
    c, s = cos(x), sin(x)
    second = (c * c, s * c) if basis == "squares" else (cos(2.0 * x), sin(2.0 * x))
    return (1.0, c, s), (1.0, c, s, *second)


def echelon_columns(Z: np.ndarray, tolerance: float = 1e-9) -> list[int]:
    """Independent columns from left to right, by elimination to echelon form with partial pivoting."""
    Z = Z[np.any(Z, axis=1)].copy()
    sizes = np.abs(Z).max(axis=0, initial=0.0)
    used = sizes > ROUNDING * sizes.max(initial=0.0)
    Z[:, used] /= sizes[used]  # normalized columns
    Z[:, ~used] = 0.0
    columns, r = [], 0
    for j in range(Z.shape[1]):
        if r == len(Z):
            break
        pivot = r + int(np.argmax(np.abs(Z[r:, j])))
        if abs(Z[pivot, j]) <= tolerance:
            continue
        Z[[r, pivot]] = Z[[pivot, r]]
        Z[r + 1 :, j:] -= np.outer(Z[r + 1 :, j] / Z[r, j], Z[r, j:])
        columns.append(j)
        r += 1
    return columns


def grouping(Z: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Grouping matrix Y = Z̃⁺ Z, where Z̃ are the base columns."""
    R = np.asarray(np.linalg.qr(Z[np.any(Z, axis=1)], mode="r"))
    return np.linalg.lstsq(R[:, list(columns)], R, rcond=None)[0]


# --- energy and torques from the basis functions

NEGLIGIBLE = 1e-14
"""Magnitude, relative to the largest in the column, below which entries of Z are rounding."""


class BasisModel:
    """Compiled dynamics of a chain as sums over document 000's basis functions, with the coefficients as inputs.

    Args:
        chain: Denavit–Hartenberg rows or a robot, at most six joints.
        gravity: (3,) in frame 0, m/s²; by default that of the robot.
        basis: "squares" {1, c, s, c², sc} (the document's choice: fewer sines) or "doubles"
            {1, c, s, cos 2q, sin 2q}.
    """

    def __init__(self, chain: Chain, gravity: ArrayLike | None = None, basis: str = "squares") -> None:
        projections = coordinate_matrix(chain, gravity, basis)
        self.sigmas: tuple[int, ...] = projections.sigmas
        self.basis: str = basis
        Z = projections.Z
        size = np.abs(Z).max(axis=0)
        used = np.abs(Z) > NEGLIGIBLE * np.where(size > 0, size, 1.0)
        self.rows: np.ndarray = np.flatnonzero(used.any(axis=1))
        """Indices of nonzero rows of Z, the basis functions that occur in the Lagrangian."""
        self.Z = np.where(used, Z, 0.0)[self.rows]
        """Nonzero rows of Z, (functions, 10 N)."""

    def coefficients(self, parameters: ArrayLike) -> np.ndarray:
        """Compute z = Z p, (..., functions), from the links' pseudo-inertias p (..., 10 N)."""
        p = np.asarray(parameters, dtype=float)
        if p.shape[-1:] != (self.Z.shape[1],):
            raise ShapeError(f"must have shape (..., {self.Z.shape[1]}), got {p.shape}", element="parameters")
        return p @ self.Z.T

    @property
    def _constants(self) -> tuple:
        return self.sigmas, self.basis, tuple(self.rows.tolist())

    @cached_property
    def energy_program(self) -> Program:
        """Program (q, v, z) → kinetic and potential energy."""
        return _energy_program(*self._constants)

    @cached_property
    def program(self) -> Program:
        """Program (q, v, a, z) → torques."""
        return trace(basis_torques, **self._recipe)

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled function."""
        return compiled(basis_torques, **self._recipe)

    @property
    def _recipe(self) -> dict[str, Any]:
        n = len(self.sigmas)
        return {
            "inputs": {"q": (n,), "v": (n,), "a": (n,), "z": (len(self.rows),)},
            "constants": self._constants,
            "name": "basis_inverse_dynamics",
            "outputs": ("tau",),
        }

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, coefficients: ArrayLike, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute torques (..., N) of the links' inertia from `coefficients(p)`."""
        return self.kernel(q, v, a, coefficients, out=out)

    @property
    def operations(self) -> Operations:
        """Operation counts of one evaluation with known coefficients."""
        return count_operations(self.program)


def basis_energy(
    sigmas: Sequence[int], basis: str, rows: Sequence[int], q: np.ndarray, v: np.ndarray, z: np.ndarray
) -> tuple[Any, Any]:
    """Compute kinetic and potential energy from the coefficients z of the nonzero rows of Z."""
    n = len(sigmas)
    functions = [joint_functions(sigma, x, basis) for sigma, x in zip(sigmas, q, strict=True)]
    rates = [v[i] * v[j] if i != j else v[i] * v[i] * 0.5 for i in range(n) for j in range(i + 1)]
    kinetic: dict[tuple[int, ...], Any] = {}
    potential: dict[tuple[int, ...], Any] = {}
    for (pair, index), x in zip(_indices(sigmas, rows), z, strict=True):
        if pair < 0:
            potential[index] = x
        else:
            kinetic[index] = kinetic.get(index, 0.0) + x * rates[pair]
    return nested(kinetic, [y for _, y in functions]), -nested(potential, [y for y, _ in functions])


def basis_torques(
    sigmas: Sequence[int],
    basis: str,
    rows: Sequence[int],
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    z: np.ndarray,
) -> Any:
    """Compute torques d/dt ∂L/∂q̇ − ∂L/∂q, (n,), by differentiating the energy program."""
    energy = _energy_program(sigmas, basis, rows)

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


def _energy_program(sigmas: Sequence[int], basis: str, rows: Sequence[int]) -> Program:
    n = len(sigmas)
    inputs = {"q": (n,), "v": (n,), "z": (len(rows),)}
    constants = (sigmas, basis, rows)
    return trace(basis_energy, inputs, outputs=("kinetic", "potential"), constants=constants)


def _indices(sigmas: Sequence[int], rows: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Pair of rates (−1: potential energy) and function of each joint, for some rows."""
    quadratic = [5 if sigma else 3 for sigma in sigmas]
    linear = [3 if sigma else 2 for sigma in sigmas]
    size = int(np.prod(quadratic))
    pairs = len(sigmas) * (len(sigmas) + 1) // 2
    indices = []
    for row in rows:
        pair, place = divmod(row, size)
        if pair < pairs:
            indices.append((pair, tuple(map(int, np.unravel_index(place, quadratic)))))
        else:
            indices.append((-1, tuple(map(int, np.unravel_index(row - pairs * size, linear)))))
    return indices


def nested(terms: dict[tuple[int, ...], Any], functions: Sequence[Sequence[Any]]) -> Any:
    """Evaluate Σ x Π functions[k][index[k]] over index → x, with common factors of each joint shared."""
    for values in reversed(functions):
        shorter: dict[tuple[int, ...], Any] = {}
        for index, x in terms.items():
            part = values[index[-1]] * x
            shorter[index[:-1]] = shorter[index[:-1]] + part if index[:-1] in shorter else part
        terms = shorter
    return terms.get((), 0.0)


# --- energies, linear in the parameters


def energy_regressor(robot: RobotFunctions, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return rows h (..., 10 N) with K + Π = h p, for states (..., n_q), (..., n_v) of any robot.

    p are the parameters of links 1 … N in the order of `robot.regressor`, and h are the influences of (4) and (5),
    without the basis functions. Along a motion dh/dt p = vᵀ W p: the power form of the torque regressor W, which
    needs no accelerations. Rotors of drives and the fixed link 0 do not count.
    """
    T, twist = robot.link_poses(q)[..., 1:, :, :], robot.kernel("link_velocities")(q, v)[..., 1:, :]
    g = robot.mechanism.gravity
    linear, angular = twist[..., :3], twist[..., 3:]
    x, y, z = np.moveaxis(angular, -1, 0)
    h = np.empty((*twist.shape[:-1], N_PARAMETERS))
    h[..., 0] = 0.5 * np.sum(linear**2, axis=-1) - T[..., :3, 3] @ g
    h[..., 1:4] = np.cross(linear, angular) - np.einsum("...ji,j->...i", T[..., :3, :3], g)
    h[..., 4:] = np.stack([0.5 * x * x, x * y, 0.5 * y * y, x * z, y * z, 0.5 * z * z], axis=-1)
    return h.reshape(*h.shape[:-2], -1)


def energy_balance(
    robot: RobotFunctions, t: ArrayLike, q: ArrayLike, v: ArrayLike, tau: ArrayLike, every: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return ΔH (k, 10 N) and W (k,) of a recorded motion, with ΔH p = W: change of energy, work of the torques.

    No accelerations are needed. One scalar per interval replaces n_v torques, so that noise weighs more than in the
    torque regressor: the balance is a check of a model rather than an estimator.

    Args:
        robot: any robot without friction; subtract friction from tau.
        t, q, v, tau: samples (m,), (m, n_q), (m, n_v), (m, n_v).
        every: number of samples per interval. The work within it is summed by the trapezoidal rule.
    """
    t, v, tau = (np.asarray(x, dtype=float) for x in (t, v, tau))
    if t.ndim != 1 or v.shape != (len(t), robot.n_v) or tau.shape != v.shape:
        raise ShapeError(
            f"t, v and tau must have shapes (m,), (m, {robot.n_v}) and (m, {robot.n_v}), "
            f"got {t.shape}, {v.shape} and {tau.shape}"
        )
    if not 1 <= every < len(t):
        raise ShapeError(f"must be from 1 to {len(t) - 1} for {len(t)} samples, got {every}", element="every")
    power = np.sum(v * tau, axis=1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
    ends = np.arange(0, len(t), every)
    return np.diff(energy_regressor(robot, np.asarray(q)[ends], v[ends]), axis=0), np.diff(work[ends])


ROWS = {"torques": ("torques",), "energy": ("energy",), "both": ("torques", "energy")}
"""Kinds of rows of `identify`."""
EXCITED = 1e-8
"""Smallest singular value of the scaled rows, relative to the largest, that determines a parameter."""


class Identified(NamedTuple):
    """Base parameters of a recorded motion."""

    base: BaseParameters
    """Definition of the base parameters p̃."""
    values: np.ndarray
    """Estimates of p̃, (rank,)."""
    std: np.ndarray
    """Standard deviations, (rank,), if the errors of rows are independent."""
    sigma: dict[str, np.ndarray]
    """Residual standard deviations: torques of every joint, (n_v,), and work of an interval, (1,)."""


def identify(
    robot: RobotFunctions,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    a: ArrayLike | None = None,
    *,
    by: str = "both",
    every: int = 1,
) -> Identified:
    """Estimate base parameters by weighted least squares of torque rows W p̃ = τ, energy rows ΔH p̃ = W, or both.

    Each joint's torques and the works are weighted by their own residual standard deviation. Torque rows need
    accelerations, energy rows do not; but an interval gives one row instead of n_v, so that energies alone are less
    accurate. The works are made of the same torques: where accelerations are exact, energies add nothing.
    `robot.identify` is the estimator of practice, with friction, filters and consistent inertias.

    Args:
        robot: any robot without friction; subtract friction from tau.
        t, q, v, tau: samples (m,), (m, n_q), (m, n_v), (m, n_v).
        a: accelerations (m, n_v); central differences of v by default.
        by: "torques", "energy" or "both".
        every: number of samples per interval of the energy rows.
    """
    if by not in ROWS:
        raise unknown_name("kind of rows", by, ROWS)
    base = base_parameters(robot)
    changes, work = energy_balance(robot, t, q, v, tau, every)
    groups: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"energy": [(changes[:, base.columns], work)]}
    if "torques" in ROWS[by]:
        slopes = np.gradient(np.asarray(v, dtype=float), np.asarray(t, dtype=float), axis=0) if a is None else a
        W = robot.regressor(q, v, slopes)[..., base.columns]
        groups["torques"] = [(W[:, j], np.asarray(tau, dtype=float)[:, j]) for j in range(robot.n_v)]
    parts = [part for kind in ROWS[by] for part in groups[kind]]
    rows, right = (np.concatenate(stack) for stack in zip(*parts, strict=True))
    size = np.linalg.norm(rows, axis=0)
    values, _, _, s = np.linalg.lstsq(rows / np.where(size > 0, size, 1.0), right)
    if not size.all() or len(s) < base.rank or s[-1] <= EXCITED * s[0]:
        raise ZvenoError(
            f"the motion does not determine all {base.rank} base parameters by {by}",
            element=robot.name,
            remedy="Record a motion in which all joints move (zveno.identification.plan_excitation)",
        )
    values = values / size
    covariance, sigma = np.zeros((base.rank, base.rank)), np.zeros(len(parts))
    for _ in range(2):
        residuals = [y - A @ values for A, y in parts]
        sigma = np.array([np.sqrt(np.mean(r**2)) for r in residuals])
        # A joint without any residual must not outweigh all others.
        least = np.finfo(float).eps * np.sqrt(np.mean(right**2))
        weights = np.repeat(1.0 / np.maximum(sigma, max(least, 1e-300)), [len(y) for _, y in parts])
        scaled = rows * weights[:, None] / size
        values = np.linalg.lstsq(scaled, right * weights)[0] / size
        covariance = np.linalg.inv(scaled.T @ scaled) / np.outer(size, size)
    n = len(groups.get("torques", ()))
    by_kind = {"torques": sigma[:n], "energy": sigma[n:]}
    return Identified(base, values, np.sqrt(np.diag(covariance)), {kind: by_kind[kind] for kind in ROWS[by]})

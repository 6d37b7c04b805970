"""Drive parameters: which are counted, how they enter the blocks, and which merge with link parameters.

A motor m that joint i also moves (an entry N_mi of the transmission matrix) may add an inertia between the two
joints that its own rotor does not explain, and friction at the motor, in the velocity q̇_m + (N_mi/N_mm) q̇_i.
Identified models of wrists count these three in addition to those of the joints (Iam6, fvm6 and fsm6 of the
Stäubli TX40).

A rotor inertia adds the constant ½ J (n q̇)² to the energy, so it can only be confused with an inertia that acts
as a constant. An offset can only be confused with weight along a translation.

Friction is odd in the velocities, all other terms are even, and viscous friction grows with the velocities while
Coulomb friction does not. Each is therefore an independent problem. With joint rates q̇ = G u̇, viscous friction
appears as Σ F_e G_eᵀG_e and Coulomb friction as Σ F_e G_eᵀ sign(G_e u̇). The friction of joints whose rates stay in
proportion cannot be separated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..algorithms.regressor import DRIVE_PARAMETER_NAMES
from ..errors import ModelError, unknown_name
from ..kernels.ops import sign
from ..mechanism import Mechanism
from ..mechanism.loops import for_trees
from ._arithmetic import Arithmetic, Matrix
from ._blocks import Solved, solve_dense
from ._floating import r_factor
from ._nodes import Node

COUPLING = "coupling"
"""Name of the drive parameters of coupled motors."""
COUPLING_SYMBOLS = ("Iam{}", "Fvm{}", "Fcm{}")
"""Symbols of the inertia between the joints and of viscous and Coulomb friction at the motor."""


def couplings(mechanism: Mechanism) -> list[tuple[int, int]]:
    """Pairs (motor, other joint) of velocity coordinates, one per off-diagonal entry of the transmission matrix."""
    N = mechanism.transmission_matrix
    return [(m, i) for m in range(len(N)) for i in range(len(N)) if i != m and N[m, i]]


def directions(mechanism: Mechanism) -> np.ndarray:
    """Matrix (couplings, n_v) that maps q̇ to the motor velocities over their gear ratios."""
    N = mechanism.transmission_matrix
    velocities = np.zeros((len(couplings(mechanism)), mechanism.n_v))
    for k, (m, i) in enumerate(couplings(mechanism)):
        velocities[k, m], velocities[k, i] = 1.0, N[m, i] / N[m, m]
    return velocities


@for_trees
def coupling_regressor(mechanism: Mechanism, v: Any, a: Any) -> Any:
    """Regressor W (n_v, 3 n_c) of inertia between joints, viscous and Coulomb friction at the motor, in blocks."""
    pairs, n = couplings(mechanism), directions(mechanism)
    inertia = [[0.0] * len(pairs) for _ in range(mechanism.n_v)]
    for k, (m, i) in enumerate(pairs):
        inertia[m][k], inertia[i][k] = a[i], a[m]
    speed = n @ v
    blocks = (np.array(inertia).reshape(mechanism.n_v, -1), n.T * speed, n.T * sign(speed))
    return np.concatenate(blocks, axis=1)


def coupling_names(mechanism: Mechanism, numbers: dict[int, str]) -> tuple[str, ...]:
    """Symbols of the columns of `coupling_regressor`; `numbers` gives the link of every velocity coordinate."""
    pairs = couplings(mechanism)
    motors = [m for m, _ in pairs]
    labels = [numbers[m] if motors.count(m) == 1 else f"{numbers[m]}.{numbers[i]}" for m, i in pairs]
    return tuple(symbol.format(label) for symbol in COUPLING_SYMBOLS for label in labels)


class Motors(NamedTuple):
    """Contributions of drives to the energy and to the work along the driven coordinates, in one arithmetic."""

    forms: np.ndarray
    """Matrices Q (parameters, n_e, n_e) of the energy ½ J q̇ᵀQq̇, in scaled lengths."""
    place: dict[int, int]
    """Map from velocity coordinate to its index among the driven ones."""
    offsets: bool
    offset_scale: np.ndarray
    """Ratio of the unit of the rows of p to that of an offset, (n_e,)."""

    @property
    def n_columns(self) -> int:
        """Number of columns: rotors and couplings, which are quadratic in the velocities, then offsets."""
        return len(self.forms) + (len(self.place) if self.offsets else 0)

    def behind(self, K: Arithmetic, rows: Matrix) -> Matrix:
        """Append zero drive columns to rows."""
        return K.beside(rows, K.matrix([[0] * self.n_columns] * len(rows), self.n_columns))

    def pairs(self, K: Arithmetic, k: int | None) -> Matrix:
        """Contribution (n_e, columns) to the rows T,iᵀT,k of motors that move with coordinate k and another."""
        columns = np.zeros((len(self.place), self.n_columns), dtype=self.forms.dtype)
        if k is not None and len(self.forms):
            columns[:, : len(self.forms)] = self.forms[:, :, self.place[k]].T
        return K.matrix(columns, self.n_columns)

    def squares(self, K: Arithmetic, k: int | None, other: int | None) -> Matrix:
        """Contribution (1, columns) of motors to the rows T,kᵀT,k."""
        columns = np.zeros((1, self.n_columns), dtype=self.forms.dtype)
        if k is not None and other is not None and len(self.forms):
            columns[0, : len(self.forms)] = self.forms[:, self.place[k], self.place[other]]
        return K.matrix(columns, self.n_columns)

    def offset(self, K: Arithmetic, k: int | None) -> Matrix:
        """Contribution (1, columns) of an offset, which acts like weight along a translation."""
        columns = np.zeros((1, self.n_columns), dtype=self.forms.dtype)
        if k is not None and self.offsets:
            columns[0, len(self.forms) + self.place[k]] = -self.offset_scale[self.place[k]]
        return K.matrix(columns, self.n_columns)

    def unit(self, K: Arithmetic, k: int | None) -> Matrix:
        """Unit row (1, n_e) of a coordinate's constant part in the state b."""
        return K.matrix(
            [[int(k is not None and e == self.place[k]) for e in range(len(self.place))]], len(self.place)
        )


KINDS = (*DRIVE_PARAMETER_NAMES, COUPLING)
SYMBOLS = {"rotor": "Ia{}", "viscous": "Fv{}", "coulomb": "Fc{}", "offset": "off{}"}
"""Symbols of the four drive parameters, where `{}` stands for the number of the link that the joint moves."""


def counted_kinds(mechanism: Mechanism, drives: bool | Sequence[str] | None) -> tuple[str, ...]:
    """Types of drive parameters that `base_parameters` counts, in the order of `drive_regressor`."""
    if drives is None:
        return ("rotor",) if drive_vector(mechanism)[: mechanism.n_v].any() else ()
    if isinstance(drives, bool):
        return DRIVE_PARAMETER_NAMES if drives else ()
    if isinstance(drives, str):
        drives = [drives]
    for kind in drives:
        if kind not in KINDS:
            raise unknown_name("kind of drive parameter", kind, KINDS)
    return tuple(kind for kind in KINDS if kind in drives)


def driven_joints(mechanism: Mechanism) -> list[tuple[int, int, str]]:
    """List (link number, velocity coordinate, unit) of every velocity that has a motor.

    Joints with one coordinate count as driven. Joints with several count only if the model gives them a drive,
    because a floating base has no motors.
    """
    joints = []
    for i, _, joint in mechanism.outward():
        if joint.mimic is None and (joint.type.n_v == 1 or joint.drive is not None):
            start = mechanism.v_slices[joint.name].start
            joints += [(i, start + k, unit) for k, unit in enumerate(joint.type.units)]
    return joints


def driven_coordinates(mechanism: Mechanism) -> list[int]:
    """Velocity coordinates that have a motor."""
    return [v for _, v, _ in driven_joints(mechanism)]


def motor_coordinates(mechanism: Mechanism) -> list[int]:
    """Velocity coordinates with a rotor and an offset; with closed loops, those of named motors."""
    motors = mechanism.driven_velocities if mechanism.loops else range(mechanism.n_v)
    return [v for v in driven_coordinates(mechanism) if v in motors]


def motors_of(
    mechanism: Mechanism,
    kinds: Sequence[str],
    number: Callable[[float], Any],
    scale: float = 1.0,
    size: float = 1.0,
) -> Motors:
    """Build the contributions of rotors and offsets to the blocks.

    Args:
        mechanism: the mechanism.
        kinds: types of drive parameters that are counted.
        number: function that converts a float to a number of the arithmetic.
        scale: divisor of lengths.
        size: divisor of gravity.
    """

    def numbers(values) -> np.ndarray:
        array = np.asarray(values, dtype=float)
        dtype = float if number is float else object
        return np.array([number(float(x)) for x in array.ravel()], dtype=dtype).reshape(array.shape)

    driven = motor_coordinates(mechanism)
    lengths = numbers([scale if unit == "rad" else 1.0 for _, v, unit in driven_joints(mechanism) if v in driven])
    N = numbers(mechanism.transmission_matrix[np.ix_(driven, driven)])
    forms = N[:0, :, None] * N[:0, None, :]
    if "rotor" in kinds:
        forms = N[:, :, None] * N[:, None, :]
    if COUPLING in kinds:
        forms = np.concatenate([forms, numbers(_coupling_forms(mechanism, driven))])
    forms = forms / (lengths[:, None] * lengths)
    return Motors(forms, {v: e for e, v in enumerate(driven)}, "offset" in kinds, numbers(1.0 / size) / lengths)


def _coupling_forms(mechanism: Mechanism, driven: list[int]) -> np.ndarray:
    """Energy q̇_m q̇_i of every coupling, as symmetric matrices over the driven coordinates."""
    pairs = couplings(mechanism)
    flat = _velocity_forms(mechanism, pairs)
    if len(pairs) and np.linalg.matrix_rank(flat) < len(flat):
        raise ModelError(
            "friction of joints that move each other's motors both ways cannot be separated",
            element="the transmission matrix",
            remedy='Leave "coupling" out',
        )
    forms = np.zeros((len(pairs), len(driven), len(driven)))
    for k, (m, i) in enumerate(pairs):
        if m not in driven or i not in driven:
            raise ModelError(
                "couples a coordinate without a motor",
                element="the transmission matrix",
                remedy="Couple only joints with drives",
            )
        x, y = driven.index(m), driven.index(i)
        forms[k, x, y] = forms[k, y, x] = 1.0
    return forms


def _velocity_forms(mechanism: Mechanism, pairs) -> np.ndarray:
    """Flattened quadratic forms of all viscous friction, of the joints and of coupled motors."""
    n = directions(mechanism)
    joints = np.eye(mechanism.n_v)
    return np.array([np.outer(row, row).ravel() for row in (*joints, *n[: len(pairs)])])


def drive_columns(mechanism: Mechanism, kinds: Sequence[str]) -> list[int]:
    """Drive columns that appear in the blocks: rotors, couplings, offsets.

    Columns are those of `drive_regressor`, then those of `coupling_regressor`.
    """
    driven, n_v = motor_coordinates(mechanism), mechanism.n_v
    columns = list(driven) if "rotor" in kinds else []
    if COUPLING in kinds:
        columns += [4 * n_v + k for k in range(len(couplings(mechanism)))]
    if "offset" in kinds:
        columns += [DRIVE_PARAMETER_NAMES.index("offset") * n_v + v for v in driven]
    return columns


def frictions(mechanism: Mechanism, kinds: Sequence[str], tied: Sequence[int] = ()) -> list[int]:
    """Drive columns that are always base parameters; for `tied` velocities see `tied_frictions`."""
    driven = [v for v in driven_coordinates(mechanism) if v not in tied]
    counted = [DRIVE_PARAMETER_NAMES.index(kind) for kind in ("viscous", "coulomb") if kind in kinds]
    columns = [block * mechanism.n_v + v for block in counted for v in driven]
    if COUPLING in kinds:
        n = len(couplings(mechanism))
        columns += range(4 * mechanism.n_v + n, 4 * mechanism.n_v + 3 * n)
    return columns


def n_drive_parameters(mechanism: Mechanism, kinds: Sequence[str]) -> int:
    """Number of drive parameters after those of the links in p."""
    if not kinds:
        return 0
    return 4 * mechanism.n_v + (3 * len(couplings(mechanism)) if COUPLING in kinds else 0)


def drive_vector(mechanism: Mechanism) -> np.ndarray:
    """Drive parameters of the mechanism, (4 n_v,), in the order of `drive_regressor`.

    A mimic joint adds its parameters to its leader's, scaled to the leader's motion.
    """
    values = np.zeros((len(DRIVE_PARAMETER_NAMES), mechanism.n_v))
    leaders = {joint.name: joint.drive for joint in mechanism.joints if joint.mimic is None}
    for joint in mechanism.joints:
        drive = joint.drive
        if drive is None:
            continue
        joint_values = np.array([drive.rotor_inertia, drive.viscous, drive.coulomb, drive.offset])
        if joint.mimic is not None:
            r, leader = joint.mimic.multiplier, leaders[joint.mimic.joint]
            gear = 1.0 if leader is None else leader.gear_ratio
            # With a transmission matrix, only the independent velocities have rotors.
            geared = 0.0 if mechanism.transmission is not None else (r * drive.gear_ratio / gear) ** 2
            joint_values *= np.array(
                [np.broadcast_to(geared, joint_values.shape[1:]), *([k] for k in (r * r, abs(r), r))]
            )
        values[:, mechanism.v_slices[joint.name]] += joint_values
    return values.ravel()


def drive_names(mechanism: Mechanism, kinds: Sequence[str]) -> tuple[str, ...]:
    """Symbols of all drive parameters in p."""
    if not kinds:
        return ()
    numbers = {}
    for i, _, joint in mechanism.outward():
        if joint.mimic is None:
            part = mechanism.v_slices[joint.name]
            for k, v in enumerate(range(part.start, part.stop)):
                numbers[v] = f"{i}" if joint.type.n_v == 1 else f"{i}.{k + 1}"
    names = tuple(SYMBOLS[kind].format(numbers[v]) for kind in DRIVE_PARAMETER_NAMES for v in range(mechanism.n_v))
    return names + (coupling_names(mechanism, numbers) if COUPLING in kinds else ())


def coupled_rows(K: Arithmetic, nodes: Sequence[Node], rates: Sequence[np.ndarray], motors: Motors) -> Matrix:
    """Rows (…, drive columns) of motors that couple nodes of different branches.

    Args:
        K: the arithmetic.
        nodes: the nodes, parents first.
        rates: (states, n_e, m) per node, driven velocities per independent velocity.
        motors: contributions of the motors.
    """
    home = {body: n for n, node in enumerate(nodes) for body in node.bodies}
    above: list[set[int]] = []
    n_f = len(motors.forms)
    rows = [K.matrix([], motors.n_columns)]
    for n, node in enumerate(nodes):
        above.append({n} | (above[home[node.parent]] if node.parent else set()))
        for k in range(n):
            if k not in above[n] and _coupled(motors, rates[k][0], rates[n][0]):
                turned = np.tensordot(rates[k], motors.forms, axes=([1], [1]))  # (s, x, f, d)
                pairs = np.tensordot(turned, rates[n], axes=([3], [1]))  # (s, x, f, t, y)
                columns = np.moveaxis(pairs, 2, -1).reshape(-1, n_f)
                offsets = np.zeros((len(columns), motors.n_columns - n_f), dtype=columns.dtype)
                rows.append(K.matrix(np.concatenate([columns, offsets], axis=1), motors.n_columns))
    return K.reduced(*rows)


def _coupled(motors: Motors, rates: np.ndarray, other_rates: np.ndarray) -> bool:
    moving, others = abs(rates).sum(axis=1) > 0, abs(other_rates).sum(axis=1) > 0
    return bool(motors.forms[:, moving][:, :, others].any())


def solve_drives(solved: Sequence[Solved], *more: np.ndarray) -> Solved:
    """Compute pivots and grouping among the drive columns from remaining rows of all blocks and further rows."""
    rows = np.concatenate([*more, *(block.rest for block in solved)])
    return solve_dense(rows)


def side_by_side(*parts: Solved | None) -> tuple[np.ndarray, np.ndarray]:
    """Join pivots and grouping of independent problems."""
    given = [part for part in parts if part is not None]
    starts = np.cumsum([0, *(part.Y.shape[1] for part in given)])
    pivots = [part.pivots + start for part, start in zip(given, starts, strict=False)]
    whole = np.asarray(scipy.linalg.block_diag(*(part.Y for part in given))) if given else np.zeros((0, 0))
    return np.concatenate([np.zeros(0, dtype=int), *pivots]).astype(int), whole


def reject_coupling(kinds: Sequence[str], loops: Sequence[object]) -> None:
    """Raise an error for coupled motors in a mechanism with loops, whose friction is not supported."""
    if COUPLING in kinds and loops:
        raise ModelError(
            "couplings of motors are not supported in a mechanism with closed loops", remedy='Leave "coupling" out'
        )


DIRECTIONS = 8
"""Number of directions of the independent velocities at which signs are evaluated in every state."""


def tied_frictions(
    mechanism: Mechanism, kinds: Sequence[str], rates: Sequence[np.ndarray], rng: np.random.Generator
) -> tuple[list[int], Solved | None]:
    """Friction columns in loops, and which of them are independent; `rates` are (S, n_v, m) per loop."""
    columns: list[int] = []
    solved: list[Solved] = []
    driven = driven_coordinates(mechanism)
    for G in rates:
        moving = [v for v in driven if G[:, v].any()]
        for kind, rows in (("viscous", _viscous), ("coulomb", _coulomb)):
            if kind in kinds and moving:
                columns += [DRIVE_PARAMETER_NAMES.index(kind) * mechanism.n_v + v for v in moving]
                solved.append(solve_dense(r_factor(rows(G[:, moving], rng))))
    if not solved:
        return columns, None
    pivots, Y = side_by_side(*solved)
    return columns, Solved(pivots, Y, np.zeros((0, 0)), np.zeros(0))


def tied_velocities(mechanism: Mechanism, rates: Sequence[np.ndarray]) -> list[int]:
    """Velocity coordinates that take part in a loop."""
    return [v for v in range(mechanism.n_v) if any(G[:, v].any() for G in rates)]


def _viscous(G: np.ndarray, rng) -> np.ndarray:
    """Flattened damping matrix of every joint's friction, (rows, joints)."""
    return np.einsum("sex,sey->sxye", G, G).reshape(-1, G.shape[1]) / np.sqrt(len(G))


def _coulomb(G: np.ndarray, rng) -> np.ndarray:
    u = rng.normal(size=(DIRECTIONS, G.shape[2]))
    signs = np.sign(np.einsum("sex,dx->sde", G, u))
    return np.einsum("sex,sde->sdxe", G, signs).reshape(-1, G.shape[1]) / np.sqrt(len(G))

"""Drive parameters beside the inertial ones: which are counted, how they enter the blocks, and what merges.

A rotor inertia adds the constant ½ J (n q̇)² to the energy, so it can only be confused with an inertia that is seen
as a constant; an offset is like weight along a translation and like nothing else. Friction is odd in the velocities
where all else is even: it never merges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from ..algorithms.regressor import DRIVE_PARAMETER_NAMES
from ..errors import ModelError, unknown_name
from ..mechanism import Mechanism
from .arithmetic import Arithmetic, Matrix
from .blocks import Solved, solve_dense
from .coupling import COUPLING, coupling_names, couplings, directions
from .motors import Motors
from .nodes import Node

KINDS = (*DRIVE_PARAMETER_NAMES, COUPLING)
SYMBOLS = {"rotor": "Ia{}", "viscous": "Fv{}", "coulomb": "Fc{}", "offset": "off{}"}
"""Symbols of the four drive parameters, `{}` standing for the number of the link that the joint moves."""


def counted_kinds(mechanism: Mechanism, drives: bool | Sequence[str] | None) -> tuple[str, ...]:
    """Kinds of drive parameters that `base_parameters` counts, in the order of `robot.drive_regressor`."""
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
    """(link number, velocity coordinate, unit) of every velocity that has a motor.

    Joints with one coordinate of their own count as driven; those with several only if the model gives them a drive
    (nobody expects a motor on a floating base).
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


def motors_of(
    mechanism: Mechanism,
    kinds: Sequence[str],
    number: Callable[[float], Any],
    scale: float = 1.0,
    size: float = 1.0,
) -> Motors:
    """How rotors and offsets enter the blocks.

    Args:
        mechanism: the mechanism.
        kinds: kinds of drive parameters that are counted.
        number: takes a float to a number of the arithmetic.
        scale: what lengths are divided by.
        size: what gravity is divided by.
    """

    def numbers(values) -> np.ndarray:
        array = np.asarray(values, dtype=float)
        dtype = float if number is float else object
        return np.array([number(float(x)) for x in array.ravel()], dtype=dtype).reshape(array.shape)

    driven = driven_coordinates(mechanism)
    lengths = numbers([scale if unit == "rad" else 1.0 for _, _, unit in driven_joints(mechanism)])
    N = numbers(mechanism.transmission_matrix[np.ix_(driven, driven)])
    forms = N[:0, :, None] * N[:0, None, :]
    if "rotor" in kinds:
        forms = N[:, :, None] * N[:, None, :]
    if COUPLING in kinds:
        forms = np.concatenate([forms, numbers(_coupling_forms(mechanism, driven))])
    forms = forms / (lengths[:, None] * lengths)
    return Motors(forms, {v: e for e, v in enumerate(driven)}, "offset" in kinds, numbers(1.0 / size) / lengths)


def _coupling_forms(mechanism: Mechanism, driven: list[int]) -> np.ndarray:
    """The energy q̇_m q̇_i of every coupling, as symmetric matrices over the driven coordinates."""
    pairs = couplings(mechanism)
    flat = _velocity_forms(mechanism, pairs)
    if len(pairs) and np.linalg.matrix_rank(flat) < len(flat):
        raise ModelError(
            "joints that turn each other's motors both ways have friction that cannot be told apart",
            element="the transmission matrix",
            remedy='Leave "coupling" out',
        )
    forms = np.zeros((len(pairs), len(driven), len(driven)))
    for k, (m, i) in enumerate(pairs):
        if m not in driven or i not in driven:
            raise ModelError("couples a coordinate without a motor", element="the transmission matrix")
        x, y = driven.index(m), driven.index(i)
        forms[k, x, y] = forms[k, y, x] = 1.0
    return forms


def _velocity_forms(mechanism: Mechanism, pairs) -> np.ndarray:
    """Quadratic forms of all viscous frictions, flat: those of the joints and those of coupled motors."""
    n = directions(mechanism)
    joints = np.eye(mechanism.n_v)
    return np.array([np.outer(row, row).ravel() for row in (*joints, *n[: len(pairs)])])


def drive_columns(mechanism: Mechanism, kinds: Sequence[str]) -> list[int]:
    """Columns of the drives that the drive columns of the blocks stand for: rotors, couplings, offsets.

    Columns are those of `robot.drive_regressor`, then those of `coupling_regressor`.
    """
    driven, n_v = driven_coordinates(mechanism), mechanism.n_v
    columns = list(driven) if "rotor" in kinds else []
    if COUPLING in kinds:
        columns += [4 * n_v + k for k in range(len(couplings(mechanism)))]
    if "offset" in kinds:
        columns += [DRIVE_PARAMETER_NAMES.index("offset") * n_v + v for v in driven]
    return columns


def frictions(mechanism: Mechanism, kinds: Sequence[str], tied: Sequence[int] = ()) -> list[int]:
    """Columns of the drives that are always base parameters; for `tied` velocities see `friction`."""
    driven = [v for v in driven_coordinates(mechanism) if v not in tied]
    counted = [DRIVE_PARAMETER_NAMES.index(kind) for kind in ("viscous", "coulomb") if kind in kinds]
    columns = [block * mechanism.n_v + v for block in counted for v in driven]
    if COUPLING in kinds:
        n = len(couplings(mechanism))
        columns += range(4 * mechanism.n_v + n, 4 * mechanism.n_v + 3 * n)
    return columns


def n_drive_parameters(mechanism: Mechanism, kinds: Sequence[str]) -> int:
    """How many drive parameters stand behind the links' in p."""
    if not kinds:
        return 0
    return 4 * mechanism.n_v + (3 * len(couplings(mechanism)) if COUPLING in kinds else 0)


def drive_vector(mechanism: Mechanism) -> np.ndarray:
    """(4 n_v,) the mechanism's own drive parameters, in the order of `robot.drive_regressor`.

    A joint that follows another adds its own to the leader's, as the leader's motion feels them.
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
            # With a transmission matrix the rotors are those of the independent velocities alone.
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
    """Rows (…, drive columns) of motors that couple nodes of different branches, which no link sees together.

    Args:
        K: the arithmetic.
        nodes: parents first.
        rates: of every node, (states, n_e, m): driven velocities for each of its m independent ones.
        motors: what couples.
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
    """Pivots and grouping among the drive columns from what is left of all blocks and from more rows."""
    rows = np.concatenate([*more, *(block.rest for block in solved)])
    return solve_dense(rows)


def side_by_side(*parts: Solved | None) -> tuple[np.ndarray, np.ndarray]:
    """Pivots and grouping of problems that share nothing, one after another."""
    given = [part for part in parts if part is not None]
    starts = np.cumsum([0, *(part.Y.shape[1] for part in given)])
    pivots = [part.pivots + start for part, start in zip(given, starts, strict=False)]
    whole = np.asarray(scipy.linalg.block_diag(*(part.Y for part in given))) if given else np.zeros((0, 0))
    return np.concatenate([np.zeros(0, dtype=int), *pivots]).astype(int), whole


def refuse_coupling(kinds: Sequence[str], loops: Sequence[object]) -> None:
    """Friction at motors that joints of a loop share is not covered."""
    if COUPLING in kinds and loops:
        raise ModelError(
            "couplings of motors are not covered in a mechanism with closed loops", remedy='Leave "coupling" out'
        )

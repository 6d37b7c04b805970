"""Drive parameters beside the inertial ones: which are counted, how they enter the blocks, and what merges.

A rotor inertia adds the constant ½ J (n q̇)² to the energy, so it can only be confused with an inertia that is seen
as a constant; an offset is like weight along a translation and like nothing else. Friction is odd in the velocities
where all else is even: it never merges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algorithms.regressor import DRIVE_PARAMETER_NAMES
from ..errors import ModelError, unknown_name
from ..mechanism import Mechanism
from .blocks import Solved, solve_dense
from .closure import Motors
from .nodes import Node

SYMBOLS = {"rotor": "Ia{}", "viscous": "Fv{}", "coulomb": "Fc{}", "offset": "off{}"}
"""Symbols of the four drive parameters, `{}` standing for the number of the link that the joint moves."""


def counted_kinds(drives: bool | Sequence[str]) -> tuple[str, ...]:
    """Kinds of drive parameters that are counted, in the order of `robot.drive_regressor`."""
    if isinstance(drives, bool):
        return DRIVE_PARAMETER_NAMES if drives else ()
    if isinstance(drives, str):
        drives = [drives]
    for kind in drives:
        if kind not in DRIVE_PARAMETER_NAMES:
            raise unknown_name("kind of drive parameter", kind, DRIVE_PARAMETER_NAMES)
    return tuple(kind for kind in DRIVE_PARAMETER_NAMES if kind in drives)


def driven_coordinates(mechanism: Mechanism) -> list[int]:
    """Velocity coordinates that have a motor: those of joints with one coordinate of their own."""
    return [
        mechanism.v_slices[joint.name].start
        for joint in mechanism.joints
        if joint.mimic is None and joint.type.n_v == 1
    ]


def motors_of(mechanism: Mechanism, kinds: Sequence[str], gravity: np.ndarray, scale: float) -> Motors:
    """How rotors and offsets enter the blocks, lengths divided by `scale`."""
    driven = driven_coordinates(mechanism)
    turning = np.array(
        [mechanism.joints[k - 1].type.units == ("rad",) for k in driving_links(mechanism)], dtype=bool
    )
    lengths = np.where(turning, scale, 1.0)
    N = mechanism.transmission_matrix[np.ix_(driven, driven)]
    forms = np.zeros((0, len(driven), len(driven)))
    if "rotor" in kinds:
        forms = N[:, :, None] * N[:, None, :] / (lengths[:, None] * lengths)
    size = float(np.linalg.norm(gravity))
    unit = 1.0 / (lengths * (size if size > 0 else 1.0))
    return Motors(forms, {v: e for e, v in enumerate(driven)}, "offset" in kinds, unit)


def driving_links(mechanism: Mechanism) -> list[int]:
    """Numbers of the links that the driven coordinates move."""
    return [i for i, _, joint in mechanism.outward() if joint.mimic is None and joint.type.n_v == 1]


def drive_columns(mechanism: Mechanism, kinds: Sequence[str]) -> list[int]:
    """Columns of `robot.drive_regressor` that the drive columns of the blocks stand for: rotors, then offsets."""
    driven = driven_coordinates(mechanism)
    return [
        DRIVE_PARAMETER_NAMES.index(kind) * mechanism.n_v + v
        for kind in ("rotor", "offset")
        if kind in kinds
        for v in driven
    ]


def frictions(mechanism: Mechanism, kinds: Sequence[str]) -> list[int]:
    """Columns of `robot.drive_regressor` that are always base parameters."""
    driven = driven_coordinates(mechanism)
    return [
        DRIVE_PARAMETER_NAMES.index(kind) * mechanism.n_v + v
        for kind in ("viscous", "coulomb")
        if kind in kinds
        for v in driven
    ]


def drive_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Symbols of all columns of `robot.drive_regressor`."""
    moved = {}
    for i, _, joint in mechanism.outward():
        if joint.mimic is None:
            part = mechanism.v_slices[joint.name]
            for k, v in enumerate(range(part.start, part.stop)):
                moved[v] = f"{i}" if joint.type.n_v == 1 else f"{i}.{k + 1}"
    return tuple(SYMBOLS[kind].format(moved[v]) for kind in DRIVE_PARAMETER_NAMES for v in range(mechanism.n_v))


def coupled_rows(mechanism: Mechanism, nodes: Sequence[Node], motors: Motors) -> np.ndarray:
    """Rows (…, drive columns) of motors that couple joints of different branches, which no link sees together."""
    home = {body: node for node in nodes for body in node.bodies}
    links = driving_links(mechanism)
    rows = []
    for y in range(len(links)):
        above = {*mechanism.tree.ancestors(links[y]), links[y], *home[links[y]].bodies}
        for x in range(y):
            pair = motors.forms[:, x, y]
            apart = links[x] not in above and links[y] not in {*mechanism.tree.ancestors(links[x])}
            if pair.any() and apart:
                rows.append(np.concatenate([pair, np.zeros(motors.n_columns - len(pair))]))
    return np.array(rows).reshape(-1, motors.n_columns)


def solve_drives(solved: Sequence[Solved], coupled: np.ndarray) -> Solved:
    """Pivots and grouping among the drive columns from what is left of all blocks."""
    rows = np.concatenate([coupled, *(one.rest for one in solved)])
    return solve_dense(rows)


def refuse_loops(kinds: Sequence[str], loops: Sequence):
    """Drives of joints in a loop are not covered."""
    if kinds and loops:
        raise ModelError(
            "drive parameters of a mechanism with closed loops are not covered", remedy="Leave out drives, or loops"
        )

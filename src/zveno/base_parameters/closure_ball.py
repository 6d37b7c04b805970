"""The forward recursion across a driven ball or free joint, whose velocities are not rates of coordinates.

Its pose is an element R of a group, its velocity Ω = Σ ω_a D_a in its own axes. A motor on ω_a adds a constant to
the mass matrix in these velocities, so the functions of R must be written with them: RᵀXR, RᵀXR D_a, D_aᵀRᵀXR D_b.
The span of RᵀXR over the group is X under all words in the operators X → D_aᵀX + XD_a; the constant function is
seen by the empty word alone. Otherwise as in `closure`.

Equal mass matrices are not yet equal torques here: a body that looks like a rotor at every R still has gyroscopic
torques, which a rotor (torque = inertia · acceleration, see `robot.drive_regressor`) has not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .closure import States, Step, condensed, moved, placed, r_factor, states_of
from .motors import Motors
from .views import DOUBLE, SYMMETRIC

WORDS = 8
"""Length of the longest word; the spaces have at most ten dimensions and are full after four."""


def advance_ball(
    states: States, step: Step, D: np.ndarray, motors: Motors, coordinates: Sequence[int]
) -> tuple[States, np.ndarray]:
    """The states of a link and its block, as `closure.advance`, from the joint's generators D (n, 4, 4)."""
    n_drive, places = motors.n_columns, [motors.place[v] for v in coordinates]
    states = moved(states, step.before)
    one = np.eye(4)
    left = np.einsum("nki,lj->nklij", D, one).reshape(-1, 16, 16)
    right = np.einsum("ki,nlj->nklij", one, D).reshape(-1, 16, 16)
    d16 = 0.5 * (left + right)
    d10 = DOUBLE @ d16 @ SYMMETRIC
    b, a, p = _words(states.b, d16, 16), _words(states.a, d10, 10), _words(states.p, D, 4)
    kinetic = [_behind(_words(np.concatenate([states.c @ d for d in d10]), d10, 10), n_drive)]
    behind, potential = [b], []
    for x, place in enumerate(places):
        own = motors.forms[:, :, place]
        kinetic.append(_behind(b[:, :16] @ right[x] @ SYMMETRIC, n_drive, b[:, 16:] @ own.T))
        for y in range(x, len(places)):
            both = DOUBLE @ np.einsum("ki,lj->klij", D[x], D[y]).reshape(16, 16) @ SYMMETRIC
            kinetic.append(_behind(a[:, :10] @ both, n_drive, np.outer(a[:, 10], own[:, places[y]])))
        constant = np.zeros((len(a), len(motors.place)))
        constant[:, place] = a[:, 10]
        behind.append(np.concatenate([a[:, :10] @ DOUBLE @ left[x], constant], axis=1))
        offsets = np.zeros((len(p), n_drive))
        if motors.offsets:
            offsets[:, len(motors.forms) + place] = -p[:, 4] * motors.offset_scale[place]
        potential.append(np.concatenate([p[:, :4] @ D[x], offsets], axis=1))
    B = r_factor(*kinetic)
    after = states_of(condensed(states.c, B[:, :10]), condensed(*behind), a, p)
    return placed(after, [B], potential, step, n_drive)


def gyroscopic_rows(D: np.ndarray, motors: Motors, coordinates: Sequence[int]) -> np.ndarray:
    """Rows (…, drive columns) of the torques Σ c_ab^d ω_b (Q v)_d that only links have, [D_a, D_b] = Σ c_ab^d D_d.

    Where links cancel the rotors' part Q of the mass matrix, these are the torques that are left.
    """
    places = [motors.place[v] for v in coordinates]
    products = np.einsum("aij,bjk->abik", D, D)
    brackets = (products - np.swapaxes(products, 0, 1)).reshape(len(D) ** 2, 16)
    c = np.linalg.lstsq(D.reshape(len(D), 16).T, brackets.T, rcond=None)[0].T.reshape(len(D), len(D), len(D))
    left = np.einsum("abd,fde->abef", c, motors.forms[:, places])
    for y, place in enumerate(places):  # ω_b ω_y is the same product as ω_y ω_b
        for x, other in enumerate(places[: y + 1]):
            both = left[:, x, place] + left[:, y, other]
            left[:, x, place] = left[:, y, other] = both
    rows = left.reshape(-1, len(motors.forms))
    return np.pad(rows[rows.any(axis=1)], ((0, 0), (0, motors.n_columns - len(motors.forms))))


def _words(rows: np.ndarray, operators: np.ndarray, width: int) -> np.ndarray:
    """Rows under all words in the operators; only the empty word keeps the constant part behind `width`."""
    for _ in range(WORDS):
        onward = [np.pad(rows[:, :width] @ d, ((0, 0), (0, rows.shape[1] - width))) for d in operators]
        rows = condensed(rows, *onward)
    return rows


def _behind(rows: np.ndarray, n_drive: int, drive: np.ndarray | None = None) -> np.ndarray:
    """Rows with their drive columns, those of offsets being zero."""
    found = np.zeros((len(rows), rows.shape[1] + n_drive))
    found[:, : rows.shape[1]] = rows
    if drive is not None:
        found[:, rows.shape[1] : rows.shape[1] + drive.shape[1]] = drive
    return found

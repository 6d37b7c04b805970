"""Drives as the blocks see them: columns behind the links' that rows of constant functions add to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Motors(NamedTuple):
    """What drives add to the energy, and to the work along the driven coordinates."""

    forms: np.ndarray
    """(parameters, n_e, n_e): matrices Q with energy ½ J q̇ᵀQq̇, in the scale of lengths."""
    place: dict[int, int]
    """Velocity coordinate → its number among the driven ones."""
    offsets: bool
    offset_scale: np.ndarray
    """(n_e,): unit of the rows of p over that of an offset."""

    @property
    def n_columns(self) -> int:
        """Rotors and what else is quadratic in the velocities, then offsets."""
        return len(self.forms) + (len(self.place) if self.offsets else 0)


def rotor_columns(motors: Motors, b_constant, a_constant, coordinate: int | None) -> np.ndarray:
    """Drive columns of the rows T,iᵀT,k and T,kᵀT,k, which a motor that turns with i and k adds its part to."""
    found = np.zeros((len(b_constant) + len(a_constant), motors.n_columns))
    if coordinate is not None:
        k = motors.place[coordinate]
        own = motors.forms[:, :, k]
        found[: len(b_constant), : len(own)] = b_constant @ own.T
        found[len(b_constant) :, : len(own)] = np.outer(a_constant, own[:, k])
    return found


def offset_columns(motors: Motors, p_constant, powers: int, rotation: bool, coordinate: int | None) -> np.ndarray:
    """Drive columns of the rows pD, pD², …: an offset looks like weight along a translation."""
    found = np.zeros((len(p_constant), powers, motors.n_columns))
    if motors.offsets and coordinate is not None and not rotation:
        n = motors.place[coordinate]
        found[:, 0, len(motors.forms) + n] = -p_constant * motors.offset_scale[n]
    return found.reshape(-1, motors.n_columns)


def offset_alone(motors: Motors, coordinate: int) -> np.ndarray:
    """The row of an offset that is like nothing else."""
    row = np.zeros((1, motors.n_columns))
    row[0, len(motors.forms) + motors.place[coordinate]] = 1.0
    return row

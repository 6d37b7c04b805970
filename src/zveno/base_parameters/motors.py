"""Drives as the blocks see them: columns behind the links' that rows of constant functions add to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arithmetic import Arithmetic, Matrix


class Motors(NamedTuple):
    """What drives add to the energy, and to the work along the driven coordinates, in numbers of one arithmetic."""

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

    def behind(self, K: Arithmetic, rows: Matrix) -> Matrix:
        """Rows that drives add nothing to."""
        return K.beside(rows, K.matrix([[0] * self.n_columns] * len(rows), self.n_columns))

    def pairs(self, K: Arithmetic, k: int | None) -> Matrix:
        """(n_e, columns): what a motor that turns with coordinate k and another adds to the rows T,iᵀT,k."""
        columns = np.zeros((len(self.place), self.n_columns), dtype=self.forms.dtype)
        if k is not None and len(self.forms):
            columns[:, : len(self.forms)] = self.forms[:, :, self.place[k]].T
        return K.matrix(columns, self.n_columns)

    def squares(self, K: Arithmetic, k: int | None, other: int | None) -> Matrix:
        """(1, columns): what motors add to the rows T,kᵀT,k."""
        columns = np.zeros((1, self.n_columns), dtype=self.forms.dtype)
        if k is not None and other is not None and len(self.forms):
            columns[0, : len(self.forms)] = self.forms[:, self.place[k], self.place[other]]
        return K.matrix(columns, self.n_columns)

    def offset(self, K: Arithmetic, k: int | None) -> Matrix:
        """(1, columns): an offset looks like weight along a translation, and like nothing else."""
        columns = np.zeros((1, self.n_columns), dtype=self.forms.dtype)
        if k is not None and self.offsets:
            columns[0, len(self.forms) + self.place[k]] = -self.offset_scale[self.place[k]]
        return K.matrix(columns, self.n_columns)

    def unit(self, K: Arithmetic, k: int | None) -> Matrix:
        """(1, n_e): the coordinate's own constant part among those of the state b."""
        return K.matrix(
            [[int(k is not None and e == self.place[k]) for e in range(len(self.place))]], len(self.place)
        )

"""Rows of campaigns and their unknowns: the parts of a `FitProblem`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.models import LETTERS, SIX
from .base import Measurement


@dataclass(frozen=True, eq=False)
class Unknown:
    """Frame that is estimated with the robot, by some of its six displacements."""

    label: str
    frame: int
    """Frame number."""
    free: tuple[int, ...]
    start: int
    """Column of its first displacement."""
    wanted: bool
    given: bool
    """True if its value is more than a placeholder."""
    numbers: tuple[str, ...] = ()
    """Names of the numbers that its translation holds, if it is not a place."""
    number_units: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its displacements: `tracker.Tx`; or of numbers: `bar.length`."""
        if self.numbers:
            return tuple(self.numbers[k] for k in self.free)
        return tuple(f"{self.label}.{SIX[k][0]}{LETTERS[SIX[k][1]]}" for k in self.free)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each displacement."""
        if self.numbers:
            return tuple(self.number_units[k] for k in self.free)
        return tuple("m" if k < 3 else "rad" for k in self.free)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one campaign; a row is one thing seen in one posture."""

    measurement: Measurement
    frame: str
    q: np.ndarray
    tau: np.ndarray
    side: np.ndarray
    """Sign of every joint's last motion, (postures, n_v); 0 where it is not known."""
    posture: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray
    y: np.ndarray
    known: np.ndarray
    """Components that were read, (rows, m) booleans."""
    first_noise: int
    first_posture: int
    line: np.ndarray
    """Row number in the original campaign, from 1, (rows,)."""
    scattered: tuple[tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None, ...] = ()
    """Rows, columns and displacements by which frames are unknown, for L, R and X; all rows are a slice."""
    seen_from: str = ""
    """Frame of the robot that takes the place of the world; empty: the world."""
    numbers: tuple[int, ...] = ()
    """Frames that hold the constants of the instrument."""
    number_columns: tuple[tuple[int, int], ...] = ()
    """(constant, column) of those that are unknown."""

    @cached_property
    def n_known(self) -> int:
        """Number of components that were read."""
        return int(self.known.sum())


def instrument_numbers(part: Part, frames: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the constants c (..., rows, n_numbers) of a part's instrument; an empty tuple if it has none."""
    if not part.numbers:
        return ()
    c = frames[..., :3, 3][..., list(part.numbers), :]
    c = c.reshape(*c.shape[:-2], -1)[..., : part.measurement.n_numbers]
    return (np.repeat(c[..., None, :], len(part.left), axis=-2),)

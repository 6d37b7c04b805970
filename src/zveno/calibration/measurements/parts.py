"""Rows of campaigns and what is unknown about them: what a `FitProblem` is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.models import LETTERS, SIX
from .base import Measurement


@dataclass(frozen=True, eq=False)
class Unknown:
    """A frame that is estimated with the robot, by some of its six displacements."""

    label: str
    frame: int
    """Its number among the frames."""
    free: tuple[int, ...]
    start: int
    """Column of its first displacement."""
    wanted: bool
    given: bool
    """Whether its value is more than a place holder."""
    numbers: tuple[str, ...] = ()
    """Names of the numbers that its translation stands for, where it is not a place."""
    number_units: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its displacements: `tracker.Tx`; or of numbers: `bar.length`."""
        if self.numbers:
            return tuple(self.numbers[k] for k in self.free)
        return tuple(f"{self.label}.{SIX[k][0]}{LETTERS[SIX[k][1]]}" for k in self.free)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each."""
        if self.numbers:
            return tuple(self.number_units[k] for k in self.free)
        return tuple("m" if k < 3 else "rad" for k in self.free)


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one campaign; a row is one thing seen in one posture."""

    measurement: Measurement
    frame: str
    q: np.ndarray
    tau: np.ndarray
    side: np.ndarray
    """(postures, n_v) sign of every joint's last motion; 0 where it is not known."""
    posture: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray
    y: np.ndarray
    known: np.ndarray
    """(rows, m) which components were read."""
    first_noise: int
    first_posture: int
    line: np.ndarray
    """(rows,) row number in the campaign as it was given, from 1."""
    scattered: tuple[tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None, ...] = ()
    """For L, R and X: rows, columns and displacements by which frames are unknown; all rows are a slice."""
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


@dataclass(frozen=True)
class Split:
    """From some posture of a campaign on, one of its frames is another one.

    Attributes:
        part, posture: number of the campaign, and of its first posture after the change.
        slot: "left", "right" or "target".
        free: displacements of the new frame that are estimated.
        label: of the new frame.
        only: label of the target that is replaced, where there are several.
    """

    part: int
    posture: int
    slot: str
    free: tuple[int, ...]
    label: str
    only: str = ""


def instrument_numbers(part: Part, frames: np.ndarray) -> tuple[np.ndarray, ...]:
    """The constants c (..., rows, n_numbers) of a part's instrument; nothing where it has none."""
    if not part.numbers:
        return ()
    c = frames[..., :3, 3][..., list(part.numbers), :]
    c = c.reshape(*c.shape[:-2], -1)[..., : part.measurement.n_numbers]
    return (np.repeat(c[..., None, :], len(part.left), axis=-2),)

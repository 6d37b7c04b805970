"""Elements of a kind of measurement: unknown frames and numbers, noise, and remarks about rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError
from ...spatial.transforms import is_transform, transform
from ...spatial.vectors import skew

if TYPE_CHECKING:
    from .base import Measurement

ALL_SIX = (0, 1, 2, 3, 4, 5)
POINT = (0, 1, 2)
PLANE = (2, 3, 4)
DIRECTION = (3, 4)


@dataclass(frozen=True)
class Noise:
    """Components of a residual that share one standard deviation.

    Attributes:
        name, unit: its name, and "m" or "rad".
        rows: the components. They are independent: as many as the reading has degrees of freedom.
        typical: standard deviation with usual instruments, in `unit`: taken where none is given or estimated.
        numbers: of the reading, which they depend on all together; each on the one at its own place if None.
    """

    name: str
    rows: slice
    unit: str
    typical: float
    numbers: slice | None = None


@dataclass(frozen=True, eq=False)
class Remark:
    """Remark for the user about some postures of a campaign.

    Attributes:
        rows: the postures concerned, (n,) booleans.
        words: text that follows "rows 3, 5".
        left_out: whether they are excluded.
    """

    rows: np.ndarray
    words: str
    left_out: bool = True


@dataclass(frozen=True, eq=False)
class Countable:
    """Data of a kind for the formulas of document 001 that count identifiable parameters.

    Attributes:
        point: the measured point of the frame, (3,); None where whole poses are measured.
        relative: whether the frame it is seen from is an unknown nuisance parameter.
    """

    point: np.ndarray | None
    relative: bool

    @classmethod
    def of(cls, kind: Measurement) -> Countable:
        """Build the count data of a kind that measures a single thing on the frame."""
        place = kind.right[0].value
        return cls(np.zeros(3) if place is None else place[:3, 3], False)


@dataclass(frozen=True, eq=False)
class Slot:
    """One of L, R, X of a measurement: its label, free displacements and initial value.

    Attributes:
        label: unknowns with the same label are one frame in all campaigns.
        free: numbers among Tx Ty Tz Rx Ry Rz; empty if it is known.
        value: (4, 4), its value, or the first guess; None where a guess must be made from the data.
        wanted: whether it counts among the parameters found (a camera's mounting), or is a nuisance parameter.
        names, units: of the three numbers that its translation holds, if it is not a place.
    """

    label: str
    free: tuple[int, ...] = ()
    value: np.ndarray | None = None
    wanted: bool = False
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number:
    """Constant of the instrument: the length of a ball bar, the focal length of a camera.

    Attributes:
        name: unknown ones are called `label.name`.
        value: as given, or a first value.
        unit: "m", "px" or "1".
        free: whether it is estimated.
        given: whether the value is more than a placeholder.
    """

    name: str
    value: float
    unit: str
    free: bool = False
    given: bool = True


SAME_SIZE = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
"""Condition, as of `Measurement.shown`, that a length stays constant."""
KNOWN = Slot("world", (), np.eye(4))


def stays_point(x: ArrayLike) -> np.ndarray:
    """Return conditions (3, 7), as of `Measurement.shown`, under which a point stays: v + w × x + λ x = 0."""
    point = np.asarray(x, dtype=float)
    return np.column_stack([np.eye(3), -skew(point), point])


def stays_plane(T: np.ndarray) -> np.ndarray:
    """Return conditions (4, 7) under which a plane stays, z its normal n and p one of its points: n × w = 0, and n
    · v + λ n · p = 0."""
    n = T[:3, 2]
    turned = np.column_stack([np.zeros((3, 3)), skew(n), np.zeros(3)])
    return np.concatenate([turned, [[*n, 0.0, 0.0, 0.0, n @ T[:3, 3]]]])


def stays_line(T: np.ndarray) -> np.ndarray:
    """Return conditions (6, 7) under which a line along z stays: its direction does, and a point moves along it."""
    across = skew(T[:3, 2])
    turned = np.column_stack([np.zeros((3, 3)), across, np.zeros(3)])
    return np.concatenate([turned, across @ stays_point(T[:3, 3])])


def frame_slot(given: str | ArrayLike, label: str, wanted: bool = False) -> Slot:
    """Return a slot for a frame: "world" is the identity, another word an unknown, a (4, 4) array is known."""
    if isinstance(given, str):
        return KNOWN if given == "world" else Slot(given, ALL_SIX, None, wanted)
    T = np.asarray(given, dtype=float)
    if not is_transform(T, 1e-6):
        raise ShapeError("is not a rigid transform", element=label, remedy='Give (4, 4), "world" or a name')
    return Slot(label, (), T)


def point_frame(p: ArrayLike) -> np.ndarray:
    """Return a frame at a point with the axes of its parent."""
    return transform(None, np.asarray(p, dtype=float))


def known_first(known: Iterable[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return as many group names, those of known targets first."""
    return tuple(dict.fromkeys((*known, *names)))[: len(names)]

"""What every kind of measurement is: a function of the product P = L T(q) R, a target X and what was read, y.

T is the pose of a frame of the robot in its world, L a frame it is seen from (the tracker, a marker board), R
what is seen in it (a marker, a camera), X a thing in the measuring frame (a socket, the centre of a ball bar, a
plane). L, R and X are known or estimated with the rest. An unknown is a frame some of whose six displacements
are free: a point has three, a plane three, a direction two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ...errors import ShapeError, ZvenoError, unknown_name
from ...spatial.transforms import is_transform, transform

ALL_SIX = (0, 1, 2, 3, 4, 5)
POINT = (0, 1, 2)
PLANE = (2, 3, 4)
DIRECTION = (3, 4)


@dataclass(frozen=True)
class Noise:
    """Components of a residual that share one standard deviation.

    Attributes:
        name, unit: what it is called, and "m" or "rad".
        rows: the components. They are independent: as many as the reading has degrees of freedom.
        numbers: of the reading, which they depend on all together; each on the one at its own place if None.
    """

    name: str
    rows: slice
    unit: str
    numbers: slice | None = None


@dataclass(frozen=True, eq=False)
class Remark:
    """What people should know about some postures of a campaign.

    Attributes:
        rows: which, (n,) booleans.
        words: goes on after "rows 3, 5".
        left_out: whether they cannot be used.
    """

    rows: np.ndarray
    words: str
    left_out: bool = True


@dataclass(frozen=True, eq=False)
class Slot:
    """One of L, R, X of a measurement: its label, displacements that are free, and where it is first thought to be.

    Attributes:
        label: unknowns of one label are one and the same in all campaigns.
        free: numbers among Tx Ty Tz Rx Ry Rz; empty if it is known.
        value: (4, 4), its value, or the first guess; None where a guess must be made from the data.
        wanted: whether it counts among the parameters found (a camera's mounting), or is only in the way.
    """

    label: str
    free: tuple[int, ...] = ()
    value: np.ndarray | None = None
    wanted: bool = False


KNOWN = Slot("world", (), np.eye(4))


@dataclass(frozen=True, eq=False)
class Measurement(ABC):
    """A kind of measurement, without data. Subclasses say what is compared and what is unknown.

    Attributes:
        frame: frame of the robot that is measured; its default frame if None.
        sigma: standard deviation of the readings, m or rad: one number, or by name of `noises`; None where it is to
            be estimated from the residuals.
        sigma_q: standard deviation of the joint encoders, rad or m; they add r²σq² to the variance of a reading.
    """

    frame: str | None = None
    sigma: float | Mapping[str, float] | None = None
    sigma_q: float = 0.0

    kind: ClassVar[str]
    n_data: ClassVar[int]
    """Numbers read in one row."""
    noises: ClassVar[tuple[Noise, ...]]
    implicit: ClassVar[bool] = False
    """Whether nothing is read: the posture itself, in contact, is the measurement."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Names of the readings in a file."""

    @property
    def n_rows(self) -> int:
        """Components of the residual of one row."""
        return self.noises[-1].rows.stop

    @property
    def left(self) -> Slot:
        """L: the frame it is seen from."""
        return KNOWN

    @property
    def right(self) -> tuple[Slot, ...]:
        """R: one or several things seen in every posture."""
        return (KNOWN,)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """X: things every posture is measured against, all of them in each posture."""
        return (KNOWN,)

    @property
    def grouped(self) -> Slot | None:
        """X where each posture has its own, named by its group, instead of `targets`."""
        return None

    @staticmethod
    @abstractmethod
    def residual(P, X, y) -> Any:
        """(m,) predicted less read, of one row; entries may be traced."""

    @staticmethod
    @abstractmethod
    def reading(P, X) -> np.ndarray:
        """y (..., n_data) of a noise-free measurement, for batches of P and X."""

    def data(self, y, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Readings as (n, things seen, n_data), NaN where a number is missing; and what is wrong with some."""
        things = len(self.right) * len(self.targets)
        if y is None:
            if not self.implicit:
                raise ShapeError(f"a {self.kind} measurement needs readings", element="y", remedy=self.expected())
            return np.zeros((n, things, self.n_data)), []
        try:
            array = np.asarray(y, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError("is not an array of numbers", element="y") from None
        if array.size != n * things * self.n_data:
            raise ShapeError(
                f"has shape {array.shape} for {n} postures",
                element="y",
                remedy=self.expected(),
            )
        return array.reshape(n, things, self.n_data), []

    def expected(self) -> str:
        """What `data` takes, for error messages."""
        things = len(self.right) * len(self.targets)
        several = f", {things}" if things > 1 else ""
        return f"Give (postures{several}, {self.n_data}) numbers: {', '.join(self.columns) or 'none'}"

    def sigmas(self) -> dict[str, float | None]:
        """Standard deviation by name of `noises`, None where it is not known."""
        names = [noise.name for noise in self.noises]
        if isinstance(self.sigma, Mapping):
            for name in self.sigma:
                if name not in names:
                    raise unknown_name("noise", name, names)
            given: dict[str, float | None] = {name: self.sigma.get(name) for name in names}
        else:
            given = dict.fromkeys(names, self.sigma)
        for name, value in given.items():
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ZvenoError(f"the standard deviation of {name} is {value}", remedy="Give a positive number")
        return given

    def constraints(self, groups: list[str]) -> list[tuple[str, str, float, float]]:
        """Pairs of groups whose targets are a known distance apart: (group, group, distance, its sigma)."""
        return []

    def describe(self) -> str:
        """The kind and what is not standard about it, for people."""
        words = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and item.name in ("frame", "sigma"):
                words.append(f"{item.name} {value}")
        return f"{self.kind} ({', '.join(words)})" if words else self.kind


def frame_slot(given, label: str, wanted: bool = False) -> Slot:
    """A slot for a whole frame: "world" is known and identity, another word an unknown, a (4, 4) array is known."""
    if isinstance(given, str):
        return KNOWN if given == "world" else Slot(given, ALL_SIX, None, wanted)
    T = np.asarray(given, dtype=float)
    if not is_transform(T, 1e-6):
        raise ShapeError("is not a rigid transform", element=label, remedy='Give (4, 4), "world" or a name')
    return Slot(label, (), T)


def point_frame(p) -> np.ndarray:
    """A frame at a point with the axes of its surroundings."""
    return transform(None, np.asarray(p, dtype=float))

"""Base of all kinds of measurement: a function of the product P = L T(q) R, a target X and the reading y."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError, unknown_name
from ...io.results import registered
from ...spatial.transforms import is_transform, transform
from ...spatial.vectors import real_array, skew
from . import options
from ._start_values import StartData

Spelling = tuple[str, Callable[[re.Match[str]], str]]
"""A pattern of column names, and the name meant by a match."""
Mistake = tuple[str, Callable[[np.ndarray], np.ndarray]]
"""Possible data error in words, and the function (n, n_data) → (n, n_data) that undoes it."""
SIGMAS = (1e-12, 1e6)
"""Smallest and largest standard deviation of readings: squares of others leave the range of floating point."""
KINDS: dict[str, type[Measurement]] = {}
"""Every kind by name: a class is registered when it is defined."""


@dataclass(frozen=True, eq=False)
class Measurement(ABC):
    """Kind of measurement without data: a class in a file of `kinds`, which defines everything specific to it.

    Attributes:
        frame: frame of the robot that is measured; its default frame if None.
        sigma: standard deviation of the readings, m or rad: one number, or by name of `noises`; None where it is to
            be estimated from the residuals.
        sigma_q: standard deviation of the joint encoders, rad or m; they add r²σq² to the variance of a reading.
        seen_from: frame of the robot itself that takes the place of the world: T is the pose of `frame` in it. So a
            camera on the head sees the hand, and an arm touches another one.
    """

    frame: str | None = field(default=None, metadata=options.WORD)
    sigma: float | Mapping[str, float] | None = None
    sigma_q: float = 0.0
    seen_from: str | None = field(default=None, metadata=options.WORD, kw_only=True)

    # --- properties

    kind: ClassVar[str]
    n_data: ClassVar[int]
    """Number of values read per row."""
    noises: ClassVar[tuple[Noise, ...]]
    linear: ClassVar[bool] = False
    """True if the residual is predicted less read; otherwise `reading` must take traced numbers."""
    implicit: ClassVar[bool] = False
    """True if nothing is read: the posture itself, in contact, is the measurement."""
    n_numbers: ClassVar[int] = 0
    """Number of instrument constants; `residual` and `reading` take any as a last argument c."""

    # --- its columns in a file

    columns: ClassVar[tuple[str, ...]] = ()
    """Names of the readings in a file."""
    metric: ClassVar[tuple[str, ...]] = ()
    """Columns that are lengths."""
    angular: ClassVar[tuple[str, ...]] = ()
    """Columns that are angles."""
    optional_columns: ClassVar[tuple[str, ...]] = ()
    """Optional readings of a contact."""
    group_columns: ClassVar[tuple[str, ...]] = ()
    """Columns that name the target of a posture."""
    spellings: ClassVar[tuple[Spelling, ...]] = ()
    """Other names of its columns."""
    looks_like: ClassVar[str] = ""
    """Description for users whose file has these columns and does not state its kind."""
    lesser: ClassVar[str] = ""
    """Kind that needs fewer columns."""

    in_robot_world: ClassVar[bool] = False
    """True if the pose of the robot's base must be known."""
    of_point: ClassVar[bool] = False
    """True if a point of the frame is measured, and not its orientation."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = registered(cls)

    @property
    def n_rows(self) -> int:
        """Number of residual components per row."""
        return self.noises[-1].rows.stop

    @property
    def n_seen(self) -> int:
        """Number of rows per posture: every thing seen, against every target."""
        return len(self.right) * len(self.targets)

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
        """X: targets that every posture is measured against, all of them in each posture."""
        return (KNOWN,)

    @property
    def grouped(self) -> Slot | None:
        """X where each posture has its own, named by its group, instead of `targets`."""
        return None

    def target_of(self, group: str) -> Slot:
        """Return X of the postures of a group, where `grouped`."""
        slot = self.grouped
        assert slot is not None
        return replace(slot, label=f"{slot.label}:{group}" if group else slot.label)

    def with_groups(self, groups: Iterable[str]) -> Self:
        """Return the measurement for postures with these groups, in case groups name targets."""
        return self

    @property
    def frames(self) -> tuple[str | None, ...]:
        """Frames of the robot that it depends on."""
        return (self.frame,) if self.seen_from is None else (self.frame, self.seen_from)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Constants of the instrument, `n_numbers` of them."""
        return ()

    @property
    def numbers_label(self) -> str:
        """Name of the instrument, which prefixes its unknown constants: `bar.length`."""
        return "instrument"

    def number_slots(self) -> tuple[Slot, ...]:
        """Return the constants of the instrument, three per slot, as translations."""
        slots = []
        for first in range(0, self.n_numbers, 3):
            three = self.numbers[first : first + 3]
            free = tuple(k for k, number in enumerate(three) if number.free)
            label = self.numbers_label + (f" ({first // 3 + 1})" if self.n_numbers > 3 else "")
            value = transform(None, np.array([*(number.value for number in three), 0.0, 0.0])[:3])
            names = tuple(f"{self.numbers_label}.{number.name}" for number in three)
            units = tuple(number.unit for number in three)
            slots.append(Slot(label, free, value, names=names, units=units))
        return tuple(slots)

    @property
    def shows_scale(self) -> bool:
        """True if the readings, or known constants of the instrument, determine the size of the robot."""
        return not self.implicit

    @staticmethod
    @abstractmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return predicted less read, (m,), of one row; entries may be traced."""

    @staticmethod
    @abstractmethod
    def reading(P: np.ndarray, X: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return y (..., n_data) of a noise-free measurement, for batches of P and X."""

    def imagined_left(self, T: np.ndarray, scale: float) -> np.ndarray | None:
        """Return L (4, 4) for imagined postures with poses T (n, 4, 4) of a robot of that size, m; None for 1."""
        return None

    def visible(self, P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return True for rows (n,) of products P and targets X (n, 4, 4) that can be measured."""
        return np.ones(len(P), dtype=bool)

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Return readings as (n, things seen, n_data), NaN for missing numbers; and remarks about faulty ones."""
        if y is None:
            if not self.implicit:
                raise ShapeError(f"a {self.kind} measurement needs readings", element="y", remedy=self.expected())
            return np.zeros((n, self.n_seen, self.n_data)), []
        try:
            array = real_array(y)
        except (TypeError, ValueError):
            raise ShapeError(
                "is not an array of real numbers", element="y", remedy="Give an array of floats"
            ) from None
        if array.size != n * self.n_seen * self.n_data:
            raise ShapeError(f"has shape {array.shape} for {n} postures", element="y", remedy=self.expected())
        return array.reshape(n, self.n_seen, self.n_data), []

    def expected(self) -> str:
        """Return a description of the input of `data`, for error messages."""
        several = f", {self.n_seen}" if self.n_seen > 1 else ""
        return f"Give (postures{several}, {self.n_data}) numbers: {', '.join(self.columns) or 'none'}"

    def sigmas(self) -> dict[str, float | None]:
        """Return the standard deviation by name of `noises`, None where it is not known."""
        names = [noise.name for noise in self.noises]
        if isinstance(self.sigma, Mapping):
            for name in self.sigma:
                if name not in names:
                    raise unknown_name("noise", name, names)
            given: dict[str, float | None] = {name: self.sigma.get(name) for name in names}
        else:
            given = dict.fromkeys(names, self.sigma)
        for name, value in given.items():
            if value is not None and not SIGMAS[0] <= value <= SIGMAS[1]:
                raise ZvenoError(
                    f"the standard deviation of {name} is {value}",
                    remedy=f"Give a positive number, {SIGMAS[0]:g} to {SIGMAS[1]:g}",
                )
        return given

    def component_sigma(self) -> np.ndarray:
        """Return the standard deviation (m,) of the components of a row: as given, else the typical one."""
        given, sigma = self.sigmas(), np.zeros(self.n_rows)
        for noise in self.noises:
            value = given[noise.name]
            sigma[noise.rows] = noise.typical if value is None else value
        return sigma

    def constraints(self, groups: list[str]) -> list[tuple[str, str, float, float]]:
        """Return pairs of groups whose targets are a known distance apart: (group, group, distance, its sigma)."""
        return []

    # --- files

    def with_settings(self, settings: Mapping[str, str], length: float = 1.0, file: str = "") -> Self:
        """Return the measurement with the options that a file gives, lengths in a unit of `length` metres.

        A frame that is already given stays.
        """
        made = options.read_options(type(self), settings, length, file)
        if self.frame is not None:
            made.pop("frame", None)
        return replace(self, **made) if made else self

    def with_several(self, count: int) -> Self | None:
        """Return the measurement with one point or target per numbered column of a file; None if it has one."""
        return None

    # --- readings

    def filled(self, y: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return readings (n, n_data) with missing numbers replaced by placeholders, which are not used."""
        return np.where(missing, 0.0, y)

    def without_copies(self, y: np.ndarray) -> tuple[Measurement, np.ndarray, list[tuple[int, int]]]:
        """Return the measurement and its readings without points that repeat others; pairs (copy, original)."""
        return self, y, []

    def mistakes(self) -> Iterator[Mistake]:
        """Generate common data errors of its readings."""
        yield from ()

    # --- groups

    holes: ClassVar[tuple[str, ...]] = ("",)
    """Suffixes of the group names at one new place."""

    def new_groups(self, places: int) -> tuple[str, ...]:
        """Return the names of the groups at new places: `place1`, …"""
        return tuple(f"place{k}{hole}" for k in range(1, places + 1) for hole in self.holes)

    def place_of(self, group: str) -> str:
        """Return the place of a group: `place` of `place/hole`. Targets at one place belong together."""
        return group.rpartition("/")[0] or group

    # --- first values and counts

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Return initial values (4, 4) of unknown frames L and R, by number."""
        return {}

    def first_target(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the initial value (4, 4) of a target X, from points p (n, 3) and readings y (n, n_data) of it."""
        return point_frame(p.mean(axis=0))

    def first_numbers(self, P: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Return initial values (n_numbers,) of the instrument's constants, with frames placed; None: unchanged."""
        return None

    def countable(self) -> Countable | None:
        """Return the data that the count formulas need; None if there is no formula."""
        return None

    def shown(self, groups: Iterable[str]) -> np.ndarray | None:
        """Return, for contacts with the targets of groups, conditions (k, 7) under which a displacement v, w of the
        robot's world and a change λ of its size, p ↦ p + v + w × p + λ p, is not observable: it leaves every known
        target in place. None for other kinds."""
        return None


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

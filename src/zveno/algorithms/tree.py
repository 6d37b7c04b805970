"""Tree of bodies for recursive algorithms: bodies, columns with a value per body, and the order of recursion.

    T, f = tree.column(PLACEMENT), tree.column(WRENCH)
    for i in tree.inward():
        f[i.parent] = f[i.parent] + move_wrench(T[i], f[i])

The tree of this module runs the loops in Python, body by body, on floats, complex numbers or traced scalars. That
of `looped` writes the same loops into a program, for trees of any length. Both run the same algorithms. So a value
that one turn of a loop leaves for another must be in a column or a cell, not in a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..mechanism import Joint, Mechanism
from ..spatial.inertia import N_PARAMETERS
from ..spatial.transforms import transform
from .motion import AT_REST, Motion


class Packing(NamedTuple):
    """Conversion of a column's values to numbers and back; `place` is the joint's position on the parent, (3,)."""

    size: int
    numbers: Callable[[Any, Any], Any]
    """(value, place) → (size,)"""
    value: Callable[[Any, Any], Any]
    """(numbers, place) → value"""
    zero: Any
    """initial value of a column"""
    placed: bool = False
    """True if the conversion needs `place`"""


def numbers(*shape: int) -> Packing:
    """Return the packing of arrays of a shape."""
    return Packing(
        int(np.prod(shape)), lambda x, _: np.asarray(x).ravel(), lambda x, _: x.reshape(shape), np.zeros(shape)
    )


NUMBER = Packing(1, lambda x, _: np.asarray(x).ravel(), lambda x, _: x[0], 0.0)
"""One number."""
WRENCH = numbers(6)
"""A wrench, a twist or a momentum: six numbers."""
INERTIA = numbers(N_PARAMETERS)
"""Ten inertial parameters."""
POSE = Packing(
    12, lambda T, _: T[:3].ravel(), lambda x, _: transform(x.reshape(3, 4)[:, :3], x.reshape(3, 4)[:, 3]), np.eye(4)
)
"""A transform (4, 4)."""
PLACEMENT = Packing(
    12,
    lambda T, place: np.concatenate([T[:3, :3].ravel(), T[:3, 3] - place]),
    lambda x, place: transform(x[:9].reshape(3, 3), place + x[9:]),
    np.eye(4),
    placed=True,
)
"""T_parent_body. Of its origin only the part due to the joint's own motion is stored, nothing for most joints."""
MOTION = Packing(12, lambda m, _: np.concatenate(m), lambda x, _: Motion(x[:3], x[3:6], x[6:9], x[9:]), AT_REST)
"""A `Motion`."""


class Axis(Enum):
    """Meaning of an axis of a result."""

    VELOCITIES = "velocities"
    LINKS = "links"
    PARAMETERS = "parameters"
    """ten per link, without link 0"""
    FRAMES = "frames"


VELOCITIES, LINKS, PARAMETERS, FRAMES = Axis


@dataclass(frozen=True, eq=False)
class Body:
    """A body of the tree, which serves as the index of its values in columns.

    Attributes:
        number: number of its link.
        parent: the index of the body that carries it.
        joint: the joint that moves it.
        inertia: (10,), its inertial parameters.
        rotor: (n_v,), reflected rotor inertia; zero if a transmission couples motors.
        T_body_link: link frame on the body; identity here, because columns refer to link frames.
    """

    number: int
    parent: int
    joint: Joint
    inertia: Any
    velocities: slice
    multiplier: float
    coupled: bool

    T_body_link: ClassVar[np.ndarray] = np.eye(4)

    @cached_property
    def rotor(self) -> Any:
        """Reflected rotor inertia, (n_v,)."""
        drive, n_v = self.joint.drive, self.joint.type.n_v
        if drive is None or self.coupled:
            return np.zeros(n_v)
        return drive.gear_ratio * drive.gear_ratio * drive.rotor_inertia

    @property
    def friction(self) -> Any:
        """Viscous friction, Coulomb friction and offset, (n_v,) each."""
        drive = self.joint.drive
        return np.zeros((3, self.joint.type.n_v)) if drive is None else (drive.viscous, drive.coulomb, drive.offset)


class Velocity(NamedTuple):
    """One velocity of a body's joint, as an index."""

    body: Body
    number: int


class FrameOn(NamedTuple):
    """A frame on a body, as an index."""

    number: int
    body: int
    T_body_frame: Any


class Unrolled:
    """Tree of a mechanism whose loops run in Python."""

    base = 0

    def __init__(self, mechanism: Mechanism, frames: Sequence[FrameOn] = (), way: set[int] | None = None):
        self.mechanism, self._frames = mechanism, frames
        coupled, parents, slices = mechanism.transmission is not None, mechanism.tree.parents, mechanism.v_slices
        self._bodies = [
            Body(
                i,
                parents[i],
                joint,
                mechanism.links[i].inertia,
                slices[joint.name],
                1.0 if joint.mimic is None else joint.mimic.multiplier,
                coupled,
            )
            for i, joint in enumerate(mechanism.joints, start=1)
            if way is None or i in way
        ]

    @property
    def transmission(self) -> Any:
        """Matrix from joint velocities to motor velocities if motors are coupled, or None."""
        return self.mechanism.transmission

    @property
    def gravity(self) -> Any:
        """Acceleration of free fall, (3,)."""
        return self.mechanism.gravity

    @property
    def base_inertia(self) -> Any:
        """Inertial parameters of the links that do not move, (10,)."""
        return self.mechanism.links[0].inertia

    # --- values that algorithms read and write

    def positions(self, q: Any) -> _Given:
        """Return the coordinates of every joint."""
        return _Given(self.mechanism.joint_positions(q))

    def velocities(self, v: Any) -> _Given:
        """Return the velocities of every joint, or its part of any other (n_v,) vector; zero for None."""
        return _Given(None if v is None else self.mechanism.joint_velocities(v))

    def by_link(self, values: Any) -> _Given:
        """Return the values that a user gives per link."""
        return _Given(values)

    def column(
        self, packing: Packing, per_velocity: bool = False, start: Callable[[Any], Any] | None = None
    ) -> Any:
        """Return a column with a value for the base and every body, or for every velocity of its joint.

        `start` is the initial value of every body, to which its children add; zero by default.
        """
        if per_velocity:
            return _Rows(packing.size)
        by_number = {} if start is None else {body.number: body for body in self._bodies}
        return _Column(packing.zero, by_number, start)

    def cell(self, packing: Packing) -> _Cell:
        """Return a cell for one value."""
        return _Cell(packing.zero)

    def result(self, name: str, *axes: Axis | int) -> _Result:
        """Return an output of the algorithm."""
        return _Result(self.mechanism, self._frames, axes)

    # --- loops

    def outward(self) -> Iterator[Body]:
        """Iterate over bodies, parents before children."""
        return iter(self._bodies)

    def inward(self) -> Iterator[Body]:
        """Iterate over bodies, children before parents."""
        return reversed(self._bodies)

    def frames(self) -> Iterator[FrameOn]:
        """Iterate over the frames of `carrying`."""
        return iter(self._frames)

    def links(self) -> Iterator[FrameOn]:
        """Iterate over all links as frames."""
        return (FrameOn(i, i, np.eye(4)) for i in range(self.mechanism.n_links))

    def to_root(self, per_velocity: bool = False) -> Iterator[tuple[Any, Body, Body]]:
        """Iterate over (i, j, below): every body j that carries i, nearest first, and the body just passed.

        i is a body, or one velocity of its joint.
        """
        by_number = {body.number: body for body in self._bodies}
        for body in self._bodies:
            for i in [Velocity(body, k) for k in range(body.joint.type.n_v)] if per_velocity else [body]:
                below = body
                while below.parent:
                    j = by_number[below.parent]
                    yield i, j, below
                    below = j

    # --- other trees

    def carrying(self, *names: str | None) -> Unrolled:
        """Return the tree of the bodies that carry named frames, None being the default one, with these frames."""
        targets = [self.mechanism.frame(name) for name in names]
        links = [self.mechanism.link_number(target.link) for target in targets]
        way = {i for link in links for i in (*self.mechanism.tree.ancestors(link), link)}
        frames = [
            FrameOn(k, link, target.T_link_frame)
            for k, (link, target) in enumerate(zip(links, targets, strict=True))
        ]
        return Unrolled(self.mechanism, frames, way)


Tree = Any
"""`Unrolled` or `looped.Looped`."""


def tree_of(mechanism: Any) -> Tree:
    """Return the tree of a mechanism; a tree is returned as it is."""
    return Unrolled(mechanism) if isinstance(mechanism, Mechanism) else mechanism


def _number(i: Any) -> int:
    return i if isinstance(i, int) else i.number


class _Given:
    def __init__(self, values: Any):
        self._values = values

    def __getitem__(self, i: Any) -> Any:
        return np.zeros(i.joint.type.n_v) if self._values is None else self._values[_number(i)]


class _Column(dict[int, Any]):
    def __init__(self, zero: Any, bodies: dict[int, Body], start: Any):
        super().__init__()
        self._zero, self._bodies, self._start = zero, bodies, start

    def __getitem__(self, i: Any) -> Any:
        number = _number(i)
        if number in self:
            return super().__getitem__(number)
        return self._start(self._bodies[number]) if number in self._bodies else self._zero

    def __setitem__(self, i: Any, value: Any) -> None:
        super().__setitem__(_number(i), value)

    def by_link(self, mechanism: Mechanism) -> list[Any]:
        """Return the values by link number."""
        return [self[i] for i in range(mechanism.n_links)]


class _Rows(dict[int, Any]):
    """A column with one row per velocity."""

    def __init__(self, size: int):
        super().__init__()
        self._size = size

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, Velocity):
            return super().__getitem__(i.body.number)[i.number]
        return np.array(super().__getitem__(i.number)).reshape(-1, self._size)

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(i, Velocity):
            super().__getitem__(i.body.number)[i.number] = value
        else:
            super().__setitem__(i.number, list(value))


@dataclass
class _Cell:
    value: Any


class _Result:
    """Entries of an output. Those of a mimic joint are added to the entries of its leader."""

    def __init__(self, mechanism: Mechanism, frames: Sequence[FrameOn], axes: Sequence[Axis | int]):
        lengths = {
            VELOCITIES: mechanism.n_v,
            LINKS: mechanism.n_links,
            PARAMETERS: N_PARAMETERS * (mechanism.n_links - 1),
            FRAMES: len(frames),
        }
        self._axes = axes
        self._shape = tuple(axis if isinstance(axis, int) else lengths[axis] for axis in axes)
        self._entries: dict[tuple[int, ...], Any] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        keys, factor, places = list(key) if type(key) is tuple else [key], 1.0, []
        for axis in self._axes:
            if isinstance(axis, int):
                places.append(range(axis))
                continue
            where, multiplier = _places(axis, keys.pop(0))
            places.append(where)
            factor = factor * multiplier
        entries = self._entries
        for place, x in zip(product(*places), np.asarray(value).ravel().tolist(), strict=True):
            x = x if factor == 1.0 else factor * x
            entries[place] = entries[place] + x if place in entries else x

    @property
    def value(self) -> Any:
        """Value of the whole output."""
        return self.whole()

    @value.setter
    def value(self, value: Any) -> None:
        self._entries = dict(zip(np.ndindex(self._shape), np.asarray(value).ravel().tolist(), strict=True))

    def whole(self) -> Any:
        """Return the output."""
        if not self._shape:
            return self._entries[()]
        entries = self._entries
        flat = [entries.get(place, 0.0) for place in np.ndindex(self._shape)]
        return np.array(flat).reshape(self._shape)


def _places(axis: Axis, i: Any) -> tuple[range, float]:
    """Return the positions of an index's entries on an axis, and their factor."""
    if axis is VELOCITIES and isinstance(i, Velocity):
        first = i.body.velocities.start + i.number
        return range(first, first + 1), i.body.multiplier
    if axis is VELOCITIES:
        return range(i.velocities.start, i.velocities.start + i.joint.type.n_v), i.multiplier
    if axis is PARAMETERS:
        return range(N_PARAMETERS * (i.number - 1), N_PARAMETERS * i.number), 1.0
    number = _number(i)
    return range(number, number + 1), 1.0

"""`Contact`: a shape of the robot against the ground or against a shape of another link."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError
from ..geometry.distances import touches_of_pair
from ..geometry.grounds import Ground, GroundPlane
from ..geometry.shapes import Box, Capsule, Shape, Sphere, Wheel
from ..mechanism import Mechanism

_STICKS = 1e6
"""Coefficient that represents an infinite one."""


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of a shape with the ground or a shape of another link: it sticks, slides, rolls and lifts.

    `simulate` takes it with time stepping only. Every contact point has the reaction `[N, T1, T2]`, then
    the moment about the normal with `torsional`, then two moments across it with `rolling`; they act on the frame's
    link.

    Attributes:
        frame: the shape is fixed on it.
        shape: `Sphere`, `Capsule`, `Box` or `Wheel`; a point at the frame's origin if not given.
        ground: `GroundPlane`, `GroundSteps` or `HeightField`; the plane z = 0 if neither it nor `other` is given.
        other, other_shape: a frame of another link and the shape fixed on it, instead of the ground.
        friction: coefficient μ: it sticks while |T| ≤ μ N; `math.inf` for a contact that never slides.
        restitution: normal velocity after an impact over the one before, 0 to 1.
        torsional: largest moment about the normal over N, m.
        rolling: largest moment against rolling over N, m.
        name: name in reports.
    """

    frame: str
    shape: Shape = field(default_factory=Sphere)
    ground: Ground | None = None
    other: str | None = None
    other_shape: Shape | None = None
    friction: float | None = None
    restitution: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    name: str | None = None

    @property
    def label(self) -> str:
        """Name in reports."""
        with_other = "" if self.other is None else f", {self.other}"
        return self.name or f"{type(self).__name__}({self.frame}{with_other})"

    @property
    def surface(self) -> Ground:
        """Ground, the plane z = 0 if none was given."""
        return GroundPlane() if self.ground is None else self.ground

    @cached_property
    def n_touches(self) -> int:
        """Number of possible contact points."""
        if self.other_shape is not None:
            return len(touches_of_pair(self.shape, np.eye(4), self.other_shape, np.eye(4)))
        if isinstance(self.shape, Wheel):
            return len(self.shape.hubs(np.eye(4)))
        n = len(self.shape.balls(np.eye(4)))
        return n - 1 if isinstance(self.shape, Capsule) and self.surface.flat else n

    @property
    def rows_per_touch(self) -> int:
        """Rows per contact point: 1 without friction, 3 with it, and those of the moments."""
        return (3 if self.friction else 1) + int(bool(self.torsional)) + 2 * int(bool(self.rolling))

    @property
    def size(self) -> int:
        """Number of rows of all contact points."""
        return self.n_touches * self.rows_per_touch

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of every row."""
        return tuple(f"{self.label}[{k}]" for k in range(self.size)) if self.size > 1 else (self.label,)

    @property
    def numbers(self) -> list[float]:
        """Friction, restitution, torsional and rolling resistance: inputs of the step."""
        friction = min(float(self.friction or 0.0), _STICKS)
        return [friction, float(self.restitution), float(self.torsional), float(self.rolling)]

    @cached_property
    def structure(self) -> tuple[Any, ...]:
        """Key of the generated code."""
        shape = self.shape.structure
        against = self.surface.structure if self.other_shape is None else self.other_shape.structure
        rows_there = tuple(bool(number) for number in self.numbers)
        return (type(self).__name__, self.frame, shape, self.other, against, rows_there)

    def check(self, mechanism: Mechanism) -> None:
        """Check frames, shapes and coefficients."""
        element = f"constraint {self.label}"
        link = mechanism.link_number(mechanism.frame(self.frame).link)
        for shape in (self.shape,) if self.other is None else (self.shape, self.other_shape):
            if not isinstance(shape, Sphere | Capsule | Box | Wheel):
                raise ModelError(
                    f"{shape!r} is not a shape",
                    element=element,
                    remedy="Give zveno.simulation.Sphere(radius), Capsule, Box or Wheel",
                )
            shape.check(element)
        if self.other is not None:
            if self.ground is not None:
                raise ModelError(
                    "it has both a ground and another frame", element=element, remedy="Make two contacts of it"
                )
            if link == mechanism.link_number(mechanism.frame(self.other).link):
                raise ModelError(
                    "both its frames are on the same link", element=element, remedy="Name a frame on another link"
                )
            touches_of_pair(self.shape, np.eye(4), self.other_shape, np.eye(4), element)
        else:
            if link == 0:
                raise ModelError(
                    "the frame is fixed in the world", element=element, remedy="Name a frame that joints move"
                )
            self.surface.check(element)
        self._check_coefficients(element)

    def _check_coefficients(self, element: str) -> None:
        if self.friction is None:
            raise ModelError(
                "it has no coefficient of friction", element=element, remedy="Give friction=, 0 for none"
            )
        if not 0 <= self.restitution <= 1:
            raise ModelError(
                f"restitution is {self.restitution}, not 0 to 1",
                element=element,
                remedy="Give a number from 0 to 1",
            )
        for coefficient in ("friction", "torsional", "rolling"):
            value = getattr(self, coefficient)
            if not (value >= 0 and (np.isfinite(value) or coefficient == "friction")):
                raise ModelError(
                    f"{coefficient} is {value}, not 0 or more", element=element, remedy="Give 0 or more"
                )
        if (self.torsional or self.rolling) and not self.friction:
            raise ModelError("moments at a contact need friction too", element=element, remedy="Give friction=")

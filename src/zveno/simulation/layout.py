"""What takes part in a run, and where its parts stand in the state y and the settings c.

y = [q, v, z, W]: z are the states of drives (`drives.DriveModel`), W is the work done on the robot so far, which
makes the energy balance a check of every run. c = [rate of stabilisation, active rows, anchors].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from .constraints import Constraint
from .controllers import Control
from .drives import DriveModel
from .inputs import Sliding, slices


@dataclass(frozen=True, eq=False)
class Layout:
    """What moves, what acts on it, and what holds it."""

    robot: RobotFunctions
    constraints: tuple[Constraint, ...] = ()
    control: Control | None = None
    drive: DriveModel | None = None
    friction: bool = False
    moving_base: Callable[..., Any] | None = None

    @property
    def mechanism(self) -> Mechanism:
        """The robot's mechanism."""
        return self.robot.mechanism

    # --- layout of y and c

    @property
    def n_z(self) -> int:
        """Number of the drives' states."""
        return 0 if self.drive is None else len(self.drive.states(self.mechanism))

    @cached_property
    def works(self) -> bool:
        """Whether anything but gravity and inertia can do work, so that y ends with W."""
        return bool(self.control or self.drive or self.friction or self.constraints or self.moving_base)

    @property
    def n_y(self) -> int:
        """Length of the state."""
        return self.mechanism.n_q + self.mechanism.n_v + self.n_z + int(self.works)

    @cached_property
    def q(self) -> slice:
        """Where q stands in y."""
        return slice(0, self.mechanism.n_q)

    @cached_property
    def v(self) -> slice:
        """Where v stands in y."""
        return slice(self.mechanism.n_q, self.mechanism.n_q + self.mechanism.n_v)

    @cached_property
    def z(self) -> slice:
        """Where the drives' states stand in y."""
        return slice(self.v.stop, self.v.stop + self.n_z)

    @cached_property
    def n_rows(self) -> int:
        """Number of constraint rows m."""
        return sum(constraint.size for constraint in self.constraints)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row."""
        return tuple(name for constraint in self.constraints for name in constraint.row_names)

    @cached_property
    def row_slices(self) -> tuple[slice, ...]:
        """Where the rows of every constraint stand."""
        return slices([constraint.size for constraint in self.constraints])

    @cached_property
    def anchor_slices(self) -> tuple[slice, ...]:
        """Where the anchors of every constraint stand in the anchors' part of c."""
        neutral = self.mechanism.neutral()
        return slices([len(constraint.anchor(self.mechanism, neutral)) for constraint in self.constraints])

    @cached_property
    def n_c(self) -> int:
        """Length of c."""
        return 1 + self.n_rows + (self.anchor_slices[-1].stop if self.anchor_slices else 0)

    @cached_property
    def sliding(self) -> tuple[Sliding, ...]:
        """The contacts with friction."""
        contacts = zip(self.constraints, self.row_slices, self.anchor_slices, strict=True)
        return tuple(
            Sliding(i, rows.start, 1 + self.n_rows + held.start + 3, float(one.friction))  # type: ignore[attr-defined]  (those that slide have it)
            for i, (one, rows, held) in enumerate(contacts)
            if one.slides
        )

    def settings(self, q: Any, rate: float = 0.0, active: Sequence[bool] | None = None) -> np.ndarray:
        """c with every constraint anchored as it says, at the configuration q where it leaves that open."""
        active = [True] * len(self.constraints) if active is None else active
        c = np.zeros(self.n_c)
        c[0] = rate
        for constraint, rows, held, on in zip(
            self.constraints, self.row_slices, self.anchor_slices, active, strict=True
        ):
            c[1:][rows] = float(on)
            c[1 + self.n_rows :][held] = constraint.anchor(self.mechanism, q)
        return c

    @property
    def commanded(self) -> bool:
        """Whether the command comes from outside the kernels."""
        return self.control is not None and not self.control.traced

    def state(self, q: Any, v: Any) -> np.ndarray:
        """y at the start, (..., n_y)."""
        y = np.zeros((*np.shape(q)[:-1], self.n_y))
        y[..., self.q], y[..., self.v] = q, v
        return y

"""Components of a run, and their indices in the state y and the settings c.

y = [q, v, z, W]: z are the states of drives (`drives.DriveModel`), W is the work done on the robot so far, which
makes the energy balance a check of every run. c = [rate of stabilisation, anchors].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..loops.selection import selection
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from .constraints import Constraint, LoopClosure
from .control import Control
from .drives import DriveModel

# --- inputs of kernels

QUALITY = 1e-9
"""Share of the diagonal of J M⁻¹ Jᵀ below which a pivot means that constraints are redundant."""


class Inputs(NamedTuple):
    """Kernel inputs besides time and state: single values or batches."""

    u: Any = None
    """command computed outside, (..., n_v)"""
    c: Any = None
    """settings of the constraints, (..., n_c): rate of stabilisation, anchors"""

    def arrays(self) -> tuple[Any, ...]:
        """Return the inputs that are present, in the order of the kernel inputs."""
        return tuple(part for part in self if part is not None)


def slices(sizes: list[int]) -> tuple[slice, ...]:
    """Return consecutive slices of the given sizes."""
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))


# --- components


@dataclass(frozen=True, eq=False)
class Layout:
    """Robot, control, drive and constraints of a run."""

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
        """Number of drive states."""
        return 0 if self.drive is None else len(self.drive.states(self.mechanism))

    @cached_property
    def works(self) -> bool:
        """True if anything but gravity and inertia can do work, so that y ends with W."""
        return bool(self.control or self.drive or self.friction or self.constraints or self.moving_base)

    @property
    def n_y(self) -> int:
        """Length of the state."""
        return self.mechanism.n_q + self.mechanism.n_v + self.n_z + int(self.works)

    @cached_property
    def q(self) -> slice:
        """Slice of q in y."""
        return slice(0, self.mechanism.n_q)

    @cached_property
    def v(self) -> slice:
        """Slice of v in y."""
        return slice(self.mechanism.n_q, self.mechanism.n_q + self.mechanism.n_v)

    @cached_property
    def z(self) -> slice:
        """Slice of the drive states in y."""
        return slice(self.v.stop, self.v.stop + self.n_z)

    @cached_property
    def n_rows(self) -> int:
        """Number of constraint rows m."""
        return sum(constraint.size for constraint in self.constraints)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Name of every row."""
        return tuple(name for constraint in self.constraints for name in constraint.row_names)

    @cached_property
    def row_slices(self) -> tuple[slice, ...]:
        """Slice of the rows of every constraint."""
        return slices([constraint.size for constraint in self.constraints])

    @cached_property
    def solved_rows(self) -> tuple[int, ...]:
        """Rows that are solved, all but those of the robot's loops that follow from others on their branch.

        A direction in which a plane loop cannot move anyway is one of these. Reactions of the others are zero.
        """
        loops = tuple(LoopClosure.of(loop) for loop in self.mechanism.loops)
        first = self.constraints[: len(loops)]
        if not loops or [row.structure for row in first] != [loop.structure for loop in loops]:
            return tuple(range(self.n_rows))
        try:
            checked = set(selection(self.mechanism).checked.tolist())
        except ModelError:  # they do not close at the reference; a given state may
            return tuple(range(self.n_rows))
        return tuple(row for row in range(self.n_rows) if row not in checked)

    @cached_property
    def checked_rows(self) -> tuple[int, ...]:
        """Rows that follow from the solved ones."""
        return tuple(row for row in range(self.n_rows) if row not in self.solved_rows)

    @cached_property
    def anchor_slices(self) -> tuple[slice, ...]:
        """Slice of the anchors of every constraint in the anchors of c."""
        neutral = self.mechanism.neutral()
        return slices([len(constraint.anchor(self.mechanism, neutral)) for constraint in self.constraints])

    @cached_property
    def n_c(self) -> int:
        """Length of c."""
        return 1 + (self.anchor_slices[-1].stop if self.anchor_slices else 0)

    def settings(self, q: Any, rate: float = 0.0) -> np.ndarray:
        """Return c with the given anchors of all constraints; those not given are taken at q."""
        anchors = [constraint.anchor(self.mechanism, q) for constraint in self.constraints]
        return np.concatenate([[rate], *anchors])

    @property
    def commanded(self) -> bool:
        """True if the command comes from outside the kernels."""
        return self.control is not None and not self.control.traced

    def state(self, q: Any, v: Any) -> np.ndarray:
        """Return y at the start, (..., n_y)."""
        y = np.zeros((*np.shape(q)[:-1], self.n_y))
        y[..., self.q], y[..., self.v] = q, v
        return y

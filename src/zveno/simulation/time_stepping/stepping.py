"""What takes part in time stepping, and where its parts stand.

A state is carried from step to step as one row [q, v, z, work, λ, μ]: coordinates, velocities, states of drives,
work done on the robot so far, the impulses of contacts in the last step, from which the next one starts its
iterations, and those of constraints that hold both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...io.results import hash_of
from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ..contacts import ball_limits, joint_limits
from ..equations import Equations
from .contact import Contact
from .grounds import HeightField
from .sharing import Sharing, sharing

TOLERANCE = 1e-5
"""Change of the forces in one sweep at which iterations end, as a share of the robot's weight."""
EARTH = 9.81
"""m/s², with which a robot's mass is weighed."""


class Group(NamedTuple):
    """Rows that are solved together: a contact, or a row with bounds."""

    row: int
    """the first: of a contact the normal, then its tangents, its moment about the normal, two moments across it"""
    friction: bool = False
    torsional: bool = False
    rolling: bool = False
    both: bool = False
    """whether the force acts in both directions, up to a bound: friction of a joint"""

    @property
    def size(self) -> int:
        """Number of rows."""
        return 1 + 2 * self.friction + self.torsional + 2 * self.rolling


@dataclass(frozen=True, eq=False)
class Stepping:
    """A robot with its contacts, control and drives.

    Attributes:
        equations: the robot, its control and drives, and the constraints that hold both ways.
        contacts: shapes that may touch.
        limits: whether joints stop at the ends of their ranges.
        friction: whether the friction of the joints acts.
    """

    equations: Equations
    contacts: tuple[Contact, ...] = ()
    limits: bool = False
    friction: bool = False

    @property
    def mechanism(self) -> Mechanism:
        """The robot's mechanism."""
        return self.equations.mechanism

    @property
    def robot(self) -> RobotFunctions:
        """The robot."""
        return self.equations.robot

    # --- rows

    @cached_property
    def limited(self) -> tuple[str, ...]:
        """Joints that stop at their limits."""
        if not self.limits:
            return ()
        return (*(limit.joint for limit in joint_limits(self.mechanism)), *ball_limits(self.mechanism))

    @cached_property
    def dry(self) -> tuple[int, ...]:
        """Velocities with Coulomb's friction in their joints."""
        if not self.friction:
            return ()
        mechanism = self.mechanism
        return tuple(
            mechanism.v_slices[joint.name].start + k
            for joint in mechanism.joints
            if joint.mimic is None and joint.drive is not None
            for k, coulomb in enumerate(np.asarray(joint.drive.coulomb))
            if coulomb
        )

    @cached_property
    def coulomb(self) -> np.ndarray:
        """N·m or N for every velocity, (n_v,)."""
        return self.drive_numbers("coulomb")

    @cached_property
    def viscous(self) -> np.ndarray:
        """Viscous friction that acts, N·m·s/rad or N·s/m for every velocity, (n_v,)."""
        return self.drive_numbers("viscous") if self.friction else np.zeros(self.mechanism.n_v)

    def drive_numbers(self, what: str) -> np.ndarray:
        """One of the numbers of the joints' drives, zero where there is none, (n_v,)."""
        parts = [
            np.zeros(joint.type.n_v) if joint.drive is None else getattr(joint.drive, what)
            for joint in self.mechanism.joints
            if joint.mimic is None
        ]
        return np.concatenate([np.zeros(0), *parts])

    @cached_property
    def touches(self) -> tuple[tuple[Contact, Group], ...]:
        """Every place where something may touch, with its rows."""
        found, row = [], 0
        for contact in self.contacts:
            for _ in range(contact.n_touches):
                flags = bool(contact.friction), bool(contact.torsional), bool(contact.rolling)
                found.append((contact, Group(row, *flags)))
                row += contact.rows_per_touch
        return tuple(found)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All rows: of contacts, of limits, of friction in joints."""
        first = sum(contact.size for contact in self.contacts)
        limits = [Group(first + k) for k in range(len(self.limited))]
        dry = [Group(first + len(limits) + k, both=True) for k in range(len(self.dry))]
        return (*(group for _, group in self.touches), *limits, *dry)

    @cached_property
    def sharing(self) -> Sharing:
        """Which rows are combined from the motion of a body."""
        frame = self.mechanism.frame
        bodies = [
            ((frame(contact.frame).link, contact.other and frame(contact.other).link), group.size)
            for contact, group in self.touches
        ]
        return sharing(bodies, len(self.limited) + len(self.dry))

    @property
    def n_rows(self) -> int:
        """Number of all rows m."""
        return sum(group.size for group in self.groups)

    @property
    def n_held(self) -> int:
        """Rows of constraints that hold both ways, p."""
        return self.equations.n_rows

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row, and for those that hold both ways."""
        names = [name for contact in self.contacts for name in contact.row_names]
        names += [f"limit of {joint}" for joint in self.limited]
        owners = [name for name in self.mechanism.joint_names for _ in range(self.mechanism.joint(name).type.n_v)]
        return (*names, *(f"friction of {owners[k]}" for k in self.dry), *self.equations.row_names)

    # --- the row that is carried, and the settings

    @cached_property
    def q(self) -> slice:
        """Where q stands."""
        return slice(0, self.mechanism.n_q)

    @cached_property
    def v(self) -> slice:
        """Where v stands."""
        return slice(self.q.stop, self.q.stop + self.mechanism.n_v)

    @cached_property
    def z(self) -> slice:
        """Where the drives' states stand."""
        return slice(self.v.stop, self.v.stop + self.equations.n_z)

    @property
    def work(self) -> int:
        """Where the work stands."""
        return self.z.stop

    @cached_property
    def impulses(self) -> slice:
        """Where λ stands."""
        return slice(self.work + 1, self.work + 1 + self.n_rows)

    @property
    def n_row(self) -> int:
        """Length of the row."""
        return self.impulses.stop + self.n_held

    @property
    def n_extra(self) -> int:
        """Numbers that a sample has beside the row: a, τ, deepest penetration, residual, sweeps."""
        return 2 * self.mechanism.n_v + 3

    @cached_property
    def weight(self) -> float:
        """Of the robot on earth, N."""
        return EARTH * float(sum(link.inertia[0] for link in self.mechanism.links[1:]))

    @cached_property
    def settings(self) -> np.ndarray:
        """Tolerance, N, and the numbers of the contacts, (n_c,)."""
        numbers = [number for contact in self.contacts for number in contact.numbers]
        return np.array([TOLERANCE * self.weight, *numbers])

    def numbers_of(self, c: Any) -> Iterator[tuple[Contact, Group, Any]]:
        """Every touch with its contact's friction, restitution, torsional and rolling resistance, (4,)."""
        places = {id(contact): 1 + 4 * k for k, contact in enumerate(self.contacts)}
        for contact, group in self.touches:
            at = places[id(contact)]
            yield contact, group, c[at : at + 4]

    @property
    def fields(self) -> list[tuple[int, Contact, HeightField]]:
        """(number of the touch, contact, ground) of those on fields of heights, which are looked up in tables."""
        return [
            (k, contact, contact.surface)
            for k, (contact, _) in enumerate(self.touches)
            if contact.other is None and isinstance(contact.surface, HeightField)
        ]

    # --- what determines the code

    @cached_property
    def fingerprint(self) -> str | None:
        """Changes with everything that the step is traced from; None where functions of the user are."""
        known = self.equations.fingerprint
        if known is None:
            return None
        structures = [repr(contact.structure) for contact in self.contacts]
        return hash_of(known, structures, self.limits, self.friction)

    @cached_property
    def identity(self) -> str:
        """Equal where the code and the tables of heights are; never equal to another with functions of the user."""
        if self.fingerprint is None:
            return f"object {id(self)}"
        return hash_of(self.fingerprint, *(ground.cells for _, _, ground in self.fields))

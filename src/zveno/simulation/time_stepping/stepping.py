"""Components of time stepping, and their indices in the row of a state.

A state is carried from step to step as one row [q, v, z, work, λ, μ]: coordinates, velocities, states of drives,
work done on the robot so far, the impulses of contacts in the last step, from which the next one starts its
iterations, and those of constraints that hold both ways.

Contact points of one body share its motion. A sole with four corners has twelve rows, of which six are
independent. With B the rows of the bodies and S their combinations, J = S B, so that

    W = J M̂⁻¹ Jᵀ = S (B M̂⁻¹ Bᵀ) Sᵀ

is found from the smaller matrix in brackets. Bodies with six rows of contacts or fewer keep those as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.drives import friction_slope, friction_torque
from ...geometry.grounds import HeightField
from ...io.results import hash_of
from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ...spatial.vectors import cross
from .._checks import checked_constraints
from .._equations import Equations
from ..constraints import Constraint
from ..contact import Contact
from ..control import Control

# --- shared motion of contact points

SHARED = 6
"""Rows of the motion of a body."""


class _Place(NamedTuple):
    """Index of the motion of a row."""

    first: int
    """row of B"""
    shared: int | None
    """index among the rows that are combined from six of B; None for a row of B itself"""


class _Sharing(NamedTuple):
    """Indices of all rows, and the number of rows of B."""

    places: tuple[_Place, ...]
    n_motions: int

    @property
    def n_shared(self) -> int:
        """Number of combined rows."""
        return sum(place.shared is not None for place in self.places)


def sharing(bodies: list[tuple[Any, int]], n_single: int) -> _Sharing:
    """Assign rows to every contact point (body, number of its rows), in order, and to the joints after them."""
    rows: dict[Any, int] = {}
    for body, count in bodies:
        rows[body] = rows.get(body, 0) + count
    places: list[_Place] = []
    first: dict[Any, int] = {}
    n, combined = 0, 0
    for body, count in bodies:
        if rows[body] <= SHARED:
            places += [_Place(n + k, None) for k in range(count)]
            n += count
            continue
        if body not in first:
            first[body] = n
            n += SHARED
        places += [_Place(first[body], combined + k) for k in range(count)]
        combined += count
    places += [_Place(n + k, None) for k in range(n_single)]
    return _Sharing(tuple(places), n + n_single)


def along(direction: Any, arm: Any) -> Any:
    """Return a row of S: velocity along a direction, of a point at an arm (3,) from the origin of the motion."""
    return np.concatenate([direction, cross(arm, direction)])


def about(direction: Any) -> Any:
    """Return a row of S: the angular velocity about a direction."""
    return np.concatenate([np.zeros(3), direction])


def combined(known: _Sharing, S: Any, motions: Any) -> Any:
    """Return S x for values x of the rows of B, (m,); S are the combined rows, (n_shared · 6,)."""
    values = []
    for first, shared in known.places:
        if shared is None:
            values.append(motions[first])
        else:
            values.append(_row(S, shared) @ motions[first : first + SHARED])
    return np.array(values)


def gathered(known: _Sharing, S: Any, impulses: Any) -> Any:
    """Return Sᵀ λ: the impulses (m,) on the rows of B, (n_motions,)."""
    total: list[Any] = [0.0] * known.n_motions
    for (first, shared), impulse in zip(known.places, impulses, strict=True):
        if shared is None:
            total[first] = total[first] + impulse
            continue
        for k, share in enumerate(_row(S, shared)):
            total[first + k] = total[first + k] + share * impulse
    return np.array(total)


def effects(known: _Sharing, S: Any, Y: list[Any], r: Any) -> Any:
    """Return the lower triangle of W, (m (m + 1)/2,), of the rows Y = B L⁻¹ with M̂ = Lᵀ diag(1/r) L."""
    scaled = [row * r for row in Y]
    inner: dict[tuple[int, int], Any] = {}

    def of_motions(a: int, b: int) -> Any:
        a, b = max(a, b), min(a, b)
        if (a, b) not in inner:
            inner[a, b] = scaled[a] @ Y[b]
        return inner[a, b]

    entries = []
    for i, (first, shared) in enumerate(known.places):
        half: dict[int, Any] = {}
        for second, other in known.places[: i + 1]:
            for b in range(second, second + (1 if other is None else SHARED)):
                if b not in half:
                    rows_of_place = [first] if shared is None else range(first, first + SHARED)
                    column = np.array([of_motions(a, b) for a in rows_of_place])
                    half[b] = column[0] if shared is None else _row(S, shared) @ column
            if other is None:
                entries.append(half[second])
            else:
                entries.append(_row(S, other) @ np.array([half[second + k] for k in range(SHARED)]))
    return np.array(entries)


def _row(S: Any, number: int) -> Any:
    return S[SHARED * number : SHARED * (number + 1)]


# --- components

TOLERANCE = 1e-5
"""Convergence tolerance: change of the forces in one sweep as a share of the robot's weight."""
N_QUALITY = 3
"""Number of quality values, each the largest since the last sample: h² |v v_f| of any velocity, v_f being its value
after a step without contacts and limits; residual, N; sweeps."""
_EARTH = 9.81
"""Gravity for the robot's weight, m/s²."""


class Group(NamedTuple):
    """Rows that are solved together: a contact, or a row with bounds."""

    row: int
    """the first: of a contact the normal, then its tangents, its moment about the normal, two moments across it"""
    friction: bool = False
    torsional: bool = False
    rolling: bool = False
    both: bool = False
    """True if the force acts in both directions, up to a bound: joint friction"""

    @property
    def size(self) -> int:
        """Number of rows."""
        return 1 + 2 * self.friction + self.torsional + 2 * self.rolling


@dataclass(frozen=True, eq=False)
class Stepping:
    """Robot with its contacts, control and drives.

    Attributes:
        equations: the robot, its control and drives, and the constraints that hold both ways.
        contacts: shapes that may touch.
        limits: True if joints stop at the ends of their ranges.
        friction: True if joint friction acts.
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
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper coordinate limits, (n_q,) each; the ranges of followers narrow those of leaders."""
        mechanism = self.mechanism
        lower, upper = np.array(mechanism.lower, dtype=float), np.array(mechanism.upper, dtype=float)
        for joint in mechanism.joints:
            if joint.mimic is not None and joint.mimic.multiplier:
                at = mechanism.q_slices[joint.mimic.joint].start
                ends = [float(np.ravel(end)[0]) for end in (joint.limits.lower, joint.limits.upper)]
                low, high = sorted((end - joint.mimic.offset) / joint.mimic.multiplier for end in ends)
                lower[at], upper[at] = max(lower[at], low), min(upper[at], high)
        return lower, upper

    @cached_property
    def limited(self) -> tuple[int, ...]:
        """Coordinates that stop at the ends of their ranges."""
        return tuple(np.flatnonzero(np.isfinite(self.ranges).any(axis=0)).tolist()) if self.limits else ()

    @cached_property
    def limited_balls(self) -> tuple[str, ...]:
        """Ball joints with a limited rotation angle."""
        limited = [joint for joint in self.mechanism.joints if joint.mimic is None] if self.limits else []
        return tuple(joint.name for joint in limited if np.isfinite(joint.limits.angle))

    @cached_property
    def dry(self) -> tuple[tuple[str, np.ndarray, float], ...]:
        """(joint, its velocity as a row (n_v,), N·m or N) of every velocity with Coulomb friction."""
        if not self.friction:
            return ()
        mechanism = self.mechanism
        columns = [mechanism.joint_velocities(unit) for unit in np.eye(mechanism.n_v)]
        return tuple(
            (joint.name, np.array([column[i][k] for column in columns], dtype=float), float(coulomb))
            for i, joint in enumerate(mechanism.joints, start=1)
            if joint.drive is not None
            for k, coulomb in enumerate(np.asarray(joint.drive.coulomb))
            if coulomb
        )

    @cached_property
    def viscous(self) -> np.ndarray:
        """Viscous friction that acts, N·m·s/rad or N·s/m for every velocity, (n_v,)."""
        still = np.zeros(self.mechanism.n_v)
        return friction_slope(self.mechanism, still) if self.friction else still

    @cached_property
    def friction_at_rest(self) -> np.ndarray:
        """Friction without motion, the drives' offsets, N·m or N, (n_v,)."""
        return friction_torque(self.mechanism, np.zeros(self.mechanism.n_v))

    @cached_property
    def touches(self) -> tuple[tuple[Contact, Group], ...]:
        """Possible contact points, with their rows."""
        groups, row = [], 0
        for contact in self.contacts:
            for _ in range(contact.n_touches):
                flags = bool(contact.friction), bool(contact.torsional), bool(contact.rolling)
                groups.append((contact, Group(row, *flags)))
                row += contact.rows_per_touch
        return tuple(groups)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups of all rows: of contacts, of limits, of joint friction."""
        first = sum(contact.size for contact in self.contacts)
        n = len(self.limited) + len(self.limited_balls)
        limits = [Group(first + k) for k in range(n)]
        dry = [Group(first + n + k, both=True) for k in range(len(self.dry))]
        return (*(group for _, group in self.touches), *limits, *dry)

    @cached_property
    def sharing(self) -> _Sharing:
        """Rows that are combined from the motion of a body."""
        frame = self.mechanism.frame
        bodies = [
            ((frame(contact.frame).link, contact.other and frame(contact.other).link), group.size)
            for contact, group in self.touches
        ]
        return sharing(bodies, len(self.limited) + len(self.limited_balls) + len(self.dry))

    @property
    def bounces(self) -> bool:
        """True if any contact has restitution."""
        return any(contact.restitution for contact in self.contacts)

    @property
    def n_rows(self) -> int:
        """Total number of rows m."""
        return sum(group.size for group in self.groups)

    @property
    def n_held(self) -> int:
        """Number of rows of bilateral constraints, p."""
        return self.equations.n_rows

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Name of every row, including those of bilateral constraints."""
        names = [name for contact in self.contacts for name in contact.row_names]
        names += [f"limit of {self.mechanism.coordinate_names[at]}" for at in self.limited]
        names += [f"limit of {joint}" for joint in self.limited_balls]
        return (*names, *(f"friction of {joint}" for joint, _, _ in self.dry), *self.equations.row_names)

    # --- the row that is carried, and the settings

    @cached_property
    def q(self) -> slice:
        """Slice of q."""
        return slice(0, self.mechanism.n_q)

    @cached_property
    def v(self) -> slice:
        """Slice of v."""
        return slice(self.q.stop, self.q.stop + self.mechanism.n_v)

    @cached_property
    def z(self) -> slice:
        """Slice of the drive states."""
        return slice(self.v.stop, self.v.stop + self.equations.n_z)

    @property
    def work(self) -> int:
        """Index of the work."""
        return self.z.stop

    @cached_property
    def impulses(self) -> slice:
        """Slice of λ."""
        return slice(self.work + 1, self.work + 1 + self.n_rows)

    @property
    def n_row(self) -> int:
        """Length of the row."""
        return self.impulses.stop + self.n_held

    @property
    def n_extra(self) -> int:
        """Number of values of a sample besides the row: a, τ, deepest penetration, and the quality of its steps."""
        return 2 * self.mechanism.n_v + 1 + N_QUALITY

    @cached_property
    def weight(self) -> float:
        """Weight of the robot on earth, N."""
        return _EARTH * float(sum(link.inertia[0] for link in self.mechanism.links[1:]))

    @cached_property
    def settings(self) -> np.ndarray:
        """Tolerance, N, and the parameters of the contacts, (n_c,)."""
        numbers = [number for contact in self.contacts for number in contact.numbers]
        return np.array([TOLERANCE * self.weight, *numbers])

    def numbers_of(self, c: Any) -> Iterator[tuple[Contact, Group, Any]]:
        """Yield every contact point with friction, restitution, torsional and rolling resistance, (4,)."""
        places = {id(contact): 1 + 4 * k for k, contact in enumerate(self.contacts)}
        for contact, group in self.touches:
            at = places[id(contact)]
            yield contact, group, c[at : at + 4]

    @property
    def fields(self) -> list[tuple[int, Contact, HeightField]]:
        """(index of the contact point, contact, ground) of those on height fields, which are tables."""
        return [
            (k, contact, contact.surface)
            for k, (contact, _) in enumerate(self.touches)
            if contact.other is None and isinstance(contact.surface, HeightField)
        ]

    # --- keys of the code

    @cached_property
    def fingerprint(self) -> str | None:
        """Cache key of everything that the step is traced from; None with user functions."""
        known = self.equations.fingerprint
        if known is None:
            return None
        structures = [repr(contact.structure) for contact in self.contacts]
        return hash_of(known, structures, self.limits, self.friction)

    @cached_property
    def identity(self) -> str:
        """Key that is equal for the same code and height tables; with user functions, unique."""
        if self.fingerprint is None:
            return f"object {id(self)}"
        return hash_of(self.fingerprint, *(ground.cells for _, _, ground in self.fields))


# --- construction


def stepping_of(
    robot: RobotFunctions,
    constraints: Sequence[Constraint | Contact],
    limits: bool,
    control: Control | None,
    drive: Any,
    friction: bool,
) -> Stepping:
    """Check the constraints of a run and separate contacts from bilateral constraints."""
    known = checked_constraints(robot, constraints)
    contacts = tuple(each for each in known if isinstance(each, Contact))
    held = tuple(each for each in known if isinstance(each, Constraint))
    return Stepping(Equations(robot, held, control, drive), contacts, limits, friction)

"""Which constraints act now: contacts that are open, hold or slide, and how that follows from the forces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.constraints import slip_direction
from .contacts import JointLimit
from .coulomb import STOP_SPEED, Contact, contact_reactions
from .equations import Equations
from .inputs import Inputs
from .rates import Stopped
from .redundancy import least_squares, sliding_map

OPEN, HOLDS, SLIDES = "open", "holds", "slides"
MOVES = 1e-6
"""A contact at rest slides when it would leave its place with this acceleration, m/s²."""
LEAVES = 1e-9
"""Speed, m/s or rad/s, beyond which a contact moves away from the ground."""
BEGINS, SLOW = 1e-3, 1e-4
"""m/s along its old direction that a contact counts as having at least, as it begins to slide and later: friction
turns at a rate of about μ g over the speed, which an integrator must follow."""
GRAVITY = 10.0
"""m/s², what presses contacts down, roughly"""
JAM = 1e-9
"""Share of a normal's mobility that friction may leave before it jams."""


class _Terms(NamedTuple):
    """What decides the modes at one state."""

    A: np.ndarray
    """J M⁻¹ Jᵀ, (m, m)"""
    short: np.ndarray
    """what the accelerations without reactions miss of the wanted ones, (m,)"""
    rate: np.ndarray
    """φ̇, (m,)"""


class Modes:
    """The mode of every constraint, written into the settings c that the kernels read.

    Args:
        equations: of the run.
        active: which constraints act.
        step: of a method with fixed steps, s; 0 for others.
    """

    equations: Equations
    step: float

    def __init__(self, equations: Equations, active: list[bool], step: float = 0.0):
        self.equations, self.step = equations, step
        self.c: np.ndarray | None = None
        self.mode: list[str] = [HOLDS if on else OPEN for on in active]
        self.sides: dict[int, float] = {}
        """for joints at a limit: 1 at the lower end, −1 at the upper one"""
        self._sliding = {contact.number: contact for contact in equations.sliding}
        self._escapes: tuple[tuple, dict[int, float]] = ((), {})

    # --- changes

    def open(self, i: int) -> None:
        """Constraint i lets go."""
        self._write(i, OPEN, 0.0, 0.0)

    def hold(self, i: int, q: np.ndarray) -> None:
        """Constraint i acts with all its rows, anchored where it touches at q."""
        self._write(i, HOLDS, 1.0, 1.0)
        self._anchors(i)[:] = self.equations.constraints[i].anchor(self.equations.mechanism, q)

    def slide(self, i: int, direction: Any) -> None:
        """Contact i slides in a direction (2,) along its tangents."""
        self._write(i, SLIDES, 1.0, 0.0)
        mu = self._sliding[i].mu
        self._anchors(i)[3:] = (mu, *direction, max(BEGINS, GRAVITY * mu * self.step))

    def follow(self, rate: Any, restarts: bool = False) -> None:
        """Remember the directions in which contacts slide, from φ̇ (m,).

        Unless it restarts, an adaptive method is told only where that does not change its equations: its next step
        relies on the last one.
        """
        for i in self.sliding():
            v, floor = rate[self._tangents(i)], float(self._anchors(i)[6])
            speed = float(np.hypot(*v))
            if speed > (STOP_SPEED if self.step or restarts else floor):
                self.direction(i)[:] = v / speed
            if speed > floor and not self.step:
                self._anchors(i)[6] = SLOW

    def slide_where_moving(self, numbers: Iterable[int], rate: Any) -> list[int]:
        """Contacts with friction among those given that move along the ground slide; their numbers."""
        moving = [i for i in numbers if i in self._sliding and self._speed(i, rate) > STOP_SPEED]
        for i in moving:
            v = rate[self._tangents(i)]
            self.slide(i, v / np.hypot(*v))
        return moving

    # --- questions

    def closed(self) -> list[int]:
        """Contacts and limits that act."""
        return [
            i
            for i, constraint in enumerate(self.equations.constraints)
            if constraint.unilateral and self.mode[i] != OPEN
        ]

    def sliding(self) -> list[int]:
        """Contacts that slide."""
        return [i for i, mode in enumerate(self.mode) if mode == SLIDES]

    def direction(self, i: int) -> np.ndarray:
        """In which contact i has been sliding, (2,) along its tangents."""
        return self._anchors(i)[4:6]

    def side(self, i: int, q: np.ndarray) -> float:
        """1 for contacts and at the lower end of a joint's range, −1 at the upper one."""
        constraint = self.equations.constraints[i]
        if not isinstance(constraint, JointLimit):
            return 1.0
        mechanism = self.equations.mechanism
        at = mechanism.q_slices[constraint.joint].start
        return 1.0 if abs(q[at] - mechanism.lower[at]) <= abs(q[at] - mechanism.upper[at]) else -1.0

    # --- what follows from the forces

    def settle(
        self, t: float, y: np.ndarray, u: np.ndarray | None = None, opening: int | None = None
    ) -> list[tuple[int, str]]:
        """Modes that agree with the forces at a state, and what changed: (number, "opens", "slips" or "sticks").

        Contacts that move apart open. The others open, hold or slide as Coulomb's law says of all of them together.

        Args:
            t, y, u: time, state (n_y,) and command.
            opening: a contact whose force has just fallen to zero, to rounding; it opens unless others leave it a
                load that would move it.
        """
        before, terms = list(self.mode), self._terms(t, y, u)
        self._refuse_jammed(terms, t)
        for i in self.closed():
            if self.sides.get(i, 1.0) * terms.rate[self.equations.row_slices[i].start] > LEAVES:
                self.open(i)
        contacts = self.contacts(terms.rate)
        reactions = contact_reactions(terms.A, -terms.short, self.held(), contacts)
        largest = max((abs(reactions.R[contact.row]) for contact in contacts), default=0.0)
        for contact in contacts:
            i, force = contact.number, contact.side * reactions.R[contact.row]
            away = contact.side * reactions.w[contact.row]
            unloaded = force <= 1e-6 * largest or force * terms.A[contact.row, contact.row] <= MOVES
            if (force <= 1e-10 * largest and away > MOVES) or (i == opening and unloaded):
                self.open(i)
            elif contact.slip is None and i in self._sliding:
                a = reactions.w[contact.tangents]
                size = float(np.hypot(*a))
                if size > 0.5 * MOVES:
                    self.slide(i, a / size)
                elif self.mode[i] == SLIDES:
                    self.hold(i, y[self.equations.q])
        self._release_pulling(terms)
        return [
            (i, "opens" if new == OPEN else "slips" if new == SLIDES else "sticks")
            for i, (old, new) in enumerate(zip(before, self.mode, strict=True))
            if old != new
        ]

    def escape(self, i: int, t: float, y: np.ndarray, u: np.ndarray | None = None) -> float:
        """Tangential acceleration with which contact i, at rest, would leave its place, m/s²."""
        key = (t, y.tobytes(), tuple(self.mode))
        if self._escapes[0] != key:  # the contacts ask one after the other
            terms = self._terms(t, y, u)
            contacts = self.contacts(terms.rate)
            w = contact_reactions(terms.A, -terms.short, self.held(), contacts).w
            resting = [contact for contact in contacts if contact.slip is None and contact.number in self._sliding]
            self._escapes = (key, {contact.number: float(np.hypot(*w[contact.tangents])) for contact in resting})
        return self._escapes[1].get(i, 0.0)

    def contacts(self, rate: Any, impact: bool = False) -> list[Contact]:
        """The closed contacts at row velocities φ̇ (m,); in an impact none has a given direction of sliding."""
        contacts = []
        for i in self.closed():
            rows, mu, slip = self.equations.row_slices[i], 0.0, None
            if i in self._sliding:
                mu = self._sliding[i].mu
                if not impact and self._speed(i, rate) > STOP_SPEED:
                    _, x, y, floor = self._anchors(i)[3:]
                    slip = slip_direction(rate[self._tangents(i)], (x, y), floor)
            elif rows.stop - rows.start == 3:
                mu = np.inf
            contacts.append(Contact(i, rows.start, mu, self.sides.get(i, 1.0), slip))
        return contacts

    def held(self) -> np.ndarray:
        """Rows of the constraints that hold both ways, (m,) booleans."""
        held = np.zeros(self.equations.n_rows, dtype=bool)
        for constraint, rows in zip(self.equations.constraints, self.equations.row_slices, strict=True):
            held[rows] = not constraint.unilateral
        return held

    def _terms(self, t: float, y, u) -> _Terms:
        equations, c = self.equations, self._settings()
        rate_y, _, A, J, value, rate, bias = equations.terms(t, y, *Inputs(u, c).arrays())
        resting = [
            row
            for i in self._sliding
            if self.mode[i] != OPEN and self._speed(i, rate) <= STOP_SPEED
            for row in self._tangents(i)
        ]
        value, held = np.array(value), np.array(rate)
        # Whether a contact moves from where it is does not depend on what would bring it back to its anchor.
        value[resting], held[resting] = 0.0, 0.0
        wanted = -(bias + 2.0 * c[0] * held + c[0] * c[0] * value)
        return _Terms(A, wanted - J @ rate_y[equations.v], rate)

    def _release_pulling(self, terms: _Terms):
        """Open contacts whose share of least norm pulls, and so drives by friction, where the others do without."""
        while self.sliding():
            active = self._settings()[1 : 1 + self.equations.n_rows]
            G = sliding_map(self.equations, self._settings(), terms.rate)
            R = least_squares(terms.A, terms.short * active, active, G).reactions
            contacts = self.contacts(terms.rate)
            worst = min(contacts, key=lambda contact: contact.side * R[contact.row])
            if worst.side * R[worst.row] >= -1e-9 * abs(R).max():
                return
            others = [contact for contact in contacts if contact is not worst]
            w = contact_reactions(terms.A, -terms.short, self.held(), others).w
            if worst.side * w[worst.row] < -MOVES:
                return
            self.open(worst.number)

    def _refuse_jammed(self, terms: _Terms, t: float):
        """Stop where a sliding contact has no force: pressing it down digs it in by friction (Painlevé)."""
        G = sliding_map(self.equations, self._settings(), terms.rate)
        if G is None:
            return
        for i in self.sliding():
            row = self._sliding[i].row
            digs = terms.A[row] @ G[:, row] <= JAM * terms.A[row, row]
            if digs and terms.short[row] > 0 and terms.rate[row] <= LEAVES:
                label = self.equations.constraints[i].label
                raise Stopped(f"{label} jams at t = {t:.6g} s: its friction presses it into the ground")

    # --- layout

    def _settings(self) -> np.ndarray:
        assert self.c is not None
        return self.c

    def _anchor_slice(self, i: int) -> slice:
        at, first = self.equations.anchor_slices[i], 1 + self.equations.n_rows
        return slice(first + at.start, first + at.stop)

    def _anchors(self, i: int) -> np.ndarray:
        return self._settings()[self._anchor_slice(i)]

    def _tangents(self, i: int) -> np.ndarray:
        row = self._sliding[i].row
        return np.array([row + 1, row + 2])

    def _speed(self, i: int, rate) -> float:
        return float(np.hypot(*rate[self._tangents(i)]))

    def _write(self, i: int, mode: str, normal: float, tangents: float):
        rows = self._settings()[1:][self.equations.row_slices[i]]
        rows[:] = tangents
        rows[0] = normal
        self.mode[i] = mode
        if i in self._sliding:
            self._anchors(i)[3:] = 0.0

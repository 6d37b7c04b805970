"""Which constraints act now: contacts that are open, hold or slide, and how that follows from the forces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .contacts import JointLimit
from .coulomb import STOP_SPEED, Rest, at_rest
from .equations import Equations
from .inputs import Inputs, Sliding
from .rates import Stopped
from .redundancy import sliding_map

OPEN, HOLDS, SLIDES = "open", "holds", "slides"
MOVES = 1e-6
"""A contact at rest slides when it would leave its place with this acceleration, m/s²."""
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

    def __init__(self, equations: Equations, active: list[bool], step: float = 0.0):
        self.equations, self.step = equations, step
        self.c: np.ndarray | None = None
        self.mode = [HOLDS if on else OPEN for on in active]
        self.sides: dict[int, float] = {}
        """for joints at a limit: 1 at the lower end, −1 at the upper one"""
        self._sliding = {one.number: one for one in equations.sliding}
        self._escapes: tuple[tuple, dict[int, float]] = ((), {})

    # --- changes

    def open(self, i: int):
        """Constraint i lets go."""
        self._write(i, OPEN, 0.0, 0.0)

    def hold(self, i: int, q):
        """Constraint i acts with all its rows, anchored where it touches at q."""
        self._write(i, HOLDS, 1.0, 1.0)
        self._anchors(i)[:] = self.equations.constraints[i].anchor(self.equations.mechanism, q)

    def slide(self, i: int, direction):
        """Contact i slides in a direction (2,) along its tangents."""
        self._write(i, SLIDES, 1.0, 0.0)
        mu = self._sliding[i].mu
        # Friction turns with the velocity at a rate of about μ g over the speed, which a fixed step must resolve.
        self._anchors(i)[3:] = (mu, *direction, max(STOP_SPEED, GRAVITY * mu * self.step))

    def follow(self, rate):
        """Remember the directions in which contacts slide, from φ̇ (m,)."""
        for i in self.sliding():
            v = rate[self._tangents(i)]
            speed = float(np.hypot(*v))
            if speed > STOP_SPEED:
                self.direction(i)[:] = v / speed

    def slide_where_moving(self, numbers: Iterable[int], rate) -> list[int]:
        """Contacts with friction among those given that move along the ground slide; their numbers."""
        moving = [i for i in numbers if i in self._sliding and self._speed(i, rate) > STOP_SPEED]
        for i in moving:
            v = rate[self._tangents(i)]
            self.slide(i, v / np.hypot(*v))
        return moving

    # --- questions

    def closed(self) -> list[int]:
        """Contacts and limits that act."""
        return [i for i, one in enumerate(self.equations.constraints) if one.unilateral and self.mode[i] != OPEN]

    def sliding(self) -> list[int]:
        """Contacts that slide."""
        return [i for i, mode in enumerate(self.mode) if mode == SLIDES]

    def direction(self, i: int) -> np.ndarray:
        """In which contact i has been sliding, (2,) along its tangents."""
        return self._anchors(i)[4:6]

    def pushing(self) -> list[tuple[int, float]]:
        """(row, sign) of the reactions that can only push."""
        rows = self.equations.row_slices
        return [(rows[i].start, self.sides.get(i, 1.0)) for i in self.closed()]

    def side(self, i: int, q) -> float:
        """1 for contacts and at the lower end of a joint's range, −1 at the upper one."""
        constraint = self.equations.constraints[i]
        if not isinstance(constraint, JointLimit):
            return 1.0
        mechanism = self.equations.mechanism
        at = mechanism.q_slices[constraint.joint].start
        return 1.0 if abs(q[at] - mechanism.lower[at]) <= abs(q[at] - mechanism.upper[at]) else -1.0

    # --- what follows from the forces

    def settle(self, t: float, y, u=None) -> list[tuple[int, str]]:
        """Modes that agree with the forces at a state, and what changed: (number, "opens", "slips" or "sticks").

        One at a time and the worst first, contacts that would have to pull or that move apart open. Those at rest
        along the ground hold or begin to slide as `coulomb.at_rest` says.

        Args:
            t, y, u: time, state (n_y,) and command.
        """
        if not self.closed():
            return []
        before, terms = list(self.mode), self._terms(t, y, u)
        self._refuse_jammed(terms, t)
        rest = self._rest(terms)
        while self._opened(rest.R, terms.rate):
            rest = self._rest(terms)
        for one, a in zip(self._resting(terms.rate), rest.a, strict=True):
            size = float(np.hypot(*a))
            if size > 0.5 * MOVES:
                self.slide(one.number, a / size)
            elif self.mode[one.number] == SLIDES:
                self.hold(one.number, y[self.equations.q])
        return [
            (i, "opens" if new == OPEN else "slips" if new == SLIDES else "sticks")
            for i, (old, new) in enumerate(zip(before, self.mode, strict=True))
            if old != new
        ]

    def escape(self, i: int, t: float, y, u=None) -> float:
        """Tangential acceleration with which contact i, at rest, would leave its place, m/s²."""
        key = (t, y.tobytes(), tuple(self.mode))
        if self._escapes[0] != key:  # the contacts ask one after the other
            terms = self._terms(t, y, u)
            found = zip(self._resting(terms.rate), self._rest(terms).a, strict=True)
            self._escapes = (key, {one.number: float(np.hypot(*a)) for one, a in found})
        return self._escapes[1].get(i, 0.0)

    def _terms(self, t: float, y, u) -> _Terms:
        equations, c = self.equations, self._settings()
        rate_y, _, A, J, value, rate, bias = equations.terms(t, y, *Inputs(u, c).arrays())
        resting = [row for one in self._resting(rate) for row in (one.row + 1, one.row + 2)]
        value, held = np.array(value), np.array(rate)
        # Whether a contact moves from where it is does not depend on what would bring it back to its anchor.
        value[resting], held[resting] = 0.0, 0.0
        wanted = -(bias + 2.0 * c[0] * held + c[0] * c[0] * value)
        return _Terms(A, wanted - J @ rate_y[equations.v], rate)

    def _resting(self, rate) -> list[Sliding]:
        """Closed contacts with friction that do not move along the ground."""
        return [
            one for i, one in self._sliding.items() if self.mode[i] != OPEN and self._speed(i, rate) <= STOP_SPEED
        ]

    def _rest(self, terms: _Terms) -> Rest:
        c = self._settings().copy()
        resting = self._resting(terms.rate)
        for one in resting:
            c[one.at] = 0.0
        G = sliding_map(self.equations, c, terms.rate)
        return at_rest(terms.A, terms.short, c[1 : 1 + self.equations.n_rows], G, resting)

    def _opened(self, R, rate) -> bool:
        pushing = self.pushing()
        leaving = {row: side * rate[row] for row, side in pushing if side * rate[row] > 1e-9}
        pulling = {row: -side * R[row] for row, side in pushing if side * R[row] < 0}
        worst = leaving or pulling
        if worst:
            row = max(worst, key=worst.__getitem__)
            self.open(next(i for i, at in enumerate(self.equations.row_slices) if at.start == row))
        return bool(worst)

    def _refuse_jammed(self, terms: _Terms, t: float):
        """Stop where a sliding contact has no force: pressing it down digs it in by friction (Painlevé)."""
        G = sliding_map(self.equations, self._settings(), terms.rate)
        if G is None:
            return
        for i in self.sliding():
            row = self._sliding[i].row
            digs = terms.A[row] @ G[:, row] <= JAM * terms.A[row, row]
            if digs and terms.short[row] > 0 and terms.rate[row] <= 1e-9:
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

"""Events of a single run: the user's own, contacts that close and open, joints that reach their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ZvenoError
from .constraints import Constraint
from .contacts import GroundContact, JointLimit
from .equations import Equations
from .modes import MOVES, OPEN, SLIDES, Modes
from .rates import Rates

GAP = 1e-10
"""A contact closes when its gap falls below minus this, m or rad: past rounding, far below any tolerance."""
TURNED = 1e-7
"""A contact has stopped sliding when it turns back by this, m/s: past rounding."""


@dataclass(frozen=True, eq=False)
class Event:
    """A function of (t, q, v) whose zero is found and reported.

    Attributes:
        function: returns one number.
        name: what the report calls it.
        direction: 1 only where it rises, −1 only where it falls, 0 both.
        terminal: whether the run ends there.
    """

    function: Callable
    name: str = "event"
    direction: int = 0
    terminal: bool = False


@dataclass(frozen=True, eq=False)
class Watch:
    """One scalar that is watched for falling below zero, and what to do then."""

    what: str
    constraint: int
    """number of the constraint, or of the user's event"""
    value: Callable[[float, np.ndarray, Any], float]
    """of (t, y, what the report kernel says there)"""
    side: float = 1.0
    """for joint limits: 1 at the lower end, −1 at the upper one"""


def limits_of(mechanism) -> tuple[JointLimit, ...]:
    """A unilateral constraint for every joint of one coordinate with a finite limit."""
    return tuple(
        JointLimit(joint.name)
        for joint in mechanism.joints
        if joint.mimic is None
        and joint.type.n_q == 1
        and (np.isfinite(joint.limits.lower).all() or np.isfinite(joint.limits.upper).all())
    )


def watches(equations: Equations, modes: Modes, rates: Rates, events) -> list[Watch]:
    """What has to be watched while the constraints are in the given modes; `events` are the user's."""
    found: list[Watch] = []
    for i, constraint in enumerate(equations.constraints):
        if not constraint.unilateral:
            continue
        row = equations.row_slices[i].start
        if modes.mode[i] == OPEN:
            found += _gaps(equations, i, constraint)
            continue
        side = modes.sides.get(i, 1.0)
        found.append(Watch("opens", i, lambda t, y, report, row=row, side=side: side * report[2][row]))
        if modes.mode[i] == SLIDES:
            found.append(Watch("stops", i, _forward_speed(equations.row_slices[i], modes, i)))
        elif isinstance(constraint, GroundContact) and constraint.friction:
            found.append(Watch("slips", i, _margin(equations.row_slices[i], constraint.friction, i, modes, rates)))
    for i, event in enumerate(events):
        for sign in (1.0, -1.0):
            if event.direction in (0, -sign):
                found.append(Watch("event", i, _user(equations, event, sign), sign))
    return found


def _gaps(equations: Equations, i: int, constraint: Constraint) -> list[Watch]:
    if isinstance(constraint, GroundContact):
        row = equations.row_slices[i].start
        return [Watch("closes", i, lambda t, y, report, row=row: report[3][row] + GAP)]
    assert isinstance(constraint, JointLimit)
    at = equations.mechanism.q_slices[constraint.joint].start
    lower, upper = equations.mechanism.lower[at], equations.mechanism.upper[at]
    gaps = []
    if np.isfinite(lower):
        gaps.append(Watch("closes", i, lambda t, y, report: float(y[at] - lower + GAP), 1.0))
    if np.isfinite(upper):
        gaps.append(Watch("closes", i, lambda t, y, report: float(upper - y[at] + GAP), -1.0))
    return gaps


def _margin(rows: slice, friction: float, i: int, modes: Modes, rates: Rates) -> Callable:
    """Positive while a contact holds: within its cone, or outside of it only because others could carry more."""

    def margin(t, y, report):
        N, *T = report[2][rows]
        inside = friction * N - float(np.hypot(*T))
        return MOVES + inside if inside >= 0 else MOVES - modes.escape(i, t, y, rates.command(t, y))

    return margin


def _forward_speed(rows: slice, modes: Modes, i: int) -> Callable:
    """Speed along the direction in which a contact has been sliding; it turns back past zero."""

    def speed(t, y, report):
        return float(report[4][rows][1:] @ modes.direction(i)) + TURNED

    return speed


def _user(equations: Equations, event: Event, sign: float) -> Callable:
    """Falls through zero where the user's function falls (sign 1) or rises (sign −1)."""

    def value(t, y, report):
        try:
            number = float(event.function(t, y[equations.q], y[equations.v]))
        except (TypeError, ValueError) as error:
            raise ZvenoError(
                f"does not return one number at t = {t:.6g} s: {error}", element=f"event {event.name}"
            ) from error
        return sign * number

    return value


def first_zero(value: Callable[[float], float], t_old: float, t: float) -> float:
    """The time in [t_old, t] at which a function that is positive at t_old and negative at t is zero."""
    from scipy.optimize import brentq

    return float(brentq(value, t_old, t, xtol=1e-14, rtol=1e-14))  # type: ignore[arg-type]  (stubs)

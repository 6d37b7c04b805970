"""Friction terms: torque curves of the velocity, each with one unknown factor, and elastic friction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base_parameters.drives import directions, driven_joints
from ..closed_robot import ClosedRobot
from ..errors import ZvenoError, unknown_name
from ..kernels import ops as zm
from ..mechanism import Mechanism

STEEP = 0.003
"""Velocity scale of the smoothed sign, as a share of the largest velocities: a moving joint is beyond it."""


def _steep(v: Any, s: float) -> Any:
    return zm.tanh(v / (STEEP * s))


def _root(v: Any) -> Any:
    """Return sign(v) |v|^⅓."""
    return zm.sign(v) * zm.exp(zm.log(zm.maximum(zm.abs(v), 1e-30)) / 3.0)


def _bump(share: float) -> Callable[[Any, float, Any], Any]:
    def curve(v: Any, s: float, load: Any) -> Any:
        return _steep(v, s) * zm.exp(-(v / (share * s)) * (v / (share * s)))

    return curve


@dataclass(frozen=True)
class Term:
    """Friction curve.

    Attributes:
        symbol: of its parameter, `{}` standing for the number of the joint.
        curve: function of (v, scale, load).
        meaning: description.
        needs_load: whether the load takes part: as a factor of the curve "coulomb".
        distance: of a term that is elastic before it slides, as a share of the path in a second of large velocity;
            0 for others. Its curve is that of sliding.
    """

    symbol: str
    curve: Callable[[Any, float, Any], Any]
    meaning: str
    needs_load: bool = False
    distance: float = 0.0


def _elastic(share: float) -> Term:
    meaning = f"elastic before it slides, over {100 * share:g} % of the way in a second of the largest velocities"
    return Term("Fe{}", lambda v, s, load: _steep(v, s), meaning, distance=share)


TERMS = {
    "viscous": Term("Fv{}", lambda v, s, load: v, "proportional to the velocity"),
    "coulomb": Term("Fc{}", lambda v, s, load: _steep(v, s), "constant, against the motion"),
    "sign": Term("Fs{}", lambda v, s, load: zm.sign(v), "constant, against the motion, with a jump at rest"),
    "root": Term("Fr{}", lambda v, s, load: _root(v), "concave, as the cube root of the velocity"),
    "load": Term(
        "Fl{}", lambda v, s, load: zm.abs(load) * _steep(v, s), "proportional to the load, as in gears", True
    ),
    "stribeck 0.03": Term("Fst{}", _bump(0.03), "more friction below 3 % of the largest velocities"),
    "stribeck 0.1": Term("Fst{}", _bump(0.1), "more friction below 10 % of the largest velocities"),
    "stribeck 0.3": Term("Fst{}", _bump(0.3), "more friction below 30 % of the largest velocities"),
    "asymmetric": Term("Fa{}", lambda v, s, load: zm.abs(v), "viscous friction that differs between directions"),
    "coulomb 0.03": Term("Fw{}", lambda v, s, load: zm.tanh(v / (0.03 * s)), "sets in over 3 % of the velocities"),
    "coulomb 0.1": Term("Fw{}", lambda v, s, load: zm.tanh(v / (0.1 * s)), "sets in over 10 % of the velocities"),
    "elastic 0.003": _elastic(0.003),
    "elastic 0.01": _elastic(0.01),
    "elastic 0.03": _elastic(0.03),
}
DEFAULT = ("viscous", "coulomb", "root", "load")
MOTOR = ("viscous", "coulomb")
"""Friction of a motor that two joints turn: further terms are seldom separable from the joints' own."""
ASYMMETRIC = "asymmetric"
BASIC = ("viscous", "sign")
"""Textbook friction, for comparison with published values."""
CHOICES = (
    *("stribeck 0.03", "stribeck 0.1", "stribeck 0.3"),
    *("elastic 0.003", "elastic 0.01", "elastic 0.03"),
    *("coulomb 0.03", "coulomb 0.1"),
    ASYMMETRIC,
)
"""Terms that are added only if they explain held-out rows better."""
NAMED: dict[str, tuple[str, ...]] = {"default": DEFAULT, "basic": BASIC, "none": ()}


def mean_curve(term: str, v: Any, scale: Any) -> Any:
    """Return the mean of a term's curve over velocities v (k,), for a load of 1; entries may be traced."""
    return sum(TERMS[term].curve(speed, scale, 1.0) for speed in v) / len(v)


@dataclass(frozen=True, eq=False)
class Element:
    """Location of friction: a joint, or a motor that two joints turn.

    Attributes:
        label: number of the link, "m6" for the motor of joint 6.
        direction: (n_v,) its velocity is direction · v, and its torque acts on the joints along direction.
        coordinate: velocity coordinate that it belongs to.
        motor: whether it is a motor that two joints turn.
    """

    label: str
    direction: np.ndarray
    coordinate: int
    motor: bool = False


def elements_of(mechanism: Mechanism, closed: ClosedRobot | None = None) -> tuple[Element, ...]:
    """Return every driven joint, then every coupled motor; with closed loops, every independent joint."""
    if closed is not None:
        eye = np.eye(closed.n_v)
        labels = {v: str(i) for i, v, _ in driven_joints(mechanism)}
        return tuple(Element(labels[v], eye[k], k) for k, v in enumerate(closed.division.independent))
    eye = np.eye(mechanism.n_v)
    joints = [(str(i), v) for i, v, _ in driven_joints(mechanism)]
    elements = [Element(label, eye[v], v) for label, v in joints]
    numbers = {v: label for label, v in joints}
    for direction in directions(mechanism):
        motor = int(np.flatnonzero(direction == 1.0)[-1])
        elements.append(Element(f"m{numbers[motor]}", direction, motor, True))
    return tuple(elements)


def checked_terms(friction: str | Sequence[str]) -> tuple[str, ...]:
    """Return the terms of a choice by name ("default", "basic", "none"), or those given."""
    if isinstance(friction, str):
        if friction not in NAMED:
            raise unknown_name("friction model", friction, (*NAMED, "auto"))
        return NAMED[friction]
    for term in friction:
        if term not in TERMS:
            raise unknown_name("friction term", term, TERMS)
    if ASYMMETRIC in friction and "viscous" not in friction:
        raise ZvenoError(
            "has asymmetric without viscous friction", element="friction_terms", remedy='Name "viscous" too'
        )
    if len(set(friction)) < len(friction):
        raise ZvenoError("names a term twice", element="friction_terms", remedy="Name each once")
    return tuple(friction)


NEGLIGIBLE = 1e-17
"""Weight of earlier states that vanishes in double precision."""


class History:
    """State of elastic friction along a motion, over rows that come in chunks."""

    def __init__(self, interval: float):
        """Set the time `interval` between rows, s."""
        self.interval = interval
        self._state: dict[tuple[int, float], float] = {}

    def strains(self, element: int, speeds: np.ndarray, distance: float) -> np.ndarray:
        """Return the mean of z over every row, (m,).

        Args:
            element: number of the friction element; each has a state of its own.
            speeds: (m, k) velocities at k times in every row, one after the other.
            distance: δ, rad or m.
        """
        steps = speeds.ravel() * (self.interval / speeds.shape[1] / distance)
        z = yielded(steps, self._state.get((element, distance), 0.0))
        if len(z):
            self._state[element, distance] = float(z[-1])
        return z.reshape(speeds.shape).mean(axis=1)


def yielded(steps: np.ndarray, start: float) -> np.ndarray:
    """Return z after each of the steps Δx/δ (m,), from a first z.

    While the direction s stays, z = s + (z₀ − s) exp(−way); only the start of a run depends on earlier runs.
    """
    if not len(steps):
        return steps
    direction = np.sign(steps)
    first = np.flatnonzero(np.concatenate([[True], direction[1:] != direction[:-1]]))
    way = np.cumsum(abs(steps))
    before = np.concatenate([[0.0], way[first[1:] - 1]])  # the way at the beginning of every run
    length = np.diff(np.append(before, way[-1]))
    s = direction[first]
    begins = np.concatenate([[start], _ends(s, np.exp(-length), start)[:-1]])
    counts = np.diff(np.append(first, len(steps)))
    left = np.exp(np.repeat(before, counts) - way)
    return direction + np.repeat(begins - s, counts) * left


def _ends(s: np.ndarray, a: np.ndarray, start: float) -> np.ndarray:
    """Return z (runs,) after each of the maps z ← s + (z − s) a, composed in pairs, then in fours, and so on."""
    a, b = a.copy(), s * (1.0 - a)
    shift = 1
    while shift < len(a) and a[shift:].max() > NEGLIGIBLE:
        b[shift:] = b[shift:] + a[shift:] * b[:-shift]
        a[shift:] = a[shift:] * a[:-shift]
        shift *= 2
    return b + a * start

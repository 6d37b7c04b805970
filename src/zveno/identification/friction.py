"""Friction terms: torque curves of a joint's velocity, each with one unknown factor.

A term takes the velocity v of a joint (or of a motor that two joints turn), its scale s (a high percentile of |v|
in the recording) and the load, the torque of inertia and gravity at the joint. Functions serve arrays and
traced scalars alike, so that the same curves are fitted, predicted and exported as C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base_parameters.drives import directions, driven_joints
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


def elements_of(mechanism: Mechanism) -> tuple[Element, ...]:
    """Return every driven joint, then every coupled motor."""
    eye = np.eye(mechanism.n_v)
    joints = [(str(i), v) for i, v, _ in driven_joints(mechanism)]
    found = [Element(label, eye[v], v) for label, v in joints]
    numbers = {v: label for label, v in joints}
    for direction in directions(mechanism):
        motor = int(np.flatnonzero(direction == 1.0)[-1])
        found.append(Element(f"m{numbers[motor]}", direction, motor, True))
    return tuple(found)


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

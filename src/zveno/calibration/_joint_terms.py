"""Joint terms: gear ratio, compliance, eccentricity, ovality and hysteresis. They are defined only in this module.

A joint whose encoder reads a is at a + offset + Σ p_k f_k(a, load, side): a term is a parameter times a known
function. The side is the sign of its last motion, 0 where that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import unknown_name
from ..kernels import ops as zm


@dataclass(frozen=True)
class JointTerm:
    """Parameter of a joint.

    Attributes:
        word: name in a request; some words have two terms.
        letters: of its name: `Cq2`.
        units: of a prismatic and of a revolute joint; None where there is none.
        size: initial typical size of the parameter, in those units.
        shift: f(a, load, side) of the reading, of the torque or force that holds the joint, and of the sign of its
            last motion.
    """

    word: str
    letters: str
    units: tuple[str | None, str]
    size: tuple[float, float]
    shift: Callable[..., Any]


JOINT_TERMS = (
    JointTerm("gear", "K", ("1", "1"), (1e-3, 1e-3), lambda a, load, side: a),
    JointTerm("compliance", "C", ("m/N", "rad/Nm"), (1e-5, 1e-4), lambda a, load, side: -load),
    JointTerm("eccentricity", "Es", (None, "rad"), (0.0, 1e-3), lambda a, load, side: zm.sin(a)),
    JointTerm("eccentricity", "Ec", (None, "rad"), (0.0, 1e-3), lambda a, load, side: zm.cos(a)),
    JointTerm("ovality", "Os", (None, "rad"), (0.0, 1e-3), lambda a, load, side: zm.sin(2.0 * a)),
    JointTerm("ovality", "Oc", (None, "rad"), (0.0, 1e-3), lambda a, load, side: zm.cos(2.0 * a)),
    JointTerm("hysteresis", "H", ("m", "rad"), (1e-4, 2e-4), lambda a, load, side: side),
)
"""Wrong gear ratios; joints that yield under load (net of what the controller corrects); encoders and gears that
are off centre, with an error once per turn; oval ones (strain wave gears), twice per turn; and backlash or
hysteresis, by which a joint stops before the place it was sent to, on the side it comes from if H is negative."""
HYSTERESIS = "hysteresis"
"""Word of the term that depends on the direction of approach of a joint."""
WORDS = tuple(dict.fromkeys(term.word for term in JOINT_TERMS))
IN_WORDS = {
    "gear": "gear ratios that are off",
    "compliance": "joints that yield under gravity",
    "eccentricity": "encoders or gears off centre",
    "ovality": "oval encoders or gears",
    "hysteresis": "joints that stop elsewhere from either side (backlash, hysteresis)",
}


def terms_of(words: Sequence[str]) -> list[JointTerm]:
    """Return the terms of some words, in the order of the table."""
    for word in words:
        if word not in WORDS:
            raise unknown_name("joint term", word, WORDS)
    return [term for term in JOINT_TERMS if term.word in words]


def words_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the words of terms by their names: `Cq2` is a compliance. Other names have none."""
    letters = {name.partition("q")[0] for name in names if "q" in name}
    return tuple(dict.fromkeys(term.word for term in JOINT_TERMS if term.letters in letters))

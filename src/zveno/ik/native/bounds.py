"""Bounds within which a compiled program certifies nothing."""

from __future__ import annotations

from typing import NamedTuple

from ..checks.distinct import SAME
from ..checks.judgement import EXACT, SINGULAR, SLACK
from ..closed_form.other_forms import EDGE, REACHED
from ..targets import EXACT as RIGID


class Bounds(NamedTuple):
    """Bounds beyond which rounding cannot change a decision.

    Attributes:
        rigid: largest deviation of a pose from a rigid transform.
        real, absent: margins above which a branch certainly exists, and below which it certainly does not.
        reached, missed: squared errors below which a branch certainly reaches the pose, and above which not.
        meeting: gaps from which on branches do not meet, and squared sines from which on no axes line up.
        closed: error of a pose from which on another step of Newton's is made.
        sharp: error of a pose up to which coordinates are as exact as can be.
        exact: error of a pose up to which a configuration is a solution.
        singular: least singular value from which on a solution is regular.
        slack: distance to a limit, rad, within which a coordinate can be inside or outside of it.
        seam: distance to a whole turn's seam, rad, within which it can be on either side.
        steps: steps per radian in which first coordinates are compared.
        half: how near the middle between two steps, in steps, a first coordinate can be nearer to either, at most.
        blur: error of a pose, lengths over `length` and radians, that rounding leaves: over the least singular
            value it is what a coordinate is uncertain by.
        same: difference of coordinates, rad, from which on solutions are two.
        tied: difference of marks from which on it is clear which is greater.
    """

    rigid: float
    real: float
    absent: float
    reached: float
    missed: float
    meeting: float
    closed: float
    sharp: float
    exact: float
    singular: float
    slack: float
    seam: float
    steps: float
    half: float
    blur: float
    same: float
    tied: float


DOUBLE = Bounds(
    rigid=RIGID,
    real=0.1 * EDGE,
    absent=-2.0 * EDGE,
    reached=1e-4 * REACHED,
    missed=1e6 * REACHED,
    meeting=1e-10,
    closed=2e-14,
    sharp=4e-15,
    exact=EXACT,
    singular=1.1 * SINGULAR,
    slack=2.0 * SLACK,
    seam=1e-8,
    steps=1e6,
    half=1e-4,
    blur=1e-13,
    same=2.0 * SAME,
    tied=1e-8,
)
"""For `double`. They leave room to those of `zveno.ik.checks`, so that nothing sure is decided otherwise there."""
SINGLE = Bounds(
    rigid=1e-5,
    real=1e-5,
    absent=-1e-5,
    reached=1e-9,
    missed=1e-5,
    meeting=1e-5,
    closed=4e-6,
    sharp=1e-5,
    exact=1e-4,
    singular=5e-3,
    slack=1e-4,
    seam=1e-3,
    steps=1e2,
    half=5e-2,
    blur=1.0,
    same=2e-3,
    tied=1e-2,
)
"""For `float`, whose numbers have seven digits, products of Jacobians four."""

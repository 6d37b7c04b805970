"""Bounds within which a compiled program certifies nothing."""

from __future__ import annotations

from typing import NamedTuple

from .._judge import EXACT, ROUNDING, SINGULAR, SLACK
from ..closed_form.other_forms import EDGE, REACHED
from ..targets import EXACT as RIGID


class Bounds(NamedTuple):
    """Bounds beyond which rounding cannot change a decision.

    Attributes:
        rigid: largest deviation of a pose from a rigid transform.
        absent: margin below which a branch certainly does not exist: roots of order four move by the root of what
            rounding moves double ones by. Others exist if their row is certified.
        missed: squared error above which a branch certainly does not reach the pose.
        meeting: gaps from which on branches do not meet, and squared sines from which on no axes line up.
        closed: error of a pose from which on another step of Newton's is made.
        sharp: error of a pose up to which coordinates are as exact as can be.
        exact: error of a pose up to which a configuration is a solution.
        rounding: error that rounding leaves in a pose of an arm as long as `length`, in its units and radians.
        twins: least singular value from which on zeros of a polynomial are not taken for one.
        slack: distance to a limit, rad, within which a coordinate can be inside or outside of it.
        seam: distance to a whole turn's seam, rad, within which it can be on either side.
        steps: steps per radian in which first coordinates are compared.
    """

    rigid: float
    absent: float
    missed: float
    meeting: float
    closed: float
    sharp: float
    exact: float
    rounding: float
    twins: float
    slack: float
    seam: float
    steps: float


DOUBLE = Bounds(
    rigid=RIGID,
    absent=-2.0 * EDGE,
    missed=1e6 * REACHED,
    meeting=1e-13,
    closed=2e-14,
    sharp=4e-15,
    exact=EXACT,
    rounding=ROUNDING,
    twins=SINGULAR,
    slack=2.0 * SLACK,
    seam=1e-8,
    steps=1e6,
)
"""For `double`."""
SINGLE = Bounds(
    rigid=1e-5,
    absent=-1e-5,
    missed=1e-5,
    meeting=1e-5,
    closed=4e-6,
    sharp=1e-5,
    exact=1e-4,
    rounding=2e-7,
    twins=5e-3,
    slack=1e-4,
    seam=1e-3,
    steps=1e2,
)
"""For `float`, whose numbers have seven digits, products of Jacobians four."""

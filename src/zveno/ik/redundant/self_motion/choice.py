"""Choice of the sliced joint with which all self-motions can be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby, islice

from ...ik_problem import IkProblem
from .. import seven_revolute
from ..sliced_joint import SlicedJoint, sliced_joint
from ..slices import named_coordinate
from .motions import without_limits
from .point_chains import point_chains
from .projections import MOST, projections_of

FEWEST = 24
"""Slices at least."""
OTHERS = 3
"""Joints that are sliced instead where one leaves a pose in doubt, one after the other."""


def self_motion_joint(problem: IkProblem, redundant: str | None = None) -> SlicedJoint | None:
    """Return the joint to slice, if all self-motions can be found by it; None if not.

    Args:
        problem: the chain.
        redundant: name of the joint to be sliced; if None the usual one, or another usable one.
    """
    return _chosen(problem, redundant)


def other_joints(problem: IkProblem, chosen: int) -> Iterator[SlicedJoint]:
    """Yield joints to slice if the chosen one is ambiguous: it hardly moves, or curves nearly meet.

    Each is prepared when it is asked for, which can take seconds; the quick ones come first.
    """
    return islice(_usable(problem, chosen), OTHERS)


def _usable(problem: IkProblem, chosen: int) -> Iterator[SlicedJoint]:
    free = without_limits(problem)
    meeting = {joint for chain in point_chains(problem) for joint in chain.joints}

    def cost(k: int) -> tuple[bool, bool]:
        return k not in meeting, seven_revolute.closed_form(problem, k) is None

    for _, alike in groupby(sorted((k for k in range(problem.n) if k != chosen), key=cost), key=cost):
        count = {k: len(projections_of(free, k)) for k in alike}
        for k in sorted((k for k in count if count[k]), key=lambda k: (-count[k], k)):
            if seven_revolute.applies(problem, k):
                yield SlicedJoint(k, FEWEST)


@lru_cache(maxsize=32)
def _chosen(problem: IkProblem, redundant: str | None) -> SlicedJoint | None:
    if not seven_revolute.is_seven(problem):
        return None
    usual = sliced_joint(problem)
    meeting = {joint for chain in point_chains(problem) for joint in chain.joints}
    if redundant is not None:
        tried: Iterable[int] = [named_coordinate(problem, redundant)]
    else:
        tried = _in_order(problem, meeting, usual.coordinate)
    free, found = without_limits(problem), []
    for k in tried:
        count = len(projections_of(free, k))
        if count and seven_revolute.applies(problem, k):
            found.append((count, SlicedJoint(k, max(FEWEST, usual.slices if k == usual.coordinate else FEWEST))))
            if meeting or count == MOST:
                break
    # Without three joints that meet, the more projections the better: what one leaves in doubt another decides.
    return max(found, key=lambda own: own[0])[1] if found else None


def _in_order(problem: IkProblem, meeting: set[int], usual: int) -> Iterator[int]:
    """Yield joints, the best first: with a simple projection, slices of a closed form, and the usual one."""
    simple = {k for k in range(7) if not meeting or k in meeting}
    if usual in simple:
        yield usual  # the closed forms of others need not be asked for

    def cost(k: int) -> tuple[bool, bool]:
        return k not in simple, k not in simple or seven_revolute.closed_form(problem, k) is None

    yield from sorted((k for k in range(7) if k != usual or k not in simple), key=cost)

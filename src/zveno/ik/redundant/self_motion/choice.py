"""Which joint is sliced so that all self-motions can be found."""

from __future__ import annotations

from collections.abc import Sequence

from ...ik_problem import IkProblem
from .. import seven_revolute
from ..sliced_joint import SlicedJoint, sliced_joint
from ..slices import named_coordinates
from .motions import without_limits
from .point_chains import point_chains
from .projections import projections_of

FEWEST = 24
"""Slices at least."""


def self_motion_joint(problem: IkProblem, redundant: str | Sequence[str] | None = None) -> SlicedJoint | None:
    """The joint that is sliced, if all self-motions can be found by it; None if not.

    Args:
        problem: the chain.
        redundant: name of the joint to be sliced; if None the usual one, or another that will do.
    """
    if not seven_revolute.is_seven(problem):
        return None
    usual = sliced_joint(problem)
    if redundant is not None:
        tried = [named_coordinates(problem, redundant)[0]]
    else:
        meeting = {joint for chain in point_chains(problem) for joint in chain.joints}
        tried = sorted(range(7), key=lambda k: _cost(problem, k, meeting, usual.coordinate))
    for k in tried:
        if len(projections_of(without_limits(problem), k)) and seven_revolute.applies(problem, k):
            return SlicedJoint(k, max(FEWEST, usual.slices if k == usual.coordinate else FEWEST))
    return None


def _cost(problem: IkProblem, joint: int, meeting: set[int], usual: int) -> tuple[bool, bool, bool]:
    """What makes a joint worse to slice: no simple projection, slices without a closed form, being unusual."""
    simple = not meeting or joint in meeting
    formed = simple and seven_revolute.closed_form(problem, joint) is not None
    return not simple, joint != usual and not formed, joint != usual

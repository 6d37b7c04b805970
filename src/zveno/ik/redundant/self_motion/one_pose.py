"""All self-motions of one pose with one joint sliced: families, status and reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import IkProblem
from ...solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, Family
from ...targets import Targets
from ..sliced_joint import SlicedJoint
from .inside_limits import Part, inside_limits
from .motions import motions_of, range_of, without_range


class PoseAnswer(NamedTuple):
    """What is known of one pose.

    Attributes:
        code: of the status.
        note: why curves may be missing; empty if none is.
        families: curves inside limits.
        solutions: (s, 7) sample of each of them.
        outside: (s, 7) samples of curves outside limits, where none is inside.
    """

    code: int
    note: str
    families: tuple[Family, ...]
    solutions: list[np.ndarray]
    outside: list[np.ndarray]


def answered(problem: IkProblem, targets: Targets, pose: int, joint: SlicedJoint) -> PoseAnswer:
    """Families, status and reason of one pose with a joint sliced."""
    lanes, T = targets.lanes, targets.T[pose]
    motions = motions_of(problem, T, *joint)
    own = lanes._replace(targets=lanes.targets[[pose]])
    around = range_of(problem, joint.coordinate)[2]
    doubt, families, solutions = motions.doubt, [], []
    cut = inside_limits(problem, own, motions.components, joint.coordinate, around)
    if cut.grazing and not doubt:
        doubt = "a joint grazes a limit"
    every = problem.wrapped(np.concatenate([np.zeros((0, problem.n)), *(part.x for part in cut.parts)]))
    kept = problem.inside(every)
    first = np.cumsum([0, *(len(part.x) for part in cut.parts)]).tolist()
    for part, start, stop in zip(cut.parts, first[:-1], first[1:], strict=True):
        x, inside = every[start:stop], kept[start:stop]
        if not doubt and (not inside.all() or any(joint < 0 for joint, _ in part.ends)):
            doubt = "an end of a curve at a limit was not found"
        if inside.any():
            families.append(_family(problem, part, x, inside, joint.coordinate))
            solutions.append(x[inside])
    if families or doubt:
        code = (SAMPLED if families else UNDECIDED) if doubt else FAMILY
        return PoseAnswer(code, doubt, tuple(families), solutions, [])
    if not motions.components and not around:
        motions = motions_of(without_range(problem, joint.coordinate), T, *joint)
        doubt = motions.doubt if not motions.components else ""
    outside = [problem.wrapped(component.x) for component in motions.components]
    return PoseAnswer(UNDECIDED if doubt else COMPLETE, doubt, (), [], outside)


def _family(problem: IkProblem, part: Part, x: np.ndarray, inside: np.ndarray, coordinate: int) -> Family:
    """A part of a curve, of whose points x (m, 7) some are inside limits."""
    names = [step.joint for step in problem.steps]
    ends = tuple(f"{names[k]} at its {side} limit" if k >= 0 else "unknown" for k, side in part.ends)
    q, turns = problem.to_q(x[inside]), problem.to_q(x[inside & part.turns])
    return Family(1, q, part.closed, names[coordinate], part.interval, ends, turns)

"""All self-motions of one pose with one joint sliced: self_motions, status and reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import IkProblem
from ...solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, SelfMotion
from ...targets import Targets
from ..sliced_joint import SlicedJoint
from .coaxial import coaxial_lines, line_families, on_line
from .inside_limits import Part, inside_limits
from .motions import Motions, motions_of, range_of, without_limits, without_range


class PoseAnswer(NamedTuple):
    """Answer for one pose.

    Attributes:
        code: status code.
        note: why curves may be missing; empty if none is.
        self_motions: curves inside limits.
        solutions: (s, 7) sample of each of them.
        outside: (s, 7) samples of curves outside limits, where none is inside.
    """

    code: int
    note: str
    self_motions: tuple[SelfMotion, ...]
    solutions: list[np.ndarray]
    outside: list[np.ndarray]


class Followed(NamedTuple):
    """The curves of one pose that slices of a joint show.

    Attributes:
        joint: the sliced joint.
        motions: the curves, limits of other joints disregarded.
        doubt: why curves may be missing; empty if none is.
        self_motions: the curves inside limits.
        solutions: (s, 7) sample of each of them.
    """

    joint: SlicedJoint
    motions: Motions
    doubt: str
    self_motions: list[SelfMotion]
    solutions: list[np.ndarray]


def followed_curves(problem: IkProblem, targets: Targets, pose: int, joint: SlicedJoint) -> Followed:
    """Follow the curves of one pose with a joint sliced, and cut them at limits."""
    motions = motions_of(problem, targets.T[pose], *joint)
    own = targets.lanes._replace(targets=targets.lanes.targets[[pose]])
    around = range_of(problem, joint.coordinate)[2]
    doubt, self_motions, solutions = motions.doubt, [], []
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
            self_motions.append(_family(problem, part, x, inside, joint.coordinate))
            solutions.append(x[inside])
    return Followed(joint, motions, doubt, self_motions, solutions)


def answered(problem: IkProblem, targets: Targets, pose: int, followed: Followed) -> PoseAnswer:
    """Find the families, status and reason of one pose from the curves that were followed, straight ones added."""
    joint, motions, doubt, self_motions, solutions = followed
    T, lanes = targets.T[pose], targets.lanes
    own = lanes._replace(targets=lanes.targets[[pose]])
    curves = None if motions.doubt else [component.x for component in motions.components]
    followed_x = np.concatenate([np.zeros((0, problem.n)), *solutions])
    of = np.arange(len(solutions)).repeat([len(x) for x in solutions])
    for line in coaxial_lines(without_limits(problem), T, own, curves):
        listed = np.bincount(of[on_line(line, followed_x)]).max(initial=0) > 2
        for family, x in () if listed else line_families(problem, line):
            self_motions.append(family)
            solutions.append(x)
    if self_motions or doubt:
        code = (SAMPLED if self_motions else UNDECIDED) if doubt else FAMILY
        return PoseAnswer(code, doubt, tuple(self_motions), solutions, [])
    if not motions.components and not range_of(problem, joint.coordinate)[2]:
        motions = motions_of(without_range(problem, joint.coordinate), T, *joint)
        doubt = motions.doubt if not motions.components else ""
    outside = [problem.wrapped(component.x) for component in motions.components]
    return PoseAnswer(UNDECIDED if doubt else COMPLETE, doubt, (), [], outside)


def _family(problem: IkProblem, part: Part, x: np.ndarray, inside: np.ndarray, coordinate: int) -> SelfMotion:
    """Return a part of a curve as a self-motion; some of its points x (m, 7) are inside limits."""
    names = [step.joint for step in problem.steps]
    ends = tuple(f"{names[k]} at its {side} limit" if k >= 0 else "unknown" for k, side in part.ends)
    q, turns = problem.to_q(x[inside]), problem.to_q(x[inside & part.turns])
    return SelfMotion(1, q, part.closed, names[coordinate], part.interval, ends, turns)

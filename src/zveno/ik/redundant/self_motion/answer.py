"""All self-motions of a pose of seven revolute joints, as `Solutions`."""

from __future__ import annotations

import numpy as np

from ....progress import Progress, ProgressBar
from ...answer import concluded
from ...checks.draft import Draft, empty_draft
from ...checks.no_solutions import Outside
from ...ik_problem import IkProblem
from ...objectives import Aim
from ...solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, Family, Solutions
from ...targets import Targets
from ..sliced_joint import SlicedJoint
from .inside_limits import Part, inside_limits
from .motions import Motions, motions_of, range_of, without_range

TOLD_EVERY = 16
"""Poses after which it is told how far it is."""


def self_motion_answer(
    problem: IkProblem, targets: Targets, joint: SlicedJoint, aim: Aim, inputs: str, progress: Progress = None
) -> Solutions:
    """Every curve of solutions inside limits, from end to end; a claim where none can be missing."""
    name = next(step.joint for step in problem.steps if step.coordinate == joint.coordinate)
    draft = empty_draft(problem, targets, f"self-motions, {joint.slices} slices of {name}", aim)
    outside: list[tuple[int, np.ndarray]] = []
    rows: list[tuple[int, np.ndarray]] = []
    n = len(targets.T)
    with ProgressBar("following self-motions", progress) as advance:
        for pose in range(n):
            # One by one, so that the answer to a pose does not depend on others.
            rows += _told(draft, pose, motions_of(problem, targets.T[pose], *joint), joint, outside)
            if (pose + 1) % TOLD_EVERY == 0 or pose + 1 == n:
                advance(pose + 1, n)
    if rows:
        draft.add(np.concatenate([np.full(len(x), i) for i, x in rows]), np.concatenate([x for _, x in rows]))
    told = Outside(
        np.concatenate([np.zeros(0, int), *(np.full(len(x), i) for i, x in outside)]),
        np.concatenate([np.zeros((0, problem.n)), *(x for _, x in outside)]),
    )
    return concluded(draft, told, inputs)


def _told(
    draft: Draft, pose: int, motions: Motions, joint: SlicedJoint, outside: list[tuple[int, np.ndarray]]
) -> list[tuple[int, np.ndarray]]:
    """Families, status and reason of one pose entered into a draft; its solutions."""
    problem, lanes = draft.problem, draft.targets.lanes
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
            solutions.append((pose, x[inside]))
    if families:
        draft.families[pose] = tuple(families)
    if doubt:
        draft.codes[pose], draft.notes[pose] = SAMPLED if families else UNDECIDED, doubt
    else:
        draft.codes[pose] = FAMILY if families else COMPLETE
    if not families and not doubt:
        if not motions.components and not around:
            motions = motions_of(without_range(problem, joint.coordinate), draft.targets.T[pose], *joint)
            if motions.doubt and not motions.components:
                draft.codes[pose], draft.notes[pose] = UNDECIDED, motions.doubt
        outside += [(pose, problem.wrapped(c.x)) for c in motions.components]
    return solutions


def _family(problem: IkProblem, part: Part, x: np.ndarray, inside: np.ndarray, coordinate: int) -> Family:
    """A part of a curve, of whose points x (m, 7) some are inside limits."""
    names = [step.joint for step in problem.steps]
    ends = tuple(f"{names[k]} at its {side} limit" if k >= 0 else "unknown" for k, side in part.ends)
    q, turns = problem.to_q(x[inside]), problem.to_q(x[inside & part.turns])
    return Family(1, q, part.closed, names[coordinate], part.interval, ends, turns)

"""All self-motions of a pose of seven revolute joints, as `Solutions`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ....progress import Progress, ProgressBar
from ..._nothing_found import Outside
from ..._rows import Draft, empty_draft
from ...answer import concluded
from ...clock import time_is_over
from ...ik_problem import IkProblem
from ...solutions import Solutions
from ...targets import Targets
from ..sliced_joint import SlicedJoint
from .one_pose import PoseAnswer, answered, followed_curves

TOLD_EVERY = 16
"""Number of poses between progress reports."""


def self_motion_answer(
    problem: IkProblem,
    targets: Targets,
    joint: SlicedJoint,
    inputs: str,
    progress: Progress = None,
    others: Callable[[], Iterable[SlicedJoint]] = tuple,
) -> Solutions:
    """Find every curve of solutions inside limits, from end to end; guaranteed where none can be missing.

    An ambiguous pose is solved again with other sliced joints, until one decides it.
    """
    name = next(step.joint for step in problem.steps if step.coordinate == joint.coordinate)
    draft = empty_draft(problem, targets, f"self-motions, {joint.slices} slices of {name}")
    outside: list[tuple[int, np.ndarray]] = []
    rows: list[tuple[int, np.ndarray]] = []
    n = len(targets.T)
    with ProgressBar("following self-motions", progress) as advance:
        for pose in range(n):
            # One by one, so that the answer to a pose does not depend on others.
            answer = _decided(draft, pose, joint, others)
            rows += [(pose, x) for x in answer.solutions]
            outside += [(pose, x) for x in answer.outside]
            if (pose + 1) % TOLD_EVERY == 0 or pose + 1 == n:
                advance(pose + 1, n)
    if rows:
        draft.add(np.concatenate([np.full(len(x), i) for i, x in rows]), np.concatenate([x for _, x in rows]))
    told = Outside(
        np.concatenate([np.zeros(0, int), *(np.full(len(x), i) for i, x in outside)]),
        np.concatenate([np.zeros((0, problem.n)), *(x for _, x in outside)]),
    )
    return concluded(draft, told, inputs)


def _decided(
    draft: Draft, pose: int, joint: SlicedJoint, others: Callable[[], Iterable[SlicedJoint]]
) -> PoseAnswer:
    """Enter one pose into a draft, whole from the first joint without ambiguity; if none, the first joint."""
    problem, targets = draft.problem, draft.targets
    first = followed_curves(problem, targets, pose, joint)
    answer = None if first.doubt else answered(problem, targets, pose, first)
    for other in others() if answer is None or answer.note else ():
        if time_is_over():
            break
        again = followed_curves(problem, targets, pose, other)
        # Straight self-motions are looked for only where nothing else is in doubt: it may take long where it is.
        whole = None if again.doubt else answered(problem, targets, pose, again)
        if whole is not None and not whole.note:
            answer = whole
            break
    if answer is None:
        answer = answered(problem, targets, pose, first)
    if answer.self_motions:
        draft.self_motions[pose] = answer.self_motions
    draft.codes[pose] = answer.code
    if answer.note:
        draft.notes[pose] = answer.note
    return answer

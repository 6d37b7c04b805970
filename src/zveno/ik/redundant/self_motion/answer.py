"""All self-motions of a pose of seven revolute joints, as `Solutions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....progress import Progress, ProgressBar
from ...answer import concluded
from ...checks.draft import Draft, empty_draft
from ...checks.no_solutions import Outside
from ...clock import time_is_over
from ...ik_problem import IkProblem
from ...solutions import Solutions
from ...targets import Targets
from ..sliced_joint import SlicedJoint
from .one_pose import PoseAnswer, answered

TOLD_EVERY = 16
"""Number of poses between progress reports."""


def self_motion_answer(
    problem: IkProblem,
    targets: Targets,
    joint: SlicedJoint,
    inputs: str,
    progress: Progress = None,
    others: Callable[[], Sequence[SlicedJoint]] = tuple,
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
    draft: Draft, pose: int, joint: SlicedJoint, others: Callable[[], Sequence[SlicedJoint]]
) -> PoseAnswer:
    """Enter one pose into a draft, whole from the first joint without ambiguity; if none, the first joint."""
    answer = answered(draft.problem, draft.targets, pose, joint)
    for other in others() if answer.note else ():
        if time_is_over():
            break
        again = answered(draft.problem, draft.targets, pose, other)
        if not again.note:
            answer = again
            break
    if answer.self_motions:
        draft.self_motions[pose] = answer.self_motions
    draft.codes[pose] = answer.code
    if answer.note:
        draft.notes[pose] = answer.note
    return answer

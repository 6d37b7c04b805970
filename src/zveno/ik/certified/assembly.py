"""`Solutions` assembled from the proofs of all poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._judge import judged
from .._rows import Draft
from ..ik_problem import IkProblem
from ..redundant.locked_joints import without_locked
from ..solutions import PROVED, Solutions, padded
from ..targets import Targets


@dataclass
class PoseProof:
    """Proof for one pose.

    Attributes:
        code: status code.
        x: (s, n) midpoints, the virtual joint left out.
        radius, unique: (s,), see `Solutions`.
        note: remark for the user.
        limit_excess: (n,) of the solution nearest to the limits, where they exclude all.
        at_limit: by row, joints at a limit.
    """

    code: int
    x: list[list[float]] = field(default_factory=list)
    radius: list[float] = field(default_factory=list)
    unique: list[float] = field(default_factory=list)
    note: str = ""
    limit_excess: Sequence[float] = ()
    at_limit: list[tuple[int, ...]] = field(default_factory=list)


def assembled(problem: IkProblem, targets: Targets, poses: Sequence[PoseProof], inputs: str) -> Solutions:
    """Return an answer from its proofs, ordered as every method orders its solutions."""
    floating = without_locked(problem) if problem.redundancy else problem
    k, n_q = len(poses), len(problem.held)
    pose = np.repeat(np.arange(k), [len(proof.x) for proof in poses])
    x = np.array([row for proof in poses for row in proof.x]).reshape(-1, floating.n)
    rows = judged(floating, floating.in_units(x), targets.lanes, pose)
    rows.x[:] = floating.in_units(x)  # in the windings chosen, not those nearest to the middle of the limits
    order = np.lexsort((rows.mark, np.rint(rows.x[:, 0] * 1e6), pose))
    codes = np.array([proof.code for proof in poses], int)
    draft = Draft(floating, targets, pose, rows, codes, np.zeros(k, int), "certified")
    draft.keep(order)
    nearest, distance = np.full((k, n_q), np.nan), np.full((k, 2), np.nan)
    distance[codes == PROVED] = 0.0
    exceeded, value = np.zeros((k, n_q)), np.zeros(k)
    places = [step.index or 0 for step in floating.steps]
    for i, proof in enumerate(poses):
        if len(proof.limit_excess):
            exceeded[i, places] = proof.limit_excess
        if proof.note:
            draft.notes[i] = proof.note
    limits_met = [row for proof in poses for row in proof.at_limit]
    for i in range(k):
        said = _said_of_limits(floating, [limits_met[j] for j in order if pose[j] == i])
        if said:
            draft.notes[i] = said
    explained = [part.reshape(targets.batch + part.shape[1:]) for part in (nearest, distance, exceeded, value)]
    answer = draft.result(explained, inputs)
    per_row = (
        np.array([value for proof in poses for value in getattr(proof, name)]) for name in ("radius", "unique")
    )
    radius, unique = (padded(pose, part[order], np.bincount(pose, minlength=k)) for part in per_row)
    shape = answer.residual.shape
    return replace(answer, radius=radius.reshape(shape), unique=unique.reshape(shape))


def _said_of_limits(problem: IkProblem, at_limit: list[tuple[int, ...]]) -> str:
    names = [problem.mechanism.coordinate_names[step.index or 0] for step in problem.steps]
    said = [
        f"number {row + 1} is at a limit of {', '.join(names[k] for k in joints)}"
        for row, joints in enumerate(at_limit)
        if joints
    ]
    return ", ".join(said)

"""Solutions of a batch of poses while they are assembled, and the `Solutions` built of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..ik_problem import IkProblem
from ..solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, SelfMotion, Solutions, padded
from ..targets import Targets
from ..task import Question
from .distinct import distinct, ranked
from .judgement import Judgement, judged

SCAN = "scan"
"""Method whose answers are samples."""


@lru_cache(maxsize=16)
def blank(batch: tuple[int, ...], n_q: int) -> tuple[np.ndarray, ...]:
    """Return nearest, distance, excess, value and density of poses that need no explanation; not to be changed."""
    parts = (
        np.full((*batch, n_q), np.nan),
        np.zeros((*batch, 2)),
        np.zeros((*batch, n_q)),
        np.zeros(batch),
        np.zeros(batch, int),
    )
    for part in parts:
        part.setflags(write=False)
    return parts


@dataclass
class Draft:
    """Solutions of k poses, one row each, in order of poses.

    Attributes:
        problem: the chain.
        targets: the poses.
        pose: (s,) index of the pose of each row.
        rows: evaluation of the solutions.
        codes: (k,) status codes.
        density: (k,) numbers scanned.
        method: name of the solver.
        self_motions: continua by pose.
        notes: other notes, by pose.
    """

    problem: IkProblem
    targets: Targets
    pose: np.ndarray
    rows: Judgement
    codes: np.ndarray
    density: np.ndarray
    method: str
    self_motions: dict[int, tuple[SelfMotion, ...]] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)

    @property
    def x(self) -> np.ndarray:
        """(s, n) in the units of solvers."""
        return self.rows.x

    @property
    def count(self) -> np.ndarray:
        """(k,) number of solutions of every pose."""
        return np.bincount(self.pose, minlength=len(self.targets.T))

    def empty(self) -> np.ndarray:
        """Return the indices of the poses without solutions."""
        if len(self.targets.T) == 1:
            return np.zeros(int(not len(self.pose)), int)
        return (self.count == 0).nonzero()[0]

    def keep(self, which: np.ndarray) -> None:
        """Keep only some rows, or reorder all."""
        self.pose, self.rows = self.pose.take(which), self.rows.taken(which)

    def add(self, pose: np.ndarray, x: np.ndarray) -> None:
        """Add rows."""
        self.join(pose, self.judged(x, pose))

    def judged(self, x: np.ndarray, pose: np.ndarray) -> Judgement:
        """Evaluate other points for the same poses."""
        return judged(self.problem, x, self.targets.lanes, pose)

    def keep_distinct(self) -> None:
        """Keep every solution once."""
        self.keep(distinct(self.problem, self.pose, self.x, marks=self.rows.mark))

    def join(self, pose: np.ndarray, new: Judgement) -> None:
        """Add rows that are evaluated already."""
        pose = np.concatenate([self.pose, pose])
        order = np.argsort(pose, kind="stable")
        self.pose, self.rows = pose[order], Judgement(np.concatenate([self.rows.table, new.table])[order], new.n)

    def result(self, explained: Iterable[np.ndarray], inputs: str) -> Solutions:
        """Return the `Solutions`, ordered within a pose by the first coordinate, then by the mark.

        Args:
            explained: nearest, distance, excess and value, as in `blank`.
            inputs: hash of the inputs.
        """
        nearest, distance, exceeded, value = explained
        problem, batch = self.problem, self.targets.batch
        if problem.limits_balls:
            self._drop_balls()
        if len(self.pose) > 1:
            first = np.rint(self.x[:, 0] * 1e6)
            if len(self.targets.T) > 1:
                order = self.rows.mark.argsort(kind="stable")
                self.keep(order[ranked(self.pose[order], first[order]).argsort(kind="stable")])
            else:
                self.rows = self.rows.taken(np.lexsort((self.rows.mark, first)))
        rows, pose, codes = self.rows, self.pose, self.codes
        if self.method == SCAN:
            # That more starts found nothing new is no proof: other basins may hold solutions that none fell into.
            # Where the first and last joint are all there is, nothing is scanned.
            codes = np.where(np.isin(codes, (COMPLETE, FAMILY)) & (self.density > 1), SAMPLED, codes)
        q, residual, condition = problem.to_q(problem.from_units(rows.x)), rows.residual, rows.condition
        if batch:
            count = self.count
            q, residual, condition = (padded(pose, part, count) for part in (q, residual, condition))
            if len(batch) > 1:
                parts = q, residual, condition, count, codes
                q, residual, condition, count, codes = (part.reshape(batch + part.shape[1:]) for part in parts)
        else:
            count, codes = np.array(len(pose)), codes.reshape(())
        return Solutions(
            q=q,
            count=count,
            codes=codes,
            residual=residual,
            condition=condition,
            method=self.method,
            density=self.density.reshape(batch),
            nearest=nearest,
            distance=distance,
            limit_excess=exceeded,
            joint_names=problem.mechanism.coordinate_names,
            batch=batch,
            self_motions=self.self_motions,
            inputs_hash=inputs,
            value=value,
            notes=self.notes,
            mechanism=problem.mechanism,
            frame=problem.frame,
            chain=problem.chain,
            target=self.targets.T.reshape(*batch, 4, 4),
            question=question_of(problem),
        )

    def _drop_balls(self) -> None:
        """Remove solutions that turn a ball joint beyond its limit, and lower the statuses of their poses."""
        inside = self.problem.balls_inside(self.problem.to_q(self.problem.from_units(self.x)))
        for i in np.unique(self.pose[~inside]).tolist():
            self.notes[i] = f"{np.sum(~inside[self.pose == i])} beyond the limit of a ball joint"
            self.codes[i] = SAMPLED if inside[self.pose == i].any() else UNDECIDED
        self.keep(np.flatnonzero(inside))


def empty_draft(problem: IkProblem, targets: Targets, method: str) -> Draft:
    """Return a draft without solutions, undecided."""
    k, pose = len(targets.T), np.zeros(0, int)
    rows = judged(problem, np.zeros((0, problem.n)), targets.lanes, pose)
    return Draft(problem, targets, pose, rows, np.full(k, UNDECIDED), np.zeros(k, int), method)


@lru_cache(maxsize=64)
def question_of(problem: IkProblem) -> Question:
    """Return the request as results keep it."""
    asked = problem.origin or problem
    return Question(asked.reference, asked.task, asked.lower, asked.upper, asked.held)

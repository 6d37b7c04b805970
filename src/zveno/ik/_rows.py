"""Rows of an answer while it is assembled: checked, each once, and the `Solutions` built of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..kernels.compile import compiled
from ..kernels.ops import abs as absolute
from ..kernels.ops import floor, maximum
from ._judge import EXACT, SLACK, Judgement, judged, mark, orientable, spread_of_marks
from .ik_problem import TURN, IkProblem
from .newton import Lanes, newton
from .solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, Raw, SelfMotion, Solutions, flat, padded
from .targets import Targets
from .task import Question

REGULAR = 1e-3
"""Smallest singular value (lengths in units of `length`) above which signs of determinants are certain."""
SAME = 1e-5
"""Solutions nearer than this in every coordinate (in radians, or in units of `length`) are one."""


def distinct(
    problem: IkProblem, pose: np.ndarray, x: np.ndarray, tolerance: float = SAME, marks: np.ndarray | None = None
) -> np.ndarray:
    """Return indices, in order of poses, of one representative per solution: of a pose the same in any batch.

    Args:
        problem: the chain.
        pose: (s,) index of the pose each point solves.
        x: (s, n) points, in chain units.
        tolerance: nearer points are the same.
        marks: (s,) of the points, if they are known; see `zveno.ik._judge.mark`.
    """
    if len(pose) < 2:
        return np.arange(len(pose))
    values: np.ndarray = _mark_kernel(problem.base)(x) if marks is None else marks
    order = np.lexsort((values, pose))
    values, pose = values[order], pose[order]
    furthest = tolerance * spread_of_marks(problem.n)
    apart = (values[1:] - values[:-1] > furthest) | (pose[1:] != pose[:-1])
    if apart.all():
        return order
    new = np.ones(len(order), bool)
    new[1:] = apart
    head = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    left = (new | ~near(problem, x[order], x[head], tolerance)).nonzero()[0]
    firsts, values, pose = order[left], values[left], pose[left]
    keep = np.ones(len(firsts), bool)
    for shift in range(1, len(firsts)):
        close = (values[shift:] - values[:-shift] <= furthest) & (pose[shift:] == pose[:-shift])
        pair = close.nonzero()[0]
        if not len(pair):
            break  # marks of those further on differ by more
        same = near(problem, x[firsts[pair + shift]], x[firsts[pair]], tolerance)
        keep[pair[same] + shift] = False
    return firsts[keep]


def ranked(pose: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return keys that sort by pose and then by value; the keys of two poses differ by at least 1."""
    return values + pose * (values.max() - values.min() + 1.0)


def near(problem: IkProblem, a: np.ndarray, b: np.ndarray, tolerance: float = SAME) -> np.ndarray:
    """Return True where points (..., n) in chain units are the same, modulo 2π."""
    return apart(problem, a, b) <= tolerance


def apart(problem: IkProblem, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the greatest differences (...) of points (..., n) in chain units in any coordinate, modulo 2π."""
    return _apart_kernel(problem.base)(a, b)


def _apart(problem: IkProblem, a: Any, b: Any) -> Any:
    largest = 0.0
    for k in range(problem.n):
        d = a[k] - b[k]
        if problem.turning[k]:
            d = d - TURN * floor(d * (1.0 / TURN) + 0.5)
        largest = absolute(d) if k == 0 else maximum(largest, absolute(d))
    return largest


@lru_cache(maxsize=64)
def _apart_kernel(problem: IkProblem):
    return compiled(_apart, {"a": (problem.n,), "b": (problem.n,)}, constants=(problem,), name="ik_apart")


@lru_cache(maxsize=64)
def _mark_kernel(problem: IkProblem):
    return compiled(mark, {"x": (problem.n,)}, constants=(problem,), name="ik_mark")


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


def checked_candidates(problem: IkProblem, lanes: Lanes, raw: Raw) -> tuple[np.ndarray, Judgement, np.ndarray]:
    """Return poses and distinct solutions, inside limits or not, and the poses of which candidates were dropped."""
    pose, x = flat(raw)
    rows = judged(problem, problem.in_units(x), lanes, pose)
    dropped = pose[:0]
    if not len(pose):
        return pose, rows, dropped
    if not rows.miss.max() <= EXACT:
        again = (~(rows.miss <= EXACT)).nonzero()[0]
        better, _ = newton(problem, rows.x[again], lanes.targets[pose[again]], lanes.tool, 24)
        rows.table[again] = judged(problem, better, lanes, pose[again]).table
        good = rows.miss <= EXACT
        dropped, solving = pose[~good], good.nonzero()[0]
        pose, rows = pose[solving], rows.taken(solving)
    over = rows.over
    outside = over[over > 0]
    if outside.size and outside.min() <= SLACK:
        touching = ((over > 0) & (over <= SLACK)).nonzero()[0]
        clipped = rows.x[touching].clip(*problem.box)
        rows.table[touching] = judged(problem, clipped, lanes, pose[touching]).table
    keep = distinct(problem, pose, rows.x, marks=rows.mark)  # ordered, since what follows may depend on the order
    pose, rows = pose[keep], rows.taken(keep)
    return pose, rows, dropped


def unbalanced(draft: Draft) -> None:
    """Mark poses of a draft, which holds all solutions, undecided where the signs of det J over them do not cancel.

    Forward kinematics of joints that turn without limits maps a closed manifold to positions, which have no bounds,
    and so not onto them: its degree is zero. Solutions that are missing one at a time show in the sum.
    """
    problem = draft.problem
    if not len(draft.pose) or not orientable(problem) or np.isfinite([problem.lower, problem.upper]).any():
        return  # solvers look for solutions inside limits only
    k, signs = len(draft.codes), np.sign(draft.rows.determinant)
    if k == 1 and not signs.sum():
        return
    total = np.bincount(draft.pose, signs, minlength=k)
    if not total.any():
        return
    singular = np.zeros(k, bool)
    singular[draft.pose[draft.rows.least < REGULAR]] = True
    for i in np.flatnonzero((total != 0) & ~singular & (draft.codes == COMPLETE)):
        draft.codes[i] = UNDECIDED
        draft.notes[int(i)] = "signs of det J over them do not cancel, so at least one is missing"

"""Solutions at which the Jacobian is nearly singular: refined, distinguished from continua, and counted."""

from __future__ import annotations

import numpy as np

from ..clock import OVER, time_is_over
from ..ik_problem import IkProblem
from ..redundant.cut_curves import within_limits
from ..redundant.families import Curve, families_of
from ..solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, Continuum, SelfMotion
from .close_pairs import ALONE, ROUNDING, close_pairs, indistinct, polished
from .distinct import SAME
from .draft import Draft
from .judgement import SINGULAR, SLACK, errors, jacobians

NEARLY_SINGULAR, POLISHING, LONGEST = 1e-3, 40, 0.05
_BETWEEN = np.array([0.25, 0.5, 0.75])
_BLURRED = "some so near to singular that one is listed for all that the pose does not tell"
ALONG = 1e-4
"""Singular values below this share of the greatest belong to directions along a root of high multiplicity."""
MOVED = 1e-6
"""Radians, or lengths over `length`: more than rounding of a pose moves a double root, whose square is rounding."""
_AT_LIMIT = "one nearly singular so near to a limit that the pose does not tell on which side"
SHARP = 1e-10
"""A miss up to `SHARP` times the least singular value, or to rounding, leaves coordinates as exact as can be."""


def settle_singular(draft: Draft, curves: tuple[Continuum, ...]) -> None:
    """Refine the nearly singular solutions of a draft, find continua among them, and classify isolated ones.

    The draft may hold solutions outside limits: a continuum that one of them belongs to can still come inside.
    """
    least = draft.rows.least
    if not curves and (not len(least) or least.min() >= NEARLY_SINGULAR):
        return
    sample: list[tuple[int, np.ndarray]] = []
    for curve in curves:
        sample += _family(draft, curve.pose, [_as_curve(draft.problem, curve)])
    rough = (least < NEARLY_SINGULAR) & (draft.rows.miss > np.maximum(SHARP * least, ROUNDING))
    _polish(draft, rough.nonzero()[0], 4)
    for i in _poses(draft, draft.rows.least < SINGULAR):
        sample += _classified(draft, i, straight=True)
    _polish(draft, (draft.rows.least < SINGULAR).nonzero()[0], POLISHING)
    _merge_indistinct(draft)
    for i in _poses(draft, draft.rows.least < SINGULAR):
        sample += _classified(draft, i)
    if not time_is_over():
        _settle_pairs(draft)
    if time_is_over():
        for i in _poses(draft, draft.rows.least < NEARLY_SINGULAR):
            _lower(draft, i, OVER)
    _doubt_limits(draft)
    if sample:
        draft.add(np.concatenate([np.full(len(x), i) for i, x in sample]), np.concatenate([x for _, x in sample]))


def _doubt_limits(draft: Draft) -> None:
    """Lower the statuses of poses with a solution that their rounding may move across a limit."""
    rows = draft.rows
    moved = np.minimum(indistinct(draft.problem) / rows.least, MOVED)
    doubtful = (rows.least < SINGULAR) & (np.abs(rows.over - SLACK) <= moved)
    for i in _poses(draft, doubtful):
        _lower(draft, i, _AT_LIMIT)


def _poses(draft: Draft, rows: np.ndarray) -> list[int]:
    """Return the poses of some rows, each once, in order; `np.unique` would import masked arrays first, for 12
    ms."""
    return sorted(set(draft.pose[rows].tolist()))


def _as_curve(problem: IkProblem, curve: Continuum) -> Curve:
    x = problem.in_units(curve.x)
    spacing = np.abs(problem.difference(curve.x, np.roll(curve.x, 1, axis=0))).max()
    return Curve(x, True, 1, float(spacing))


def _polish(draft: Draft, rows: np.ndarray, iterations: int):
    """Polish some rows by Gauss–Newton on J itself: kernels factor JᵀJ, which knows singular values to 1e-8 only.

    A double root is approached by halves on either side, and comes out as two points nearer than solutions can be,
    and so as one.
    """
    if not len(rows) or time_is_over():
        return
    x = polished(draft.problem, draft.targets.lanes, draft.pose[rows], draft.x[rows], iterations, LONGEST)
    draft.replace(rows, x)
    draft.keep_distinct()


def _merge_indistinct(draft: Draft) -> None:
    """Merge the points of every root of high multiplicity; mark the pose undecided if they are far apart.

    Rounding of a pose moves such a root by rounding's fourth root. Points of it are as good as each other, and so
    is what lies between them; between two solutions it is not.
    """
    singular = (draft.rows.least < SINGULAR).nonzero()[0]
    dropped = np.zeros(len(draft.pose), bool)
    middles: list[tuple[int, np.ndarray]] = []
    for i in _poses(draft, singular):
        if time_is_over():
            break
        rows = singular[draft.pose[singular] == i]
        rows = rows[np.argsort(draft.rows.miss[rows], kind="stable")]
        while len(rows) > 1:
            best, others = rows[0], rows[1:]
            away, same = _indistinct(draft, best, others)
            group = np.concatenate([[best], others[same]])
            places = np.concatenate([np.zeros((1, draft.x.shape[1])), away[same]])
            if np.ptp(places, axis=0).max() > 2.0 * SAME:
                _lower(draft, i, _BLURRED)
            rows = others[~same]
            if len(group) == 1:
                continue
            middle = _onto_arc(draft, i, draft.x[best] + places.mean(axis=0)[None])
            dropped[group] = True
            if draft.judged(middle, np.array([i])).miss[0] <= indistinct(draft.problem):
                middles.append((i, middle))
            else:
                dropped[group[np.argmin(np.abs(places - places.mean(axis=0)).max(axis=1))]] = False
    if dropped.any():
        draft.keep((~dropped).nonzero()[0])
    for i, middle in middles:
        draft.add(np.array([i]), middle)


def _indistinct(draft: Draft, best: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return differences (s, n) of other rows of a pose from the best, and which are the same within rounding."""
    problem, x = draft.problem, draft.x
    away = problem.difference(problem.from_units(x[others]), problem.from_units(x[best]))
    same = np.abs(away).max(axis=1) < LONGEST
    close = same.nonzero()[0]
    if not len(close):
        return away, same
    i = int(draft.pose[best])
    points = _onto_arc(draft, i, (x[best] + _BETWEEN[:, None, None] * away[close]).reshape(-1, problem.n))
    between = draft.judged(points, np.full(len(points), i)).miss.reshape(len(_BETWEEN), -1).max(axis=0)
    same[close] = between <= np.maximum(indistinct(problem), 2.0 * draft.rows.miss[others[close]])
    return away, same


def _onto_arc(draft: Draft, i: int, points: np.ndarray) -> np.ndarray:
    """Move points (s, n) onto the arc that a root is drawn out to, not along it."""
    problem, lanes, which = draft.problem, draft.targets.lanes, np.full(len(points), i)
    for _ in range(3):
        J, e = jacobians(problem, points, lanes, which), errors(problem, points, lanes, which)
        points = points - (np.linalg.pinv(J, rcond=ALONG) @ e[..., None])[..., 0]
    return points


def _settle_pairs(draft: Draft) -> None:
    """Keep both of two solutions that nearly meet, if double precision separates them; else report it."""
    problem = draft.problem
    for pair in close_pairs(problem, draft.targets.lanes, draft.pose, draft.x, draft.rows.least):
        roots, i = draft.roots.get(pair.pose, []), pair.pose
        theirs = [bool(pair.holds(problem, root.x)) for root in roots]
        if pair.apart:
            here = (draft.pose == i) & pair.holds(problem, draft.x)
            draft.keep((~here).nonzero()[0])
            draft.add(np.full(2, i), pair.twins)
            if any(theirs):
                told = roots[theirs.index(True)]._replace(apart=pair.distance)
                draft.roots[i] = [told, *(root for root, its in zip(roots, theirs, strict=True) if not its)]
            if pair.curvature <= ALONE:
                _lower(draft, i, "three may nearly meet where two are listed")
        elif pair.double and any(theirs):
            draft.roots[i] = [
                root._replace(kind="double") if its and len(root.kernel) == 1 else root
                for root, its in zip(roots, theirs, strict=True)
            ]
        elif pair.merged:
            _lower(draft, i, "two may nearly meet where one is listed")


def _classified(draft: Draft, i: int, straight: bool = False) -> list[tuple[int, np.ndarray]]:
    """Return continua of one pose, taken out of a draft and sampled, and its isolated singular solutions.

    With `straight` only continua that are straight lines are looked for, which is quick.
    """
    rows = np.flatnonzero(draft.pose == i)
    least = draft.rows.least[rows]
    continua = families_of(draft.problem, draft.targets.lanes, i, draft.x[rows], least, straight)
    if continua.isolated and not straight:
        draft.roots[i] = continua.isolated
        if any(root.blurred or root.fourfold for root in continua.isolated):
            _lower(draft, i, "some of a multiplicity that the second order does not tell")
    if continua.blurred:
        _lower(draft, i, _BLURRED)
    elif continua.doubtful:
        _lower(draft, i, "some nearly singular, which may be a continuum or not")
    elif not continua.all_straight:
        _lower(draft, i, "continua were followed from solutions on them, others may exist")
    if time_is_over():
        _lower(draft, i, OVER)
    if continua.member.any():
        rest = np.ones(len(draft.pose), bool)
        rest[rows[continua.member]] = False
        draft.keep(np.flatnonzero(rest))
    return _family(draft, i, continua.curves) + [(i, x[None]) for x in continua.blurred]


def _family(draft: Draft, i: int, curves: list[Curve]) -> list[tuple[int, np.ndarray]]:
    """Return samples of self-motions inside limits, or the first, excluded point if the limits leave none."""
    problem, self_motions, sample = draft.problem, [], []
    for curve in curves:
        parts, certain = within_limits(problem, curve)
        for x, closed in parts:
            self_motions.append(SelfMotion(curve.dimension, problem.to_q(problem.from_units(x)), closed))
            sample.append((i, x))
        if not parts:
            sample.append((i, curve.x[:1]))
        if not certain:
            _lower(draft, i, "a continuum was followed in steps, limits may leave more of it")
    if self_motions:
        draft.self_motions[i] = draft.self_motions.get(i, ()) + tuple(self_motions)
        draft.codes[i] = FAMILY if draft.codes[i] in (COMPLETE, FAMILY) else SAMPLED
    return sample


def _lower(draft: Draft, i: int, why: str) -> None:
    """Withdraw the status that everything is listed."""
    draft.codes[i] = SAMPLED if i in draft.self_motions else UNDECIDED
    draft.notes[i] = why

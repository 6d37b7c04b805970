"""Poses with a configuration at which the Jacobian is nearly singular: their rows certified, or said to be open."""

from __future__ import annotations

import numpy as np

from ._judge import N_KNOWN, SLACK, Judgement, errors, jacobians
from ._open_rows import FRAGILE, OPEN, PRECISE, STRAIGHT, arm_numbers, certifier, row_class
from ._rows import Draft, near
from .clock import OVER, time_is_over
from .ik_problem import TURN, IkProblem
from .redundant.cut_curves import SAMPLE, Curve, within_limits
from .solutions import COMPLETE, FAMILY, SAMPLED, UNDECIDED, Continuum, SelfMotion

NEARLY_SINGULAR = 1e-3
"""Least singular value (lengths in units of `length`) below which the rows of a pose are certified one by one."""
CROSSING = 1e-3
"""Second least singular value below which other self-motions may cross a straight one."""
LEAST_CANDIDATES = 8
_OPEN = "{} so near to singular that the digits of the pose do not tell whether {} one, two or none"
_LOST = "there may be more: those nearly singular were too many, or did not reach the pose"
_AT_LIMIT = "one nearly singular so near to a limit that the pose does not tell on which side"
_CROSSING = "other self-motions may cross where two singular values vanish"


def settle_singular(draft: Draft, curves: tuple[Continuum, ...]) -> None:
    """Certify the rows of poses of a draft that have a nearly singular one; take out what lies on self-motions.

    The draft may hold solutions outside limits: a self-motion that one of them belongs to can still come inside.
    """
    sample: list[tuple[int, np.ndarray]] = []
    for curve in curves:
        sample += _self_motions(draft, curve.pose, [_as_curve(draft.problem, curve)])
    least = draft.rows.least
    if len(least) and least.min() < NEARLY_SINGULAR:
        poses = sorted(set(draft.pose[least < NEARLY_SINGULAR].tolist()))
        if time_is_over():
            for i in poses:
                lower(draft, i, OVER)
        else:
            sample += _certified(draft, np.array(poses))
    if sample:
        draft.add(np.concatenate([np.full(len(x), i) for i, x in sample]), np.concatenate([x for _, x in sample]))


def _certified(draft: Draft, poses: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Replace all rows of some poses by those that are certified or open; return samples of self-motions."""
    problem, n = draft.problem, draft.problem.n
    chosen = np.isin(draft.pose, poses)
    count = np.bincount(draft.pose[chosen], minlength=len(draft.codes))[poses]
    room = max(LEAST_CANDIDATES, 1 << int(count.max() - 1).bit_length())
    candidates = np.zeros((len(poses), room, n))
    candidates[np.arange(room) < count[:, None]] = draft.x[chosen]
    lanes, (links, numbers) = draft.targets.lanes, arm_numbers(problem)
    kernel = certifier(row_class(problem.base, room))
    with np.errstate(all="ignore"):  # what diverges is no row
        answer = kernel(links, numbers, problem.limits, lanes.targets[poses], candidates, count.astype(float))
    rows, told = answer[:, :-1], answer[:, -1]
    kept = rows[..., n + N_KNOWN + 2] > 0.0
    # Points between solutions are no news where others meet the pose better.
    is_open, miss = kept & (rows[..., n + N_KNOWN] == OPEN), rows[..., n + 4]
    least_miss = np.where(is_open, miss, np.inf).min(axis=1, keepdims=True)
    kept &= ~is_open | (miss <= 10.0 * np.maximum(least_miss, 10.0 * numbers[2]))
    pose, table = np.repeat(poses, kept.sum(axis=1)), rows[kept]
    state, radius = table[:, n + N_KNOWN], table[:, n + N_KNOWN + 1]
    _clip(draft, pose, table)
    draft.keep((~chosen).nonzero()[0])
    straight = state == STRAIGHT
    draft.join(pose[~straight], Judgement(table[~straight, : n + N_KNOWN].copy(), n))
    for i, lost in zip(poses.tolist(), (told[:, 1:3] > 0.0).any(axis=1), strict=True):
        here = pose == i
        number = int((here & (state <= FRAGILE)).sum())
        if number:
            lower(draft, i, _OPEN.format(number, "each is" if number > 1 else "it is"))
        elif lost:
            lower(draft, i, _LOST)
    # Rounding of a pose moves a row by its error over the singular value.
    moved = np.where(state >= PRECISE, 2.0 * numbers[2] / np.maximum(table[:, n + 6], 1e-300), radius)
    for i in sorted(set(pose[~straight & (np.abs(table[:, n] - SLACK) <= moved)].tolist())):
        lower(draft, i, _AT_LIMIT)
    sample: list[tuple[int, np.ndarray]] = []
    for i in sorted(set(pose[straight].tolist())):
        on_lines = table[straight & (pose == i)]
        sample += _self_motions(draft, i, _lines(draft, i, on_lines[:, :n], on_lines[:, n + N_KNOWN + 3 :]))
    return sample


def _clip(draft: Draft, pose: np.ndarray, table: np.ndarray) -> None:
    """Put rows that touch a limit onto it."""
    n, over = draft.problem.n, table[:, draft.problem.n]
    touching = ((over > 0) & (over <= SLACK)).nonzero()[0]
    if len(touching):
        clipped = table[touching, :n].clip(*draft.problem.box)
        table[touching, : n + N_KNOWN] = draft.judged(clipped, pose[touching]).table


def _lines(draft: Draft, i: int, x: np.ndarray, directions: np.ndarray) -> list[Curve]:
    """Return the straight self-motions of a pose through points x (s, n), each once."""
    problem, lines = draft.problem, []
    turns = TURN * np.arange(SAMPLE)[:, None] / SAMPLE
    for point, direction in zip(x, directions, strict=True):
        if not any(_on_line(problem, line, point) for line in lines):
            point = _centred(draft, i, point, turns[:: SAMPLE // 4] * direction)
            lines.append(Curve(point + turns * direction, True, 1, TURN / SAMPLE, direction))
    J = jacobians(problem, np.array([line.x[0] for line in lines]), draft.targets.lanes, np.full(len(lines), i))
    if min(J.shape[1:]) > 1 and np.linalg.svd(J, compute_uv=False)[:, -2].min() < CROSSING:
        lower(draft, i, _CROSSING)
    return lines


def _centred(draft: Draft, i: int, x: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Move a point to where the pose is met best with all of some shifts (s, n) together."""
    problem, lanes, which = draft.problem, draft.targets.lanes, np.full(len(shifts), i)
    for _ in range(2):
        e, J = errors(problem, x + shifts, lanes, which), jacobians(problem, x + shifts, lanes, which)
        x = x - np.linalg.lstsq(J.reshape(-1, problem.n), e.ravel(), rcond=1e-9)[0]
    return x


def _on_line(problem: IkProblem, line: Curve, x: np.ndarray) -> bool:
    assert line.direction is not None
    moving = int(np.argmax(np.abs(line.direction)))
    t = (x[moving] - line.x[0, moving]) * line.direction[moving]
    return bool(near(problem, x, line.x[0] + t * line.direction))


def _as_curve(problem: IkProblem, curve: Continuum) -> Curve:
    x = problem.in_units(curve.x)
    spacing = np.abs(problem.difference(curve.x, np.roll(curve.x, 1, axis=0))).max()
    return Curve(x, True, 1, float(spacing))


def _self_motions(draft: Draft, i: int, curves: list[Curve]) -> list[tuple[int, np.ndarray]]:
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
            lower(draft, i, "a self-motion is known by samples, limits may leave more of it")
    if self_motions:
        draft.self_motions[i] = draft.self_motions.get(i, ()) + tuple(self_motions)
        draft.codes[i] = FAMILY if draft.codes[i] in (COMPLETE, FAMILY) else SAMPLED
    return sample


def lower(draft: Draft, i: int, why: str) -> None:
    """Withdraw the status that everything is listed."""
    draft.codes[i] = SAMPLED if i in draft.self_motions else UNDECIDED
    draft.notes[i] = why

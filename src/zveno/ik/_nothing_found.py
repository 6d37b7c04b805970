"""Poses without solutions: reasons, nearest configurations, and limit excess.

A negative answer is given where a method that does not sample certifies it, or where a bound on the
arm's reach proves it; elsewhere an empty result means undecided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import scan
from ._judge import EXACT, SLACK, has_regular_configuration
from ._local import solve_local
from ._rows import Draft
from .clock import OVER, time_is_over
from .ik_problem import IkProblem
from .solutions import COMPLETE, EXCLUDED, UNDECIDED, UNREACHABLE

NEARLY = 1e-8
"""Metres (for arms of up to some metres) and radians: a pose that is missed by no more is not called unreachable,
since at roots of high multiplicity rounding moves solutions by its own roots."""
FAR = 50.0
"""Lengths of the arm beyond its reach above which a pose looks as if it were in other units."""


class Outside(NamedTuple):
    """Solutions that limits exclude."""

    pose: np.ndarray
    """(s,)."""
    x: np.ndarray
    """(s, n) in the chain's units."""


def take_outside(draft: Draft) -> Outside | None:
    """Keep in a draft the solutions inside limits; return the others, if any."""
    beyond = draft.rows.over > SLACK
    without = beyond.nonzero()[0]
    if not len(without):
        return None
    outside = Outside(draft.pose.take(without), draft.x.take(without, axis=0))
    draft.keep((~beyond).nonzero()[0])
    return outside


class Explained(NamedTuple):
    """Explanations of k poses without solutions, one row each; the fields of `Solutions` of the same names."""

    nearest: np.ndarray
    distance: np.ndarray
    limit_excess: np.ndarray
    value: np.ndarray


def explain(draft: Draft, empty: np.ndarray, outside: Outside, told: Explained) -> None:
    """Fill in the statuses of the poses `empty` of a draft, and rows of `told`."""
    problem, T = draft.problem, draft.targets.T
    if time_is_over():
        _not_explained(draft, empty, told)
        return
    proved = (draft.codes[empty] == COMPLETE) & (draft.density.ravel()[empty] == 0)
    if proved.any() and not has_regular_configuration(problem.base):
        # Solutions are continua, of which roots are no count.
        proved[:] = False
    draft.codes[empty] = np.where(proved, UNREACHABLE, UNDECIDED)
    for i in empty[proved]:
        draft.notes[int(i)] = "no branch is real"
    for i, over in _excesses(problem, T, empty, empty[proved], outside).items():
        told.limit_excess[i] = over
        if draft.codes[i] == UNREACHABLE:
            draft.codes[i] = EXCLUDED
    for i, metres in zip(empty, out_of_reach(problem, T[empty]), strict=True):
        if metres > 0:
            draft.codes[i] = EXCLUDED if told.limit_excess[i].any() else UNREACHABLE
            unit = " (are its lengths millimetres?)" if metres > FAR * problem.length else ""
            draft.notes[int(i)] = f"{metres:.4g} m out of the arm's reach{unit}"
    if time_is_over():
        _not_explained(draft, empty, told)
        return
    x, value = scan.nearest(problem, T[empty])
    x = problem.wrapped(x)
    closest = draft.judged(x / problem.units, empty)
    solving = (closest.miss <= EXACT) & (closest.over <= SLACK)
    if solving.any():
        # The nearest configuration is a solution that the method has missed.
        draft.codes[empty[solving]] = UNDECIDED
        told.limit_excess[empty[solving]] = 0.0
        for i in empty[solving]:
            draft.notes[int(i)] = "a local search found what the method has missed"
        draft.add(empty[solving], closest.x[solving])
        left = (~solving).nonzero()[0]
        empty, x, value, closest = empty[left], x[left], value[left], closest.taken(left)
    nearly = empty[(closest.miss <= NEARLY) & (draft.codes[empty] == UNREACHABLE)]
    draft.codes[nearly] = UNDECIDED
    draft.notes.update((int(i), "nearly reached, so that rounding may decide") for i in nearly)
    told.value[empty] = value
    told.nearest[empty] = problem.to_q(x)
    told.distance[empty] = np.stack([closest.metres, closest.radians], axis=1)


def _not_explained(draft: Draft, empty: np.ndarray, told: Explained) -> None:
    """Leave poses unexplained for which no time was left."""
    draft.codes[empty] = UNDECIDED
    draft.notes.update((int(i), OVER) for i in empty)
    told.limit_excess[empty], told.distance[empty] = 0.0, np.nan


def out_of_reach(problem: IkProblem, T: np.ndarray) -> np.ndarray:
    """Return the distances (k,), m, by which targets (k, 4, 4) are certainly out of reach; 0 if uncertain.

    The way from the first joint to the frame is a sum of vectors of known greatest lengths: its length is at most
    the sum, and at least what the longest fixed one has more than all others together.
    """
    if len(problem.task.position) < 3:
        return np.zeros(len(T))
    fixed = np.array([float(np.linalg.norm(C[:3, 3])) for C in problem.constants[1:]])
    furthest = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    sliding = 0.0
    for step in problem.steps:
        if step.kind != "R":
            sliding += abs(step.factor) * furthest[step.coordinate] * (1.0 if step.kind == "P" else abs(step.pitch))
    distance = np.linalg.norm((problem.end_transforms[0] @ T)[:, :3, 3], axis=1)
    longest = fixed.sum() + sliding
    shortest = 2 * fixed.max() - longest
    over = np.maximum(distance - longest, shortest - distance)
    return np.where(over > 1e-9 * np.maximum(1.0, distance), over, 0.0)


def _excesses(
    problem: IkProblem, T: np.ndarray, empty: np.ndarray, told: np.ndarray, outside: Outside
) -> dict[int, np.ndarray]:
    """Return, by pose without solutions inside limits, the limit excess (n_q,) of its best solution.

    Solutions outside limits are known of the poses `told`, and looked for of the others.
    """
    if not np.isfinite(np.concatenate([problem.lower, problem.upper])).any():
        return {}
    pose, x = outside
    unknown = empty[~np.isin(empty, np.concatenate([pose, told]))]
    if len(unknown):
        free = problem.without_limits()
        if problem.redundancy:
            rows, good, _ = solve_local(free, T[unknown], attempts=6)
            more, rows = unknown[good], rows[good]
        else:
            raw = scan.solver.solve(free, T[unknown])
            more = unknown[np.repeat(np.arange(len(unknown)), raw.count)]
            rows = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]]
        pose = np.concatenate([pose, more])
        x = np.concatenate([x, problem.wrapped(rows) / problem.units])
    lower, upper = problem.box
    over = np.maximum(np.maximum(lower - x, x - upper), 0.0)
    worst = over.max(axis=1, initial=0.0)
    excess: dict[int, np.ndarray] = {}
    for i in empty:
        candidates = np.flatnonzero((pose == i) & (worst > 0))
        if len(candidates):
            # Branches may exceed one limit alike; rounding must not choose among them.
            alike = candidates[worst[candidates] <= worst[candidates].min() + SLACK]
            best = alike[np.argmin(over[alike].sum(axis=1))]
            q = np.zeros(problem.mechanism.n_q)
            for step in problem.steps:
                if step.index is not None:
                    q[step.index] = over[best, step.coordinate] * problem.units[step.coordinate]
            excess[int(i)] = q
    return excess

"""From a solver's raw answer to `Solutions`: checks, limits, windings, continua, and reasons if there are none.

Whatever is dropped on the way lowers the status of its pose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks.distinct import all_distinct, distinct
from .checks.draft import Draft, blank
from .checks.judgement import EXACT, SLACK, Judgement, judged
from .checks.no_solutions import Explained, Outside, explain
from .checks.orientation import unbalanced
from .checks.singular_solutions import decide_double_roots, settle_singular
from .ik_problem import TURN, IkProblem
from .local import solve_local
from .newton import Lanes, newton
from .objectives import Aim
from .solutions import COMPLETE, UNDECIDED, Raw, Solutions, Solver, flat
from .targets import Targets

_CODES = np.array([UNDECIDED, COMPLETE])


def checked_answer(
    problem: IkProblem, targets: Targets, solver: Solver, windings: bool, aim: Aim, inputs: str
) -> Solutions:
    """All solutions of a chain that is not redundant, by a solver."""
    raw = solver.solve(problem, targets.T)
    density = blank(targets.batch, len(problem.held))[4] if raw.density is None else raw.density
    pose, found, dropped = _solving(problem, targets.lanes, raw)
    codes = _CODES.take(raw.complete)
    if len(dropped):
        codes[dropped] = UNDECIDED
    draft = Draft(problem, targets, pose, found, codes, density, solver.name, aim)
    settle_singular(draft, raw.curves)
    unbalanced(draft)
    outside = _split(draft)
    if draft.roots:
        decide_double_roots(draft, solver, _inside)
    if windings:
        _wind(draft)
    return concluded(draft, outside, inputs)


def local_answer(problem: IkProblem, targets: Targets, seed: Any, aim: Aim, inputs: str) -> Solutions:
    """One solution a pose, from a seed; where none is found nothing is proved, so the status stays undecided."""
    x, found, _ = solve_local(problem, targets.T, seed)
    draft = empty_draft(problem, targets, "local", aim)
    good = np.flatnonzero(found)
    draft.add(good, problem.in_units(x[good]))
    return concluded(draft, None, inputs)


def empty_draft(problem: IkProblem, targets: Targets, method: str, aim: Aim) -> Draft:
    """A draft without solutions."""
    k, pose = len(targets.T), np.zeros(0, int)
    found = judged(problem, np.zeros((0, problem.n)), targets.lanes, pose)
    return Draft(problem, targets, pose, found, np.full(k, UNDECIDED), np.zeros(k, int), method, aim)


def concluded(draft: Draft, outside: Outside | None, inputs: str) -> Solutions:
    """The result of a draft, with reasons where there is no solution.

    Args:
        draft: solutions inside limits.
        outside: those that limits exclude, as far as they are known.
        inputs: hash of what it was computed from.
    """
    problem = draft.problem
    n_q = len(problem.held)
    empty, parts = draft.empty(), blank(draft.targets.batch, n_q)[:4]
    if len(empty):
        told = Explained(*(part.copy() for part in blank((len(draft.targets.T),), n_q)[:4]))
        nothing = Outside(np.zeros(0, int), np.zeros((0, problem.n)))
        explain(draft, empty, outside or nothing, told)
        parts = tuple(filled.reshape(part.shape) for filled, part in zip(told, parts, strict=True))
    return draft.result(parts, inputs)


def _solving(problem: IkProblem, lanes: Lanes, raw: Raw) -> tuple[np.ndarray, Judgement, np.ndarray]:
    """Poses and distinct solutions, inside limits or not, and the poses of which candidates had to be dropped."""
    pose, x = flat(raw)
    found = judged(problem, problem.in_units(x), lanes, pose)
    dropped = pose[:0]
    if not len(pose):
        return pose, found, dropped
    if not found.miss.max() <= EXACT:
        again = (~(found.miss <= EXACT)).nonzero()[0]
        better, _ = newton(problem, found.x[again], lanes.targets[pose[again]], lanes.tool, 24)
        found.table[again] = judged(problem, better, lanes, pose[again]).table
        good = found.miss <= EXACT
        dropped, solving = pose[~good], good.nonzero()[0]
        pose, found = pose[solving], found.taken(solving)
    if len(pose) and not found.over.max() <= 0:
        touching = ((found.over > 0) & (found.over <= SLACK)).nonzero()[0]
        if len(touching):
            clipped = found.x[touching].clip(*problem.box)
            found.table[touching] = judged(problem, clipped, lanes, pose[touching]).table
    if not all_distinct(problem, pose, found.mark):
        keep = distinct(problem, pose, found.x, marks=found.mark)
        pose, found = pose[keep], found.taken(keep)
    return pose, found, dropped


def _split(draft: Draft) -> Outside | None:
    """Leave in a draft what is inside limits; the rest, if there is any."""
    over = draft.found.over
    if not len(over) or over.max() <= 0:
        return None
    inside = over <= SLACK
    without = (~inside).nonzero()[0]
    outside = Outside(draft.pose.take(without), draft.x.take(without, axis=0))
    draft.keep(inside.nonzero()[0])
    return outside


def _inside(problem: IkProblem, lanes: Lanes, raw: Raw) -> np.ndarray:
    """Poses of the solutions inside limits of a raw answer."""
    pose, found, _ = _solving(problem, lanes, raw)
    return pose[found.over <= 0]


def _wind(draft: Draft):
    """All whole turns that limits allow; a coordinate without limits stays as it is."""
    problem = draft.problem
    for k in np.flatnonzero(problem.turning & np.isfinite(problem.upper - problem.lower)):
        x = draft.x[:, k]
        low = np.ceil((problem.lower[k] - x) / TURN - 1e-9).astype(int)
        high = np.floor((problem.upper[k] - x) / TURN + 1e-9).astype(int)
        times = high - low + 1
        turns = np.concatenate([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)] or [np.zeros(0, int)])
        draft.keep(np.repeat(np.arange(len(x)), times))
        draft.x[:, k] += TURN * turns

"""From a solver's raw answer to `Solutions`: checks, limits, windings, continua, and reasons if there are none.

Whatever is dropped on the way lowers the status of its pose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ShapeError, ZvenoError
from .checks.candidates import checked_candidates
from .checks.claims import decide_double_roots, lower_claims, say_unfinished
from .checks.draft import Draft, blank, empty_draft
from .checks.no_solutions import Explained, Outside, explain, take_outside
from .checks.singular_solutions import settle_singular
from .ik_problem import TURN, IkProblem
from .local import solve_local
from .objectives import Aim
from .solutions import COMPLETE, UNDECIDED, Solutions, Solver
from .targets import Targets

_CODES = np.array([UNDECIDED, COMPLETE])


def checked_answer(
    problem: IkProblem, targets: Targets, solver: Solver, windings: bool, aim: Aim, inputs: str
) -> Solutions:
    """All solutions of a chain that is not redundant, by a solver."""
    raw = solver.solve(problem, targets.T)
    density = blank(targets.batch, len(problem.held))[4] if raw.density is None else raw.density
    pose, rows, dropped = checked_candidates(problem, targets.lanes, raw)
    codes = _CODES.take(raw.complete)
    if len(dropped):
        codes[dropped] = UNDECIDED
    draft = Draft(problem, targets, pose, rows, codes, density, solver.name, aim)
    settle_singular(draft, raw.curves)
    lower_claims(draft)
    outside = take_outside(draft)
    if draft.roots:
        decide_double_roots(draft, solver)
    if windings:
        _wind(draft)
    return concluded(draft, outside, inputs)


def local_answer(problem: IkProblem, targets: Targets, start: Any, aim: Aim, inputs: str) -> Solutions:
    """One solution a pose, from a start; where none is found nothing is proved, so the status stays undecided."""
    x, solved, _ = solve_local(problem, targets.T, _start(problem, start, targets.batch))
    draft = empty_draft(problem, targets, "local", aim)
    good = np.flatnonzero(solved)
    draft.add(good, problem.in_units(x[good]))
    return concluded(draft, None, inputs)


def _start(problem: IkProblem, start: Any, batch: tuple[int, ...]) -> np.ndarray | None:
    """Chain coordinates (n,) or (k, n) of a configuration to start from."""
    if start is None:
        return None
    q = problem.mechanism.checked_q(start, "start")
    if not np.isfinite(q).all():
        raise ShapeError("holds NaN or infinity", element="start")
    index = [
        step.index for step in sorted(problem.steps, key=lambda step: step.coordinate) if step.index is not None
    ]
    if len(dict.fromkeys(index)) != problem.n:
        raise ZvenoError("a chain with ball joints has no coordinates to start from", element="start")
    x = q[..., list(dict.fromkeys(index))]
    return x if x.ndim == 1 else np.broadcast_to(x, (*batch, problem.n)).reshape(-1, problem.n)


def concluded(draft: Draft, outside: Outside | None, inputs: str) -> Solutions:
    """The result of a draft, with reasons where there is no solution.

    Args:
        draft: solutions inside limits.
        outside: those that limits exclude, as far as they are known.
        inputs: hash of what it was computed from.
    """
    problem = draft.problem
    n_q = len(problem.held)
    say_unfinished(draft)
    empty, parts = draft.empty(), blank(draft.targets.batch, n_q)[:4]
    if len(empty):
        told = Explained(*(part.copy() for part in blank((len(draft.targets.T),), n_q)[:4]))
        nothing = Outside(np.zeros(0, int), np.zeros((0, problem.n)))
        explain(draft, empty, outside or nothing, told)
        parts = tuple(filled.reshape(part.shape) for filled, part in zip(told, parts, strict=True))
    return draft.result(parts, inputs)


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

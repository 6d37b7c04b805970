"""Conversion of solver output to `Solutions`: checks, limits, continua, and reasons if there are none.

Whatever is dropped on the way lowers the status of its pose.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ShapeError, ZvenoError
from ._judge import judged
from ._local import ACCEPTED, ITERATIONS, solve_local
from ._nothing_found import Explained, Outside, explain, take_outside
from ._rows import Draft, blank, checked_candidates, empty_draft, unbalanced
from ._singular_rows import settle_singular
from .clock import OVER, time_is_over
from .ik_problem import TURN, IkProblem
from .native.answer import explained
from .newton import CONVERGED, UNROLLED, Lanes, newton_kernel
from .request import IkRequest
from .solutions import COMPLETE, SAMPLED, UNDECIDED, Solutions, Solver
from .targets import EXACT, Targets, placed

_CODES = np.array([UNDECIDED, COMPLETE])


def checked_answer(problem: IkProblem, targets: Targets, solver: Solver, inputs: str) -> Solutions:
    """Find all solutions of a chain that is not redundant, by a solver."""
    raw = solver.solve(problem, targets.T)
    density = blank(targets.batch, len(problem.held))[4] if raw.density is None else raw.density
    pose, rows, dropped = checked_candidates(problem, targets.lanes, raw)
    codes = _CODES.take(raw.complete)
    if len(dropped):
        codes[dropped] = UNDECIDED
    draft = Draft(problem, targets, pose, rows, codes, density, solver.name)
    settle_singular(draft, raw.curves)
    unbalanced(draft)
    outside = take_outside(draft)
    return concluded(draft, outside, inputs)


def local_answer(problem: IkProblem, targets: Targets, start: Any, inputs: str) -> Solutions:
    """Find one solution per pose from a start; finding none proves nothing, so the status stays undecided."""
    x, solved, _ = solve_local(problem, targets.T, _start(problem, start, targets.batch))
    draft = empty_draft(problem, targets, "local")
    good = np.flatnonzero(solved)
    draft.add(good, problem.in_units(x[good]))
    return concluded(draft, None, inputs)


def from_near_start(request: IkRequest, T: np.ndarray, start: Any) -> Solutions | None:
    """Return the answer that Newton's method finds for one pose (4, 4) from a start (n_q,); None if it finds none.

    The same as that of `local_answer`, whose first attempt this is.
    """
    chain, (lower, upper, middle) = request.chain, request.limits
    x = _coordinates(chain, start) if chain.is_q else _start(chain, start, ())
    target, off = placed(chain, T)
    if x is None or x.ndim > 1 or not (off <= EXACT and x.dot(x) < math.inf):
        return None
    x, kernel, error = chain.in_units(x), newton_kernel(chain, (), True), math.inf
    for _ in range(ITERATIONS // UNROLLED):
        x, error = kernel(x, target, chain.tool, lower, upper)
        if not error >= CONVERGED:
            break
    if not error < ACCEPTED:
        return None
    x = x - chain.whole_turns * np.ceil((x - middle) * (1.0 / TURN) - 0.5)
    q, pose = request.problem.to_q(chain.from_units(x)), T.tobytes()

    def make(name: str) -> dict[str, Any]:
        if name in ("residual", "condition"):
            row = judged(chain, x[None], Lanes(target[None], chain.tool), np.zeros(1, int))
            return {"residual": row.residual, "condition": row.condition}
        return explained("local", request, pose, (), name)

    answer = Solutions.deferred(make)
    answer.__dict__.update(q=q[None], count=np.array(1), codes=np.array(UNDECIDED), batch=())
    return answer


def _start(problem: IkProblem, start: Any, batch: tuple[int, ...]) -> np.ndarray | None:
    """Return chain coordinates (n,) or (k, n) of a configuration to start from."""
    if start is None:
        return None
    x = _coordinates(problem, start)
    if not np.isfinite(problem.mechanism.checked_q(start)).all():
        raise ShapeError("holds NaN or infinity", element="q0")
    return x if x.ndim == 1 else np.broadcast_to(x, (*batch, problem.n)).reshape(-1, problem.n)


def _coordinates(problem: IkProblem, start: Any) -> np.ndarray:
    """Return chain coordinates (..., n) of configurations."""
    q = problem.mechanism.checked_q(start, "q0")
    if problem.has_balls:
        raise ZvenoError("a chain with ball joints has no coordinates to start from", element="q0")
    return q.take(problem.places, axis=-1)


def concluded(draft: Draft, outside: Outside | None, inputs: str) -> Solutions:
    """Return the result of a draft, with reasons where there is no solution.

    Args:
        draft: solutions inside limits.
        outside: those that limits exclude, as far as they are known.
        inputs: hash of the inputs.
    """
    problem = draft.problem
    n_q = len(problem.held)
    if time_is_over():
        for i in np.flatnonzero(np.isin(draft.codes, (UNDECIDED, SAMPLED))).tolist():
            note = draft.notes.get(i, OVER)
            draft.notes[i] = note if OVER in note else f"{note}, {OVER}"
    empty, parts = draft.empty(), blank(draft.targets.batch, n_q)[:4]
    if len(empty):
        told = Explained(*(part.copy() for part in blank((len(draft.targets.T),), n_q)[:4]))
        nothing = Outside(np.zeros(0, int), np.zeros((0, problem.n)))
        explain(draft, empty, outside or nothing, told)
        parts = tuple(filled.reshape(part.shape) for filled, part in zip(told, parts, strict=True))
    return draft.result(parts, inputs)

"""Stages of a fit: its rows, and closed-form first frames, points, planes and centres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import ZvenoError
from ..measurements._fit_problem import FitProblem, Part, fit_problem, instrument_numbers
from ..measurements._start_values import StartData
from ..models import redundant_model
from .noise import FitOptions
from .outliers import wild_rows
from .parameters import fit_options, frame_columns
from .solve import Solution, solve
from .state import FitState

MIN_ROWS = 3
DRAWS = 32
"""Number of small row sets tried per target: where a fifth of rows is bad, a set of eight is clean with 99.7 %."""
BELONGS = 5.0
"""Multiple of the median residual up to which rows place a target. A normal row exceeds it once in 1300."""


def first_frames(
    problem: FitProblem,
    values: np.ndarray,
    rows: list[np.ndarray] | None = None,
    known: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Return all frames, with an initial value for every unknown that has none.

    Args:
        problem: the rows.
        values: parameters of the model, (P,).
        rows: for every part, which rows may be used; all if None.
        known: frames by label that were found before.
    """
    known = known or {}
    frames = problem.placed(known).frames.copy()
    done = {unknown.label for unknown in problem.unknowns if unknown.given} | set(known)
    for k, part in enumerate(problem.parts):
        T, _ = problem.poses(part, values, part.q)
        complete = np.asarray(part.known.all(axis=1))
        use = complete if rows is None else complete & rows[k]
        if use.sum() < MIN_ROWS:
            use = complete
        _check_complete(problem, k, use, done)
        _seen_from_and_in(problem, part, T[part.posture], use, frames, done)
        _targets(problem, part, T[part.posture], use, frames, done)
        if not known.keys() & {problem.unknown_at[k].label for k in part.numbers if k in problem.unknown_at}:
            _numbers(part, T[part.posture], use, frames)
    return frames


def _check_complete(problem: FitProblem, number: int, use: np.ndarray, done: set[str]):
    """Raise an error unless at least one row that must place something is complete."""
    part = problem.parts[number]
    slots = np.unique(np.concatenate([part.left, part.right, part.target]))
    wanted = [unknown.label for unknown in problem.unknowns if unknown.frame in slots and unknown.label not in done]
    if wanted and not use.any():
        raise ZvenoError(
            f"no row has all its numbers, and without one {', '.join(wanted)} cannot be placed",
            element=problem.campaigns[number].name,
            remedy="Measure some rows completely, or give the frames that are known",
        )


def _seen_from_and_in(problem: FitProblem, part: Part, T, use, frames, done):
    """Find L and R."""
    left = int(part.left[0])
    rights = [int(frame) for frame in np.unique(part.right)]
    unknowns = {frame: problem.unknown_at[frame].label for frame in (left, *rights) if frame in problem.unknown_at}
    wanted = {frame for frame, label in unknowns.items() if label not in done}
    if not wanted:
        return
    data = StartData(
        T[use],
        part.y[use],
        part.left[use],
        part.right[use],
        frames,
        left if left in wanted else None,
        [frame for frame in rights if frame in wanted],
        [frame for frame in rights if frame in unknowns],
        frames[part.target[use]],
        part.posture[use],
        *(numbers[use] for numbers in instrument_numbers(part, frames)),
    )
    for number, frame in part.measurement.first_frames(data).items():
        frames[number] = frame
    done.update(unknowns.values())


def _targets(problem: FitProblem, part: Part, T, use, frames, done):
    P = frames[part.left] @ T @ frames[part.right]
    for unknown in problem.unknowns:
        rows = part.target == unknown.frame
        if unknown.label in done or not rows.any():
            continue
        rows = rows & use if (rows & use).any() else rows
        frames[unknown.frame] = _target_of_most(part, P[rows], rows, frames, len(unknown.free))
        done.add(unknown.label)


def _target_of_most(part: Part, P: np.ndarray, rows: np.ndarray, frames: np.ndarray, n_free: int) -> np.ndarray:
    """Find a target from consistent rows, selected by the least median residual over all rows and small sets.

    One joint angle that is wrong by half a turn would move a sphere or a plane through all rows so far that the fit
    ends elsewhere.
    """
    kind, y = part.measurement, part.y[rows]
    given = [numbers[rows] for numbers in instrument_numbers(part, frames)]
    size = 2 * (n_free + sum(not number.given for number in kind.numbers))
    whole = kind.first_target(P[:, :3, 3], y)
    if len(y) < 2 * size:
        return whole

    def misses(X: np.ndarray) -> np.ndarray:
        X = np.broadcast_to(X, P.shape)
        first_numbers = None if all(number.given for number in kind.numbers) else kind.first_numbers(P, X, y)
        numbers = given if first_numbers is None else [np.broadcast_to(first_numbers, (len(y), len(first_numbers)))]
        return np.linalg.norm(kind.reading(P, X, *numbers) - y, axis=1)

    rng = np.random.default_rng(0)
    drawn = [rng.choice(len(y), size, replace=False) for _ in range(DRAWS)]
    tried = [whole, *(kind.first_target(P[some, :3, 3], y[some]) for some in drawn)]
    miss = min((misses(X) for X in tried), key=np.median)
    belongs = miss <= BELONGS * np.median(miss)
    return kind.first_target(P[belongs, :3, 3], y[belongs])


def _numbers(part: Part, T, use, frames):
    """Estimate the unknown constants of the instrument from frames that are placed."""
    kind = part.measurement
    if all(number.given for number in kind.numbers):
        return
    P = frames[part.left] @ T @ frames[part.right]
    values = kind.first_numbers(P[use], frames[part.target[use]], part.y[use])
    if values is not None:
        unknown = [k for k, number in enumerate(kind.numbers) if not number.given]
        for k in unknown:
            frames[part.numbers[k // 3], k % 3, 3] = values[k]


def assemble_rows(state: FitState) -> FitState:
    """Assemble the rows of all campaigns, with a model that has the joint terms of the state.

    The next fit starts from the result of a fit with other terms.
    """
    mechanism = state.robot.mechanism
    frames = list(dict.fromkeys(frame for campaign in state.campaigns for frame in campaign.measurement.frames))
    model = redundant_model(mechanism, frames, state.joint_terms, state.loads)
    problem = fit_problem(model, state.campaigns)
    if state.base is None:
        return replace(state, problem=problem)
    base = _renumbered(state.base, state.problem, problem)
    near = None if state.fit is None else _renumbered(state.fit, state.problem, problem)
    return replace(state, problem=problem.placed(base.frames), base=base, near=near)


def place_frames(state: FitState) -> FitState:
    """Fit the frames of the nominal robot."""
    problem = state.problem.placed(first_frames(state.problem, state.problem.nominal))
    residual, _ = problem.evaluate(problem.nominal, problem.frames, ())
    use = problem.by_row(~wild_rows(problem, residual), True)
    base = solve(problem, _frame_options(problem), problem.nominal, problem.frames, use)
    return replace(state, problem=problem.placed(base.frames), base=base)


def refitted_frames(state: FitState) -> Solution:
    """Fit the frames of the nominal robot to the rows that belong to the fit."""
    problem = state.problem
    use = problem.by_row(state.good, True)
    return solve(problem, _frame_options(problem), problem.nominal, state.base.frames, use)


def _frame_options(problem: FitProblem) -> FitOptions:
    return fit_options(problem, frame_columns(problem), "none", None)


def _renumbered(solution: Solution, old: FitProblem, new: FitProblem) -> Solution:
    """Move the parameters of a solution to their places in a model with other terms."""
    values = np.zeros(len(new.model.terms))
    kept = [name for name in old.model.names if name in new.model.numbers]
    values[[new.model.numbers[name] for name in kept]] = solution.values[[old.model.numbers[name] for name in kept]]
    return replace(solution, values=values)

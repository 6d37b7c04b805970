"""`prove`: the answers of any solver against all solutions with a proof.

A proof in exact arithmetic decides what floats cannot: whether a listed configuration is a solution, whether one is
listed twice, whether one is missing, and whether there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..errors import ShapeError, ZvenoError
from ..io.results import hash_of, registered
from ..mechanism.loops import refuse_loops
from ..report.result import Result
from ..spatial.exact_numbers import required_flint
from ._judge import SLACK
from .ik_problem import TURN, IkProblem, problem_of
from .redundant.locked_joints import LOCKED
from .solutions import (
    COMPLETE,
    EXCLUDED,
    FAMILY,
    NOT_PROVED,
    PROVED,
    PROVED_EXCLUDED,
    PROVED_UNREACHABLE,
    SAMPLED,
    STATUSES,
    UNDECIDED,
    UNREACHABLE,
    Solutions,
)
from .solve import certified_solutions

_PROVED, _REFUTED, _NOT_PROVED = range(3)
_ALL = (COMPLETE, PROVED)
_SOME = (UNDECIDED, SAMPLED)
_NONE = (UNREACHABLE, PROVED_UNREACHABLE)
_NONE_INSIDE = (EXCLUDED, PROVED_EXCLUDED)
TOLERANCE = 1e-7
"""Largest distance, radians and metres, of a configuration in floats from its exact solution."""
SAME_WINDING = 1e-12
"""Radians by which configurations that differ by whole turns only may differ besides."""


ProofStatus = Literal["proved", "refuted", "not proved"]
VERDICTS: tuple[ProofStatus, ...] = get_args(ProofStatus)


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Proof(Result):
    """Conclusions of a proof on the answers for a batch of poses.

    Attributes:
        codes: (*batch) 0 proved, 1 refuted, 2 not proved.
        reasons: by flat pose number, the proved statement, or why it is refuted or not proved.
        proof: all solutions with a proof, limits disregarded.
        batch: shape of the batch.
        inputs_hash: hash of the inputs.
    """

    kind: ClassVar[str] = "verdict on inverse kinematics"

    codes: np.ndarray
    reasons: dict[int, str]
    proof: Solutions
    batch: tuple[int, ...] = ()
    inputs_hash: str = field(default="")

    @property
    def status(self) -> ProofStatus | np.ndarray:
        """A word for one pose, an array of words for a batch."""
        return np.array(VERDICTS, dtype=object)[self.codes]

    @property
    def summary(self) -> str:
        """Summarize the result in a sentence or two."""
        if not self.batch:
            return f"{str(self.status).capitalize()}: {self.reasons[0]} ({self.proof.exact_problem})"
        parts = [f"{int(np.sum(self.codes == k))} {word}" for k, word in enumerate(VERDICTS)]
        refuted = np.flatnonzero(np.ravel(self.codes) == _REFUTED)
        first = f"; pose {refuted[0]}: {self.reasons[int(refuted[0])]}" if len(refuted) else ""
        return f"{int(np.prod(self.batch))} answers: {', '.join(parts)}{first}"


def prove(solutions: Solutions, tolerance: float = TOLERANCE) -> Proof:
    """Prove answers of inverse kinematics, pose by pose: "proved", "refuted" or "not proved".

    The status of an answer states its guarantee: all solutions ("complete"), none ("unreachable", "excluded by
    limits"), continua ("self-motion", "sampled": refuted by a proof that solutions are isolated), or only that each
    configuration listed is a solution ("undecided").

    Args:
        solutions: result of `solve_ik`, by any method.
        tolerance: radians and metres by which a listed configuration may miss the exact solution.
    """
    required_flint()
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ShapeError(f"is {tolerance}", element="tolerance", remedy="Give a positive number")
    problem = _asked(solutions)
    proof = certified_solutions(_without_limits(problem), solutions.target)
    codes, reasons = np.zeros(solutions.batch, int), {}
    for flat, pose in enumerate(np.ndindex(*solutions.batch)):
        codes[pose], reasons[flat] = _judged(problem, solutions, proof, pose, tolerance)
    inputs_hash = hash_of(solutions.inputs_hash, proof.inputs_hash, tolerance)
    return Proof(codes, reasons, proof, solutions.batch, inputs_hash)


def _asked(solutions: Solutions) -> IkProblem:
    """Return the problem that was solved."""
    question = solutions.question
    if question is None or solutions.mechanism is None:
        raise ZvenoError(
            "the answer does not hold what was asked",
            element="solutions",
            remedy="Solve again with this version and keep what robot.ik returns",
        )
    problem = problem_of(
        solutions.mechanism, solutions.frame, question.reference, False, question.task, question.held
    )
    refuse_loops(solutions.mechanism, "prove")
    return problem.with_limits(question.lower, question.upper)


def _without_limits(problem: IkProblem) -> IkProblem:
    """Return the same problem without limits, but for those that hold a joint at one value."""
    held = _held(problem)
    return replace(
        problem, lower=np.where(held, problem.lower, -np.inf), upper=np.where(held, problem.upper, np.inf)
    )


def _held(problem: IkProblem) -> np.ndarray:
    """Return booleans (n,), True for joints of a redundant chain that their limits hold at one value."""
    return (problem.upper - problem.lower <= LOCKED * problem.units) & (problem.redundancy > 0)


def _judged(
    problem: IkProblem, solutions: Solutions, proof: Solutions, pose: tuple[int, ...], tolerance: float
) -> tuple[int, str]:
    """Return proof and reason for one pose."""
    claim = int(solutions.codes[pose])
    if int(proof.codes[pose]) == NOT_PROVED:
        return _NOT_PROVED, proof.reason(*pose).partition(" (")[0].removeprefix("Not proved: ")
    exact, listed = _coordinates(problem, proof.of(*pose)), _coordinates(problem, solutions.of(*pose))
    slack = SLACK * problem.units
    within = problem.wrapped(exact)
    over = np.maximum(problem.lower - within, within - problem.upper)
    over[:, _held(problem)] = -np.inf
    surely_inside, may_be_inside = np.all(over < -slack, axis=1), np.all(over <= slack, axis=1)
    flat = int(np.ravel_multi_index(pose, solutions.batch)) if solutions.batch else 0
    if claim == FAMILY or (claim == SAMPLED and flat in solutions.self_motions):
        return _REFUTED, f"there are no continua: {len(exact)} isolated solutions are all"
    if claim in _NONE:
        return (_REFUTED, f"{len(exact)} solutions exist") if len(exact) else (_PROVED, "there is no solution")
    if claim in _NONE_INSIDE:
        if surely_inside.any() or not len(exact):
            kind = (
                f"{surely_inside.sum()} solutions inside the limits exist" if len(exact) else "there is no solution"
            )
            return _REFUTED, kind
        decided = not may_be_inside.any()
        return (_PROVED, "limits exclude all") if decided else (_NOT_PROVED, "a solution is at a limit")
    if claim not in (*_ALL, *_SOME):
        return _NOT_PROVED, f"{STATUSES[claim]!r} claims no exact solutions"
    return _compared(problem, listed, exact[may_be_inside], surely_inside[may_be_inside], claim in _ALL, tolerance)


def _compared(
    problem: IkProblem,
    listed: np.ndarray,
    exact: np.ndarray,
    required: np.ndarray,
    every: bool,
    tolerance: float,
) -> tuple[int, str]:
    """Compare listed configurations (s, n) with exact solutions (m, n); the required ones must be there."""
    listed = listed[_first_of_windings(problem, listed)]
    off = np.abs(problem.difference(listed[:, None], exact[None])).max(axis=-1, initial=0.0)
    near = off <= tolerance
    if not near.any(axis=1).all():
        return _REFUTED, f"number {int(np.argmin(near.any(axis=1))) + 1} of those listed is not a solution"
    rows, columns = linear_sum_assignment(np.where(near, off, 1.0))
    matched = near[rows, columns]
    if len(rows) < len(listed) or not matched.all():
        return _REFUTED, f"{len(listed)} are listed, and no more than {int(matched.sum())} of them are distinct"
    missing = int(required.sum() - required[columns].sum())
    if every and missing:
        return _REFUTED, f"{missing} of {int(required.sum())} solutions inside the limits are missing"
    return _PROVED, f"{len(listed)} solutions, and no other" if every else f"each of {len(listed)} is a solution"


def _coordinates(problem: IkProblem, q: np.ndarray) -> np.ndarray:
    """Return chain coordinates (s, n) of configurations (s, n_q)."""
    return q[:, [step.index or 0 for step in problem.steps]]


def _first_of_windings(problem: IkProblem, x: np.ndarray) -> np.ndarray:
    """Return rows of x (s, n) without those that differ from an earlier one by whole turns only, and do differ."""
    turns = np.where(problem.turning, np.round((x[:, None] - x[None]) / TURN), 0.0)
    rest = np.abs(x[:, None] - x[None] - TURN * turns).max(axis=-1, initial=0.0)
    wound = (rest < SAME_WINDING) & turns.any(axis=-1)
    return np.array([i for i in range(len(x)) if not wound[i, :i].any()], int)

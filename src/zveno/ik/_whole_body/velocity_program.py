"""One velocity step as one program: the quadratic program traced, solved, and the state moved on."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...fit.quadratic.given_and_found import Answer, General
from ...fit.quadratic.program import QuadraticProgram
from ...fit.quadratic.steps import INFEASIBLE, SOLVED, Sizes
from ...kernels.builder import Builder, Rows
from ...kernels.ops import abs, equal, less, less_equal, logical_and, logical_not, where
from ...mechanism.joints import QUATERNION_TOLERANCE
from .closing import kept, still_open, write_closing
from .velocity_rows import SETTINGS, VelocityProblem, balls_kept, balls_velocities, velocity_terms

NOT_FINITE = 3.0
"""Status of a step whose state or target is not finite, not rigid or has no unit quaternion."""
PARTS = 4
"""Number of attempts at a step, each a quarter as long as the one before, until closed loops close behind it."""
STRICT_SLACK = 1e-9
"""Others may disturb a strict task by as much in a step, m or rad; the next step sees it."""
ROUNDING = 1e-9
"""Share of a limit of acceleration by which rounding may exceed it."""
RIGID = 1e-6
"""Rotations may be off by as much."""


def velocity_program(program: Builder, problem: VelocityProblem) -> None:
    """Map (q, v_before, targets, weights, limits, corners, settings, warm, active) → (v, q, side, held, errors, …).

    Then the sides of the rows, if there are any, the status and the number of exchanges. `warm` are sides to begin
    with, `active` those of the step before, and `held` those in common with the new ones.
    """
    mechanism, n, m = problem.mechanism, problem.mechanism.n_v, problem.n_rows
    n_tasks = len(problem.tasks)
    given = [
        program.input(name, (size,), size)
        for name, size in (
            ("q", mechanism.n_q),
            ("v_before", n),
            ("targets", problem.n_targets),
            ("weights", problem.n_weights * n_tasks),
            ("limits", 4 * n),
            ("corners", max(2 * problem.n_corners, 1)),
            ("settings", len(SETTINGS)),
        )
    ]
    warm, active = program.input("warm", (n,)), program.input("active", (n,))
    v_out, q_out = program.output("v", (n,), n), program.output("q_next", (mechanism.n_q,), mechanism.n_q)
    side_out, held_out = program.output("side", (n,)), program.output("held", (n,))
    errors_out = program.output("errors", (n_tasks,), n_tasks)
    row_side_out = program.output("row_side", (m,)) if m else None
    status_out, steps_out = program.output("status", ()), program.output("steps", ())

    H, g = program.scratch("H", n, n), program.scratch("g", n, 1, zero=True)
    lower, upper = program.scratch("lower", n, 1, zero=True), program.scratch("upper", n, 1, zero=True)
    terms = program.step(partial(velocity_terms, problem), *(rows[0] for rows in given))
    H[0, n], g[0, n], lower[0, n], upper[0, n], errors_out[0] = terms[:5]
    rest = terms[5:]
    first: Answer | None = None
    k = problem.n_strict
    if problem.strict:
        H_first, g_first = program.scratch("H_first", n, n), program.scratch("g_first", n, 1, zero=True)
    rows = _Inequalities(program, max(k + m, 1), n)
    if problem.strict:
        H_first[0, n], g_first[0, n], rows.C[0, k] = rest[:3]
        rest = rest[3:]
    if m:
        rows.C[k, m], rows.low[k, m], rows.high[k, m] = rest
    if problem.strict:
        general = General(rows.C, rows.low, rows.high, first=k) if m else None
        first = QuadraticProgram(program, Sizes(n, m), "first").write(H_first, g_first, lower, upper, warm, general)
        with program.each(k) as j:
            rows.low[j], rows.high[j] = program.step(_met, rows.C[j], first.x[0, n])
        share = program.scratch("share", 1, 1, zero=True)
        share[0] = program.step(partial(_mean_diagonal, n), H[0, n])
        with program.each(n) as i:
            H[i], g[i] = program.step(_with_strict, H[i], g[i], H_first[i], first.x[0, n], share[0])
    general = General(rows.C, rows.low, rows.high) if k + m else None
    answer = QuadraticProgram(program, Sizes(n, k + m)).write(H, g, lower, upper, warm, general)
    status = program.scratch("status_of_both", 1, 1, zero=True)
    judged = answer.status[0], answer.x[0, n], *(given[k][0] for k in (0, 1, 2, 4, 6))
    status[0] = program.step(partial(_judged, problem), *judged)
    if first is not None:
        status[0] = program.step(_worse, first.status[0], status[0])
    before, settings = given[0][0], given[-1][0]
    if problem.division is None:
        v_out[0], q_out[0] = program.step(partial(moved, problem), before, answer.x[0, n], settings, status[0])
    else:
        after = program.scratch("after", 1, mechanism.n_q)
        share, again = program.scratch("part", 1, 1, zero=True), program.scratch("open", 1, 1, zero=True)
        share[0], again[0] = program.step(partial(np.ones, 1)), program.step(partial(np.ones, 1))
        with program.repeat_while(again, PARTS):
            given_part = before, answer.x[0, n], share[0], settings, status[0]
            after[0] = program.step(partial(_moved_in_part, problem), *given_part)
            write_closing(program, mechanism, problem.division, after)
            opened = partial(still_open, mechanism, problem.division)
            share[0], again[0] = program.step(opened, before, after[0], share[0])
        keep = partial(kept, mechanism, problem.division)
        ended = program.step(keep, before, after[0], status[0], share[0], settings)
        v_out[0], q_out[0], status[0] = ended
    side_out[0, n] = program.step(_same, answer.side[0, n])
    held_out[0, n] = program.step(_common, answer.side[0, n], active[0, n])
    if row_side_out is not None and answer.row_side is not None:
        row_side_out[0, m] = program.step(_same, answer.row_side[k, m])
    status_out[0] = program.step(_same, status[0])
    steps_out[0] = program.step(_same, answer.steps[0])


class _Inequalities:
    """Arrays of m rows."""

    def __init__(self, program: Builder, m: int, n: int):
        self.C: Rows = program.scratch("C", m, n, zero=True)
        self.low: Rows = program.scratch("low", m, 1, zero=True)
        self.high: Rows = program.scratch("high", m, 1, zero=True)


def moved(problem: VelocityProblem, q: Any, delta: Any, settings: Any, status: Any) -> Any:
    """Return the velocity, and q after the step; if the program has no solution, the robot stands still.

    Rows keep the limits of balls to first order; what a step turns beyond them it does not turn at all.
    """
    mechanism = problem.mechanism
    delta = where(equal(status[0], SOLVED), delta, 0.0)
    after = mechanism.normalized(mechanism.integrate(q, delta))
    if problem.balls:
        after = balls_kept(problem.balls, after)
        turned = mechanism.difference(q, after)
        for place in balls_velocities(problem):
            delta[place] = where(equal(status[0], SOLVED), turned[place], 0.0)
    return delta / settings[0], after


def _judged(
    problem: VelocityProblem,
    status: Any,
    delta: Any,
    q: Any,
    v_before: Any,
    targets: Any,
    limits: Any,
    settings: Any,
) -> Any:
    """Return the status; INFEASIBLE where limits of acceleration gave way.

    NOT_FINITE if the step is not finite, a target not rigid or a quaternion of q not unit.
    """
    off: Any = 0.0
    first = 0
    for task in problem.tasks:
        size = task.target_size(problem.mechanism)
        off = off + task.target_error(targets[first : first + size])
        first += size
    fine = logical_and(less(off, RIGID), less((delta * delta).sum(), np.inf))
    for part in problem.mechanism.normalized(q) - q:
        if not (isinstance(part, float) and part == 0.0):  # plain coordinates
            fine = logical_and(fine, less_equal(abs(part), QUATERNION_TOLERANCE))
    n, dt = problem.mechanism.n_v, settings[0]
    hardest, carried = dt * dt * limits[3 * n :], dt * v_before
    kept: Any = True
    for i in range(n):
        room = hardest[i] - abs(delta[i] - carried[i])
        kept = logical_and(kept, less_equal(-ROUNDING * (hardest[i] + abs(carried[i])), room))
    told = where(logical_and(equal(status[0], SOLVED), logical_not(kept)), INFEASIBLE, status[0])
    return np.array([where(fine, told, NOT_FINITE)])


def _mean_diagonal(n: int, H: Any) -> Any:
    return np.array([sum(H[i * n + i] for i in range(n)) / n])


def _with_strict(H: Any, g: Any, H_first: Any, x: Any, share: Any) -> Any:
    """Add the squares of strict tasks, whose least is reached anyway, to the program of the other tasks.

    It has the same optimum, and curvature where the rows of strict tasks point: without it, a Hessian of small
    damping in these directions lets rounding decide.
    """
    return H + share[0] * H_first, g - share[0] * (H_first * x).sum()


def _met(row: Any, x: Any) -> Any:
    """Return a band about the values of strict tasks: dependent rows stay consistent under rounding."""
    value = np.array([(row * x).sum()])
    return value - STRICT_SLACK, value + STRICT_SLACK


def _worse(first: Any, second: Any) -> Any:
    return np.array([where(equal(first[0], SOLVED), second[0], first[0])])


def _common(side: Any, before: Any) -> Any:
    """Return sides that are the same in both; 0 elsewhere."""
    return where(equal(side, before), side, 0.0)


def _moved_in_part(problem: VelocityProblem, q: Any, delta: Any, share: Any, settings: Any, status: Any) -> Any:
    return moved(problem, q, delta * share[0], settings, status)[1]


def _same(x: Any) -> Any:
    return x

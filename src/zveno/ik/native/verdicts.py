"""Judgement of branches, and their order: steps of `zveno.ik.native.program`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import abs as absolute
from ...kernels.ops import (
    equal,
    floor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sign,
    where,
)
from .._judge import FLOOR, is_certified, judge, spread_of_marks
from ..ik_problem import TURN
from ..newton import damped_step
from ..pose_error import error as pose_error
from ..solutions import COMPLETE, EXCLUDED, UNDECIDED, UNREACHABLE
from .arm_tables import JudgedClass, chain_of

N_ROW = 8
"""Numbers of a row of the answer: q, residual and condition."""
N_KEYS = 7
SHARP = 1e-10, 1e-13
"""A miss up to this share of the smallest singular value, and up to this, leaves coordinates as exact as can be."""
NO_POSE = -1.0
"""Status code for an input that is not a rigid transform."""
NOT_A_NUMBER = float("nan")


def judged(kind: JudgedClass, row: Any, limits: Any, x: Any, target: Any) -> Any:
    """Evaluate x; return x after a Newton step if the loop is not closed, and whether it is not."""
    arm = kind.numbers(row)
    chain: Any = chain_of(kind.kinds, arm.links, kind.task)
    target = target.reshape(3, 4)
    lower, upper, middle = limits.reshape(3, kind.n)
    verdict = judge(chain, kind.oriented, x, target, arm.tool, lower, upper, middle, arm.length)
    at = pose_error(chain, verdict[: kind.n], target, arm.tool, exact=True)
    step = damped_step(at.J, at.e, FLOOR)
    miss, least = verdict[kind.n + 4], verdict[kind.n + 6]
    open_loop = less(minimum(kind.bounds.closed, _sharp(kind, least)), miss)
    moved = np.array([where(open_loop, v - d, v) for v, d in zip(x, step, strict=True)])
    return verdict, moved, open_loop


def newton_step(kind: JudgedClass, row: Any, x: Any, target: Any) -> Any:
    """Return x after a Newton step towards the target."""
    arm = kind.numbers(row)
    chain: Any = chain_of(kind.kinds, arm.links, kind.task)
    at = pose_error(chain, x, target.reshape(3, 4), arm.tool, exact=True)
    return x - damped_step(at.J, at.e, FLOOR)


def _sharp(kind: JudgedClass, least: Any) -> Any:
    """Return the pose error up to which coordinates are as exact as can be, for a smallest singular value."""
    share, most = SHARP
    return maximum(minimum(share * least, most), kind.bounds.sharp)


def certified(kind: JudgedClass, arm: Any, x: Any, error: Any, least: Any) -> tuple[Any, Any]:
    """Return whether Kantorovich's theorem certifies x, and how far the root that it proves is at most."""
    K, reach = arm.certificate
    further = [maximum(0.0, absolute(x[k]) - 1.0) for k in range(kind.n) if kind.kinds[k] != "R"]
    error = error + kind.bounds.rounding * reach
    holds = is_certified(K + float(kind.n) * sum(further), error, least)
    return holds, 2.0 * error / maximum(least, 1e-30)


def concluded(kind: JudgedClass, twins: float, row: Any, limits: Any, edges: Any, rigid: Any, verdict: Any) -> Any:
    """Return a row of the answer, and its keys.

    Keys are: the first coordinate in whole steps; the mark; 0 if there is no solution, 1 if limits exclude it and 2
    if not; whether that is certain; the sign of det J; whether the pose is rigid; and how far the root is at most.
    Below the singular value `twins` another root may have been taken for the same.
    """
    arm, n, bounds = kind.numbers(row), kind.n, kind.bounds
    x, middle = verdict[:n], limits[2 * n :]
    over, metres, radians, residual, miss, condition, least, mark, determinant = verdict[n:]
    exists, clear = edges
    seam: Any = 0.0
    for k in _turning(kind):
        seam = maximum(seam, absolute(x[k] - middle[k]))
    is_root, off = certified(kind, arm, x, metres * (1.0 / arm.length) + radians, least)
    regular = logical_and(is_root, less_equal(miss, _sharp(kind, least)))
    if twins:
        regular = logical_and(regular, less(twins, least))
    # So far outside that at the limit the pose is missed: what moves it less could count as a solution there.
    clear_of_limits = less(bounds.slack, absolute(over) * minimum(1.0, least))
    clear_of_seams = less(seam, 0.5 * TURN - bounds.seam)
    sure = logical_and(regular, logical_and(clear_of_limits, clear_of_seams))
    sure = logical_and(clear, where(exists, sure, 1.0))
    inside = logical_and(exists, logical_and(less_equal(miss, bounds.exact), less_equal(over, 0.0)))
    q = [value if kind.kinds[k] == "R" else value * arm.length for k, value in enumerate(x)]
    answer = [where(inside, value, NOT_A_NUMBER) for value in (*q, residual, condition)]
    turned_round = where(exists, sign(determinant), 0.0) if kind.oriented else 0.0
    first = floor(x[0] * bounds.steps + 0.5)
    keys = [first, mark, exists + inside, logical_and(sure, rigid[0]), turned_round, rigid[0], off]
    return np.array([*answer, *[NOT_A_NUMBER] * (N_ROW - len(answer))]), np.array(keys)


def ranked(kind: JudgedClass, keys: Any) -> Any:
    """Return the places of rows in the answer, and its last row."""
    first, mark, state, sure, signs, rigid, off = keys.reshape(kind.n_branches, N_KEYS).T
    spread = spread_of_marks(kind.n)
    ranks = [0.0] * kind.n_branches
    every: Any = 1.0
    count: Any = 0.0
    excluded: Any = 0.0
    balance: Any = 0.0
    for i in range(kind.n_branches):
        inside, exists = less(1.5, state[i]), less(0.5, state[i])
        count, excluded, balance = count + inside, excluded + (exists - inside), balance + signs[i]
        every = logical_and(every, sure[i])
        for j in range(i):
            both = logical_and(exists, less(0.5, state[j]))
            different = less(spread * (off[i] + off[j]), absolute(mark[i] - mark[j]))
            every = logical_and(every, logical_or(logical_not(both), different))
            before = logical_or(
                less(first[j], first[i]), logical_and(equal(first[j], first[i]), less(mark[j], mark[i]))
            )
            # Rows inside limits come first; others keep their order.
            j_inside = less(1.5, state[j])
            before = where(inside, logical_and(j_inside, before), 1.0)
            before = logical_or(before, logical_and(j_inside, logical_not(inside)))
            ranks[i] = ranks[i] + before
            ranks[j] = ranks[j] + (1.0 - before)
    if kind.oriented:
        every = logical_and(every, equal(balance, 0.0))
    some = logical_and(every, less(0.5, count))
    return np.array(ranks), np.array([count, some, excluded, rigid[0], every, *[0.0] * (N_ROW - 5)])


def _turning(kind: JudgedClass) -> list[int]:
    """Return the numbers of the revolute joints."""
    return [k for k in range(kind.n) if kind.kinds[k] == "R"]


def told(last: Any) -> Any:
    """Return the number of solutions and the status, from the last row of an answer."""
    count, some, excluded, rigid, every = last[:5]
    nothing = where(less(0.5, excluded), float(EXCLUDED), float(UNREACHABLE))
    status = where(every, where(some, float(COMPLETE), nothing), float(UNDECIDED))
    return where(rigid, count, 0.0), where(rigid, status, NO_POSE)

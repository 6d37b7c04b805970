"""All configurations of three joints that bring a point to a goal, as one program with loops:

    goal → polynomial of the third coordinate at 32 angles → cells with one zero each
    → for every zero: the other coordinates → for every candidate: Newton's method, judgement → sorted rows

If the point is that of a wrist, every zero has its angles too, twice, and a pose is requested. A third
joint that slides is ℓ tan(θ/2), and θ = π is not a solution.
The functions are those of `zveno.ik.closed_form.point_forms`. Uncertified poses fall back, as in
`zveno.ik.native.six_revolute.program`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....kernels.builder import Builder, Rows
from ....kernels.ops import abs as absolute
from ....kernels.ops import cos, less, less_equal, logical_and, logical_not, logical_or, sin, where
from ...closed_form.point_forms import FURTHEST
from ...closed_form.point_forms import candidates as candidates_at
from ...closed_form.point_forms import polynomial as polynomial_at
from ...closed_form.sliding_arms import wrist
from ...six_revolute import roots
from ...targets import place
from ..candidates import is_listed, judged_candidates, no_candidates, numbered
from ..program import as_it_is, limits_input, own_limits, put_in_order, tell_in_order
from ..six_revolute.elimination import cautious
from ..six_revolute.search import isolate, refine
from ..verdicts import N_ROW
from .tables import PointsClass, PointsTables

MOST_STEPS = 6
"""Maximum number of Newton steps; candidates of a simple zero need one or two."""
MOST_ZEROS = 4
"""Maximum number of zeros of a trigonometric polynomial of degree two."""
CLEAR = 1e-6
"""Margin of a wrist below minus which it has no branches beyond doubt: zeros are known to `search.SETTLED`."""
N_TOLD = 3
"""Numbers that tell of a candidate whether it exists, whether that is clear, and whether it is at infinity."""


def all_solutions(program: Builder, arm: PointsTables) -> None:
    """Write answer (branches + 1, 8) of a pose T (4, 4): rows as in `zveno.ik.native.program`."""
    T = program.input("T", (4, 4), 16)
    answer = program.output("answer", (arm.of_class.n_branches + 1, N_ROW), N_ROW)
    limits = limits_input(program, arm.of_class)
    put_in_order(program, arm.of_class, *_judged(program, arm, T, limits), answer)


def on_controller(program: Builder, arm: PointsTables) -> None:
    """Write q (branches, n) of a pose T (4, 4), count and status, as in `zveno.ik.native.program.on_controller`."""
    T = program.input("T", (4, 4), 16)
    judged = _judged(program, arm, T, own_limits(program, arm), in_doubt=True)
    tell_in_order(program, arm.of_class, *judged, None, None)


def _judged(
    program: Builder, arm: PointsTables, T: Rows, limits: Rows, in_doubt: bool = False
) -> tuple[Rows, Rows]:
    """Write rows of the answer, and keys, of all candidates of a pose; of ambiguous poses only if `in_doubt`."""
    numbers, target, rigid, candidates, state = _found(program, arm, T, in_doubt)
    kind = arm.of_class
    return judged_candidates(program, kind, numbers, limits, target, rigid, candidates, state, MOST_STEPS, in_doubt)


def candidates_only(program: Builder, arm: PointsTables) -> None:
    """Write candidates (branches + 1, n) of a pose T (4, 4), in chain units and not polished, and found (2,): their
    number, and whether there may be others."""
    kind = arm.of_class
    T = program.input("T", (4, 4), 16)
    listed = program.output("listed", (kind.n_branches + 1, kind.n), kind.n)
    found = program.output("found", (2,), 2)
    *_, candidates, state = _found(program, arm, T, in_doubt=True)
    found[0] = program.step(as_it_is, state[0])
    with program.each(kind.n_branches + 1) as i:
        listed[i] = program.step(as_it_is, candidates[i])


def _found(program: Builder, arm: PointsTables, T: Rows, in_doubt: bool) -> tuple[Rows, Rows, Rows, Rows, Rows]:
    """Write the numbers of the arm, the target, whether it is rigid, and what `_candidates` does."""
    kind = arm.of_class
    numbers = program.table("arm", arm.row)
    widths = (("target", 12), ("goal", 3), ("turn", 9), ("rigid", 1))
    target, goal, turn, rigid = (program.scratch(name, 1, width) for name, width in widths)
    target[0], goal[0], turn[0], rigid[0] = program.step(partial(seen_from_arm, kind), numbers[0], T[0])
    points = program.table("points", roots.SAMPLE_POINTS)
    values, c = program.scratch("values", roots.SAMPLES, 1), program.scratch("c", 1, roots.N_COEFFICIENTS)
    with program.each(roots.SAMPLES) as i:
        values[i] = program.step(partial(sampled, kind), numbers[0], goal[0], points[i])
    c[0] = program.step(cautious, values[0, roots.SAMPLES])
    return numbers, target, rigid, *_candidates(program, kind, numbers, goal, turn, c, in_doubt)


def _candidates(
    program: Builder, kind: PointsClass, numbers: Rows, goal: Rows, turn: Rows, c: Rows, in_doubt: bool
) -> tuple[Rows, Rows]:
    """Write candidates, and one row with their number and whether there may be others."""
    cells = isolate(program, c, in_doubt)
    n = kind.n_candidates
    candidates = program.scratch("candidates", kind.n_branches + 1, kind.n)
    own, told = program.scratch("own", n, kind.n), program.scratch("told", n, N_TOLD)
    state, to, is_there = (program.scratch(*size) for size in (("state", 1, 2), ("to", 1, 1), ("zero_there", 1, 1)))
    place_of_zero = program.table("zero_place", numbered(MOST_ZEROS))
    state[0] = program.step(no_candidates_beyond, cells.doubt[0], cells.count[0])
    with program.each(MOST_ZEROS) as i:
        is_there[0] = program.step(partial(is_listed, in_doubt), place_of_zero[i], cells.count[0], state[0])
        with program.repeat_while(is_there, 1):
            zero = refine(program, c, cells, i)
            own[0, n], told[0, n] = program.step(partial(at_zero, kind), numbers[0], goal[0], turn[0], zero[0])
            with program.each(n) as j:
                to[0], state[0] = program.step(partial(accepted, kind), told[j], zero[0], state[0])
                candidates[to.lane()] = program.step(as_it_is, own[j])
    return candidates, state


def seen_from_arm(kind: PointsClass, row: Any, T: Any) -> Any:
    """Return the target (3, 4) for evaluation, the goal (3,) of the closed form, the turn (9,) that a wrist
    completes, and whether T is rigid."""
    arm, T = kind.numbers(row), T.reshape(4, 4)
    target, off = place(T, arm.before, 1.0 / arm.length)
    turn, goal = arm.before[:, :3] @ T[:3, :3], arm.before[:, :3] @ T[:3, 3] + arm.before[:, 3]
    if kind.has_wrist:
        goal = turn @ (arm.after[:, :3] @ arm.center + arm.after[:, 3]) + goal
        turn = turn @ arm.after[:, :3]
    return target, (goal - arm.origin) * arm.scale, turn.ravel(), less_equal(off, kind.bounds.rigid)


def sampled(kind: PointsClass, row: Any, goal: Any, cs: Any) -> Any:
    """Evaluate the polynomial at an angle (cos, sin)."""
    arm = kind.numbers(row)
    return polynomial_at(arm.h, arm.a, arm.start, goal, cs, kinds=kind.region, special=kind.special)


def no_candidates_beyond(doubt: Any, count: Any) -> Any:
    """Return zero candidates, and a flag: there may be others, for example if too many zeros were found."""
    return no_candidates(np.array([logical_or(doubt[0], less(MOST_ZEROS + 0.5, count[0]))]))


def at_zero(kind: PointsClass, row: Any, goal: Any, turn: Any, zero: Any) -> Any:
    """Return candidates (n_candidates, n) of a zero in chain units, and their checks, (n_candidates, N_TOLD)."""
    arm, cs = kind.numbers(row), np.array([cos(zero[0]), sin(zero[0])])
    points, margins = candidates_at(arm.h, arm.a, arm.start, goal, cs, kinds=kind.region, special=kind.special)
    rows, told = [], []
    for point, margin in list(zip(points, margins, strict=True))[: 2 if kind.special else 1]:
        exists = less_equal(kind.bounds.absent, margin)
        at_infinity, clear = 0.0, 1.0
        if kind.region[2] == "P":
            far = absolute(point[2])
            at_infinity, clear = less(2.0 * FURTHEST, far), less(far, 0.5 * FURTHEST)
        angles: Any = [[]]
        if kind.has_wrist:
            angles, wrist_margin, gap = wrist(arm.axes, arm.across, point, turn.reshape(3, 3), kinds=kind.region)
            clear = logical_and(clear, logical_or(logical_not(exists), less(kind.bounds.meeting, gap)))
            exists = logical_and(exists, less_equal(-CLEAR, wrist_margin))
        rows += [[*(point * arm.units), *both] for both in angles]
        told += [[exists, clear, at_infinity]] * len(angles)
    return np.array(rows), np.array(told)


def accepted(kind: PointsClass, told: Any, zero: Any, state: Any) -> Any:
    """Return the row where a candidate goes, the last if it is rejected, and the state after it."""
    count, doubt = state
    exists, clear, at_infinity = told
    last, (_, inside, zero_clear) = float(kind.n_branches), zero
    sure = logical_or(at_infinity, logical_and(zero_clear, logical_or(logical_not(inside), clear)))
    exists = logical_and(logical_and(inside, exists), logical_not(at_infinity))
    full = less_equal(last, count)
    kept = logical_and(exists, logical_not(full))
    doubt = logical_or(doubt, logical_or(logical_not(sure), logical_and(exists, full)))
    return where(kept, count, last), np.array([count + kept, doubt])

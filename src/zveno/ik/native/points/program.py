"""All configurations of three joints that bring a point to a goal, as one program with loops:

    goal → polynomial of the third angle at 32 angles → cells with one zero each
    → for every zero: the other coordinates → for every candidate: Newton's method, judgement → sorted rows

The functions are those of `zveno.ik.closed_form.point_forms`. What is not sure is left to the careful way, as in
`zveno.ik.native.six_revolute.program`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....kernels.math import cos, less, less_equal, logical_and, logical_not, logical_or, select, sin
from ....kernels.structured.build import Builder
from ....kernels.structured.parts import Rows
from ...closed_form.point_forms import candidates as candidates_at
from ...closed_form.point_forms import polynomial as polynomial_at
from ...six_revolute import roots
from ...targets import place
from ..candidates import is_listed, judged_candidates, no_candidates, numbered
from ..program import as_it_is, put_in_order
from ..six_revolute.elimination import cautious
from ..six_revolute.search import isolate, refine
from ..verdicts import N_ROW
from .tables import MOST_SOLUTIONS, N_JOINTS, PointsClass, PointsTables

MOST_STEPS = 6
"""Newton steps at most; what comes from a simple zero needs one or two."""
MOST_ZEROS = 4
"""Of a trigonometric polynomial of degree two."""


def all_solutions(program: Builder, arm: PointsTables) -> None:
    """answer (5, 8) of a pose T (4, 4), whose position is asked for: rows as in `zveno.ik.native.program`."""
    T = program.input("T", (4, 4), 16)
    answer = program.output("answer", (arm.of_class.n_branches + 1, N_ROW), N_ROW)
    put_in_order(program, arm.of_class, *_judged(program, arm, T), answer)


def _judged(program: Builder, arm: PointsTables, T: Rows) -> tuple[Rows, Rows]:
    """Rows of the answer, and keys, of all candidates of a pose."""
    kind = arm.of_class
    numbers = program.table("arm", arm.row)
    target, goal, rigid = (
        program.scratch("target", 1, 12),
        program.scratch("goal", 1, 3),
        program.scratch("rigid", 1, 1),
    )
    target[0], goal[0], rigid[0] = program.step(partial(seen_from_arm, kind), numbers[0], T[0])
    points = program.table("points", roots.SAMPLE_POINTS)
    values, c = program.scratch("values", roots.SAMPLES, 1), program.scratch("c", 1, roots.N_COEFFICIENTS)
    with program.each(roots.SAMPLES) as i:
        values[i] = program.step(partial(sampled, kind), numbers[0], goal[0], points[i])
    c[0] = program.step(cautious, values[0, roots.SAMPLES])
    candidates, state = _candidates(program, kind, numbers, goal, c)
    return judged_candidates(program, kind, numbers, target, rigid, candidates, state, MOST_STEPS)


def _candidates(program: Builder, kind: PointsClass, numbers: Rows, goal: Rows, c: Rows) -> tuple[Rows, Rows]:
    """Candidates, and one row with their number and whether there may be others."""
    cells = isolate(program, c)
    n = kind.n_candidates
    candidates = program.scratch("candidates", kind.n_branches + 1, N_JOINTS)
    both, margins = program.scratch("both", n, N_JOINTS), program.scratch("margins", n, 1)
    state, to, is_there = (program.scratch(*size) for size in (("state", 1, 2), ("to", 1, 1), ("zero_there", 1, 1)))
    place_of_zero = program.table("zero_place", numbered(MOST_ZEROS))
    state[0] = program.step(no_candidates_beyond, cells.doubt[0], cells.count[0])
    with program.each(MOST_ZEROS) as i:
        is_there[0] = program.step(is_listed, place_of_zero[i], cells.count[0], state[0])
        with program.repeat_while(is_there, 1):
            zero = refine(program, c, cells, i)
            both[0, n], margins[0, n] = program.step(partial(at_zero, kind), numbers[0], goal[0], zero[0])
            with program.each(n) as j:
                to[0], state[0] = program.step(partial(accepted, kind), margins[j], zero[0], state[0])
                candidates[to.lane()] = program.step(as_it_is, both[j])
    return candidates, state


def seen_from_arm(kind: PointsClass, row: Any, T: Any) -> Any:
    """The target (3, 4) for judgement, the goal (3,) of the closed form, and whether T is rigid."""
    arm, T = kind.numbers(row), T.reshape(4, 4)
    target, off = place(T, arm.before, 1.0 / arm.length)
    goal = arm.before[:, :3] @ T[:3, 3] + arm.before[:, 3]
    return target, (goal - arm.origin) * arm.scale, less_equal(off, kind.bounds.rigid)


def sampled(kind: PointsClass, row: Any, goal: Any, cs: Any) -> Any:
    """The polynomial at an angle (cos, sin)."""
    arm = kind.numbers(row)
    return polynomial_at(arm.h, arm.a, arm.start, goal, cs, kinds=kind.kinds, special=kind.special)


def no_candidates_beyond(doubt: Any, count: Any) -> Any:
    """No candidates yet, and whether there may be others: more zeros than a polynomial of degree two has, too."""
    return no_candidates(np.array([logical_or(doubt[0], less(MOST_ZEROS + 0.5, count[0]))]))


def at_zero(kind: PointsClass, row: Any, goal: Any, zero: Any) -> Any:
    """Candidates (n_candidates, 3) of a zero in chain units, and their margins."""
    arm, cs = kind.numbers(row), np.array([cos(zero[0]), sin(zero[0])])
    x, margin = candidates_at(arm.h, arm.a, arm.start, goal, cs, kinds=kind.kinds, special=kind.special)
    n = kind.n_candidates
    return np.array([x[j] * arm.units for j in range(n)]), margin[:n]


def accepted(kind: PointsClass, margin: Any, zero: Any, state: Any) -> Any:
    """The row where a candidate goes, the last if it is none, and the state after it."""
    count, doubt = state
    last, (_, inside, clear) = float(MOST_SOLUTIONS), zero
    exists, absent = less(kind.bounds.real, margin[0]), less(margin[0], kind.bounds.absent)
    told = logical_and(clear, logical_or(logical_not(inside), logical_or(exists, absent)))
    exists, full = logical_and(inside, exists), less_equal(last, count)
    kept = logical_and(exists, logical_not(full))
    doubt = logical_or(doubt, logical_or(logical_not(told), logical_and(exists, full)))
    return select(kept, count, last), np.array([count + kept, doubt])

"""All solutions of a pose by any arm with six revolute joints, as one program with loops:

    pose → elimination of two angles → determinant at 32 angles → its polynomial → cells with one root each
    → for every root: kernel vector → angles → for every candidate: Newton's method, judgement → sorted rows

The functions are those of `zveno.ik.six_revolute`, and so are the bounds of doubt, with room for rounding. A pose
is sure where every root is simple and belongs to a configuration that closes the loop, is regular, apart from the
others and clear of limits. Then there is nothing for the checks of `zveno.ik.checks` to do; all other poses are
theirs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....kernels.math import less, less_equal, logical_and, logical_not, logical_or, select
from ....kernels.structured.build import Builder
from ....kernels.structured.parts import Rows
from ...six_revolute.back_substitution import SPURIOUS, better_from_root
from ...six_revolute.equations import SIZE
from ..candidates import is_listed, judged_candidates, no_candidates, numbered
from ..held_joint import HeldJoint, arm_input
from ..program import as_it_is, put_in_order, tell_in_order
from ..verdicts import N_ROW
from .elimination import eliminate, polynomial, seen_from_arm
from .search import MOST_ROOTS, isolate, refine
from .tables import N_JOINTS, SixRevoluteClass, SixRevoluteTables

MOST_STEPS = 6
"""Newton steps at most; what comes from a simple root needs one or two."""
CLEAR = 0.1 * SPURIOUS
"""Defect of a kernel vector up to which its root belongs to a configuration, if one closes the loop."""


def all_solutions(program: Builder, arm: SixRevoluteTables) -> None:
    """answer (17, 8) of a pose T (4, 4): sorted rows q, residual, condition, NaN behind the last; then a row with
    their number, whether that is sure, how many solutions limits exclude, whether T is rigid, and zeros.
    """
    T = program.input("T", (4, 4), 16)
    answer = program.output("answer", (arm.of_class.n_branches + 1, N_ROW), N_ROW)
    put_in_order(program, arm.of_class, *_judged(program, arm, T, program.table("arm", arm.row)), answer)


def on_controller(program: Builder, arm: SixRevoluteTables, held: HeldJoint | None = None) -> None:
    """q (16, 6) of a pose T (4, 4), sorted, NaN behind the last; their number, and a status of `STATUSES`.

    Where nothing is sure the status is undecided, and what is listed is some of the solutions.
    """
    T, numbers, angle = arm_input(program, arm, held)
    tell_in_order(program, arm.of_class, *_judged(program, arm, T, numbers, in_doubt=True), held, angle)


def _judged(
    program: Builder, arm: SixRevoluteTables, T: Rows, numbers: Rows, in_doubt: bool = False
) -> tuple[Rows, Rows]:
    """Rows of the answer, and keys, of all candidates of a pose; of a pose in doubt too, or of none then."""
    kind = arm.of_class
    target, X, rigid = program.scratch("target", 1, 12), program.scratch("X", 1, 12), program.scratch("rigid", 1, 1)
    target[0], X[0], rigid[0] = program.step(partial(seen_from_arm, kind), numbers[0], T[0])
    candidates, state = _candidates(program, arm, numbers, X, in_doubt)
    return judged_candidates(program, kind, numbers, target, rigid, candidates, state, MOST_STEPS, in_doubt)


def _candidates(
    program: Builder, arm: SixRevoluteTables, numbers: Rows, X: Rows, in_doubt: bool
) -> tuple[Rows, Rows]:
    """Candidates, and one row with their number and whether there may be others."""
    kind = arm.of_class
    E, links = eliminate(program, kind, numbers, arm.features, X)
    c = polynomial(program, E)
    cells = isolate(program, c, in_doubt)
    candidates = program.scratch("candidates", kind.n_branches + 1, N_JOINTS)
    state, to, candidate = (program.scratch(*size) for size in (("state", 1, 2), ("to", 1, 1), ("candidate", 1, 6)))
    fit, is_there = program.scratch("fit", 1, 1), program.scratch("root_there", 1, 1)
    place = program.table("root_place", numbered(MOST_ROOTS))
    state[0] = program.step(no_candidates, cells.doubt[0])
    with program.each(MOST_ROOTS) as i:
        is_there[0] = program.step(partial(is_listed, in_doubt), place[i], cells.count[0], state[0])
        with program.repeat_while(is_there, 1):
            root = refine(program, c, cells, i)
            candidate[0], fit[0] = program.step(
                partial(at_root, kind), numbers[0], E[0, 3 * SIZE], links[0], root[0]
            )
            to[0], state[0] = program.step(partial(accepted, kind), fit[0], root[0], state[0])
            candidates[to.lane()] = program.step(as_it_is, candidate[0])
    return candidates, state


def at_root(kind: SixRevoluteClass, row: Any, E: Any, links: Any, root: Any) -> Any:
    """The candidate (6,) of a root, and the defect of the kernel vector."""
    arm = kind.numbers(row)
    y, defect, _ = better_from_root(E.reshape(3, SIZE, SIZE), root[0], arm.scan, links.reshape(6, 3, 4))
    return arm.order @ (y + arm.offsets), defect


def accepted(kind: SixRevoluteClass, defect: Any, root: Any, state: Any) -> Any:
    """The row where the candidate of a root goes, the last if it is none, and the state after it."""
    count, doubt = state
    last, (_, inside, clear) = float(kind.n_branches), root
    good = less(defect[0], CLEAR)
    full = less_equal(last, count)
    doubt = logical_or(doubt, logical_not(logical_and(clear, logical_or(logical_not(inside), good))))
    kept = logical_and(inside, logical_and(good, logical_not(full)))
    return select(kept, count, last), np.array([count + kept, logical_or(doubt, logical_and(inside, full))])

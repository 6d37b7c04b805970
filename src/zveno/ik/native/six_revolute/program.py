"""All solutions of a pose by any arm with six revolute joints, as one program with loops:

    pose → elimination of two angles → determinant at 32 angles → its polynomial → cells with one root each
    → for every root: kernel vector → angles → for every candidate: Newton's method, judgement → sorted rows

The functions are those of `zveno.ik.six_revolute`, and so are the bounds of doubt, with room for rounding. A pose
is sure where every root is simple and belongs to a configuration that closes the loop, is regular, apart from the
others and clear of limits. Then there is nothing for the checks of `zveno.ik.answer` to do; all other poses are
theirs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....kernels.builder import Builder, Rows
from ....kernels.ops import less, less_equal, logical_and, logical_not, logical_or, where
from ....kernels.program import Variable
from ...six_revolute.back_substitution import SPURIOUS, better_from_root
from ...six_revolute.equations import SIZE
from ..candidates import is_listed, judged_candidates, no_candidates, numbered
from ..held_joint import HeldJoint, arm_input
from ..program import as_it_is, limits_input, own_limits, put_in_order, tell_in_order
from ..verdicts import N_ROW
from .elimination import eliminate, polynomial, seen_from_arm
from .search import MOST_ROOTS, isolate, refine
from .tables import N_JOINTS, SixRevoluteClass, SixRevoluteTables

MOST_STEPS = 6
"""Maximum number of Newton steps; candidates of a simple root need one or two."""
CLEAR = 0.1 * SPURIOUS
"""Defect of a kernel vector up to which its root belongs to a configuration, if one closes the loop."""


def all_solutions(program: Builder, arm: SixRevoluteTables) -> None:
    """Write answer (17, 8) of a pose T (4, 4) within limits (3, 6): rows as in `zveno.ik.native.program`."""
    T = program.input("T", (4, 4), 16)
    answer = program.output("answer", (arm.of_class.n_branches + 1, N_ROW), N_ROW)
    numbers, limits = program.table("arm", arm.row), limits_input(program, arm.of_class)
    judged = _judged(program, arm.of_class, T, numbers, limits, _features(program, arm))
    put_in_order(program, arm.of_class, *judged, answer)


def on_controller(
    program: Builder,
    arm: SixRevoluteTables,
    held: HeldJoint | None = None,
    again: SixRevoluteTables | None = None,
) -> None:
    """Write q (16, 6) of a pose T (4, 4), sorted, NaN behind the last; their number, and a status of `STATUSES`.

    If nothing is certified, the status is undecided and some of the solutions are listed. With `again`, tables
    of the same arm for the polynomial of another joint, such a pose is solved once more with these.
    """
    kind = arm.of_class
    if again is None:
        T, numbers, angle = arm_input(program, arm, held)
        limits = own_limits(program, arm)
        judged = _judged(program, kind, T, numbers, limits, _features(program, arm), in_doubt=True)
        tell_in_order(program, kind, *judged, held, angle)
        return
    limits = own_limits(program, arm)
    T, arms = program.input("T", (4, 4), 16), program.table("arms", np.concatenate([arm.row, again.row]))
    numbers, unsure = program.scratch("numbers", 1, arm.row.shape[1]), program.scratch("unsure", 1, 1)
    unsure[0] = program.step(at_first, T[0])
    with program.repeat_while(unsure, 2) as attempt:
        numbers[0] = program.step(as_it_is, arms[attempt])
        features = _features_of_two(program, arm, again, attempt) if arm.needs_features else None
        verdict = tell_in_order(
            program, kind, *_judged(program, kind, T, numbers, limits, features, in_doubt=True), None, None
        )
        unsure[0] = program.step(is_undecided, verdict[0])


def at_first(T: Any) -> Any:
    """Return the state in which nothing is certified yet, for any pose."""
    return 1.0


def is_undecided(last: Any) -> Any:
    """Return True if the last row of an answer certifies nothing for a pose."""
    rigid, every = last[3:5]
    return logical_and(rigid, logical_not(every))


def _features(program: Builder, arm: SixRevoluteTables) -> Rows | None:
    return program.table("features", arm.features) if arm.needs_features else None


def _features_of_two(program: Builder, arm: SixRevoluteTables, again: SixRevoluteTables, attempt: Variable) -> Rows:
    both = program.table("both_features", [np.ravel(each.features) for each in (arm, again)])
    features = program.scratch("features", *arm.features.shape)
    features[0, len(arm.features)] = program.step(as_it_is, both[attempt])
    return features


def _judged(
    program: Builder,
    kind: SixRevoluteClass,
    T: Rows,
    numbers: Rows,
    limits: Rows,
    features: Rows | None,
    in_doubt: bool = False,
) -> tuple[Rows, Rows]:
    """Write rows of the answer, and keys, of all candidates of a pose; of ambiguous poses only if `in_doubt`."""
    target, X, rigid = program.scratch("target", 1, 12), program.scratch("X", 1, 12), program.scratch("rigid", 1, 1)
    target[0], X[0], rigid[0] = program.step(partial(seen_from_arm, kind), numbers[0], T[0])
    candidates, state = _candidates(program, kind, numbers, features, X, in_doubt)
    return judged_candidates(program, kind, numbers, limits, target, rigid, candidates, state, MOST_STEPS, in_doubt)


def _candidates(
    program: Builder, kind: SixRevoluteClass, numbers: Rows, features: Rows | None, X: Rows, in_doubt: bool
) -> tuple[Rows, Rows]:
    """Write candidates, and one row with their number and whether there may be others."""
    E, links = eliminate(program, kind, numbers, features, X)
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
    """Return the candidate (6,) of a root, and the defect of the kernel vector."""
    arm = kind.numbers(row)
    y, defect, _ = better_from_root(E.reshape(3, SIZE, SIZE), root[0], arm.scan, links.reshape(6, 3, 4))
    return arm.order @ (y + arm.offsets), defect


def accepted(kind: SixRevoluteClass, defect: Any, root: Any, state: Any) -> Any:
    """Return the row where the candidate of a root goes, the last if it is rejected, and the state after it."""
    count, doubt = state
    last, (_, inside, clear) = float(kind.n_branches), root
    good = less(defect[0], CLEAR)
    full = less_equal(last, count)
    doubt = logical_or(doubt, logical_not(logical_and(clear, logical_or(logical_not(inside), good))))
    kept = logical_and(inside, logical_and(good, logical_not(full)))
    return where(kept, count, last), np.array([count + kept, logical_or(doubt, logical_and(inside, full))])

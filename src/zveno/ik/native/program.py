"""All solutions of a pose by a closed form, as one program with loops:

    pose → for every branch: angles, Newton's method where rounding left something, judgement → ranks → sorted rows

It says for every pose whether that is sure. It is where every branch clearly exists or clearly does not, solutions
are apart from each other, from limits and from singularities, and the loop is closed to rounding. Then there is
nothing for the checks of `zveno.ik.answer` to do; all other poses are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...kernels.builder import Builder, Part, Rows, Value
from ...kernels.program import Lane, Variable
from .._judge import N_KNOWN
from .arm_tables import ArmTables, JudgedClass, Tables
from .branches import branch, seen_from_arm
from .held_joint import HeldJoint, arm_input, with_joint
from .verdicts import N_KEYS, N_ROW, concluded, judged, ranked, told

MOST_STEPS = 4
"""Newton steps at most; a closed form needs one, and only near singularities."""


def all_solutions(program: Builder, arm: ArmTables) -> None:
    """Write answer (branches + 1, 8) of a pose T (4, 4) within limits (3, n): sorted rows q, residual,
    condition, NaN behind the last; then a row with their number, whether that is certain, how many solutions
    limits exclude, whether T is rigid, whether it is certain that there is no other, and zeros."""
    kind = arm.of_class
    T = program.input("T", (4, 4), 16)
    answer = program.output("answer", (kind.n_branches + 1, N_ROW), N_ROW)
    signs = program.table("signs", kind.signs)
    rows, keys = program.scratch("rows", kind.n_branches, N_ROW), program.scratch("keys", kind.n_branches, N_KEYS)
    seen, solve = _branch_solver(program, arm, program.table("arm", arm.row), limits_input(program, kind))
    seen(T)
    with program.each(kind.n_branches) as i:
        rows[i], keys[i] = solve(signs[i])
    put_in_order(program, kind, rows, keys, answer)


def _branch_solver(
    program: Builder, arm: ArmTables, numbers: Rows, limits: Rows
) -> tuple[Callable[[Rows], None], Callable[[Part], Any]]:
    """Return functions that write into a program: one takes a pose, one gives row and keys of a branch."""
    kind, n = arm.of_class, arm.of_class.n
    target, displacement = program.scratch("target", 1, 12), program.scratch("displacement", 1, 12)
    x, again = program.scratch("x", 1, n), program.scratch("again", 1, 1)
    edges, verdict = program.scratch("edges", 1, 2), program.scratch("verdict", 1, n + N_KNOWN)
    rigid = program.scratch("rigid", 1, 1)

    def seen(T: Rows) -> None:
        target[0], displacement[0], rigid[0] = program.step(partial(seen_from_arm, kind), numbers[0], T[0])

    def solve(signs: Part) -> Any:
        x[0], edges[0], again[0], verdict[0] = program.step(
            partial(branch, kind), numbers[0], signs, displacement[0]
        )
        with program.repeat_while(again, MOST_STEPS):
            verdict[0], x[0], again[0] = program.step(partial(judged, kind), numbers[0], limits[0], x[0], target[0])
        return program.step(partial(concluded, kind, 0.0), numbers[0], limits[0], edges[0], rigid[0], verdict[0])

    return seen, solve


def limits_input(program: Builder, kind: JudgedClass) -> Rows:
    """Declare limits as an input (3, n) of a program, one row: see `zveno.ik.native.arm_tables.Tables`."""
    return program.input("limits", (3, kind.n), 3 * kind.n)


def own_limits(program: Builder, arm: Tables) -> Rows:
    """Write the limits of an arm as constants of a program, one row."""
    return program.table("limits", arm.limits.reshape(1, -1))


def put_in_order(program: Builder, kind: JudgedClass, rows: Rows, keys: Rows, answer: Rows) -> None:
    """Write rows to the places of their keys in an answer, and its last row."""
    rank, last = _ranks(program, kind, keys)
    answer[kind.n_branches] = last
    with program.each(kind.n_branches) as i:
        place = rank(i)
        answer[place] = program.step(as_it_is, rows[i])


def _ranks(program: Builder, kind: JudgedClass, keys: Rows) -> tuple[Callable[[Variable], Lane], Value]:
    """Return a function that writes a step for the place of a row in every lane, and the last row of an answer."""
    ranks, rank = program.scratch("ranks", kind.n_branches, 1), program.scratch("rank", 1, 1)
    ranks[0, kind.n_branches], last = program.step(partial(ranked, kind), keys[0, kind.n_branches])

    def place(i: Variable) -> Lane:
        rank[0] = program.step(as_it_is, ranks[i])
        return rank.lane()

    return place, last


def on_controller(program: Builder, arm: ArmTables, held: HeldJoint | None = None) -> None:
    """Write sorted q (branches, n) of a pose T (4, 4), NaN behind the last; count, and a status of `STATUSES`.

    If nothing is certified, the status is undecided and some of the solutions are listed. Of seven joints one
    is held at an angle that is an input too.
    """
    kind = arm.of_class
    T, numbers, angle = arm_input(program, arm, held)
    signs = program.table("signs", kind.signs)
    rows, keys = program.scratch("rows", kind.n_branches, N_ROW), program.scratch("keys", kind.n_branches, N_KEYS)
    seen, solve = _branch_solver(program, arm, numbers, own_limits(program, arm))
    seen(T)
    with program.each(kind.n_branches) as i:
        rows[i], keys[i] = solve(signs[i])
    tell_in_order(program, kind, rows, keys, held, angle)


def tell_in_order(
    program: Builder, kind: JudgedClass, rows: Rows, keys: Rows, held: HeldJoint | None, angle: Rows | None
) -> Rows:
    """Write the outputs q, count and status of a controller from rows and keys; return the answer's last row."""
    n = kind.n + (held is not None)
    q = program.output("q", (kind.n_branches, n), n)
    count, status = program.output("count", ()), program.output("status", ())
    verdict = program.scratch("answer", 1, N_ROW)
    rank, last = _ranks(program, kind, keys)
    verdict[0] = last
    count[0], status[0] = program.step(told, verdict[0])
    with program.each(kind.n_branches) as i:
        place = rank(i)
        given = () if angle is None else (angle[0],)
        q[place] = program.step(partial(coordinates, kind, held), rows[i], *given)
    return verdict


def coordinates(kind: JudgedClass, held: HeldJoint | None, row: Any, *angle: Any) -> Any:
    """Return q of a row."""
    return row[: kind.n] if held is None else with_joint(held, row[: kind.n], *angle)


def as_it_is(row: Any) -> Any:
    """Return a row unchanged, to be written to another."""
    return row

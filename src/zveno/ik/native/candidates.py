"""Evaluation of a candidate list whose length a program finds at run time: steps that several programs share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...kernels.builder import Builder, Rows
from ...kernels.ops import less, logical_and, logical_not
from .._judge import N_KNOWN
from .arm_tables import JudgedClass
from .verdicts import N_KEYS, N_ROW, NOT_A_NUMBER, concluded, judged, newton_step


def judged_candidates(
    program: Builder,
    kind: JudgedClass,
    numbers: Rows,
    limits: Rows,
    target: Rows,
    rigid: Rows,
    candidates: Rows,
    state: Rows,
    most_steps: int,
    in_doubt: bool = False,
) -> tuple[Rows, Rows]:
    """Write the evaluation of all candidates: rows of the answer, and keys, empty after the last.

    Args:
        program: the builder.
        kind: the class of the arm.
        numbers: of the arm, one row.
        limits: one row, see `zveno.ik.native.arm_tables.Tables`.
        target, rigid: the target, and whether it is rigid.
        candidates: one per row, in chain units.
        state: one row with their number, and whether there may be others.
        most_steps: Newton steps at most.
        in_doubt: True to list what was found even where there may be others.
    """
    rows, keys = program.scratch("rows", kind.n_branches, N_ROW), program.scratch("keys", kind.n_branches, N_KEYS)
    widths = (("x", kind.n), ("again", 1), ("there", 1), ("edges", 2), ("verdict", kind.n + N_KNOWN))
    x, again, is_there, edges, verdict = (program.scratch(name, 1, width) for name, width in widths)
    place = program.table("place", numbered(kind.n_branches))
    with program.each(kind.n_branches) as i:
        rows[i], keys[i], is_there[0] = program.step(partial(nothing, in_doubt), rigid[0], state[0], place[i])
        with program.repeat_while(is_there, 1):
            x[0], edges[0], again[0], verdict[0] = program.step(
                partial(begun, kind), numbers[0], candidates[i], target[0]
            )
            with program.repeat_while(again, most_steps):
                verdict[0], x[0], again[0] = program.step(
                    partial(judged, kind), numbers[0], limits[0], x[0], target[0]
                )
            rows[i], keys[i] = program.step(
                partial(concluded, kind, kind.bounds.twins), numbers[0], limits[0], edges[0], rigid[0], verdict[0]
            )
    return rows, keys


def numbered(n: int) -> np.ndarray:
    """Return a table of n rows with their numbers."""
    return np.arange(n)[:, None]


def is_listed(in_doubt: bool, place: Any, count: Any, state: Any) -> Any:
    """Return True if a root with this index exists, and no root was ambiguous so far (ignored with `in_doubt`)."""
    there = less(place[0], count[0])
    return there if in_doubt else logical_and(there, logical_not(state[1]))


def no_candidates(doubt: Any) -> Any:
    """Return zero candidates, and a flag: there may be others."""
    return np.array([0.0, doubt[0]])


def nothing(in_doubt: bool, rigid: Any, state: Any, place: Any) -> Any:
    """Return an empty row, its keys with the certainty of the candidates, and a flag: `place` is a candidate's."""
    sure = logical_and(rigid[0], logical_not(state[1]))
    keys = np.array([0.0, 0.0, 0.0, sure, 0.0, rigid[0], 0.0])
    return (
        np.array([NOT_A_NUMBER] * N_ROW),
        keys,
        logical_and(rigid[0] if in_doubt else sure, less(place[0], state[0])),
    )


def begun(kind: JudgedClass, row: Any, candidate: Any, target: Any) -> Any:
    """Return a candidate, which certainly exists, after a Newton step, which is usually needed and cheaper than
    an evaluation; that it must be evaluated, and its evaluation until then."""
    x = np.array(newton_step(kind, row, candidate, target))
    return x, np.array([1.0, 1.0]), 1.0, np.zeros(len(candidate) + N_KNOWN)

"""Statuses of a draft: lowered where a check fails, raised where counting decides."""

from __future__ import annotations

import numpy as np

from ..clock import OVER, time_is_over
from ..newton import lanes_of
from ..solutions import COMPLETE, SAMPLED, UNDECIDED, Solver
from .candidates import checked_candidates
from .draft import Draft
from .mobility import never_regular
from .multiplicity import countable, sides
from .orientation import unbalanced


def lower_claims(draft: Draft) -> None:
    """Mark poses undecided if the arm is singular everywhere or their roots do not balance."""
    never_regular(draft)
    unbalanced(draft)


def say_unfinished(draft: Draft) -> None:
    """Note on undecided and sampled poses that the time is over."""
    if time_is_over():
        for i in np.flatnonzero(np.isin(draft.codes, (UNDECIDED, SAMPLED))).tolist():
            note = draft.notes.get(i, OVER)
            draft.notes[i] = note if OVER in note else f"{note}, {OVER}"


def decide_double_roots(draft: Draft, solver: Solver) -> None:
    """Mark poses complete that are undecided for double roots alone, if counting beside them agrees.

    The draft holds the solutions inside limits that the solver gave.
    """
    problem, targets = draft.problem, draft.targets
    for i, every in draft.roots.items():
        roots = [root for root in every if problem.inside(problem.wrapped(problem.from_units(root.x)))]
        if draft.codes[i] != UNDECIDED or i in draft.notes or not countable(problem):
            continue
        if not roots or any(root.kind != "double" for root in roots):
            continue
        if time_is_over():
            draft.notes[i] = OVER
            continue
        T, split = sides(problem, targets.T[i], roots)
        raw = solver.solve(problem, T)
        rows = draft.x[draft.pose == i]
        held = [int(root.holds(problem, rows).sum()) for root in roots]
        if held != [2 if root.apart else 1 for root in roots]:
            continue
        regular = len(rows) - sum(held)
        expected = [regular + 2 * number for number in split]
        pose, rows, _ = checked_candidates(problem, lanes_of(problem, T), raw)
        if raw.complete.all() and np.bincount(pose[rows.over <= 0], minlength=2).tolist() == expected:
            draft.codes[i] = COMPLETE

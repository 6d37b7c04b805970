"""Closed loops of whole bodies: steps and postures end in states in which the independent rows hold to rounding."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...algorithms.loop_rows import loop_rows
from ...algorithms.projection import CLOSED, Division
from ...fit.quadratic.steps import SOLVED
from ...kernels.builder import Builder, Rows
from ...kernels.kernel import Kernel
from ...kernels.ops import abs, equal, less, logical_and, maximum, where
from ...loops.functions import closed_near, sound
from ...loops.selection import selection
from ...mechanism import Mechanism

OPEN, SHORTENED = 4.0, 5.0
"""Status of a step behind which the loops do not close, and of one that was shortened so that they do."""
STEPS = 6
"""Newton steps of the dependent joints behind a step; a step of 0.1 rad needs four."""
SHUT = 1e-12
"""Largest |φ| of independent rows, m or rad, of a result."""


def division_of(mechanism: Mechanism) -> Division | None:
    """Return the division of velocities on the branch of the reference; None without loops."""
    if not mechanism.loops:
        return None
    chosen = selection(mechanism)
    return Division(chosen.pivots, tuple(chosen.free.tolist()), tuple(chosen.driven.tolist()))


def write_closing(program: Builder, mechanism: Mechanism, division: Division, q: Rows) -> None:
    """Close the loops at q, in place."""
    with program.each(STEPS):
        q[0] = program.step(partial(_nearer, mechanism, division), q[0])


def _nearer(mechanism: Mechanism, division: Division, q: Any) -> Any:
    return closed_near(mechanism, division, q, 1)


def is_shut(mechanism: Mechanism, division: Division, q: Any) -> Any:
    """Return True where independent rows hold to rounding, and the others as far as the file closes them."""
    value = loop_rows(mechanism, q, np.zeros(mechanism.n_v)).value
    own: Any = 0.0
    every: Any = 0.0
    for row, part in enumerate(value):
        every = maximum(every, abs(part))
        if row in {row for row, _ in division.pivots}:
            own = maximum(own, abs(part))
    loose = max(CLOSED, 10.0 * float(np.abs(selection(mechanism).left).max(initial=0.0)))
    return logical_and(less(own, SHUT), less(every, loose))


def leads_on(mechanism: Mechanism, division: Division, q: Any, after: Any) -> Any:
    """Return True where a step ends with closed loops, on the branch where it began."""
    before, behind = (sound(mechanism, division, x)[2] for x in (q, after))
    return logical_and(is_shut(mechanism, division, after), less(0.0, before * behind))


def still_open(mechanism: Mechanism, division: Division, q: Any, after: Any, share: Any) -> tuple[Any, Any]:
    """Return the share of a step to be tried next, a quarter if the loops are open, and whether they are."""
    shut = leads_on(mechanism, division, q, after)
    return np.array([where(shut, share[0], 0.25 * share[0])]), np.array([where(shut, 0.0, 1.0)])


def kept(
    mechanism: Mechanism, division: Division, q: Any, after: Any, status: Any, share: Any, settings: Any
) -> tuple[Any, Any, Any]:
    """Return (v, q, status) of a step from q to `after`; the robot stands still if there is none that closes."""
    solved = equal(status[0], SOLVED)
    moves = logical_and(solved, leads_on(mechanism, division, q, after))
    after = np.array([where(moves, new, old) for new, old in zip(after, q, strict=True)])
    v = mechanism.difference(q, after) / settings[0]
    taken = where(less(share[0], 1.0), SHORTENED, SOLVED)
    status = where(solved, where(moves, taken, OPEN), status[0])
    return np.array([where(moves, part, 0.0) for part in v]), after, np.array([status])


def _closed(mechanism: Mechanism, division: Division, q: Any) -> tuple[Any, Any]:
    after = closed_near(mechanism, division, q, 2)
    return after, where(is_shut(mechanism, division, after), 1.0, 0.0)


@lru_cache(maxsize=32)
def closing_kernel(mechanism: Mechanism) -> Kernel:
    """Return the kernel q → (closed q, 1 if it is closed)."""
    from ...kernels.compile import compiled  # not needed to import the package

    constants = mechanism, division_of(mechanism)
    return compiled(_closed, {"q": (mechanism.n_q,)}, constants=constants, outputs=("q", "shut"))

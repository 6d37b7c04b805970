"""A dual active-set method as a structured program (Goldfarb and Idnani 1983, on a tableau of principal pivots):

    minimise ½ xᵀH x + gᵀx   with   lower ≤ x ≤ upper,   low ≤ C x ≤ high.

The tableau holds the inverse of the KKT matrix of the bounds and rows that are held; taking up or letting go of
one is one sweep of it, O(n²), in every lane for itself. The step in all unknowns and multipliers per unit of a new
multiplier is a column of the tableau. So the method runs alike in all lanes, and bounds cost no rows.

It starts from the bounds that were held the last time, which are tried first (see `first_try`). Those whose
multiplier has the wrong sign are let go one by one, which ends with signs that are right; from there on the dual
objective grows with every step, and the method is finite. Rows come into slots of the tableau when they are
violated. Values are computed anew from H, g and C, with the tableau as preconditioner, when the method has ended,
and what is violated then is taken up in a second round.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...kernels.math import equal, greater, select
from ...kernels.structured.build import Builder
from ...kernels.structured.parts import Rows
from . import steps
from .first_try import UNROLLED, first_try
from .given_and_found import Answer, General
from .steps import Sizes

ROUNDS = 2
"""The method, and once more after values were computed anew."""
STEPS = 10
"""Steps of the method at most, in multiples of the order of the tableau; the usual number is that of changes."""


class QuadraticProgram:
    """Writes the method into a program. Names of its arrays begin with `name`."""

    program: Builder
    sizes: Sizes
    scales: Rows
    g: Rows
    low: Rows
    high: Rows
    side: Rows
    p: Rows
    u: Rows
    w: Rows
    error: Rows
    out: Rows
    f: Rows
    keep: Rows
    column: Rows
    index: Rows
    mode: Rows
    fill: Rows
    exchanged: Rows
    basic: Rows
    pending: Rows
    status: Rows
    running: Rows
    again: Rows
    steps: Rows
    changed: Rows
    x: Rows
    worst: Rows
    eye: Rows
    is_row: Rows
    pull: Rows
    row_low: Rows
    row_high: Rows
    divisor: Rows
    row_side: Rows
    row_u: Rows
    value: Rows
    total: Rows
    slot_of: Rows
    row: Rows
    seen: Rows
    numbers: Rows

    def __init__(self, program: Builder, sizes: Sizes, name: str = "qp"):
        self.program, self.sizes = program, sizes
        n, m, order = sizes.n, sizes.m, sizes.order

        def vector(what: str, rows: int = order, zero: bool = True) -> Rows:
            return program.scratch(f"{name}_{what}", rows, 1, zero=zero)

        self.T = program.scratch(f"{name}_tableau", order, order, zero=True)
        self.scales, self.g = vector("scales", n), vector("g", n)
        self.low, self.high, self.side = vector("low"), vector("high"), vector("side")
        self.p, self.u, self.w, self.error = vector("p"), vector("u"), vector("w"), vector("error")
        self.out, self.f, self.keep = vector("sweep"), vector("f"), vector("keep")
        self.column = vector("column")
        self.index, self.mode, self.fill = vector("index", 1), vector("mode", 1), vector("fill", 1)
        self.exchanged, self.basic = vector("exchanged", 1), vector("basic", 1)
        self.pending, self.status, self.running = vector("pending", 1), vector("status", 1), vector("running", 1)
        self.again = vector("again", 1)
        self.steps, self.changed, self.x = vector("steps", 1), vector("changed", 1), vector("x", n)
        self.worst = program.scratch(f"{name}_worst", 1, 2, zero=True)
        self.eye = program.table(f"{name}_eye", np.eye(order))
        self.is_row = program.table(f"{name}_is_row", (np.arange(order) >= n).astype(float)[:, None])
        self.pull = vector("pull", n)
        if m:
            self.C = program.scratch(f"{name}_C", m, n, zero=True)
            self.row_low, self.row_high = vector("row_low", m), vector("row_high", m)
            # One more for slots that hold no row.
            self.divisor, self.row_side = vector("divisor", m), vector("row_side", m + 1)
            self.row_u = vector("row_u", m + 1)
            self.value, self.total = vector("value", 1), vector("total")
            self.slot_of = vector("slot_of", order)  # the row that is in a slot
            self.row, self.seen = vector("row", 1), vector("seen")
            self.numbers = program.table(f"{name}_numbers", np.arange(m)[:, None])

    def write(
        self, H: Rows, g: Rows, lower: Rows, upper: Rows, warm: Rows, general: General | None = None
    ) -> Answer:
        """The method for H (n rows of n), and g, lower, upper, sides to begin with, in n rows of one number."""
        program, sizes, n = self.program, self.sizes, self.sizes.n
        self.H = H
        self.scales[0, n] = program.step(partial(steps.scales, n), H[0, n])
        started = program.step(
            partial(steps.started, n), g[0, n], lower[0, n], upper[0, n], warm[0, n], self.scales[0, n]
        )
        self.g[0, n], self.low[0, n], self.high[0, n], self.side[0, n], self.p[0, n] = started
        if general is not None:
            self._scale_rows(general)
            self.slot_of[0, sizes.order] = program.step(partial(np.full, sizes.order, float(sizes.m)))
        self.again[0] = program.step(partial(np.ones, 1))
        if n <= UNROLLED:
            self._try_first()
        with program.repeat_while(self.again, 1):
            self._run_dual_method()
            self.again[0] = program.step(partial(np.zeros, 1))
        self.x[0, n] = program.step(_unscaled, self.p[0, n], self.scales[0, n])
        if sizes.m:
            self._give_rows()
        rows = (self.row_side, self.row_u) if sizes.m else (None, None)
        return Answer(self.x, self.side, self.u, *rows, self.status, self.steps, self.scales)

    # --- parts

    def _try_first(self) -> None:
        """The bounds held the last time; what is not optimal with them, or misses a row, is for the dual method."""
        program, n = self.program, self.sizes.n
        vectors = (self.g, self.scales, self.low, self.high, self.side)
        self.p[0, n], self.u[0, n], self.side[0, n], self.again[0] = program.step(
            partial(first_try, n), self.H[0, n], *(rows[0, n] for rows in vectors)
        )
        if self.sizes.m:
            self._find_worst_row()
            self.again[0] = program.step(_unless_kept, self.again[0], self.worst[0])

    def _run_dual_method(self) -> None:
        program, sizes, n = self.program, self.sizes, self.sizes.n
        with program.each(n) as i:
            self.T[i] = program.step(partial(steps.scaled_row, sizes), self.H[i], self.scales[i], self.scales[0, n])
        self._sweep_free()
        with program.each(ROUNDS):
            self._refresh()
            self.pending[0], self.status[0], self.running[0] = program.step(_begun, self.status[0])
            self.changed[0] = program.step(partial(np.zeros, 1))
            with program.repeat_while(self.running, STEPS * sizes.order):
                self._step()
        with program.repeat_while(self.changed, 1):
            self._refresh()

    def _scale_rows(self, general: General) -> None:
        program, n = self.program, self.sizes.n
        with program.each(self.sizes.m) as j:
            given = (rows[j + general.first] for rows in (general.C, general.low, general.high))
            scaled = program.step(steps.scaled_constraint, *given, self.scales[0, n])
            self.C[j], self.row_low[j], self.row_high[j], self.divisor[j] = scaled

    def _sweep_free(self) -> None:
        """The tableau of the unknowns that are free at the start."""
        program, n, order = self.program, self.sizes.n, self.sizes.order
        with program.each(n) as k:
            swept = program.step(steps.first_sweep, self.eye[k], self.side[k], self.T[k])
            self.out[0, order], self.f[0, order], self.keep[0, order], self.T[k] = swept
            self._update(n)

    def _update(self, count: int) -> None:
        """The tableau after a sweep, in its first rows."""
        order = self.sizes.order
        with self.program.each(count) as i:
            self.T[i] = self.program.step(
                steps.updated, self.T[i], self.f[i], self.out[0, order], self.keep[0, order]
            )

    def _refresh(self) -> None:
        """Values and multipliers computed anew from H, g and C at the bounds and rows that are held."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        self.pull[0, n] = program.step(partial(np.zeros, n))
        if sizes.m:
            with program.each(sizes.slots) as s:
                self.row[0] = program.step(_same, self.slot_of[s + n])
                row = self.row.lane()
                self.pull[0, n] = program.step(steps.weighted, self.u[s + n], self.C[row], self.pull[0, n])
                self.p[s + n] = program.step(steps.row_value, self.C[row], self.p[0, n])
        with program.each(n) as i:
            self.w[i] = program.step(
                steps.gradient,
                *(self.H[i], self.g[i], self.scales[i], self.scales[0, n], self.p[0, n], self.pull[i]),
            )
        self.error[0, order] = program.step(
            partial(steps.errors, sizes),
            *(rows[0, order] for rows in (self.w, self.p, self.side, self.low, self.high)),
        )
        with program.each(order) as i:
            self.p[i], self.u[i] = program.step(
                steps.corrected,
                *(self.is_row[i], self.T[i], self.error[0, order], self.w[i], self.p[i], self.u[i], self.side[i]),
            )

    def _step(self) -> None:
        program, sizes, order = self.program, self.sizes, self.sizes.order
        if sizes.m:
            self._find_worst_row()
        vectors = tuple(rows[0, order] for rows in (self.p, self.u, self.side, self.low, self.high))
        self.index[0], self.mode[0], self.fill[0], self.status[0], self.running[0] = program.step(
            partial(steps.chosen, sizes), *vectors, self.worst[0], self.pending[0], self.status[0]
        )
        with program.repeat_while(self.running, 1):
            if sizes.m:
                with program.repeat_while(self.fill, 1):
                    self._fill_slot()
            self.column[0, order] = program.step(_same, self.T[self.index.lane()])
            stepped = program.step(
                partial(steps.stepped, sizes),
                *(rows[0, order] for rows in (self.column, self.p, self.u, self.side, self.low, self.high)),
                *(self.index[0], self.mode[0], self.status[0]),
            )
            self.p[0, order], self.u[0, order], self.side[0, order] = stepped[:3]
            self.exchanged[0], self.basic[0], self.pending[0], self.status[0], self.running[0] = stepped[3:]
            with program.repeat_while(self.running, 1):
                self._exchange()

    def _exchange(self) -> None:
        program, order = self.program, self.sizes.order
        if self.sizes.m:
            self._mark_row()
        self.column[0, order] = program.step(_same, self.T[self.exchanged.lane()])
        self.out[0, order], self.f[0, order], self.keep[0, order] = program.step(
            partial(steps.exchange, order), self.exchanged[0], self.basic[0], self.column[0, order]
        )
        self.T[self.exchanged.lane()] = program.step(partial(np.zeros, order))
        self._update(order)
        self.steps[0], self.changed[0] = program.step(_one_more, self.steps[0])

    def _find_worst_row(self) -> None:
        program, n = self.program, self.sizes.n
        self.worst[0] = program.step(_none_worse)
        with program.each(self.sizes.m) as j:
            self.value[0] = program.step(steps.row_value, self.C[j], self.p[0, n])
            self.worst[0] = program.step(
                steps.worse,
                *(self.value[0], self.row_low[j], self.row_high[j], self.row_side[j]),
                *(self.numbers[j], self.worst[0]),
            )

    def _fill_slot(self) -> None:
        """The worst row comes into the slot that was chosen, as one that is not held."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        self.row[0] = program.step(_second, self.worst[0])
        slot, row = self.index.lane(), self.row.lane()
        self.slot_of[slot] = program.step(_same, self.row[0])
        self.low[slot] = program.step(_same, self.row_low[row])
        self.high[slot] = program.step(_same, self.row_high[row])
        self.p[slot] = program.step(steps.row_value, self.C[row], self.p[0, n])
        self.u[slot] = program.step(partial(np.zeros, 1))
        self.seen[0, order] = program.step(partial(steps.seen, sizes), self.C[row], self.side[0, order])
        self.total[0, order] = program.step(partial(np.zeros, order))
        with program.each(n) as i:
            self.total[0, order] = program.step(steps.weighted, self.seen[i], self.T[i], self.total[0, order])
        self.total[0, order] = program.step(
            partial(steps.slot_row, sizes), self.C[row], self.total[0, order], self.side[0, order], self.index[0]
        )
        with program.each(order) as i:
            self.T[i] = program.step(partial(steps.with_column, sizes), self.T[i], self.total[i], self.index[0])
        self.T[slot] = program.step(_same, self.total[0, order])
        self.fill[0] = program.step(partial(np.zeros, 1))

    def _mark_row(self) -> None:
        """Rows know whether they are held."""
        program = self.program
        self.row[0] = program.step(_same, self.slot_of[self.exchanged.lane()])
        self.row_side[self.row.lane()] = program.step(_same, self.side[self.exchanged.lane()])

    def _give_rows(self) -> None:
        """Multipliers of the rows from those of the slots."""
        program, n = self.program, self.sizes.n
        with program.each(self.sizes.slots) as s:
            self.row[0] = program.step(_same, self.slot_of[s + n])
            row = self.row.lane()
            self.row_u[row] = program.step(_plus_share, self.row_u[row], self.u[s + n], self.divisor[row])


def _begun(status: Any) -> Any:
    """Nothing is pending; what has ended without an optimum does not begin again."""
    begins = equal(status[0], steps.SOLVED)
    running = np.array([select(begins, 1.0, 0.0)])
    return np.array([-1.0]), np.array([select(begins, steps.RUNNING, status[0])]), running


def _unless_kept(again: Any, worst: Any) -> Any:
    """Go on also where a row is missed."""
    return np.array([select(greater(worst[0], 0.0), 1.0, again[0])])


def _same(x: Any) -> Any:
    return x


def _second(pair: Any) -> Any:
    return pair[1:]


def _one_more(count: Any) -> Any:
    """The number of steps, and that something changed since values were computed anew."""
    return count + 1.0, np.ones(1)


def _none_worse() -> Any:
    return np.array([-steps.LARGE, 0.0])


def _unscaled(p: Any, scales: Any) -> Any:
    return p * scales


def _plus_share(total: Any, u: Any, divisor: Any) -> Any:
    return total + u / divisor

"""A dual active-set method as a structured program (Goldfarb and Idnani 1983):

    minimise ½ xᵀH x + gᵀx   with   lower ≤ x ≤ upper,   low ≤ C x ≤ high.

Steps are along columns of the inverse of the KKT matrix of the active bounds and rows. This inverse is kept in
product form, see `sweeps`. H of the initially free unknowns is factored once, n³/6 products. Adding or removing an
active bound or row is one more sweep, O(n²), separately in every lane.

The method starts from a given active set, usually that of a similar program. Often the factorisation is then all
there is to do. Active bounds with a multiplier of the wrong sign are removed one by one until all signs are right.
From there on the dual objective grows with every step, so the method is finite. At the end, values are recomputed
from H, g and C, with the inverse as preconditioner. The method continues from there until nothing changes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...kernels.builder import Builder, Part, Rows
from . import flags, steps, sweeps
from .given_and_found import Answer, General
from .steps import Sizes

STEPS = 10
"""Maximum number of steps, in multiples of the order. Usually there is one step per change of the active set."""


class QuadraticProgram:
    """Writer of the method into a program. Names of its arrays begin with `name`."""

    program: Builder
    sizes: Sizes
    name: str
    r: Rows
    free: Rows
    scales: Rows
    g: Rows
    x: Rows
    pull: Rows
    xi: Rows
    w: Rows
    z: Rows
    Hx: Rows
    low: Rows
    high: Rows
    side: Rows
    p: Rows
    u: Rows
    unswept: Rows
    e: Rows
    y: Rows
    column: Rows
    pivot: Rows
    at: Rows
    own_share: Rows
    count: Rows
    room: Rows
    place: Rows
    left: Rows
    k: Rows
    meets: Rows
    index: Rows
    mode: Rows
    pending: Rows
    due: Rows
    kept: Rows
    target: Rows
    exchanged: Rows
    basic: Rows
    status: Rows
    running: Rows
    again: Rows
    begun: Rows
    arrived: Rows
    complete: Rows
    stale: Rows
    steps: Rows
    changed: Rows
    checks: Rows
    size: Rows
    column_size: Rows
    outside: Rows
    gap: Rows
    divisor: Rows
    row_u: Rows

    def __init__(self, program: Builder, sizes: Sizes, name: str = "qp"):
        self.program, self.sizes, self.name = program, sizes, name
        n, order = sizes.n, sizes.order
        packed = sweeps.below_diagonal(n)
        self.M: Rows = program.scratch(f"{name}_M", order, n)  # H, then C
        self.L: Rows = program.scratch(f"{name}_L", 1, packed)
        self.r, self.free = self._vector("r", n), self._vector("free")
        self.scales, self.g, self.x = self._vector("scales", n), self._vector("g", n), self._vector("x", n)
        self.pull, self.xi, self.w = self._vector("pull", n), self._vector("xi", n), self._vector("w", n)
        self.z, self.Hx = self._vector("z", n), self._vector("Hx", n)
        self.low, self.high, self.side = self._vector("low"), self._vector("high"), self._vector("side")
        self.p, self.u, self.unswept = self._vector("p"), self._vector("u"), self._vector("unswept")
        self.terms: Rows = self._vector("terms")
        self.e, self.y, self.column = self._vector("e"), self._vector("y"), self._vector("column")
        # Stored sweeps, and their shares of the current product.
        self.f: Rows = program.scratch(f"{name}_f", sizes.most_sweeps, order)
        labels = "pivot", "at", "own_share"
        self.pivot, self.at, self.own_share = (self._vector(label, sizes.most_sweeps) for label in labels)
        self.share: Rows = self._vector("share", sizes.most_sweeps)
        self.count, self.room, self.place = (self._vector(label, 1) for label in ("count", "room", "place"))
        self.left, self.k, self.meets = (self._vector(label, 1) for label in ("left", "k", "meets"))
        self.index, self.mode, self.pending = (self._vector(label, 1) for label in ("index", "mode", "pending"))
        self.due, self.kept = self._vector("due", 1), self._vector("kept", 1)
        self.target, self.exchanged, self.basic = (
            self._vector(label, 1) for label in ("target", "exchanged", "basic")
        )
        self.status, self.running, self.again = (self._vector(label, 1) for label in ("status", "running", "again"))
        self.begun, self.arrived = (self._vector(label, 1) for label in ("begun", "arrived"))
        self.complete, self.stale = (self._vector(label, 1) for label in ("complete", "stale"))
        self.steps, self.changed, self.checks = (self._vector(label, 1) for label in ("steps", "changed", "checks"))
        # Sizes of the terms that cancel in `y` at the target and in `column` at the index.
        self.size, self.column_size = self._vector("size", 1), self._vector("column_size", 1)
        self.outside, self.gap = self._vector("outside", 1), self._vector("gap", 1)
        if sizes.m:
            self.weights: Rows = self._vector("weights", sizes.m)
            self.bound: Rows = program.scratch(f"{name}_bound", 1, 2, zero=True)
            self.divisor, self.row_u = self._vector("divisor", sizes.m), self._vector("row_u", sizes.m)
            self.row_side: Rows = self._vector("row_side", sizes.m)

    def _vector(self, label: str, rows: int | None = None) -> Rows:
        return self.program.scratch(
            f"{self.name}_{label}", self.sizes.order if rows is None else rows, 1, zero=True
        )

    def write(
        self, H: Rows, g: Rows, lower: Rows, upper: Rows, warm: Rows, general: General | None = None
    ) -> Answer:
        """Write the method for H (n rows of n) and g, lower, upper and initial sides in n rows of one number."""
        program, sizes, n = self.program, self.sizes, self.sizes.n
        self.scales[0, n] = program.step(partial(steps.scales, n), H[0, n])
        with program.each(n) as i:
            self.M[i] = program.step(sweeps.scaled_row, H[i], self.scales[i], self.scales[0, n])
        started = program.step(steps.started, g[0, n], lower[0, n], upper[0, n], warm[0, n], self.scales[0, n])
        self.g[0, n], self.low[0, n], self.high[0, n], self.side[0, n], self.p[0, n] = started
        if general is not None:
            self._scale_rows(general)
        self.again[0], self.stale[0] = program.step(flags.started)
        with program.repeat_while(self.again, flags.CHECKED + STEPS * sizes.order):
            with program.repeat_while(self.stale, 1):
                self._factor()
            with program.repeat_while(self.complete, 1):
                self._refresh()
            self.status[0], self.running[0], self.changed[0] = program.step(flags.begun)
            with program.repeat_while(self.running, sizes.most_sweeps + 1):
                self._step()
            given = self.status[0], self.changed[0], self.checks[0], self.complete[0], self.room[0]
            self.again[0], self.stale[0], self.complete[0], self.checks[0] = program.step(flags.looked_at, *given)
        self._claim()
        self.x[0, n] = program.step(flags.unscaled, self.p[0, n], self.scales[0, n])
        if not sizes.m:
            return Answer(self.x, self.side, self.u, None, None, self.status, self.steps, self.scales)
        self.row_u[0, sizes.m] = program.step(flags.divided, self.u[n, sizes.m], self.divisor[0, sizes.m])
        self.row_side[0, sizes.m] = program.step(flags.same, self.side[n, sizes.m])
        return Answer(self.x, self.side, self.u, self.row_side, self.row_u, self.status, self.steps, self.scales)

    # --- parts

    def _scale_rows(self, general: General) -> None:
        program, n = self.program, self.sizes.n
        with program.each(self.sizes.m) as j:
            given = (rows[j + general.first] for rows in (general.C, general.low, general.high))
            scaled = program.step(steps.scaled_constraint, *given, self.scales[0, n])
            self.M[j + n], self.low[j + n], self.high[j + n], self.divisor[j] = scaled

    def _factor(self) -> None:
        """Factor H of the unknowns that are free now; active rows have to be swept again."""
        program, sizes, n = self.program, self.sizes, self.sizes.n
        self.L[0], self.r[0, n], self.free[0, n] = program.step(
            partial(sweeps.factored, n), self.M[0, n], self.side[0, n]
        )
        none_swept = program.step(partial(flags.nothing_swept, sizes), self.side[0, sizes.order])
        self.unswept[0, sizes.order], self.complete[0], self.count[0], self.room[0], self.due[0] = none_swept

    def _refresh(self) -> None:
        """Recompute values and multipliers from H, g and C at the active bounds and rows."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        self.pull[0, n] = program.step(partial(np.zeros, n))
        if sizes.m:
            with program.each(sizes.m) as j:
                self.pull[0, n] = program.step(steps.weighted, self.u[j + n], self.M[j + n], self.pull[0, n])
                self.p[j + n] = program.step(sweeps.dot, self.M[j + n], self.p[0, n])
        self._times(self.p)
        self.w[0, n] = program.step(steps.gradient, self.Hx[0, n], self.g[0, n], self.pull[0, n])
        at = tuple(rows[0, order] for rows in (self.side, self.low, self.high))
        self.e[0, order] = program.step(
            partial(steps.errors, sizes), self.w[0, n], self.u[0, order], self.p[0, order], *at
        )
        self._apply()
        self.p[0, order], self.u[0, order] = program.step(
            partial(steps.corrected, sizes),
            *(self.y[0, order], self.w[0, n], self.p[0, order], self.u[0, order], *at),
        )
        self._measure()

    def _measure(self) -> None:
        """Compute the scales for feasibility: of an unknown its range, of a row the range due to the unknowns."""
        program, sizes, n = self.program, self.sizes, self.sizes.n
        self.terms[0, n] = program.step(steps.extents, self.p[0, n], self.low[0, n], self.high[0, n])
        if sizes.m:
            with program.each(sizes.m) as j:
                self.terms[j + n] = program.step(sweeps.reach, self.M[j + n], self.terms[0, n])

    def _claim(self) -> None:
        """Set the status only if proven: all bounds and rows satisfied, or a contradictory sum of rows."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        self.gap[0] = program.step(steps.crossed, self.low[0, n], self.high[0, n])
        if sizes.m:
            box = self.low[0, n], self.high[0, n]
            at_index = tuple(rows[self.index.lane()] for rows in (self.p, self.low, self.high))
            self.weights[0, sizes.m] = program.step(
                partial(steps.weights_of_contradiction, sizes),
                *(self.column[n, sizes.m], self.side[n, sizes.m], *at_index, self.index[0]),
            )
            self.pull[0, n] = program.step(partial(np.zeros, n))
            self.xi[0, n] = program.step(partial(np.zeros, n))
            self.bound[0] = program.step(partial(np.zeros, 2))
            with program.each(sizes.m) as j:
                row = self.M[j + n], self.low[j + n], self.high[j + n]
                sums = self.pull[0, n], self.xi[0, n], self.bound[0]
                self.pull[0, n], self.xi[0, n], self.bound[0] = program.step(
                    steps.added_row, self.weights[j], *row, *sums
                )
                self.gap[0] = program.step(steps.row_contradiction, *row, *box, self.gap[0])
                self.p[j + n] = program.step(sweeps.dot, self.M[j + n], self.p[0, n])
            self.gap[0] = program.step(
                steps.sum_contradiction, self.pull[0, n], self.xi[0, n], self.bound[0], *box, self.gap[0]
            )
        self._measure()
        values = (rows[0, order] for rows in (self.p, self.low, self.high, self.terms))
        self.outside[0] = program.step(steps.excess, *values)
        self.status[0] = program.step(steps.claimed, self.status[0], self.outside[0], self.gap[0])

    def _apply(self) -> None:
        """Compute y = T e; e is used up."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        self.place[0], self.left[0] = program.step(flags.last, self.count[0])
        place, k = self.place.lane(), self.k.lane()
        with program.repeat_while(self.left, sizes.most_sweeps):
            self.k[0] = program.step(flags.same, self.at[place])
            self.share[place] = program.step(
                sweeps.share_before, self.f[place], self.pivot[place], self.e[0, order], self.e[k]
            )
            self.e[k] = program.step(partial(np.zeros, 1))
            self.place[0], self.left[0] = program.step(flags.one_before, self.place[0])
        self.pull[0, n] = program.step(partial(np.zeros, n))
        if sizes.m:
            with program.each(sizes.m) as j:
                self.pull[0, n] = program.step(steps.weighted, self.e[j + n], self.M[j + n], self.pull[0, n])
        self.xi[0, n] = program.step(sweeps.kept, self.free[0, n], self.e[0, n])
        self._times(self.xi)
        self.z[0, n], self.xi[0, n] = program.step(
            partial(sweeps.product_rest, n),
            *(self.L[0], self.r[0, n], self.free[0, n], self.e[0, n], self.Hx[0, n], self.pull[0, n]),
        )
        self._times(self.xi)
        self.y[0, n] = program.step(
            sweeps.product_of, self.free[0, n], self.z[0, n], self.Hx[0, n], self.pull[0, n]
        )
        self._rows_of_product()
        self.place[0], self.left[0] = program.step(flags.first, self.count[0])
        with program.repeat_while(self.left, sizes.most_sweeps) as i:
            self.k[0] = program.step(flags.same, self.at[i])
            self.y[k] = program.step(flags.same, self.share[i])
            self.y[0, order] = program.step(sweeps.after_sweep, self.f[i], self.share[i], self.y[0, order])
            self.place[0], self.left[0] = program.step(flags.one_behind, self.place[0], self.count[0])

    def _times(self, x: Rows) -> None:
        """Compute H x in a loop, so that a step of the method stays in the processor's instruction cache."""
        with self.program.each(self.sizes.n) as i:
            self.Hx[i] = self.program.step(sweeps.dot, self.M[i], x[0, self.sizes.n])

    def _rows_of_product(self) -> None:
        if self.sizes.m:
            with self.program.each(self.sizes.m) as j:
                row = self.M[j + self.sizes.n]
                self.y[j + self.sizes.n] = self.program.step(sweeps.dot, row, self.xi[0, self.sizes.n])

    def _find_column(self) -> None:
        """Set y to the column of T at the target. T is symmetric, so a sweep's share is known when it is met."""
        program, sizes, n, order = self.program, self.sizes, self.sizes.n, self.sizes.order
        target, k = self.target.lane(), self.k.lane()
        row, is_free = self.M[target], self.free[target]
        self.z[0, n], self.xi[0, n] = program.step(
            partial(sweeps.column_rest, n), self.L[0], self.r[0, n], self.free[0, n], row, is_free, self.target[0]
        )
        self._times(self.z)
        self.y[0, n] = program.step(sweeps.column_of, self.free[0, n], row, is_free, self.z[0, n], self.Hx[0, n])
        self._rows_of_product()
        self.size[0] = program.step(partial(sweeps.first_size, n), is_free, self.target[0], self.y[target])
        self.place[0], self.left[0] = program.step(flags.first, self.count[0])
        with program.repeat_while(self.left, sizes.most_sweeps) as i:
            self.k[0], self.meets[0] = program.step(flags.meets, self.at[i], self.target[0])
            self.share[i] = program.step(flags.share, self.y[k], self.own_share[i], self.meets[0])
            with program.repeat_while(self.meets, 1):
                self.y[0, order] = program.step(partial(np.zeros, order))
            self.y[k] = program.step(flags.same, self.share[i])
            self.size[0] = program.step(
                sweeps.size_after_sweep,
                self.size[0],
                self.y[target],
                self.f[i],
                self.target[0],
                self.share[i],
                self.meets[0],
            )
            self.y[0, order] = program.step(sweeps.after_sweep, self.f[i], self.share[i], self.y[0, order])
            self.place[0], self.left[0] = program.step(flags.one_behind, self.place[0], self.count[0])

    def _step(self) -> None:
        """Do one step with one column of T: that of a new index, or of the index that blocks the pending one."""
        program, sizes, order = self.program, self.sizes, self.sizes.order
        values = tuple(rows[0, order] for rows in (self.p, self.u, self.side, self.low, self.high))
        words = (rows[0] for rows in (self.kept, self.pending, self.status, self.room, self.complete))
        self.index[0], self.mode[0], self.status[0], self.running[0] = program.step(
            partial(steps.chosen, sizes), *values, self.terms[0, order], self.unswept[0, order], *words
        )
        with program.repeat_while(self.running, 1):
            self.target[0], self.begun[0] = program.step(
                flags.target, self.index[0], self.exchanged[0], self.due[0]
            )
            self._find_column()
            self._trust(self.y[self.target.lane()], self.size)
            self.due[0] = program.step(flags.due_now, self.due[0], self.running[0])
            with program.repeat_while(self.due, 1):
                self._exchange(self.exchanged, self.y, self.size)
                self._carry_column()
                self._trust(self.column[self.index.lane()], self.column_size)
            with program.repeat_while(self.begun, 1):
                self.column[0, order] = program.step(flags.same, self.y[0, order])
                self.column_size[0] = program.step(flags.same, self.size[0])
            with program.repeat_while(self.running, 1):
                self._move(values)

    def _trust(self, pivot: Part, size: Rows) -> None:
        """Stop before a small pivot, so that H is factored again first."""
        self.running[0], self.room[0] = self.program.step(
            partial(flags.trusted, self.sizes), pivot, size[0], self.mode[0], self.room[0]
        )

    def _move(self, values: tuple[Part, ...]) -> None:
        """Take the longest step of an index along its column."""
        program, sizes, order = self.program, self.sizes, self.sizes.order
        k = self.index.lane()
        at_index = tuple(rows[k] for rows in (self.column, self.p, self.u, self.low, self.high))
        words = (
            rows[0] for rows in (self.column_size, self.index, self.mode, self.pending, self.kept, self.status)
        )
        stepped = program.step(partial(flags.stepped, sizes), self.column[0, order], *values, *at_index, *words)
        self.p[0, order], self.u[0, order], self.side[0, order] = stepped[:3]
        self.exchanged[0], self.basic[0], self.due[0], self.pending[0], self.kept[0] = stepped[3:8]
        self.status[0], self.running[0], self.arrived[0] = stepped[8:]
        with program.repeat_while(self.arrived, 1):
            self._exchange(self.index, self.column, self.column_size)

    def _exchange(self, index: Rows, column: Rows, size: Rows) -> None:
        """Add a sweep: an index with its column, and the size of the terms that cancel there."""
        program, order = self.program, self.sizes.order
        place = self.count.lane()
        self.f[place], self.pivot[place], self.own_share[place] = program.step(
            sweeps.sweep_of, index[0], self.basic[0], column[0, order]
        )
        self.at[place] = program.step(flags.same, index[0])
        self.unswept[index.lane()] = program.step(partial(np.zeros, 1))
        counts = self.count, self.room, self.steps
        self.count[0], self.room[0], self.steps[0], self.changed[0] = program.step(
            flags.one_more, *(rows[0] for rows in counts), self.mode[0], self.pivot[place], size[0]
        )

    def _carry_column(self) -> None:
        """Update the column of the pending index after the sweep of the blocking one; T is symmetric."""
        program, order = self.program, self.sizes.order
        self.place[0], self.left[0] = program.step(flags.last, self.count[0])
        self.column_size[0] = program.step(
            sweeps.size_after_carry,
            *(self.column_size[0], self.f[self.place.lane()], self.index[0]),
            self.column[self.exchanged.lane()],
        )
        self.column[0, order] = program.step(
            sweeps.after_sweep,
            *(self.f[self.place.lane()], self.column[self.exchanged.lane()], self.column[0, order]),
        )

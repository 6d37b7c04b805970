"""Rows of the regression: columns and torques through the same filter; Gram matrices by block and joint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, groupby
from operator import add, attrgetter

import numpy as np

from ..fit.triangle import triangle
from ..io.results import registered
from ._friction import History
from ._preparation import Preparation, Stream
from .model import TorqueModel

BINS = np.geomspace(1e-6, 1e6, 4097)
"""Edges of the histogram of velocities, rad/s or m/s: 0.7 % apart."""
HIGH = 0.99
"""Percentile of |v| that represents a joint's large velocities."""
REST = 0.02
"""Share of its large velocities below which rows of a joint are at rest and left out."""


Reference = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Function (q, v, a), each (m, n), → torques (m, n) of a model without unknowns, to compare with."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Prepared rows, consecutive in time.

    Attributes:
        log: number of the log.
        first: whether a segment begins here.
        t: (m,) s.
        place: (m,) share of all samples before, 0 … 1.
        columns: (m, width) packed columns of the model.
        tau: (m, shifts + references, n) torques, then those of reference models.
        v: (m, n) velocities.
        moving: (m, n) whether a joint moves.
    """

    log: int
    first: bool
    t: np.ndarray
    place: np.ndarray
    columns: np.ndarray
    tau: np.ndarray
    v: np.ndarray
    moving: np.ndarray


def large_velocities(preparation: Preparation, elements: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the 99th percentile (k,) of the velocity along every row of `elements` (k, n), and the number seen."""
    counts = np.zeros((len(elements), len(BINS) + 1))
    seen = 0
    for motion in preparation.motions():
        speeds = abs(motion.v @ elements.T)
        for k in range(len(elements)):
            counts[k] += np.bincount(np.searchsorted(BINS, speeds[:, k]), minlength=len(BINS) + 1)
        seen += len(speeds)
    if not seen:
        return np.zeros(len(elements)), 0
    reached = np.cumsum(counts, axis=1) / seen
    places = np.array([int(np.searchsorted(row, HIGH)) for row in reached])
    return np.where(places == 0, 0.0, BINS[np.minimum(places, len(BINS) - 1)]), seen


def block_edges(preparation: Preparation, rest: np.ndarray, blocks: int) -> np.ndarray:
    """Return the places (blocks − 1,) between blocks of equal motion: rest before and after does not count."""
    bins = 4096
    counts = np.zeros(bins)
    for motion in preparation.motions():
        moving = (abs(motion.v) > rest).any(axis=1)
        counts += np.bincount((motion.place[moving] * bins).astype(int), minlength=bins)[:bins]
    if not counts.any():
        return np.arange(1, blocks) / blocks
    reached = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.interp(np.arange(1, blocks) / blocks, reached, np.arange(bins + 1) / bins)


def rows_of(
    preparation: Preparation,
    model: TorqueModel,
    rest: np.ndarray,
    loads: np.ndarray | None = None,
    shifts: Sequence[float] = (0.0,),
    references: Sequence[Reference] = (),
) -> Iterator[Rows]:
    """Generate all rows of the regression.

    Args:
        preparation: their preparation.
        model: whose columns they hold.
        rest: (n,) velocities below which a joint is at rest.
        loads: (n_inertial, variants) parameters that predict the load, for columns that need it.
        shifts: delays of the torque that are tried beside the preparation's own, s.
        references: models whose torques pass the same filter.
    """
    n, width, m = model.n, model.width, len(shifts) + len(references)
    stream, history, count = None, None, 0
    times: list[np.ndarray] = []
    places: list[np.ndarray] = []
    for motion in preparation.motions(shifts):
        if motion.first or stream is None:
            filters = preparation.filters(motion.log, shifts)
            stream, history = Stream(filters.rows), History(filters.interval)
            count, times, places = 0, [], []
        times, places = [*times, motion.t], [*places, motion.place]
        packed = model.packed(motion.q, motion.v, motion.a, loads, motion.speeds, history)
        others = [reference(motion.q, motion.v, motion.a) for reference in references]
        whole = np.concatenate([packed, motion.tau.reshape(len(packed), -1), *others, motion.v], axis=1)
        out = stream.push(whole)[:, 0]
        if not len(out):
            continue
        t, place = np.concatenate(times), np.concatenate(places)
        at = stream.filter.center + stream.filter.step * np.arange(len(out))
        v = out[:, width + m * n :]
        yield Rows(
            motion.log,
            count == 0,
            t[at],
            place[at],
            out[:, :width],
            out[:, width : width + m * n].reshape(len(out), m, n),
            v,
            abs(v) > rest,
        )
        count += len(out)
        used = len(out) * stream.filter.step
        times, places = [t[used:]], [place[used:]]


@dataclass(frozen=True, eq=False)
class Moments:
    """Products of the columns and torques of every joint's rows.

    Attributes:
        model: the columns.
        gram: [block][joint] (p + shifts, p + shifts) with the joint's active columns, then its torques.
        counts: (blocks, n) rows of every joint that moved.
        rows: (blocks,) all rows.
        triangles: [block][joint] factors R with RᵀR = gram, if requested.
    """

    model: TorqueModel
    gram: tuple[tuple[np.ndarray, ...], ...]
    counts: np.ndarray
    rows: np.ndarray
    triangles: tuple[tuple[np.ndarray, ...], ...] | None = None

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.gram)

    def reference_squares(self, block: int, reference: int) -> np.ndarray:
        """Return the sums of squares (n,) of torques minus reference torques, at the common delay."""
        out = []
        for G, columns in zip(self.gram[block], self.model.active, strict=True):
            m, r = len(columns), len(columns) + 1 + reference
            out.append(G[m, m] - 2.0 * G[m, r] + G[r, r])
        return np.array(out)


def block_of(rows: Rows, edges: np.ndarray) -> np.ndarray:
    """Return the block (m,) that every row belongs to, from the places between blocks."""
    return np.searchsorted(edges, rows.place, side="right")


@registered
@dataclass(frozen=True, eq=False)
class Sums:
    """Products of the rows of some logs, as those of `Moments`; sums of several logs add up.

    Attributes:
        gram, counts, rows, triangles: as of `Moments`; no triangles unless requested.
    """

    gram: tuple[tuple[np.ndarray, ...], ...]
    counts: np.ndarray
    rows: np.ndarray
    triangles: tuple[tuple[np.ndarray, ...], ...] = ()

    def __add__(self, other: Sums) -> Sums:
        pairs = zip(self.gram, other.gram, strict=True)
        factors = zip(self.triangles, other.triangles, strict=True)
        return Sums(
            tuple(tuple(a + b for a, b in zip(*each, strict=True)) for each in pairs),
            self.counts + other.counts,
            self.rows + other.rows,
            tuple(tuple(triangle(np.concatenate(two)) for two in zip(*each, strict=True)) for each in factors),
        )


def accumulate(model: TorqueModel, rows: Iterable[Rows], edges: np.ndarray, exact: bool = False) -> Moments:
    """Return the moments of all rows by block; with `exact`, triangular factors too, which keep twice the digits.

    Logs are summed one by one, so that the result is bitwise equal for any workers.
    """
    by_log = [log_sums(model, part, edges, exact) for _, part in groupby(rows, key=attrgetter("log"))]
    return moments_of(model, reduce(add, by_log) if by_log else log_sums(model, (), edges, exact))


def moments_of(model: TorqueModel, sums: Sums) -> Moments:
    """Return the moments of a model from sums of the rows."""
    return Moments(model, sums.gram, sums.counts, sums.rows, sums.triangles or None)


def log_sums(
    model: TorqueModel, rows: Iterable[Rows], edges: np.ndarray, exact: bool = False, torques: int = 1
) -> Sums:
    """Return sums of the rows of one log; without rows, zeros for so many `torques` at each joint."""
    n, blocks = model.n, len(edges) + 1
    gram: list[list[np.ndarray]] = []
    factors: list[list[np.ndarray]] = []
    counts, all_rows = np.zeros((blocks, n), dtype=int), np.zeros(blocks, dtype=int)
    for part in chain(rows, (None,)):
        if not gram:
            sizes = [len(columns) + (torques if part is None else part.tau.shape[1]) for columns in model.active]
            gram = [[np.zeros((size, size)) for size in sizes] for _ in range(blocks)]
            factors = [[np.zeros((0, size)) for size in sizes] for _ in range(blocks)]
        if part is None:
            break
        label = block_of(part, edges)
        for k in np.unique(label):
            chosen = label == k
            all_rows[k] += int(chosen.sum())
            for j in range(n):
                use = chosen & part.moving[:, j]
                A = np.concatenate([part.columns[use, model.slices[j]], part.tau[use, :, j]], axis=1)
                gram[k][j] += A.T @ A
                counts[k, j] += len(A)
                if exact:
                    factors[k][j] = triangle(np.concatenate([factors[k][j], A]))
    triangles = tuple(map(tuple, factors)) if exact else ()
    return Sums(tuple(map(tuple, gram)), counts, all_rows, triangles)

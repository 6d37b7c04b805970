"""Rows of the regression: columns and torques through the same filter, decimated, without rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .elastic import History
from .filters import Stream
from .model import TorqueModel
from .preparation import Preparation

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
    n, width, m = model.mechanism.n_v, model.width, len(shifts) + len(references)
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

"""Gram matrices of the rows by block of time and joint, for estimation, validation and choices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain, groupby
from operator import add, attrgetter

import numpy as np

from ..fit.triangle import triangle
from ..io.results import registered
from .model import TorqueModel
from .rows import Rows


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
    n, blocks = model.mechanism.n_v, len(edges) + 1
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

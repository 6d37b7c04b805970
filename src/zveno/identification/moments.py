"""Gram matrices of the rows by block of time and joint: all that estimation, validation and choices need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..fit.triangle import triangle
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
        triangles: [block][joint] factors R with RᵀR = gram, where these were asked for.
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
        """(n,) sums of squared differences between the torques and those of a reference, behind the one delay."""
        out = []
        for G, columns in zip(self.gram[block], self.model.active, strict=True):
            m, r = len(columns), len(columns) + 1 + reference
            out.append(G[m, m] - 2.0 * G[m, r] + G[r, r])
        return np.array(out)


def block_of(rows: Rows, edges: np.ndarray) -> np.ndarray:
    """(m,) the block every row belongs to, from the places between blocks."""
    return np.searchsorted(edges, rows.place, side="right")


def accumulate(model: TorqueModel, rows: Iterable[Rows], edges: np.ndarray, exact: bool = False) -> Moments:
    """Moments of all rows by block; with `exact`, triangular factors too, which keep twice the digits."""
    n, blocks = model.mechanism.n_v, len(edges) + 1
    gram: list[list[np.ndarray]] | None = None
    factors: list[list[np.ndarray]] = []
    counts, all_rows = np.zeros((blocks, n), dtype=int), np.zeros(blocks, dtype=int)
    for part in rows:
        shifts = part.tau.shape[1]
        if gram is None:
            sizes = [len(columns) + shifts for columns in model.active]
            gram = [[np.zeros((size, size)) for size in sizes] for _ in range(blocks)]
            factors = [[np.zeros((0, size)) for size in sizes] for _ in range(blocks)]
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
    if gram is None:
        sizes = [len(columns) + 1 for columns in model.active]
        gram = [[np.zeros((size, size)) for size in sizes] for _ in range(blocks)]
    triangles = tuple(map(tuple, factors)) if exact and factors else None
    return Moments(model, tuple(map(tuple, gram)), counts, all_rows, triangles)

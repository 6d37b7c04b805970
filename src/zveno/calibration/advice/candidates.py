"""Measurements that could be made, and the information they would bring, by the residual of their kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..measurements.base import Measurement, Slot
from ..measurements.residual_slopes import residual_kernel
from .knowledge import eliminated
from .situation import Postures


@dataclass(frozen=True, eq=False)
class Candidate:
    """A measurement that could be made.

    Attributes:
        kind: what is measured.
        text: what is done, for people.
        right: points or frames seen on the tool; those of the kind unless it sees a point beside it.
    """

    kind: Measurement
    text: str
    right: tuple[Slot, ...]

    @property
    def points(self) -> np.ndarray:
        """(k, 4, 4) what is seen on the tool, where unknown at the measured frame."""
        return np.array([np.eye(4) if slot.value is None else slot.value for slot in self.right])

    def products(
        self, at: Postures, targets: Sequence[np.ndarray], sigma: np.ndarray, sigma_q: float, draws: int
    ) -> Products:
        """Information of postures dealt into so many campaigns, with targets (4, 4) in turns.

        Args:
            sigma: standard deviation of every component of a reading, (m,).
            sigma_q: of the joints' sensors.
        """
        K, N = self._slopes(at, np.array(targets))
        sigma = np.tile(sigma, len(self.right))[:, None]
        K, N = K / sigma, N / sigma
        if sigma_q:
            worse = np.sqrt(1.0 + sigma_q**2 * np.sum((K @ at.by_joints) ** 2, axis=2, keepdims=True))
            K, N = K / worse, N / worse
        A = (K @ at.J).reshape(draws, -1, at.J.shape[2])
        N = N.reshape(draws, A.shape[1], N.shape[2])
        A_T, N_T = np.swapaxes(A, 1, 2), np.swapaxes(N, 1, 2)
        sure = self._known_distances(targets, N.shape[2])
        return Products(A_T @ A, A_T @ N, N_T @ N, sure.T @ sure)

    def _slopes(self, at: Postures, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the readings by displacements of the frame, (n, m, 6), and by unknowns, (n, m, u): of the
        frame it is seen from, of points on the tool, and of targets, which come last."""
        kind, n = self.kind, len(at)
        left, turn = kind.left, np.arange(n) % len(targets)
        L = np.broadcast_to(np.eye(4) if left.value is None else left.value, (n, 4, 4))
        X, free = targets[turn], (kind.grouped or kind.targets[0]).free
        K, N = [], []
        for k, point in enumerate(self.points):
            R = np.broadcast_to(point, (n, 4, 4))
            y = np.zeros((n, kind.n_data)) if kind.implicit else kind.reading(L @ at.T @ R, X)
            _, by_T, by_L, by_R, by_X = residual_kernel(type(kind))(at.T, L, R, X, y)
            by_points = [by_R[:, :, list(slot.free)] * (j == k) for j, slot in enumerate(self.right)]
            by_targets = [by_X[:, :, list(free)] * (turn == j)[:, None, None] for j in range(len(targets))]
            K.append(by_T)
            N.append(np.concatenate([by_L[:, :, list(left.free)], *by_points, *by_targets], axis=2))
        return np.concatenate(K, axis=1), np.concatenate(N, axis=1)

    def _known_distances(self, targets: Sequence[np.ndarray], width: int) -> np.ndarray:
        """Rows (k, width) about unknowns, of variance one: distances between targets that the kind knows."""
        names = list(self.kind.new_groups(1)[: len(targets)])
        rows = []
        for a, b, _, sigma in self.kind.constraints(names):
            first, second = names.index(a), names.index(b)
            apart = targets[second][:3, 3] - targets[first][:3, 3]
            along = apart / max(float(np.linalg.norm(apart)), 1e-9) / sigma
            row = np.zeros((len(targets), 3))
            row[first], row[second] = -along @ targets[first][:3, :3], along @ targets[second][:3, :3]
            rows.append(np.concatenate([np.zeros(width - row.size), row.ravel()]))
        return np.array(rows).reshape(len(rows), width)


@dataclass(frozen=True, eq=False)
class Products:
    """Products of whitened derivatives by terms A and unknowns N of several campaigns, AᵀA (d, t, t), AᵀN, NᵀN, and
    what is known about the unknowns of each, (u, u)."""

    AA: np.ndarray
    AN: np.ndarray
    NN: np.ndarray
    sure: np.ndarray

    def each(self) -> np.ndarray:
        """Information about terms, (d, t, t), where every campaign has unknowns of its own."""
        return eliminated(self.AA, self.AN, self.NN + self.sure)

    def together(self) -> np.ndarray:
        """The same, (t, t), where they are one campaign."""
        return eliminated(self.AA.sum(axis=0), self.AN.sum(axis=0), self.NN.sum(axis=0) + self.sure)

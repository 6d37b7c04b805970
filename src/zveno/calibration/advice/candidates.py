"""Measurements that could be made, and the information they would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..measurements.assembly import fit_problem
from ..measurements.base import Measurement, Slot
from ..measurements.campaigns import Campaign
from ..measurements.fit_problem import FitProblem
from ..model.kinematics import by_coordinates
from .knowledge import eliminated
from .situation import Situation


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

    def rows(self, here: Situation, q: np.ndarray, targets: Sequence[np.ndarray]) -> FitProblem:
        """Rows of the measurement at postures (n, n_q), with targets (4, 4) in turns."""
        kind = replace(self.kind, frame=here.problem.parts[0].frame)
        names = kind.new_groups(1)[: len(targets)] if kind.grouped is not None else ()
        groups = [names[k % len(names)] for k in range(len(q))] if names else ()
        problem = fit_problem(here.problem.model, [Campaign.unread(kind, q, groups)], self.right)
        part, frames = problem.parts[0], problem.frames.copy()
        frames[part.right, :3, 3] += here.tool
        frames[part.target[: len(targets)]] = targets
        return problem.placed(frames)

    def products(
        self,
        here: Situation,
        q: np.ndarray,
        targets: Sequence[np.ndarray],
        sigma: np.ndarray,
        sigma_q: float,
        draws: int,
    ) -> Products:
        """Information of postures (n, n_q) dealt into so many campaigns, with targets (4, 4) in turns.

        Args:
            sigma: standard deviation of every component of a reading, (m,).
            sigma_q: of the joints' sensors.
        """
        problem = self.rows(here, q, targets)
        model, n_terms = problem.model, len(here.terms.columns)
        columns = [*here.terms.columns, *problem.columns_of()]
        _, J = problem.evaluate(problem.nominal, problem.frames, columns, exact=True)
        data = problem.noise >= 0
        variance = np.tile(sigma**2, len(q) * len(self.right))
        if sigma_q:
            _, by_offsets = problem.evaluate(problem.nominal, problem.frames, model.offset_terms, exact=True)
            variance = variance + sigma_q**2 * np.sum(by_coordinates(model, by_offsets[data]) ** 2, axis=1)
        whitened = (J[data] / np.sqrt(variance)[:, None]).reshape(draws, -1, len(columns))
        A, N = whitened[..., :n_terms], whitened[..., n_terms:]
        A_T, N_T = np.swapaxes(A, 1, 2), np.swapaxes(N, 1, 2)
        sure = J[~data, n_terms:] / np.array([sigma for *_, sigma in problem.constraints])[:, None]
        return Products(A_T @ A, A_T @ N, N_T @ N, sure.T @ sure)


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

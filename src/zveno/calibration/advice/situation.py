"""Where advice starts: what a fit knows, and random postures with what moves the measured frame there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fit.solve import Solution
from ..measurements.fit_problem import FitProblem
from ..model.batches import skews
from ..model.loads import holding_torques
from .knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class Postures:
    """Where the measured frame is, T (n, 4, 4), and its displacements in its own axes by terms (n, 6, t) and joints
    (n, 6, n_v)."""

    q: np.ndarray
    T: np.ndarray
    J: np.ndarray
    by_joints: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def only(self, rows: np.ndarray | slice) -> Postures:
        """Some of them."""
        return Postures(self.q[rows], self.T[rows], self.J[rows], self.by_joints[rows])


def at_postures(problem: FitProblem, columns: np.ndarray, q: np.ndarray, tool: np.ndarray) -> Postures:
    """Displacements of the first frame that was measured, by columns of the model, at q (n, n_q).

    They are those of the nominal robot, whose structure decides what can be seen, with the frame moved by `tool`
    (3,).
    """
    part = replace(problem.parts[0], tau=holding_torques(problem.model, q))
    T, J = problem.poses(part, problem.nominal, q)
    by_joints = problem.by_joints(part, problem.nominal, q, J)
    if tool.any():
        T[:, :3, 3] += T[:, :3, :3] @ tool
        J[:, :3] -= skews(tool) @ J[:, 3:]
    return Postures(q, T, J[:, :, columns], by_joints)


@dataclass(frozen=True, eq=False)
class Situation:
    """Where a comparison of measurements starts.

    Attributes:
        problem, fit: what was measured, and the fit.
        tool: how far the measured frame is from where it is drawn, (3,), in its axes.
        terms: terms that may deviate, and what is known of them beside the data.
        C: covariance of all terms, (t, t), in units of their size.
        M: as of `aligned_slopes`.
        random: random postures.
    """

    problem: FitProblem
    fit: Solution
    tool: np.ndarray
    terms: Knowledge
    C: np.ndarray
    M: np.ndarray
    random: Postures

    def at(self, q: np.ndarray) -> Postures:
        """Displacements at other postures (n, n_q)."""
        return at_postures(self.problem, self.terms.columns, q, self.tool)

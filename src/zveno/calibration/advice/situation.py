"""Where advice starts: what a fit knows, and random postures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fit.solve import Solution
from ..measurements.fit_problem import FitProblem
from .knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class Situation:
    """Where a comparison of measurements starts.

    Attributes:
        problem, fit: what was measured, and the fit.
        tool: how far the measured frame is from where it is drawn, (3,), in its axes.
        terms: terms that may deviate, and their prior.
        C: covariance of all terms, (t, t), in units of their size.
        M: as of `aligned_slopes`.
        q, T: random postures (n, n_q), and the pose of the first frame that was measured there, (n, 4, 4).
    """

    problem: FitProblem
    fit: Solution
    tool: np.ndarray
    terms: Knowledge
    C: np.ndarray
    M: np.ndarray
    q: np.ndarray
    T: np.ndarray

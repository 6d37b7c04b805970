"""Errors of a calibrated robot on other measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...fit.threads import in_one_thread
from ..fit.errors import Error, errors
from ..fit.initial import first_frames
from ..fit.solve import solve
from ..fit.weighting import FitOptions
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Dataset, prepared
from ..model.models import Model


@in_one_thread
def score(
    model: Model, data: Dataset | Sequence[Dataset], values: np.ndarray, unknowns: Mapping[str, np.ndarray]
) -> tuple[Error, ...]:
    """Return errors with parameters `values` (P,) and frames by label as found; other unknowns are fitted."""
    campaigns, _ = prepared(data, model.mechanism)
    problem = fit_problem(model, campaigns)
    problem = problem.placed(first_frames(problem, values, known=unknowns))
    new = [
        unknown.start + k
        for unknown in problem.unknowns
        if unknown.label not in unknowns
        for k in range(len(unknown.free))
    ]
    n = len(problem.noise_names)
    options = FitOptions(tuple(new), np.full(n, 1e-3), np.ones(n, dtype=bool), "none")
    return errors(problem, solve(problem, options, values, problem.frames).residual)

"""Stage of a fit: the most probable deviation of every term of the redundant model.

The irreducible model puts what the data cannot separate into one term of several: with positions, a displaced tool
looks like an offset of the last joint. This does not affect predictions of measured quantities, but it does affect
the rest of the pose. The maximum a posteriori estimate with the prior N(0, S) of all terms distributes the
deviation by the usual size of each term. If S is right, its expected error is below that of the nominal robot in
any prediction, measured or not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...fit.covariance import factors
from .noise import Whitening
from .solve import FitPoint, least_squares
from .state import FitState


def spread(state: FitState) -> FitState:
    """Distribute the deviations over all terms that may have them; without a prior they stay."""
    problem, whole, model = state.problem, state.fit, state.problem.model
    n = len(model.terms)
    if state.prior is None:
        return replace(state, probable=whole.fit.state, spread_covariance=np.zeros((n, n)))
    terms = [name for name in state.structure.names if name in model.numbers]
    columns = [model.numbers[name] for name in terms]
    # The likeliest scales: widened ones, for uncertainties, would favour kinds of few terms.
    sizes = np.maximum(state.prior.size, 1e-12)
    for place, std in state.prior.given.items():
        sizes[columns.index(state.prior.columns[place])] = std
    unknowns = [column for column in state.options.columns if column >= len(model.terms)]
    prior = tuple(columns), np.diag(1.0 / sizes)
    options = replace(state.options, columns=(*columns, *unknowns), prior=prior)
    start = FitPoint.of(problem, options.columns, whole.values, whole.frames)
    use = np.ones(problem.n_rows, dtype=bool)
    fit = least_squares(problem, options, start, whole.sigma, whole.weight, use, near=True)
    rows = Whitening(problem, options, whole.sigma, whole.weight, use)(fit.state.J)
    known = np.eye(len(columns), rows.shape[1]) / sizes[:, None]
    covariance, among = np.zeros((n, n)), slice(len(columns))
    covariance[np.ix_(columns, columns)] = factors(np.concatenate([rows, known])).covariance()[among, among]
    return replace(state, probable=fit.state, spread_covariance=covariance)

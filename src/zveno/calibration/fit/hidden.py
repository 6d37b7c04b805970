"""Evidence for parameters that the nominal geometry hides and a robot far from it shows.

Columns C of such parameters, orthogonal to the fitted ones, have the information M = CᵀC and the score b = Cᵀr.
With the prior N(0, S), S = s² diag(usual²), the log evidence against a model without them is

    ln ratio = ½ bᵀ (S⁻¹ + M)⁻¹ b − ½ ln det(1 + S M)

(marginal likelihood of a linear model): the fit of the terms, less the fit of as many by chance. The best
prior scale s decides.
"""

from __future__ import annotations

import numpy as np

from .choosing import chosen_parameters
from .prior import usual
from .state import FitState
from .weighting import Whitening

STRONG = 5.0
"""Log evidence from which such parameters are fitted."""
SIZES = np.geomspace(1e-2, 1e1, 25)
"""Trial prior scales, in units of the usual size."""


def shows_hidden_parameters(state: FitState) -> bool:
    """Return True if the residuals of a fit show parameters that cannot be seen near the nominal geometry."""
    problem, options, whole, model = state.problem, state.options, state.fit, state.problem.model
    # Contacts with residuals make more look visible than is: their structure is decided where they touch.
    if any(part.measurement.implicit for part in problem.parts) or state.revealed:
        return False
    geometry = {k for k, term in enumerate(model.terms) if term.role in ("base", "link", "tool", "joint")}
    hidden = sorted(geometry - set(options.columns))
    if chosen_parameters(state) != "all" or not hidden:
        return False
    white = Whitening(problem, options, whole.sigma, whole.weight)
    J, r = whole.fit.jacobian[:, whole.fit.free], whole.fit.residual
    if len(white.scale) <= J.shape[1]:
        return False
    _, columns = problem.evaluate(whole.values, whole.frames, hidden)
    C = white(columns) * [usual(model.terms[k]) for k in hidden]
    C = np.pad(C, ((0, len(r) - len(white.scale)), (0, 0)))
    Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
    C = C - Q @ (Q.T @ C)
    information, V = np.linalg.eigh(C.T @ C)
    information, score = np.maximum(information, 0.0), V.T @ (C.T @ r)
    S = SIZES[:, None] ** 2
    ratios = 0.5 * np.sum(S * score**2 / (1.0 + S * information) - np.log1p(S * information), axis=1)
    return bool(ratios.max() > STRONG)

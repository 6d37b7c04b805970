"""Evidence for joint terms: gear ratio, compliance, hysteresis, … (Bayes factor against none).

A fit without such terms leaves residuals r. Columns C of a kind of terms, orthogonal to what was fitted, have the
information M = CᵀC and the score b = Cᵀr. With the prior N(0, S), S = s² diag(usual²), the log evidence against a
model without them is

    ln ratio = ½ bᵀ (S⁻¹ + M)⁻¹ b − ½ ln det(1 + S M)

(marginal likelihood of a linear model): what the terms explain, less what their number explains by chance. The best
prior scale s decides. Noise and other prior scales stay as they were without the terms, which is conservative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..measurements.fit_problem import FitProblem
from ..model.joint_terms import JOINT_TERMS, WORDS
from ..model.loads import gravity
from .prior import usual
from .solve import Solution
from .weighting import FitOptions, Whitening

HIDDEN = "geometry"
"""Word of parameters of links that the nominal geometry hides, and a robot far from it shows."""
STRONG = 5.0
"""Log evidence from which terms are fitted."""
SIZES = np.geomspace(1e-2, 1e1, 25)
"""Prior scales that are tried, in units of the usual size."""


@dataclass(frozen=True)
class Lack:
    """Joint terms that were not fitted and for which there is strong evidence.

    Attributes:
        word: which.
        evidence: log evidence against a model without them.
        share: of the residual variance that they explain.
    """

    word: str
    evidence: float
    share: float


def lacking(
    problem: FitProblem, options: FitOptions, whole: Solution, fitted: Sequence[str], hidden: Sequence[int] = ()
) -> list[Lack]:
    """Kinds of joint terms, not `fitted`, for which there is strong evidence: the strongest first, then those that
    are lacking beside it.

    Args:
        problem, options, whole: the fit.
        fitted: kinds that the model has.
        hidden: terms of the geometry that are not fitted, by column, to be tried as one more kind. Where there is
            strong evidence for them nothing else is judged: the fit must first have them.
    """
    white = Whitening(problem, options, whole.sigma, whole.weight)
    J, r = whole.fit.jacobian[:, whole.fit.free], whole.fit.residual
    rows = len(white.scale)
    freedom = rows - J.shape[1]
    if freedom < 1:
        return []
    candidates = {}
    for word, (columns, size) in _columns(problem, whole, hidden).items():
        C = np.zeros((len(r), columns.shape[1]))
        C[:rows] = white(columns) * size
        C = C[:, C.any(axis=0)]
        if word not in fitted and C.shape[1]:
            candidates[word] = C
    lacks = []
    while candidates:
        Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
        free = {word: C - Q @ (Q.T @ C) for word, C in candidates.items()}
        word, (gain, s) = max(((word, _evidence(C, r)) for word, C in free.items()), key=lambda one: one[1][0])
        if gain < STRONG:
            break
        # The terms join the fit with their prior; the residual is what is left, and the noise is smaller.
        C, before = candidates.pop(word), float(r @ r)
        k = C.shape[1]
        J = np.block([[J, s * C], [np.zeros((k, J.shape[1])), np.eye(k)]])
        r = np.concatenate([r, np.zeros(k)])
        step = np.linalg.lstsq(J, r, rcond=None)[0]
        r = r - J @ step
        ratio = float(r @ r) / before
        lacks.append(Lack(word, gain, 1.0 - ratio))
        if word == HIDDEN:
            return lacks[-1:]
        J, r = J / np.sqrt(ratio), r / np.sqrt(ratio)
        candidates = {
            word: np.concatenate([C, np.zeros((k, C.shape[1]))]) / np.sqrt(ratio) for word, C in candidates.items()
        }
    return lacks


def _evidence(C: np.ndarray, r: np.ndarray) -> tuple[float, float]:
    """The largest log evidence over `SIZES`, and the prior scale that gives it."""
    M, V = np.linalg.eigh(C.T @ C)
    M, b = np.maximum(M, 0.0), V.T @ (C.T @ r)
    S = SIZES[:, None] ** 2
    ratios = 0.5 * np.sum(S * b**2 / (1.0 + S * M) - np.log1p(S * M), axis=1)
    best = int(np.argmax(ratios))
    return float(ratios[best]), float(SIZES[best])


def _columns(
    problem: FitProblem, whole: Solution, hidden: Sequence[int]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Derivatives (rows, k) by the terms of all joints, which are those by offsets times their shift, and their
    usual sizes (k,), by word."""
    offsets = problem.model.offset_terms
    _, J = problem.evaluate(whole.values, whole.frames, [*offsets, *hidden])
    q = np.concatenate([part.q for part in problem.parts])
    tau = gravity(problem.model.mechanism)(q)
    side = np.concatenate([part.side for part in problem.parts])
    columns: dict[str, list[np.ndarray]] = {word: [] for word in WORDS}
    sizes: dict[str, list[float]] = {word: [] for word in WORDS}
    for number, move in enumerate(problem.model.axes):
        sigma = 1 if move.sigma else 0
        read = move.multiplier * q[:, move.position.start] + move.offset
        for term in JOINT_TERMS:
            if term.units[sigma] is not None:
                came = np.sign(move.multiplier) * side[:, move.velocity.start]
                shift = term.shift(read, tau[:, move.velocity.start], came)
                columns[term.word].append(J[:, number] * shift[problem.posture])
                sizes[term.word].append(term.size[sigma])
    fitted = {word: parts for word, parts in columns.items() if parts}
    stacked = {word: (np.stack(parts, axis=1), np.array(sizes[word])) for word, parts in fitted.items()}
    if len(hidden):
        stacked[HIDDEN] = J[:, len(offsets) :], np.array([usual(problem.model.terms[k]) for k in hidden])
    return stacked

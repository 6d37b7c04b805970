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
from ..model.joint_terms import JOINT_TERMS
from ..model.loads import MODEL, RODS, gravity, loads_to_try
from .prior import usual
from .solve import Solution
from .weighting import FitOptions, Whitening

HIDDEN = "geometry"
"""Word of parameters of links that the nominal geometry hides, and a robot far from it shows."""
STRONG = 5.0
"""Log evidence from which terms are fitted."""
BELIEVED = 3.0
"""Log of how many times likelier rods must be than the masses of the model (odds of 20 : 1)."""
SIZES = np.geomspace(1e-2, 1e1, 25)
"""Prior scales that are tried, in units of the usual size."""


@dataclass(frozen=True)
class Lack:
    """Joint terms that were not fitted and for which there is strong evidence.

    Attributes:
        word: which.
        evidence: log evidence against a model without them.
        share: of the residual variance that they explain.
        loads: under which joints yield, for compliance: "model" or "rods".
    """

    word: str
    evidence: float
    share: float
    loads: str = MODEL


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
    n_rows = len(white.scale)
    freedom = n_rows - J.shape[1]
    if freedom < 1:
        return []
    tried = {}
    for (word, loads), (columns, size) in _columns(problem, whole, hidden).items():
        if word not in fitted:
            C = white(columns) * size
            C = C[:, C.any(axis=0)]
            if C.shape[1]:
                tried[word, loads] = C
    J, r, tried, rows = _fewer_rows(J, r, tried, n_rows)
    candidates = {key: np.pad(C, ((0, len(r) - rows), (0, 0))) for key, C in tried.items()}
    lacks = []
    while candidates:
        Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
        judged = {key: _evidence(C - Q @ (Q.T @ C), r) for key, C in candidates.items()}
        word = max(judged, key=lambda key: judged[key][0])[0]
        # The terms join the fit with their prior; the residual is what is left.
        before = float(r[:rows] @ r[:rows])
        joined = {key: _joined(J, r, C, judged[key][1]) for key, C in candidates.items() if key[0] == word}
        loads = _likeliest_loads({key[1]: float(left @ left) for key, (_, left) in joined.items()}, freedom)
        gain, _ = judged[word, loads]
        if gain < STRONG:
            break
        k = candidates[word, loads].shape[1]
        candidates = {other: columns for other, columns in candidates.items() if other[0] != word}
        J, r = joined[word, loads]
        ratio = float(r[:rows] @ r[:rows]) / before
        lacks.append(Lack(word, gain, 1.0 - ratio, loads))
        if word == HIDDEN:
            return lacks[-1:]
        # The noise is smaller; what is known beforehand, in the rows after those of data, is not.
        scale = np.ones(len(r))
        scale[:rows] /= np.sqrt(ratio)
        J = J * scale[:, None]
        r = _left(J, r * scale)
        candidates = {
            key: np.concatenate([C, np.zeros((k, C.shape[1]))]) * scale[:, None] for key, C in candidates.items()
        }
    return lacks


def _fewer_rows(
    J: np.ndarray, r: np.ndarray, tried: dict[tuple[str, str], np.ndarray], rows: int
) -> tuple[np.ndarray, np.ndarray, dict[tuple[str, str], np.ndarray], int]:
    """The same with as many rows of data as there are columns: products of columns are all that is needed of them.

    Args:
        J, r: of a fit, rows of data first.
        tried: columns (rows, k) of terms.
        rows: of data.
    """
    columns = np.column_stack([J[:rows], r[:rows], *tried.values()])
    if rows <= columns.shape[1]:
        return J, r, tried, rows
    norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    columns /= norms
    eigenvalues, V = np.linalg.eigh(columns.T @ columns)
    root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * V.T * norms
    n, rest = J.shape[1], r[rows:]
    ends = n + 1 + np.cumsum([C.shape[1] for C in tried.values()])
    parts = np.split(root[:, n + 1 :], (ends - n - 1)[:-1], axis=1) if tried else []
    fewer = dict(zip(tried, parts, strict=True))
    return np.concatenate([root[:, :n], J[rows:]]), np.concatenate([root[:, n], rest]), fewer, len(root)


def _left(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Residuals (rows,) once columns J (rows, n) are fitted to r."""
    return r - J @ np.linalg.lstsq(J, r, rcond=None)[0]


def _joined(J: np.ndarray, r: np.ndarray, C: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
    """Jacobian and residuals of a fit with more columns C (rows, k), whose parameters have the prior scale s."""
    k = C.shape[1]
    J = np.block([[J, s * C], [np.zeros((k, J.shape[1])), np.eye(k)]])
    return J, _left(J, np.concatenate([r, np.zeros(k)]))


def _likeliest_loads(left: dict[str, float], freedom: int) -> str:
    """Which loads explain most, by what they leave of the sum of squares.

    The log of the ratio of likelihoods, noise profiled out, is ½ f ln(RSS / RSS'). Masses that a model has are
    believed unless rods are clearly likelier.
    """
    if len(left) == 1:
        return next(iter(left))
    gain = 0.5 * freedom * np.log(left[MODEL] / left[RODS])
    return RODS if gain > BELIEVED else MODEL


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
) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """Derivatives (rows, k) by the terms of all joints, which are those by offsets times their shift, and their
    usual sizes (k,), by word and, for compliance, loads."""
    offsets = problem.model.offset_terms
    _, J = problem.evaluate(whole.values, whole.frames, [*offsets, *hidden])
    q = np.concatenate([part.q for part in problem.parts])
    mechanism = problem.model.mechanism
    tried = loads_to_try(mechanism)
    tau = {loads: gravity(mechanism, loads)(q) for loads in tried}
    side = np.concatenate([part.side for part in problem.parts])
    columns: dict[tuple[str, str], list[np.ndarray]] = {}
    sizes: dict[tuple[str, str], list[float]] = {}
    for number, move in enumerate(problem.model.axes):
        sigma = 1 if move.sigma else 0
        read = move.multiplier * q[:, move.position.start] + move.offset
        for term in JOINT_TERMS:
            if term.units[sigma] is not None:
                came = np.sign(move.multiplier) * side[:, move.velocity.start]
                for loads in tried if term.word == "compliance" else (MODEL,):
                    load = tau[loads if loads in tau else RODS][:, move.velocity.start]
                    shift = term.shift(read, load, came)
                    columns.setdefault((term.word, loads), []).append(J[:, number] * shift[problem.posture])
                    sizes.setdefault((term.word, loads), []).append(term.size[sigma])
    stacked = {key: (np.stack(parts, axis=1), np.array(sizes[key])) for key, parts in columns.items()}
    if len(hidden):
        stacked[HIDDEN, MODEL] = J[:, len(offsets) :], np.array([usual(problem.model.terms[k]) for k in hidden])
    return stacked

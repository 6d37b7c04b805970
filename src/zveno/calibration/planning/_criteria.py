"""Optimality criteria of an information matrix: D, A, E and G, larger is better.

Information is M = Σ JᵀJ over postures, rows divided by their standard deviation and lengths in units of the robot's
size, so that its inverse is the covariance of the parameters. Nuisance parameters (a tracker's place)
are eliminated first: criteria are functions of S, the Schur complement of their block. Criteria are scaled so that
measuring everything twice doubles them, and are concave in M: `exchange.upper_bound` uses both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import unknown_name

TINY = 1e-300
Function = Callable[[np.ndarray], np.ndarray]
"""Function of eigenvalues in rising order (..., k)."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """Scalar of the information S (k, k); all functions take batches (..., k, k).

    Attributes:
        name: "D", "A", …
        of: eigenvalues in rising order (..., k) → value (...).
        slope: derivative by the eigenvalues, (..., k).
        workspace: for G, Jacobians of the tool (w, 3, k) where its variance is evaluated.
    """

    name: str
    of: Function
    slope: Function
    workspace: np.ndarray | None = None

    def value(self, S: np.ndarray) -> np.ndarray:
        """Return the criterion of information matrices; 0 where they are singular."""
        if self.workspace is not None:
            return _g_value(self.workspace, S)
        if self.name == "D":  # the same as through eigenvalues, several times faster
            sign, log_det = np.linalg.slogdet(S)
            return np.where(sign > 0, np.exp(log_det / S.shape[-1]), 0.0)
        return self.of(np.maximum(np.linalg.eigvalsh(S), 0.0))

    def gradient(self, S: np.ndarray) -> np.ndarray:
        """Return dφ/dS, symmetric (k, k): a change dS alters the value by tr(gradient · dS)."""
        if self.workspace is not None:
            return _g_gradient(self.workspace, S, 0.0)
        if self.name in ("D", "A"):
            inverse = _inverse(S)
            if inverse is not None:  # the same as through eigenvalues, and steadier in time on busy machines
                return _slope_from_inverse(self.name, inverse, float(self.value(S)))
        values, vectors = np.linalg.eigh(S)
        return (vectors * self.slope(_above_zero(values))) @ vectors.T

    def outlook(self, S: np.ndarray) -> np.ndarray:
        """Return a positive semidefinite matrix H: candidates J with large tr(J H Jᵀ) are promising.

        H is the gradient of a smoothed criterion: where one eigenvalue dominates, the next ones count a little too.
        """
        if self.name in ("D", "A"):
            return self.gradient(S)
        if self.workspace is not None:
            return _g_gradient(self.workspace, S, 12.0)
        values, vectors = np.linalg.eigh(S)
        values = _above_zero(values)
        weights = (values[0] / values) ** 4
        return (vectors * weights) @ vectors.T


def named_criterion(name: str, workspace: np.ndarray | None = None) -> Criterion:
    """Return the criterion of that name; G needs Jacobians of the tool over the workspace, (w, 3, k)."""
    if name not in CRITERIA:
        raise unknown_name("criterion", name, CRITERIA)
    _, of, slope = CRITERIA[name]
    return Criterion(name, of, slope, workspace if name == "G" else None)


def reduced(M: np.ndarray, k: int) -> np.ndarray:
    """Return S (..., k, k): information M (..., K, K) on its first k parameters with the others unknown."""
    if M.shape[-1] == k:
        return M
    A, B, C = M[..., :k, :k], M[..., :k, k:], M[..., k:, k:]
    return A - B @ _inverse_or_pseudo(C) @ np.swapaxes(B, -1, -2)


def lifted(G: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return dφ/dM (K, K) from dφ/dS (k, k): dS = [1, −B C⁻¹] dM [1, −B C⁻¹]ᵀ."""
    k = len(G)
    if M.shape[-1] == k:
        return G
    L = np.concatenate([np.eye(k), -M[:k, k:] @ _inverse_or_pseudo(M[k:, k:])], axis=1)
    return L.T @ G @ L


def _inverse_or_pseudo(C: np.ndarray) -> np.ndarray:
    """Return C⁻¹ of positive semidefinite matrices (..., K, K); pseudo-inverses if one is nearly singular."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(C), axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(C, hermitian=True)
    if np.all(pivots.min(axis=-1) > 1e-5 * pivots.max(axis=-1)):
        return np.linalg.inv(C)  # several times faster
    return np.linalg.pinv(C, hermitian=True)


def _inverse(S: np.ndarray) -> np.ndarray | None:
    """Return S⁻¹, or None if S is nearly singular."""
    try:
        inverse = np.linalg.inv(S)
    except np.linalg.LinAlgError:
        return None
    condition = np.linalg.norm(S) * np.linalg.norm(inverse)
    return 0.5 * (inverse + inverse.T) if condition < 1e12 and np.all(np.diag(inverse) > 0) else None


def _slope_from_inverse(name: str, inverse: np.ndarray, value: float) -> np.ndarray:
    """Return dφ/dS of D: φ/k S⁻¹; of A: φ²/k S⁻²."""
    k = len(inverse)
    return value**2 / k * inverse @ inverse if name == "A" else value / k * inverse


def _above_zero(values: np.ndarray) -> np.ndarray:
    """Return eigenvalues bounded away from zero: derivatives at singular plans are large, but finite."""
    return np.maximum(values, max(1e-14 * values[-1], 1e-100))


def _inverse_sum(values):
    return np.sum(1.0 / np.maximum(values, TINY), axis=-1)


def _geometric(values):
    return np.exp(np.mean(np.log(np.maximum(values, TINY)), axis=-1))


def _first(values):
    out = np.zeros_like(values)
    out[..., 0] = 1.0
    return out


def _a_slope(values):
    return values.shape[-1] * values**-2.0 / _inverse_sum(values)[..., None] ** 2


CriterionName = Literal["D", "A", "E", "G"]
CRITERIA: dict[str, tuple[str, Function, Function]] = {
    "D": (
        "volume of the confidence ellipsoid: det(S)^(1/k)",
        _geometric,
        lambda x: _geometric(x)[..., None] / (x.shape[-1] * x),
    ),
    "A": ("mean variance: k / tr(S⁻¹)", lambda x: x.shape[-1] / _inverse_sum(x), _a_slope),
    "E": ("worst direction: smallest eigenvalue of S", lambda x: x[..., 0], _first),
    "G": ("worst tool position over the workspace: 1 / largest variance", lambda x: x[..., 0], lambda x: x),
}
"""Meaning, value and derivative of every criterion, as functions of the eigenvalues of S."""


def _g_value(F: np.ndarray, S: np.ndarray) -> np.ndarray:
    variances = _tool_variances(F, S)
    return np.where(np.isfinite(variances).all(axis=-1), 1.0 / np.maximum(variances.max(axis=-1), TINY), 0.0)


def _tool_variances(F: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return the summed variance of the tool's three coordinates per place, (..., w); inf if S is singular."""
    w, m, k = F.shape
    values, vectors = np.linalg.eigh(S)
    half = vectors / np.sqrt(np.maximum(values, TINY))[..., None, :]
    spread = F.reshape(w * m, k) @ half
    out = np.sum(spread.reshape(*S.shape[:-2], w, m * k) ** 2, axis=-1)
    singular = values[..., 0] <= 1e-14 * values[..., -1]
    return np.where(singular[..., None], np.inf, out)


def _g_gradient(F: np.ndarray, S: np.ndarray, softness: float) -> np.ndarray:
    """Return dφ/dS at the worst place, or mixed over bad places with weights variance^softness."""
    values, vectors = np.linalg.eigh(S)
    C = (vectors / np.maximum(values, TINY)) @ vectors.T
    FC = F @ C
    variances = np.einsum("wij,wij->w", FC, F)
    worst = variances.max()
    weights = np.zeros(len(F))
    if softness:
        weights[:] = (variances / worst) ** softness
        weights /= weights.sum()
    else:
        weights[int(np.argmax(variances))] = 1.0
    rows = (np.sqrt(weights)[:, None, None] * FC).reshape(-1, len(S))
    return rows.T @ rows / worst**2

"""Posterior covariance of all terms of a model, also of those that the measurements do not determine.

The data determine the combinations β = B p of terms that the irreducible model stands for, with covariance C; the
rest is left to the prior p ~ N(0, S). Given the data, terms have the covariance (S − G P Gᵀ) + G C Gᵀ, with
P = B S Bᵀ and G = S Bᵀ P⁻¹.

What matters of it is judged at the tool: by the mean variance of its position over the workspace, base and tool
moved freely where the measurements do not see them (as for the nominal robot "with frames fitted").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..fit.prior import USUAL, Prior, prior
from ..identifiability.analysis import Identifiability
from ..model.models import Model

NULL = 1e-6
"""Share of its length below which a displacement of base or tool is not seen."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Terms that may deviate, and their prior. Terms are in units of their prior standard deviation.

    Attributes:
        columns: their numbers among the terms of the model, (t,).
        chosen: places among them of the parameters that were fitted, (c,).
        size: prior standard deviation of each, (t,), m or rad.
        relations: B, (c, t): the combination that each fitted parameter stands for, in units of `size`.
    """

    columns: np.ndarray
    chosen: np.ndarray
    size: np.ndarray
    relations: np.ndarray

    @cached_property
    def gain(self) -> np.ndarray:
        """G, (t, c): the expected terms, by the parameters in units of their size."""
        B = self.relations
        return np.linalg.solve(B @ B.T, B).T

    @cached_property
    def rest(self) -> np.ndarray:
        """(t, t) covariance that the data do not reduce."""
        return np.eye(len(self.size)) - self.gain @ self.relations

    def covariance(self, C: np.ndarray) -> np.ndarray:
        """Of all terms, (t, t), where the fitted parameters have the covariance C (c, c), m² and rad²."""
        G = self.gain / self.size[self.chosen]
        return self.rest + G @ C @ G.T


def knowledge(model: Model, structure: Identifiability, fitted: Prior | None) -> Knowledge | None:
    """What is known beside the data; usual prior scales where the fit has no prior. None if no term was fitted."""
    given = {} if fitted is None else fitted.given
    known = fitted or prior(model, structure, USUAL, {})
    if known is None:
        return None
    names = [name for name in structure.names if name in model.numbers]
    columns = np.array([model.numbers[name] for name in names])
    place = {int(column): k for k, column in enumerate(columns)}
    chosen = np.array([place[column] for column in known.columns])
    B, size = known.relations.copy(), known.size.copy()
    for row, std in given.items():
        size[chosen[row]] = std
        B[row, chosen[row]] = 1.0
    return Knowledge(columns, chosen, size, B * size / size[chosen][:, None])


def aligned_slopes(model: Model, terms: Knowledge, J: np.ndarray) -> np.ndarray:
    """M, (t, t): the mean square of the tool's displacement is pᵀ M p, for terms p in units of their size.

    Args:
        model, terms: the terms.
        J: derivatives of the tool's position in the world by the terms, (postures, 3, t), m and rad.
    """
    rows = (J * terms.size).reshape(-1, len(terms.columns))
    M = rows.T @ rows
    unseen = []
    for role, kinds in (("base", "TR"), ("tool", "T")):
        at = [
            k
            for k, column in enumerate(terms.columns)
            if model.terms[column].role == role and model.terms[column].kind in kinds
        ]
        if at:
            _, s, Vt = np.linalg.svd(terms.relations[:, at])
            s = np.pad(s, (0, len(at) - len(s)))
            null = np.zeros((len(terms.columns), int((s < NULL).sum())))
            null[at] = Vt[s < NULL].T
            unseen.append(null)
    N = np.concatenate([*unseen, np.zeros((len(terms.columns), 0))], axis=1)
    return eliminated(M, M @ N, N.T @ M @ N) / len(J)


def eliminated(A: np.ndarray, B: np.ndarray, D: np.ndarray) -> np.ndarray:
    """A − B D⁺ Bᵀ: information about some unknowns where others, of which nothing is known, are estimated too."""
    if not D.shape[-1]:
        return A
    norms = np.sqrt(np.maximum(np.diagonal(D, axis1=-2, axis2=-1), 1e-300))
    scaled = D / (norms[..., :, None] * norms[..., None, :])
    s, V = np.linalg.eigh(scaled)
    keep = s > 1e-10 * s[..., -1:]
    V = V * np.where(keep, 1.0 / np.sqrt(np.where(keep, s, 1.0)), 0.0)[..., None, :]
    W = (B / norms[..., None, :]) @ V
    return A - W @ np.swapaxes(W, -1, -2)

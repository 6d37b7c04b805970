"""Sampled states of a recording for quick tests of explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._estimate import Normal, solve
from .._friction import TERMS
from .._survey import Survey
from ..model import TorqueModel

MOST = 1500
"""Maximum number of states."""


@dataclass(frozen=True, eq=False)
class Samples:
    """States and torques, smoothed but not filtered to the band.

    Attributes:
        model: columns without those of the load.
        rest: (n,) slower rows of a joint do not count.
        q, v, a, tau: (m, n).
    """

    model: TorqueModel
    rest: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def with_motion(self, signs: np.ndarray, order: np.ndarray) -> Samples:
        """Return samples with motions of the joints in another order, some of them reversed."""
        q, v, a = (x[:, order] * signs for x in (self.q, self.v, self.a))
        return replace(self, q=q, v=v, a=a, rest=self.rest[order])

    def with_torques(self, signs: np.ndarray, order: np.ndarray) -> Samples:
        """Return samples with torques of the joints in another order, some of them reversed."""
        return replace(self, tau=self.tau[:, order] * signs)

    def normal(self, extra: np.ndarray | None = None) -> Normal:
        """Return the normal equations; `extra` (m, n, k) are further columns."""
        W = self.model.dense(self.model.packed(self.q, self.v, self.a))
        if extra is not None:
            W = np.concatenate([W, extra], axis=2)
        n = self.tau.shape[1]
        H, g, s, counts = [], [], [], []
        for j in range(n):
            use = abs(self.v[:, j]) > self.rest[j]
            A, y = W[use, j], self.tau[use, j]
            H.append(A.T @ A)
            g.append(A.T @ y)
            s.append(y @ y)
            counts.append(len(y))
        return Normal(np.array(H), np.array(g), np.array(s), np.array(counts, dtype=float))

    def misfit(self) -> float:
        """Return the mean logarithm of relative squared residuals: lower explains more."""
        return misfit(self.normal())


def misfit(normal: Normal) -> float:
    """Return the mean over all rows of log(rss/|τ|²) of their joint, at the best fit."""
    fit = solve(normal, iterations=4)
    used = (normal.counts > 0) & (normal.s > 0)
    share = np.maximum(normal.squares(fit.x)[used], 1e-12 * normal.s[used]) / normal.s[used]
    return float(np.log(share) @ normal.counts[used] / max(normal.counts[used].sum(), 1.0))


def samples_of(surveyed: Survey) -> Samples:
    """Return states from all over the recordings."""
    parts = [(m.q, m.v, m.a, m.tau[:, 0]) for m in surveyed.preparation.thinned.motions()]
    q, v, a, tau = (np.concatenate(column) for column in zip(*parts, strict=True))
    every = max(1, len(q) // MOST)
    model = surveyed.model.with_friction([c for c in surveyed.model.friction if not TERMS[c.term].needs_load])
    return Samples(model, surveyed.rest, *(x[::every] for x in (q, v, a, tau)))

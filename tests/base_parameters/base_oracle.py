"""Sampled regressors: what the derived base parameters are compared with."""

from __future__ import annotations

import numpy as np

from zveno.algorithms.energy import kinetic_energy, potential_energy
from zveno.algorithms.regressor import drive_regressor, regressor
from zveno.mechanism import Mechanism
from zveno.mechanism.edit import with_inertia


def sampled(mechanism: Mechanism, drives: bool = False, samples: int | None = None) -> np.ndarray:
    """The stacked regressor at random states of every coordinate, limits ignored."""
    rng = np.random.default_rng(7)
    n = mechanism.n_v
    count = samples or 30 * len(mechanism.joints) // max(n, 1) + 30
    rows = []
    for _ in range(count):
        q = mechanism.integrate(mechanism.neutral(), rng.uniform(-2.0, 2.0, n))
        v, a = rng.normal(size=(2, n)) * 2.0
        W = regressor(mechanism, q, v, a)
        rows.append(np.concatenate([W, drive_regressor(mechanism, v, a)], axis=1) if drives else W)
    return np.concatenate(rows)


def rank_of(W: np.ndarray, tolerance: float = 1e-9) -> int:
    """Rank by singular values of the matrix with columns of length 1."""
    size = np.linalg.norm(W, axis=0)
    if not W.size or not size.any():
        return 0
    used = size > 1e-11 * size.max()
    s = np.linalg.svd(W[:, used] / size[used], compute_uv=False)
    return int((s > tolerance * s[0]).sum())


def residual(W: np.ndarray, base) -> float:
    """How far the base columns, grouped, are from the whole regressor, over the parameters that are counted."""
    counted = list(base.counted)
    left = W[:, counted] - W[:, base.columns] @ base.matrix[:, counted]
    return float(np.linalg.norm(left) / max(np.linalg.norm(W[:, counted]), 1e-12))


def energy_rows(mechanism: Mechanism, states, reference) -> np.ndarray:
    """Lagrangian at (q, v) less that at rest in the reference, for unit parameters of every link."""
    columns = []
    for link in mechanism.links[1:]:
        for unit in np.eye(10):
            others = {one.name: np.zeros(10) for one in mechanism.links}
            model = with_inertia(mechanism, others | {link.name: unit})
            rest = potential_energy(model, reference)
            columns.append([kinetic_energy(model, q, v) - potential_energy(model, q) + rest for q, v in states])
    return np.array(columns).T
